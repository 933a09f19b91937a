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
    from rag_pg.client import AsyncCollection, AsyncRag, Collection, Rag
    from rag_pg.config import Settings
    from rag_pg.load import load_bytes
    from rag_pg.search import Hits
    from rag_pg.types import Answer, Citation, Document, Facet, Hit, Loaded, Progress

_LAZY = {
    "Answer": "rag_pg.types",
    "AsyncCollection": "rag_pg.client",
    "AsyncRag": "rag_pg.client",
    "Citation": "rag_pg.types",
    "Collection": "rag_pg.client",
    "Document": "rag_pg.types",
    "Facet": "rag_pg.types",
    "Hit": "rag_pg.types",
    "Hits": "rag_pg.search",
    "Loaded": "rag_pg.types",
    "Progress": "rag_pg.types",
    "load_bytes": "rag_pg.load",
    "Rag": "rag_pg.client",
    "Settings": "rag_pg.config",
}
__all__ = [
    "Answer",
    "AsyncCollection",
    "AsyncRag",
    "Citation",
    "Collection",
    "Document",
    "Facet",
    "Hit",
    "Hits",
    "Loaded",
    "Progress",
    "Rag",
    "Settings",
    *errors.__all__,
    "load_bytes",
]


def __getattr__(name: str) -> Any:
    """Import the client when it is first used: `rag-pg --help` stays quick."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
