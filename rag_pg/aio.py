"""The client for asyncio: the same calls, run in threads, as many at once as the pool has connections.

A call is one statement and an embedding that is bound by the processor, so threads are the right tool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from rag_pg.adopt import AdoptReport
from rag_pg.collection import Collection, Hits
from rag_pg.db_connect import POOL_SIZE
from rag_pg.ingest import Source
from rag_pg.models import AddReport, Answer, CollectionInfo, CollectionStats, Document, Facet, Hit
from rag_pg.rag import Rag
from rag_pg.sync import SyncReport

P = ParamSpec("P")
T = TypeVar("T")


class AsyncRag:
    """As `Rag`, with the same arguments: `async with AsyncRag(dsn) as rag:`."""

    def __init__(self, dsn: str | None = None, **options: Any) -> None:
        self._rag = Rag(dsn, **options)
        self._threads = ThreadPoolExecutor(POOL_SIZE, "rag-pg")

    async def __aenter__(self) -> AsyncRag:
        await self.run(self._rag.open)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.run(self._rag.close)
        self._threads.shutdown(wait=False)

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run any call of the synchronous client in one of the threads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(call, *args, **kwargs))

    async def collection(self, name: str, **options: Any) -> AsyncCollection:
        """See Rag.collection."""
        return AsyncCollection(self, await self.run(self._rag.collection, name, **options))

    async def collections(self) -> list[CollectionInfo]:
        """See Rag.collections."""
        return await self.run(self._rag.collections)

    async def adopt(self, table: str, into: str, *, layout: str, **options: Any) -> AdoptReport:
        """See Rag.adopt."""
        return await self.run(self._rag.adopt, table, into, layout=layout, **options)

    async def drop_collection(self, name: str) -> None:
        """See Rag.drop_collection."""
        await self.run(self._rag.drop_collection, name)


class AsyncCollection:
    """As `Collection`. Made by `AsyncRag.collection`."""

    def __init__(self, rag: AsyncRag, collection: Collection) -> None:
        self._run = rag.run
        self._sync = collection
        self.name = collection.name

    async def add(self, *sources: Source, wait: bool = True) -> AddReport:
        """See Collection.add."""
        return await self._run(self._sync.add, *sources, wait=wait)

    async def sync(self, folder: str | Path, *, wait: bool = True) -> SyncReport:
        """See Collection.sync."""
        return await self._run(self._sync.sync, folder, wait=wait)

    async def add_chunks(self, chunks: Iterable[Mapping[str, Any]], *, wait: bool = True) -> int:
        """See Collection.add_chunks."""
        return await self._run(self._sync.add_chunks, chunks, wait=wait)

    async def adopt(self, table: str, *, layout: str, **options: Any) -> AdoptReport:
        """See Collection.adopt."""
        return await self._run(self._sync.adopt, table, layout=layout, **options)

    async def search(self, query: str, **options: Any) -> Hits:
        """See Collection.search."""
        return await self._run(self._sync.search, query, **options)

    async def ask(self, question: str, **options: Any) -> Answer:
        """See Collection.ask."""
        return await self._run(self._sync.ask, question, **options)

    async def index_field(self, field: str, type: str) -> None:
        """See Collection.index_field."""
        await self._run(self._sync.index_field, field, type)

    async def delete(self, uri: str) -> bool:
        """See Collection.delete."""
        return await self._run(self._sync.delete, uri)

    async def count(self, **options: Any) -> int:
        """See Collection.count."""
        return await self._run(self._sync.count, **options)

    async def snippets(self, query: str, hits: Sequence[Hit], **options: Any) -> list[str]:
        """See Collection.snippets."""
        return await self._run(self._sync.snippets, query, hits, **options)

    async def facets(self, field: str, **options: Any) -> list[Facet]:
        """See Collection.facets."""
        return await self._run(self._sync.facets, field, **options)

    async def select(self, **options: Any) -> list[Document]:
        """See Collection.select."""
        return await self._run(self._sync.select, **options)

    async def document(self, uri: str) -> Document:
        """See Collection.document."""
        return await self._run(self._sync.document, uri)

    async def stats(self) -> CollectionStats:
        """See Collection.stats."""
        return await self._run(self._sync.stats)
