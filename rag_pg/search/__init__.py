"""a question -> Hits.

A question is embedded, searched for and its hits are reranked.
"""

from rag_pg.search.metering import (
    accounted,
    asks_models,
    drop_llm_reranker,
    meter_reranker,
    open_helper,
)
from rag_pg.search.options import SearchOptions, StatementOptions, check_names
from rag_pg.search.rerank import LIMIT_MAX, Scorer
from rag_pg.search.rewrite import (
    EXPANSIONS,
    Rewritten,
    Variant,
    combine,
    find_period,
    local_time,
    read_history,
    test_in_words,
)
from rag_pg.search.search import Searcher, check_query
