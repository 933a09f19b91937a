"""BM25 from the paper, in plain Python: what the keyword search has to agree with.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009; the idf is
Lucene's. Nothing is shared with the implementation but the lexemes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from math import fsum, log

MOST = 255  # times that a word counts in a chunk, as docs/internals/keyword-search.md says


def rounded(contribution: float) -> float:
    """To a multiple of 2^-32, as docs/internals/keyword-search.md says: ties depend on it."""
    return round(contribution * 2**32) / 2**32


@dataclass
class Oracle:
    k1: float = 1.2
    b: float = 0.75
    chunks: dict[int, Counter[str]] = field(default_factory=dict)

    def add(self, chunk_id: int, lexemes: Iterable[str]) -> None:
        """Add a chunk, every lexeme as often as it occurs."""
        self.chunks[chunk_id] = Counter(lexemes)

    def remove(self, chunk_id: int) -> None:
        del self.chunks[chunk_id]

    def scores(
        self,
        query: Mapping[str, int],
        words: Mapping[str, Hashable] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> dict[int, float]:
        """The score of every chunk that has a lexeme of the query (lexeme -> its count there).

        words: the word that a lexeme is a form of; forms of a word have one idf, by the sum of
        their document frequencies. weights: of lexemes that count for less than 1.
        """
        weights = weights or {}
        total = len(self.chunks)
        mean = sum(c.total() for c in self.chunks.values()) / total if total else 0.0
        containing = {t: sum(t in c for c in self.chunks.values()) for t in query}
        if words:
            counted = containing
            containing = {
                t: min(total, sum(n for u, n in counted.items() if words[u] == words[t]))
                for t in query
            }
        idf = {t: log(1 + (total - n + 0.5) / (n + 0.5)) for t, n in containing.items()}
        return {
            chunk_id: fsum(
                rounded(
                    weights.get(t, 1)
                    * (qtf * idf[t] * tf)
                    / (tf + self.k1 * (1 - self.b + self.b * c.total() / mean))
                )
                for t, qtf in query.items()
                if (tf := min(c[t], MOST))
            )
            for chunk_id, c in self.chunks.items()
            if any(t in c for t in query)
        }

    @classmethod
    def of(cls, chunks: Mapping[int, Iterable[str]]) -> Oracle:
        """An oracle of these chunks: lexemes by id."""
        oracle = cls()
        for chunk_id, lexemes in chunks.items():
            oracle.add(chunk_id, lexemes)
        return oracle

    def search(
        self,
        query: Mapping[str, int],
        limit: int,
        keep: Callable[[int], bool] = lambda _: True,
        words: Mapping[str, Hashable] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> list[tuple[int, float]]:
        """The best chunks as (chunk_id, score): highest score first, ties by chunk_id."""
        kept = [(i, s) for i, s in self.scores(query, words, weights).items() if keep(i)]
        return sorted(kept, key=lambda hit: (-hit[1], hit[0]))[:limit]
