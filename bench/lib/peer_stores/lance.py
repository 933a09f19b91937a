"""Documentation: create_fts_index, query_type="hybrid", RRFReranker (its default).
In process, no server.

Its other fusion, LinearCombinationReranker, has its own weight of 0.7 for vectors.
Without a vector index, as its example does, it compares all vectors. Tuned: create_index, which
makes IVF_PQ as its documentation does first.
"""

from __future__ import annotations

import lancedb
import numpy as np
from lancedb.rerankers import LinearCombinationReranker, Reranker, RRFReranker
from lib.peer_stores import Documents, Search, Vectors, full_text

PACKAGES = ("lancedb",)


class Store:
    def __init__(self, folder: str, tuned: bool) -> None:
        self.tuned = tuned
        self.db = lancedb.connect(folder)

    def fill(self, documents: Documents, vectors: Vectors) -> None:
        rows = [
            {"id": key, "text": full_text(document), "vector": np.array(vectors[key], np.float32)}
            for key, document in documents.items()
        ]
        self.table = self.db.create_table("docs", rows)
        self.table.create_fts_index("text")
        if self.tuned:
            self.table.create_index(metric="cosine", vector_column_name="vector")

    def searches(self, limit: int) -> dict[str, Search]:
        table = self.table

        def hybrid(reranker: Reranker) -> Search:
            def run(text: str, vector: list[float]) -> list[str]:
                asked = table.search(query_type="hybrid").vector(vector).text(text)
                hits = asked.rerank(reranker=reranker).limit(limit).select(["id"]).to_list()
                return [hit["id"] for hit in hits]

            return run

        def keyword(text: str, vector: list[float]) -> list[str]:
            hits = table.search(text, query_type="fts").limit(limit).select(["id"]).to_list()
            return [hit["id"] for hit in hits]

        return {
            "rrf (default)": hybrid(RRFReranker()),
            "linear 0.7": hybrid(LinearCombinationReranker()),
            "keyword alone": keyword,
        }
