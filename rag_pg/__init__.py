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

_LAZY = {
    "AgentTool": "rag_pg.types",
    "McpTools": "rag_pg.answer",
    "SqlFunction": "rag_pg.answer",
    "function_tool": "rag_pg.answer",
    "ToolResult": "rag_pg.types",
    "Answer": "rag_pg.types",
    "AnswerContext": "rag_pg.answer",
    "AsyncCollection": "rag_pg.client",
    "AsyncRag": "rag_pg.client",
    "Citation": "rag_pg.types",
    "Freshness": "rag_pg.types",
    "Collection": "rag_pg.client",
    "Chunk": "rag_pg.types",
    "Document": "rag_pg.types",
    "Event": "rag_pg.types",
    "ExposedView": "rag_pg.types",
    "Facet": "rag_pg.types",
    "Hit": "rag_pg.types",
    "Hits": "rag_pg.types",
    "Loaded": "rag_pg.types",
    "Progress": "rag_pg.types",
    "as_table": "rag_pg.types",
    "load_bytes": "rag_pg.load",
    "Rag": "rag_pg.client",
    "Settings": "rag_pg.config",
    "AddReport": "rag_pg.types",
    "AdoptReport": "rag_pg.types",
    "ChunkCount": "rag_pg.types",
    "Cache": "rag_pg.cache",
    "CacheStats": "rag_pg.types",
    "CollectionInfo": "rag_pg.types",
    "CollectionStats": "rag_pg.types",
    "AuditFinding": "rag_pg.types",
    "Finding": "rag_pg.types",
    "Completion": "rag_pg.types",
    "Message": "rag_pg.types",
    "JobCounts": "rag_pg.types",
    "LoadFailure": "rag_pg.types",
    "Source": "rag_pg.types",
    "Space": "rag_pg.types",
    "Step": "rag_pg.types",
    "Strategy": "rag_pg.answer",
    "register_strategy": "rag_pg.answer",
    "set_tracer": "rag_pg.tracing",
    "SpaceComparison": "rag_pg.types",
    "StatusLine": "rag_pg.types",
    "SyncReport": "rag_pg.types",
    "Capabilities": "rag_pg.types",
    "Tool": "rag_pg.types",
    "ToolCall": "rag_pg.types",
    "Usage": "rag_pg.types",
    "Embedder": "rag_pg.protocols",
    "LLM": "rag_pg.protocols",
    "Reranker": "rag_pg.protocols",
    "Rewritten": "rag_pg.search",
    "Variant": "rag_pg.search",
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
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
