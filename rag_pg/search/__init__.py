"""a question -> Hits.

A question is embedded, searched for and its hits are reranked.
"""

from rag_pg.search.rerank import SECONDS, rerank_hits, reranked_limit

__all__ = [
    "SECONDS",
    "rerank_hits",
    "reranked_limit",
]
