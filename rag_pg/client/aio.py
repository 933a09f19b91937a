"""The client for asyncio: the same calls, run in threads.

A statement is short, an answer waits for models: each kind of call has threads of its own, so that
answers, however many and slow, never stop a search.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack

from rag_pg.answer import AskOptions
from rag_pg.client.collection import Collection
from rag_pg.client.rag import Rag
from rag_pg.client.threaded import Kind, Threaded, kind_of_search
from rag_pg.deadline import Scope, Stopped
from rag_pg.errors import RagError
from rag_pg.protocols import Embedder
from rag_pg.threads import Threads
from rag_pg.types import Answer, CollectionInfo, Document, Event

if TYPE_CHECKING:
    from rag_pg.worker import Worker

P = ParamSpec("P")
T = TypeVar("T")
LONG_AT_ONCE = 64  # calls that wait for models, beside which the others have their own threads


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

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for scope in [*self._under_way]:
            scope.stop()
        await self.close()
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)

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
        self,
        name: str,
        *,
        model: str | None = None,
        language: str | None = None,
        distance: str | None = None,
        dimensions: int | None = None,
        chunking: Mapping[str, Any] | None = None,
        index_options: Mapping[str, Any] | None = None,
        preset: str | None = None,
    ) -> AsyncCollection:
        """See Rag.collection."""
        opened = await self.run(
            self._sync.collection,
            name,
            model=model,
            language=language,
            distance=distance,
            dimensions=dimensions,
            chunking=chunking,
            index_options=index_options,
            preset=preset,
        )
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

    open = Threaded(Rag.open)
    close = Threaded(Rag.close)
    upgrade = Threaded(Rag.upgrade, "long")
    collections = Threaded(Rag.collections)
    status = Threaded(Rag.status)
    usage_report = Threaded(Rag.usage_report)
    drop_collection = Threaded(Rag.drop_collection)
    adopt = Threaded(Rag.adopt, "long")
    audit_table = Threaded(Rag.audit_table, "long")
    embedder = Threaded(Rag.embedder, "long")
    embedder_of = Threaded(Rag.embedder_of, "long")
    reranker = Threaded(Rag.reranker, "long")
    info = Threaded(Rag.info)
    import_eval_set = Threaded(Rag.import_eval_set, "long")
    export_eval_set = Threaded(Rag.export_eval_set, "long")
    export_eval_run = Threaded(Rag.export_eval_run, "long")
    put_eval_queries = Threaded(Rag.put_eval_queries, "long")
    eval_sets = Threaded(Rag.eval_sets)
    eval_queries = Threaded(Rag.eval_queries)
    drop_eval_set = Threaded(Rag.drop_eval_set)
    eval_runs = Threaded(Rag.eval_runs)
    drop_eval_run = Threaded(Rag.drop_eval_run)
    set_eval_baseline = Threaded(Rag.set_eval_baseline)
    eval_metrics = Threaded(Rag.eval_metrics)
    eval_report = Threaded(Rag.eval_report, "long")
    compare_runs = Threaded(Rag.compare_runs)
    compare_queries = Threaded(Rag.compare_queries)
    judge_run = Threaded(Rag.judge_run, "long")
    measure_judge = Threaded(Rag.measure_judge)
    eval_judges = Threaded(Rag.eval_judges)
    label_run = Threaded(Rag.label_run)
    labelled_results = Threaded(Rag.labelled_results)
    cache_stats = Threaded(Rag.cache_stats)
    clear_cache = Threaded(Rag.clear_cache)
    expose_view = Threaded(Rag.expose_view)
    list_views = Threaded(Rag.list_views)
    query_view = Threaded(Rag.query_view)
    hide_view = Threaded(Rag.hide_view)


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

    async def documents(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int | None = None,
        uri_prefix: str | None = None,
    ) -> AsyncIterator[Document]:
        """See Collection.documents."""
        found = self._sync.documents(filter=filter, limit=limit, uri_prefix=uri_prefix)
        following = partial(next, found, None)
        while (document := await self._run("statements", following, can_stop=False)) is not None:
            yield document

    async def stream(self, question: str, **options: Unpack[AskOptions]) -> AsyncIterator[Event]:
        """See Collection.stream. Leaving the loop ends the work."""
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event | None] = asyncio.Queue()

        def listen(event: Event) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        def end(task: asyncio.Task[Answer]) -> None:
            events.put_nowait(None)  # behind all that was told
            _ = task.cancelled() or task.exception()  # which may be nobody's to read

        answer = partial(self._sync._answer, question, options, listener=listen)
        answering = loop.create_task(self._run("long", answer, can_stop=True))
        answering.add_done_callback(end)
        try:
            while (event := await events.get()) is not None:
                yield event
            yield Event(kind="answer", answer=await answering)
        finally:
            answering.cancel()

    refresh = Threaded(Collection.refresh)
    alter = Threaded(Collection.alter)
    add = Threaded(Collection.add, "long")
    sync = Threaded(Collection.sync, "long")
    add_chunks = Threaded(Collection.add_chunks, "long")
    adopt = Threaded(Collection.adopt, "long")
    audit = Threaded(Collection.audit, "long")
    advise = Threaded(Collection.advise, "long")
    delete = Threaded(Collection.delete)
    delete_many = Threaded(Collection.delete_many, "long")
    spaces = Threaded(Collection.spaces)
    reembed = Threaded(Collection.reembed, "long")
    rechunk = Threaded(Collection.rechunk, "long")
    compare_spaces = Threaded(Collection.compare_spaces, "long")
    activate_space = Threaded(Collection.activate_space, "long")
    rollback_space = Threaded(Collection.rollback_space, "long")
    drop_space = Threaded(Collection.drop_space)
    set_enrichment = Threaded(Collection.set_enrichment, "long")
    estimate_extraction = Threaded(Collection.estimate_extraction, "long")
    set_extraction = Threaded(Collection.set_extraction, "long")
    estimate_contexts = Threaded(Collection.estimate_contexts, "long")
    set_contexts = Threaded(Collection.set_contexts, "long")
    enrichment = Threaded(Collection.enrichment)
    preview_enrichment = Threaded(Collection.preview_enrichment, "long")
    index_field = Threaded(Collection.index_field)
    unindex_field = Threaded(Collection.unindex_field)
    fields = Threaded(Collection.fields)
    wait_until_searchable = Threaded(Collection.wait_until_searchable, "long")
    search = Threaded(Collection.search, kind_of_search, can_stop=True)
    rewrite = Threaded(Collection.rewrite, "long", can_stop=True)
    snippets = Threaded(Collection.snippets)
    ask = Threaded(Collection.ask, "long", can_stop=True)
    versions = Threaded(Collection.versions)
    document_at = Threaded(Collection.document_at)
    diff_versions = Threaded(Collection.diff_versions)
    answers = Threaded(Collection.answers)
    feedback = Threaded(Collection.feedback)
    replay_answer = Threaded(Collection.replay_answer)
    add_logged_queries = Threaded(Collection.add_logged_queries)
    erase = Threaded(Collection.erase, "long")
    count = Threaded(Collection.count)
    facets = Threaded(Collection.facets)
    select = Threaded(Collection.select)
    describe_metadata = Threaded(Collection.describe_metadata)
    aggregate_documents = Threaded(Collection.aggregate_documents)
    find_values = Threaded(Collection.find_values)
    document = Threaded(Collection.document)
    original = Threaded(Collection.original)
    stats = Threaded(Collection.stats)
    evaluate = Threaded(Collection.evaluate, "long")
    sweep = Threaded(Collection.sweep, "long")
    estimate_sweep = Threaded(Collection.estimate_sweep, "long")
    calibrate = Threaded(Collection.calibrate, "long")
    estimate_calibration = Threaded(Collection.estimate_calibration, "long")
    calibration = Threaded(Collection.calibration)
    drop_calibration = Threaded(Collection.drop_calibration)
    import_eval_run = Threaded(Collection.import_eval_run, "long")
    embed_eval_queries = Threaded(Collection.embed_eval_queries, "long")
    eval_drift = Threaded(Collection.eval_drift)
    set_gate = Threaded(Collection.set_gate, "long")
    drop_gate = Threaded(Collection.drop_gate)
    gates = Threaded(Collection.gates)
    check_gates = Threaded(Collection.check_gates, "long")
    gate_checks = Threaded(Collection.gate_checks)
    replay = Threaded(Collection.replay, "long")
    measure_recall = Threaded(Collection.measure_recall, "long")
    recall_measures = Threaded(Collection.recall_measures)
    estimate_eval_queries = Threaded(Collection.estimate_eval_queries, "long")
    generate_eval_queries = Threaded(Collection.generate_eval_queries, "long")
