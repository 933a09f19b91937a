"""Fusion of rankings, and of a vector and a keyword leg, from the formulas, in plain Python:
what the SQL is compared with.

A candidate is in either leg. `cosines` and `keyword_scores` are exact for every candidate,
whichever leg found it: chunk id -> cosine similarity (missing: it has no vector), chunk id -> BM25
score (missing: it matches no word).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest

Ranking = list[tuple[int, float]]
Scores = Mapping[int, float]


def rrf(rankings: Iterable[tuple[float, Sequence[int]]], k: int = 60) -> Ranking:
    """Fuse (weight, ids best first) lists: Cormack, Clarke, Buettcher, SIGIR 2009."""
    scores: dict[int, float] = {}
    for weight, ids in rankings:
        for rank, i in enumerate(ids, 1):
            scores[i] = scores.get(i, 0.0) + weight / (k + rank)
    return best_first(scores)


def weighted(cosines: Scores, keyword_scores: Scores, weight: float) -> Ranking:
    """Add weight * cosine and (1 - weight) * keyword score / best keyword score."""
    best = max(keyword_scores.values(), default=0.0)
    lowest = min(cosines.values(), default=0.0)  # stands in for a vector that is not there yet
    return best_first(
        {
            i: weight * cosines.get(i, lowest)
            + (1 - weight) * (keyword_scores.get(i, 0.0) / best if best else 0.0)
            for i in cosines.keys() | keyword_scores.keys()
        }
    )


def lead(scores: Sequence[float]) -> float:
    """How far the best score stands above the mean of the ten best."""
    top = nlargest(10, scores)
    return top[0] - sum(top) / len(top)


def auto_weight(
    cosines: Scores, keyword_scores: Scores, weights: tuple[float, float] = (0.5, 0.5)
) -> float:
    """The vector leg's share: each leg counts by its lead."""
    best = max(keyword_scores.values(), default=0.0)
    if not best or not cosines:
        return 0.0 if best else 1.0
    candidates = cosines.keys() | keyword_scores.keys()
    vector = weights[0] * (8 * max(lead(list(cosines.values())), 0.0)) ** (2 / 3)
    keyword = weights[1] * max(
        lead([keyword_scores.get(i, 0.0) / best for i in candidates]), 0.05
    ) ** (2 / 3)
    return float(vector / (vector + keyword))


def auto(
    cosines: Scores, keyword_scores: Scores, weights: tuple[float, float] = (0.5, 0.5)
) -> Ranking:
    return weighted(cosines, keyword_scores, auto_weight(cosines, keyword_scores, weights))


def best_first(scores: Scores) -> Ranking:
    return sorted(scores.items(), key=lambda item: (-round(item[1], 12), item[0]))
