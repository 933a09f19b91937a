"""RAG inside PostgreSQL.

from rag_pg import Rag

with Rag("postgresql://…") as rag:
    docs = rag.collection("docs")
    docs.add("handbook/")
    print(docs.ask("How do I reset my password?").text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_pg import errors
from rag_pg.errors import *  # noqa: F403
from rag_pg.version import __version__ as __version__

if TYPE_CHECKING:
    from rag_pg.answer import (
        AnswerContext,
        McpTools,
        SqlFunction,
        Strategy,
        function_tool,
        register_strategy,
    )
    from rag_pg.cache import Cache
    from rag_pg.client import AsyncCollection, AsyncRag, Collection, Rag
    from rag_pg.config import Settings
    from rag_pg.load import load_bytes
    from rag_pg.protocols import LLM, Embedder, Reranker
    from rag_pg.search import Rewritten, Variant
    from rag_pg.tracing import set_tracer
    from rag_pg.types import (
        AddReport,
        AdoptReport,
        AgentTool,
        Answer,
        AuditFinding,
        CacheStats,
        Capabilities,
        Chunk,
        ChunkCount,
        Citation,
        CollectionInfo,
        CollectionStats,
        Completion,
        Document,
        Event,
        ExposedView,
        Facet,
        Finding,
        Freshness,
        Hit,
        Hits,
        JobCounts,
        Loaded,
        LoadFailure,
        Message,
        Progress,
        Source,
        Space,
        SpaceComparison,
        StatusLine,
        Step,
        SyncReport,
        Tool,
        ToolCall,
        ToolResult,
        Usage,
        as_table,
    )

# Where a name stands that is none of rag_pg.types.
_MODULES = {
    "AnswerContext": "answer",
    "AsyncCollection": "client",
    "AsyncRag": "client",
    "Cache": "cache",
    "Collection": "client",
    "Embedder": "protocols",
    "LLM": "protocols",
    "McpTools": "answer",
    "Rag": "client",
    "Reranker": "protocols",
    "Rewritten": "search",
    "Settings": "config",
    "SqlFunction": "answer",
    "Strategy": "answer",
    "Variant": "search",
    "function_tool": "answer",
    "load_bytes": "load",
    "register_strategy": "answer",
    "set_tracer": "tracing",
}
__all__ = [
    "AddReport",
    "AdoptReport",
    "ChunkCount",
    "AgentTool",
    "McpTools",
    "SqlFunction",
    "ToolResult",
    "function_tool",
    "Answer",
    "Capabilities",
    "AnswerContext",
    "AsyncCollection",
    "AsyncRag",
    "Cache",
    "CacheStats",
    "Citation",
    "Collection",
    "CollectionInfo",
    "CollectionStats",
    "Chunk",
    "Document",
    "Embedder",
    "Event",
    "ExposedView",
    "Facet",
    "AuditFinding",
    "Finding",
    "Freshness",
    "Completion",
    "Message",
    "Hit",
    "Hits",
    "JobCounts",
    "LLM",
    "LoadFailure",
    "Loaded",
    "Progress",
    "Rag",
    "Reranker",
    "Rewritten",
    "Settings",
    "Source",
    "Space",
    "SpaceComparison",
    "StatusLine",
    "Step",
    "Strategy",
    "SyncReport",
    "Tool",
    "ToolCall",
    "Usage",
    "Variant",
    *errors.__all__,
    "as_table",
    "load_bytes",
    "register_strategy",
    "set_tracer",
]


def __getattr__(name: str) -> Any:
    """Import the client when it is first used: `rag-pg --help` stays quick."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module(f"rag_pg.{_MODULES.get(name, 'types')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
