"""A collection as a naive reader sees it: everything in memory, every score and distance computed.

Reads the stored lexemes, vectors and metadata in the snapshot of its connection. BM25, filters and
fusion are the oracles' (bm25_oracle, filter_oracle, fusion_oracle);
nothing of the search functions is called.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import filter_oracle
import fusion_oracle
import numpy as np
import psycopg
from bm25_oracle import Oracle

Ranking = list[tuple[int, float]]
PRECISION = 1e-3  # of distances: vectors are stored as halves


class World:
    def __init__(self, connection: psycopg.Connection[Any], collection: str) -> None:
        self.connection, self.collection = connection, collection
        row = connection.execute(
            """SELECT c.collection_id, c.k1, c.b, s.space_id, s.distance
               FROM rag.collections AS c JOIN rag.spaces AS s USING (collection_id)
               WHERE c.name = %s AND c.dropped_at IS NULL AND s.state = 'active'""",
            [collection],
        ).fetchone()
        assert row is not None
        self.key, k1, b, self.space, self.distance = row
        self.bm25 = Oracle(k1, b)
        self.metadata: dict[int, Mapping[str, Any]] = {}
        self.document: dict[int, object] = {}
        self.hash: dict[int, bytes] = {}
        for chunk_id, lexemes, metadata, document_id, content_hash in connection.execute(
            """SELECT c.chunk_id, ARRAY(SELECT u.lexeme || ' ' || cardinality(u.positions)
                      FROM unnest(c.lexemes) AS u),
                      c.metadata, c.document_id, c.content_hash FROM rag.chunks AS c
                      WHERE c.collection_id = %s""",
            [self.key],
        ):
            said = (text.rsplit(" ", 1) for text in lexemes)
            self.bm25.chunks[chunk_id] = Counter({word: int(times) for word, times in said})
            self.metadata[chunk_id] = metadata
            self.document[chunk_id] = document_id
            self.hash[chunk_id] = bytes(content_hash)
        self.vectors = {
            chunk_id: np.array(vector, np.float64)
            for chunk_id, vector in connection.execute(
                "SELECT e.chunk_id, e.embedding::real[] FROM rag.embeddings AS e WHERE e.space_id"
                " = %s",
                [self.space],
            )
            if chunk_id in self.metadata
        }

    def passing(self, wanted: Mapping[str, Any]) -> set[int]:
        return {i for i, row in self.metadata.items() if filter_oracle.matches(row, wanted)}

    def keyword(self, query: str, limit: int, wanted: Mapping[str, Any]) -> Ranking:
        passing = self.passing(wanted)
        terms, words = self.terms(query)
        return self.bm25.search(terms, limit, lambda i: i in passing, words)

    def terms(self, query: str) -> tuple[dict[str, int], dict[str, int]]:
        """Lexemes of a query: how often it says each, and the number of the word behind it."""
        rows = self.connection.execute(
            "SELECT word, qtf, form_of FROM rag._query_terms(%s, %s)", [self.key, query]
        ).fetchall()
        return {word: qtf for word, qtf, _ in rows}, {word: form_of for word, _, form_of in rows}

    def distances(self, query: list[float]) -> dict[int, float]:
        """By the collection's distance; NaN where a vector has no direction, and so no cosine."""
        point = np.array(query, np.float16).astype(np.float64)
        found = {}
        for i, vector in self.vectors.items():
            if self.distance == "l2":
                found[i] = float(np.linalg.norm(vector - point))
            elif self.distance == "ip":
                found[i] = -float(vector @ point)
            else:
                norm = float(np.linalg.norm(vector) * np.linalg.norm(point))
                found[i] = 1 - float(vector @ point) / norm if norm else math.nan
        return found

    def nearest(self, query: list[float], limit: int, wanted: Mapping[str, Any]) -> Ranking:
        passing = self.passing(wanted)
        kept = [(i, d) for i, d in self.distances(query).items() if i in passing]
        return sorted(kept, key=lambda pair: (math.isnan(pair[1]), pair[1], pair[0]))[:limit]

    def cosines(self, query: list[float], of: set[int]) -> dict[int, float]:
        point = np.array(query, np.float16).astype(np.float64)
        found = {}
        for i in of & self.vectors.keys():
            norm = float(np.linalg.norm(self.vectors[i]) * np.linalg.norm(point))
            if norm:
                found[i] = float(self.vectors[i] @ point) / norm
        return found

    def hybrid(
        self,
        query: str,
        vector: list[float],
        *,
        limit: int,
        candidates: int,
        fusion: str,
        weights: tuple[float, float],
        wanted: Mapping[str, Any],
        per_document: int | None,
        duplicates: bool,
    ) -> Ranking:
        """What rag.search has to find, from docs/internals/fusion.md."""
        while True:
            near = [i for i, _ in self.nearest(vector, candidates, wanted)]
            said = [i for i, _ in self.keyword(query, candidates, wanted)]
            both = set(near) | set(said)
            if fusion == "rrf":
                ranking = fusion_oracle.rrf(zip(weights, (near, said), strict=True))
            else:
                scores = self.bm25.scores(*self.terms(query)) if said else {}
                keyword = {i: scores[i] for i in both & scores.keys()}
                cosines = self.cosines(vector, both) if near else {}
                if fusion == "weighted" and cosines and keyword:
                    share = weights[0] / sum(weights)
                else:
                    share = fusion_oracle.auto_weight(
                        cosines, dict.fromkeys(both, 0.0) | keyword, weights
                    )
                lowest = min(cosines.values(), default=0.0)  # for vectors without a direction too
                ranking = fusion_oracle.weighted(
                    dict.fromkeys(both, lowest) | cosines, keyword, share
                )
            kept = self.distinct(ranking, per_document, duplicates)
            if len(kept) >= limit or len(ranking) < candidates or candidates >= 10_000:
                return kept[:limit]
            candidates = min(10_000, 4 * candidates)

    def distinct(self, ranking: Ranking, per_document: int | None, duplicates: bool) -> Ranking:
        kept, seen, of_document = [], set(), Counter[object]()
        for i, score in ranking:
            if self.hash[i] in seen and not duplicates:
                continue
            seen.add(self.hash[i])
            of_document[self.document[i]] += 1
            if per_document is None or of_document[self.document[i]] <= per_document:
                kept.append((i, score))
        return kept


def same(found: Ranking, truth: Ranking, precision: float = 1e-6) -> bool:
    """Equal, but for the order of what lies nearer together than the precision.

    With the precision of keyword scores, equal scores have to stand in the order
    of their chunk ids.
    """
    if len(found) != len(truth) or len({i for i, _ in found}) != len(found):
        return False
    if any(not math.isclose(x, y, rel_tol=precision, abs_tol=precision) and not math.isnan(x + y)
           for (_, x), (_, y) in zip(found, truth, strict=True)):  # fmt: skip
        return False
    if precision <= 1e-6:
        return [i for i, _ in found] == [i for i, _ in truth]
    if not truth or math.isnan(truth[-1][1]):
        return True
    edge = truth[-1][1]  # what is as good as the last one may stand in its place
    near = precision * max(1.0, abs(edge)) * 2
    clear = {i for i, s in truth if abs(s - edge) > near}
    return clear <= {i for i, _ in found}
