"""a question -> Hits.

A question is embedded, searched for and its hits are reranked.
"""

from rag_pg.search.metering import accounted, asks_models, meter_search
from rag_pg.search.options import SearchOptions, StatementOptions, check_names
from rag_pg.search.rewrite import (
    EXPANSIONS,
    Rewritten,
    Variant,
    combine,
    find_period,
    local_time,
    read_history,
)
from rag_pg.search.search import Searcher

__all__ = [
    "EXPANSIONS",
    "Rewritten",
    "SearchOptions",
    "Searcher",
    "StatementOptions",
    "Variant",
    "accounted",
    "asks_models",
    "check_names",
    "combine",
    "find_period",
    "local_time",
    "meter_search",
    "read_history",
]
