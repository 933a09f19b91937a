"""The client for asyncio: the same calls, run in threads.

A statement is short, an answer waits for models: each kind of call has threads of its own, so that
answers, however many and slow, never stop a search. What stands between two comments is written by
`make docs`, from the classes of the synchronous client.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack

from rag_pg.answer import AskOptions
from rag_pg.client.admin import Admin
from rag_pg.client.answers import Answers
from rag_pg.client.chunks import Chunks
from rag_pg.client.collection import Collection
from rag_pg.client.enrichment import Enrichment
from rag_pg.client.jobs import Jobs
from rag_pg.client.metadata import Metadata
from rag_pg.client.rag import Rag
from rag_pg.client.spaces import Spaces
from rag_pg.client.threaded import Beside, Inner, Kind, Runs, Threaded
from rag_pg.client.versions import Versions
from rag_pg.client.views import Views
from rag_pg.config import Settings
from rag_pg.deadline import Scope, Stopped
from rag_pg.errors import RagError
from rag_pg.protocols import Embedder
from rag_pg.threads import Threads
from rag_pg.types import Answer, CollectionInfo, CollectionOptions, Document, Event

if TYPE_CHECKING:
    from rag_pg.evaluation.client import AsyncCollectionEvaluation, AsyncEvaluation
    from rag_pg.worker import Worker

P = ParamSpec("P")
T = TypeVar("T")
LONG_AT_ONCE = 64  # calls that wait for models, beside which the others have their own threads


# written by make docs
class AsyncJobs(Beside[Jobs]):
    """As `Jobs`."""

    list = Threaded(Jobs.list)
    counts = Threaded(Jobs.counts)
    explain = Threaded(Jobs.explain)
    retry = Threaded(Jobs.retry)


class AsyncViews(Beside[Views]):
    """As `Views`."""

    list = Threaded(Views.list)
    expose = Threaded(Views.expose)
    query = Threaded(Views.query)
    hide = Threaded(Views.hide)


class AsyncAdmin(Beside[Admin]):
    """As `Admin`."""

    doctor = Threaded(Admin.doctor)
    check = Threaded(Admin.check)
    maintain = Threaded(Admin.maintain)
    metrics = Threaded(Admin.metrics)
    status = Threaded(Admin.status)
    workers = Threaded(Admin.workers)
    budgets = Threaded(Admin.budgets)
    stats = Threaded(Admin.stats)
    spaces = Threaded(Admin.spaces)
    usage = Threaded(Admin.usage)
    cache_stats = Threaded(Admin.cache_stats)
    clear_cache = Threaded(Admin.clear_cache)
    audit_table = Threaded(Admin.audit_table)


class AsyncSpaces(Beside[Spaces]):
    """As `Spaces`."""

    list = Threaded(Spaces.list)
    create = Threaded(Spaces.create)
    compare = Threaded(Spaces.compare)
    activate = Threaded(Spaces.activate)
    rollback = Threaded(Spaces.rollback)
    drop = Threaded(Spaces.drop)


class AsyncChunks(Beside[Chunks]):
    """As `Chunks`."""

    list = Threaded(Chunks.list)
    embeddings = Threaded(Chunks.embeddings)
    around = Threaded(Chunks.around)
    snippets = Threaded(Chunks.snippets)
    why_not = Threaded(Chunks.why_not)


class AsyncMetadata(Beside[Metadata]):
    """As `Metadata`."""

    index = Threaded(Metadata.index)
    unindex = Threaded(Metadata.unindex)
    fields = Threaded(Metadata.fields)
    describe = Threaded(Metadata.describe)
    facets = Threaded(Metadata.facets)
    merge = Threaded(Metadata.merge)
    find_values = Threaded(Metadata.find_values)
    select = Threaded(Metadata.select)
    aggregate = Threaded(Metadata.aggregate)


class AsyncVersions(Beside[Versions]):
    """As `Versions`."""

    list = Threaded(Versions.list)
    at = Threaded(Versions.at)
    diff = Threaded(Versions.diff)


class AsyncAnswers(Beside[Answers]):
    """As `Answers`."""

    list = Threaded(Answers.list)
    feedback = Threaded(Answers.feedback)
    replay = Threaded(Answers.replay)


class AsyncEnrichment(Beside[Enrichment]):
    """As `Enrichment`."""

    list = Threaded(Enrichment.list)
    set_rules = Threaded(Enrichment.set_rules)
    preview_rules = Threaded(Enrichment.preview_rules)
    estimate_extraction = Threaded(Enrichment.estimate_extraction)
    set_extraction = Threaded(Enrichment.set_extraction)
    estimate_contexts = Threaded(Enrichment.estimate_contexts)
    set_contexts = Threaded(Enrichment.set_contexts)


# end


class AsyncRag:
    """As `Rag`, with the same arguments: `async with AsyncRag(dsn) as rag:`.
    `run` takes any other call."""

    def __init__(self, dsn: str | None = None, **options: Any) -> None:
        self._sync = Rag(dsn, **options)
        size = self._sync.settings.pool_size
        self._threads: dict[Kind, Threads] = {
            "statements": Threads(size, "rag-pg-statement"),
            "search": Threads(size, "rag-pg-search"),
            "long": Threads(LONG_AT_ONCE, "rag-pg-long"),
        }
        self._under_way: set[Scope] = set()

    async def __aenter__(self) -> AsyncRag:
        await self.open()
        return self

    async def __aexit__(self, *error: object) -> None:
        for scope in [*self._under_way]:
            scope.stop()
        await self.close()
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)

    @property
    def sync(self) -> Rag:
        """The synchronous client, whose calls this one runs."""
        return self._sync

    @property
    def settings(self) -> Settings:
        """The settings of this process."""
        return self._sync.settings

    async def run(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run any call of the synchronous client in a thread, of those that may wait long."""
        return await self._run("long", partial(call, *args, **kwargs), can_stop=False)

    async def _run(self, kind: Kind, call: Callable[[], T], *, can_stop: bool) -> T:
        """Run a call in a thread of its kind. can_stop: when nobody awaits it any more it waits for
        no model and no statement."""
        loop, scope = asyncio.get_running_loop(), Scope(can_stop=can_stop)

        def run() -> T:
            with scope.entered():
                return call()

        self._under_way.add(scope)
        try:
            return await loop.run_in_executor(self._threads[kind], run)
        except Stopped:
            raise RagError("the client was closed before this was done") from None
        finally:
            self._under_way.discard(scope)
            if can_stop:
                scope.stop()

    async def collection(
        self, name: str, *, embedder: Embedder | None = None, **options: Unpack[CollectionOptions]
    ) -> AsyncCollection:
        """See Rag.collection."""
        opened = await self.run(partial(self._sync.collection, name, embedder=embedder, **options))
        return AsyncCollection(self, opened)

    async def get_collection(self, name: str) -> AsyncCollection:
        """See Rag.get_collection."""
        get = partial(self._sync.get_collection, name)
        return AsyncCollection(self, await self._run("statements", get, can_stop=False))

    def with_settings(self, settings: Mapping[str, str]) -> AsyncRag:
        """See Rag.with_settings."""
        other = copy.copy(self)
        other._sync = self._sync.with_settings(settings)
        return other

    async def worker(self, collections: Sequence[str] | None = None, **options: Any) -> Worker:
        """See Rag.worker."""
        return await self.run(self._sync.worker, collections, **options)

    @property
    def evaluation(self) -> AsyncEvaluation:
        """See Rag.evaluation."""
        from rag_pg.evaluation.client import AsyncEvaluation  # an annexe

        return AsyncEvaluation(self._run, self._sync.evaluation)

    # written by make docs
    open = Threaded(Rag.open)
    close = Threaded(Rag.close)
    upgrade = Threaded(Rag.upgrade)
    jobs = Inner(AsyncJobs)
    views = Inner(AsyncViews)
    admin = Inner(AsyncAdmin)
    collections = Threaded(Rag.collections)
    drop_collection = Threaded(Rag.drop_collection)
    export_collection = Threaded(Rag.export_collection)
    import_collection = Threaded(Rag.import_collection)
    adopt = Threaded(Rag.adopt)
    embedder = Threaded(Rag.embedder)
    embedder_of = Threaded(Rag.embedder_of)
    reranker = Threaded(Rag.reranker)
    info = Threaded(Rag.info)
    # end


class AsyncEventStream(AsyncIterator[Event]):
    """As `EventStream`. Made by `AsyncCollection.stream`."""

    def __init__(self, run: Runs, answer: Callable[..., Answer]) -> None:
        self._run, self._answer = run, answer
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._answering: asyncio.Task[Answer] | None = None
        self._is_over = False

    async def __anext__(self) -> Event:
        if self._is_over:
            raise StopAsyncIteration
        if self._answering is None:
            self._answering = self._begin()
        try:
            event = await self._events.get()
            if event is None and not self._is_over:
                event = Event(kind="answer", answer=await self._answering)
                self._is_over = True
        except BaseException:
            self.cancel()
            raise
        if event is None or (self._is_over and event.kind != "answer"):
            raise StopAsyncIteration
        return event

    def _begin(self) -> asyncio.Task[Answer]:
        # Nothing here holds this object, whose end is that of the work.
        self._loop = loop = asyncio.get_running_loop()
        events = self._events

        def listen(event: Event) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        def end(task: asyncio.Task[Answer]) -> None:
            events.put_nowait(None)  # behind all that was told
            _ = task.cancelled() or task.exception()  # which may be nobody's to read

        answer = partial(self._answer, listener=listen)
        answering = loop.create_task(self._run("long", answer, can_stop=True))
        answering.add_done_callback(end)
        return answering

    def cancel(self) -> None:
        """End the work, from any thread: it waits for no model and no statement any more, and there
        is no further event."""
        self._is_over = True
        if self._answering is not None and not self._answering.done():
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._answering.cancel)

    async def aclose(self) -> None:
        """See `cancel`."""
        self.cancel()

    def __del__(self) -> None:
        self.cancel()


class AsyncCollection:
    """As `Collection`. Made by `AsyncRag.collection`.
    `progress=` is called in the thread that works."""

    def __init__(self, rag: AsyncRag, collection: Collection) -> None:
        self.run = rag.run
        self._run = rag._run
        self._sync = collection
        self.rag = rag
        self.name = collection.name

    @property
    def info(self) -> CollectionInfo:
        """The collection's settings, as they were when it was opened or refreshed."""
        return self._sync.info

    @property
    def embedder(self) -> Embedder:
        """See Collection.embedder. Its first use opens the model: `await docs.run(lambda:
        docs.embedder)`."""
        return self._sync.embedder

    async def list(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int | None = None,
        uri_prefix: str | None = None,
        content: bool = False,
        after: str = "",
    ) -> AsyncIterator[Document]:
        """See Collection.list."""
        found = self._sync.list(
            filter=filter, limit=limit, uri_prefix=uri_prefix, content=content, after=after
        )
        following = partial(next, found, None)
        while (document := await self._run("statements", following, can_stop=False)) is not None:
            yield document

    def stream(self, question: str, **options: Unpack[AskOptions]) -> AsyncEventStream:
        """See Collection.stream. Its reader waits in no thread."""
        return AsyncEventStream(self._run, partial(self._sync._opened.answer, question, options))

    @property
    def evaluation(self) -> AsyncCollectionEvaluation:
        """See Collection.evaluation."""
        from rag_pg.evaluation.client import AsyncCollectionEvaluation  # an annexe

        return AsyncCollectionEvaluation(self._run, self._sync.evaluation)

    # written by make docs
    refresh = Threaded(Collection.refresh)
    spaces = Inner(AsyncSpaces)
    chunks = Inner(AsyncChunks)
    metadata = Inner(AsyncMetadata)
    versions = Inner(AsyncVersions)
    answers = Inner(AsyncAnswers)
    enrichment = Inner(AsyncEnrichment)
    add = Threaded(Collection.add)
    sync = Threaded(Collection.sync)
    add_chunks = Threaded(Collection.add_chunks)
    delete = Threaded(Collection.delete)
    clear = Threaded(Collection.clear)
    wait = Threaded(Collection.wait)
    get = Threaded(Collection.get)
    get_many = Threaded(Collection.get_many)
    original = Threaded(Collection.original)
    count = Threaded(Collection.count)
    search = Threaded(Collection.search)
    rewrite = Threaded(Collection.rewrite)
    ask = Threaded(Collection.ask)
    stats = Threaded(Collection.stats)
    alter = Threaded(Collection.alter)
    rechunk = Threaded(Collection.rechunk)
    erase = Threaded(Collection.erase)
    # end
