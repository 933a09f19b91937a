"""BM25 and reciprocal rank fusion from their papers, in plain Python:
what the SQL is compared with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence


def bm25(
    chunks: Mapping[int, Sequence[str]], query: Sequence[str], k1: float = 1.2, b: float = 0.75
) -> list[tuple[int, float]]:
    """Rank chunks (id -> words) for a query (words, repeated as said), best first, ties by id.

    Robertson and Zaragoza, 2009; idf as Lucene, ln(1 + (N - df + 0.5) / (df + 0.5)).
    """
    count = len(chunks)
    average = sum(map(len, chunks.values())) / count if count else 0.0
    tables = {i: Counter(words) for i, words in chunks.items()}
    scores: dict[int, float] = {}
    for word, said in Counter(query).items():
        frequency = sum(1 for table in tables.values() if word in table)
        idf = math.log(1 + (count - frequency + 0.5) / (frequency + 0.5))
        for i, table in tables.items():
            if tf := table[word]:
                norm = k1 * (1 - b + b * len(chunks[i]) / average)
                scores[i] = scores.get(i, 0.0) + said * idf * tf / (tf + norm)
    return sorted(scores.items(), key=lambda item: (-round(item[1], 9), item[0]))


def rrf(rankings: Sequence[tuple[float, Sequence[int]]], k: int = 60) -> list[tuple[int, float]]:
    """Fuse (weight, ids best first) lists: Cormack, Clarke, Buettcher, SIGIR 2009."""
    scores: dict[int, float] = {}
    for weight, ids in rankings:
        for rank, i in enumerate(ids, 1):
            scores[i] = scores.get(i, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda item: (-round(item[1], 12), item[0]))
