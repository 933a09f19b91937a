"""a name -> Embedder, LLM or Reranker.

The models of others; only this package imports an SDK.
"""

from rag_pg.providers.account import LEAST_ANSWER, Account
from rag_pg.providers.bounds import Bounds
from rag_pg.providers.checks import failing_as
from rag_pg.providers.embedding import embed_documents, embed_queries, embed_query
from rag_pg.providers.limits import TokenCounter, cost, prompt_budget, token_counter
from rag_pg.providers.llm_reranker import LLMReranker
from rag_pg.providers.registry import Models
from rag_pg.providers.structured import LEFT_OUT, complete_json, left_out

__all__ = [
    "LEAST_ANSWER",
    "LEFT_OUT",
    "Account",
    "Bounds",
    "LLMReranker",
    "Models",
    "TokenCounter",
    "complete_json",
    "cost",
    "embed_documents",
    "embed_queries",
    "embed_query",
    "failing_as",
    "left_out",
    "prompt_budget",
    "token_counter",
]
