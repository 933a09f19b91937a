"""a call of the user -> the package that does it.

`Rag`, `Collection` and their asynchronous likes.
"""

from rag_pg.answer import AskOptions
from rag_pg.client.aio import AsyncCollection, AsyncRag
from rag_pg.client.collection import Collection
from rag_pg.client.rag import Rag

__all__ = [
    "AskOptions",
    "AsyncCollection",
    "AsyncRag",
    "Collection",
    "Rag",
]
