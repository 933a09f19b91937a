"""a question -> Hits.

A question is embedded, searched for and its hits are reranked.
"""

from rag_pg.search.options import SearchOptions
from rag_pg.search.search import Hits, Searcher

__all__ = [
    "Hits",
    "SearchOptions",
    "Searcher",
]
