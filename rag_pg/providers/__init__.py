"""a name -> Embedder, LLM or Reranker.

The models of others; only this package imports an SDK.
"""

from rag_pg.providers.checks import check_shape
from rag_pg.providers.limits import TokenCounter, cost, prompt_budget, token_counter
from rag_pg.providers.llm_reranker import LLMReranker
from rag_pg.providers.registry import Models
from rag_pg.providers.structured import complete_json

__all__ = [
    "LLMReranker",
    "Models",
    "TokenCounter",
    "check_shape",
    "complete_json",
    "cost",
    "prompt_budget",
    "token_counter",
]
