"""The client for asyncio: the same calls, run in threads,
as many at once as the pool has connections.

A call is one statement and an embedding that is bound by the processor,
so threads are the right tool.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, update_wrapper
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, Unpack

from rag_pg.client.ask_options import AskOptions
from rag_pg.client.collection import Collection
from rag_pg.client.rag import Rag
from rag_pg.protocols import Embedder
from rag_pg.types import CollectionInfo, Document, Event

if TYPE_CHECKING:
    from rag_pg.worker import Worker

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)


class _Wrapper(Protocol[S_co]):
    """What stands for an object of the synchronous client, and runs its calls."""

    @property
    def _sync(self) -> S_co: ...

    async def run(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...


class Threaded(Generic[S, P, T]):
    """A method of the synchronous client as one that is awaited, with the same parameters."""

    def __init__(self, call: Callable[Concatenate[S, P], T]) -> None:
        self._call = call
        update_wrapper(self, call)  # type: ignore[arg-type]

    def __get__(
        self, wrapper: _Wrapper[S], owner: type | None = None
    ) -> Callable[P, Coroutine[Any, Any, T]]:
        if wrapper is None:
            return self

        async def awaited(*args: P.args, **kwargs: P.kwargs) -> T:
            return await wrapper.run(partial(self._call, wrapper._sync), *args, **kwargs)

        return update_wrapper(awaited, self._call)


class AsyncRag:
    """As `Rag`, with the same arguments: `async with AsyncRag(dsn) as rag:`.
    `run` takes any other call."""

    def __init__(self, dsn: str | None = None, **options: Any) -> None:
        self._sync = Rag(dsn, **options)
        self._threads = ThreadPoolExecutor(self._sync.settings.pool_size, "rag-pg")

    async def __aenter__(self) -> AsyncRag:
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
        self._threads.shutdown(wait=False)

    async def run(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run any call of the synchronous client in one of the threads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(call, *args, **kwargs))

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
        return AsyncCollection(self, await self.run(self._sync.get_collection, name))

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
    upgrade = Threaded(Rag.upgrade)
    collections = Threaded(Rag.collections)
    status = Threaded(Rag.status)
    usage_report = Threaded(Rag.usage_report)
    drop_collection = Threaded(Rag.drop_collection)
    adopt = Threaded(Rag.adopt)
    audit_table = Threaded(Rag.audit_table)
    embedder = Threaded(Rag.embedder)
    embedder_of = Threaded(Rag.embedder_of)
    reranker = Threaded(Rag.reranker)
    info = Threaded(Rag.info)
    import_eval_set = Threaded(Rag.import_eval_set)
    export_eval_set = Threaded(Rag.export_eval_set)
    export_eval_run = Threaded(Rag.export_eval_run)
    put_eval_queries = Threaded(Rag.put_eval_queries)
    eval_sets = Threaded(Rag.eval_sets)
    eval_queries = Threaded(Rag.eval_queries)
    drop_eval_set = Threaded(Rag.drop_eval_set)
    eval_runs = Threaded(Rag.eval_runs)
    drop_eval_run = Threaded(Rag.drop_eval_run)
    set_eval_baseline = Threaded(Rag.set_eval_baseline)
    eval_metrics = Threaded(Rag.eval_metrics)
    eval_report = Threaded(Rag.eval_report)
    compare_runs = Threaded(Rag.compare_runs)
    compare_queries = Threaded(Rag.compare_queries)
    judge_run = Threaded(Rag.judge_run)
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
        while (document := await self.run(next, found, None)) is not None:
            yield document

    async def stream(self, question: str, **options: Unpack[AskOptions]) -> AsyncIterator[Event]:
        """See Collection.stream."""
        events = self._sync.stream(question, **options)
        try:
            while (event := await self.run(next, events, None)) is not None:
                yield event
        finally:
            await self.run(events.close)

    refresh = Threaded(Collection.refresh)
    alter = Threaded(Collection.alter)
    add = Threaded(Collection.add)
    sync = Threaded(Collection.sync)
    add_chunks = Threaded(Collection.add_chunks)
    adopt = Threaded(Collection.adopt)
    audit = Threaded(Collection.audit)
    advise = Threaded(Collection.advise)
    delete = Threaded(Collection.delete)
    delete_many = Threaded(Collection.delete_many)
    spaces = Threaded(Collection.spaces)
    reembed = Threaded(Collection.reembed)
    rechunk = Threaded(Collection.rechunk)
    compare_spaces = Threaded(Collection.compare_spaces)
    activate_space = Threaded(Collection.activate_space)
    rollback_space = Threaded(Collection.rollback_space)
    drop_space = Threaded(Collection.drop_space)
    set_enrichment = Threaded(Collection.set_enrichment)
    estimate_extraction = Threaded(Collection.estimate_extraction)
    set_extraction = Threaded(Collection.set_extraction)
    estimate_contexts = Threaded(Collection.estimate_contexts)
    set_contexts = Threaded(Collection.set_contexts)
    enrichment = Threaded(Collection.enrichment)
    preview_enrichment = Threaded(Collection.preview_enrichment)
    index_field = Threaded(Collection.index_field)
    unindex_field = Threaded(Collection.unindex_field)
    fields = Threaded(Collection.fields)
    wait_until_searchable = Threaded(Collection.wait_until_searchable)
    search = Threaded(Collection.search)
    rewrite = Threaded(Collection.rewrite)
    snippets = Threaded(Collection.snippets)
    ask = Threaded(Collection.ask)
    versions = Threaded(Collection.versions)
    document_at = Threaded(Collection.document_at)
    diff_versions = Threaded(Collection.diff_versions)
    answers = Threaded(Collection.answers)
    feedback = Threaded(Collection.feedback)
    replay_answer = Threaded(Collection.replay_answer)
    add_logged_queries = Threaded(Collection.add_logged_queries)
    erase = Threaded(Collection.erase)
    count = Threaded(Collection.count)
    facets = Threaded(Collection.facets)
    select = Threaded(Collection.select)
    describe_metadata = Threaded(Collection.describe_metadata)
    aggregate_documents = Threaded(Collection.aggregate_documents)
    find_values = Threaded(Collection.find_values)
    document = Threaded(Collection.document)
    original = Threaded(Collection.original)
    stats = Threaded(Collection.stats)
    evaluate = Threaded(Collection.evaluate)
    sweep = Threaded(Collection.sweep)
    estimate_sweep = Threaded(Collection.estimate_sweep)
    calibrate = Threaded(Collection.calibrate)
    estimate_calibration = Threaded(Collection.estimate_calibration)
    calibration = Threaded(Collection.calibration)
    drop_calibration = Threaded(Collection.drop_calibration)
    import_eval_run = Threaded(Collection.import_eval_run)
    embed_eval_queries = Threaded(Collection.embed_eval_queries)
    eval_drift = Threaded(Collection.eval_drift)
    set_gate = Threaded(Collection.set_gate)
    drop_gate = Threaded(Collection.drop_gate)
    gates = Threaded(Collection.gates)
    check_gates = Threaded(Collection.check_gates)
    gate_checks = Threaded(Collection.gate_checks)
    replay = Threaded(Collection.replay)
    measure_recall = Threaded(Collection.measure_recall)
    recall_measures = Threaded(Collection.recall_measures)
    estimate_eval_queries = Threaded(Collection.estimate_eval_queries)
    generate_eval_queries = Threaded(Collection.generate_eval_queries)
