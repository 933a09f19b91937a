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

if TYPE_CHECKING:
    from rag_pg.aio import AsyncCollection, AsyncRag
    from rag_pg.collection import Collection, Hits
    from rag_pg.config import Settings
    from rag_pg.load import load_bytes
    from rag_pg.models import Answer, Citation, Document, Facet, Hit, Loaded, Progress
    from rag_pg.rag import Rag

__version__ = "0.1.0"
_LAZY = {
    "Answer": "rag_pg.models",
    "AsyncCollection": "rag_pg.aio",
    "AsyncRag": "rag_pg.aio",
    "Citation": "rag_pg.models",
    "Collection": "rag_pg.collection",
    "Document": "rag_pg.models",
    "Facet": "rag_pg.models",
    "Hit": "rag_pg.models",
    "Hits": "rag_pg.collection",
    "Loaded": "rag_pg.models",
    "Progress": "rag_pg.models",
    "load_bytes": "rag_pg.load",
    "Rag": "rag_pg.rag",
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
