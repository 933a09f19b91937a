"""a call of the user -> the package that does it.

`Rag`, `Collection` and their asynchronous likes.
"""

from rag_pg.answer import AskOptions
from rag_pg.client.aio import AsyncCollection, AsyncRag
from rag_pg.client.collection import Collection
from rag_pg.client.enrichment import CONTEXT_TOKENS, Enrichment
from rag_pg.client.opened import OpenCollection
from rag_pg.client.rag import Rag

__all__ = [
    "CONTEXT_TOKENS",
    "AskOptions",
    "AsyncCollection",
    "AsyncRag",
    "Collection",
    "Enrichment",
    "OpenCollection",
    "Rag",
]
