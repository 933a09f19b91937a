"""Embedding spaces of a collection: build one with another model, compare, switch, go back;
cut again."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rag_pg.chunk import Chunking, check_chunking
from rag_pg.db import Compared, Database
from rag_pg.errors import InvalidInput, InvalidQuery, ModelUnavailable, NotFound, NotReady
from rag_pg.ingest.wait import POLL_SECONDS, OpenWorker, Report, work_backlog
from rag_pg.providers import Models, embed_query
from rag_pg.types import Progress, Space, SpaceComparison

if TYPE_CHECKING:
    from rag_pg.worker import Worker

LONGEST = 8192  # tokens of a chunk
Query = str | Mapping[str, Any]


def create_space(
    database: Database,
    models: Models,
    name: str,
    model: str,
    distance: str,
    index_options: Mapping[str, Any],
) -> int:
    """Begin a space for `model`, when that reads the collection's chunks whole
    and is not the active one."""
    info = database.get_collection(name)
    longest = LONGEST
    with suppress(InvalidInput, ModelUnavailable):  # vectors may be brought ready-made
        longest = models.embedder(info.model).max_tokens
    tokens = Chunking.read(info.chunking, longest).max_tokens
    embedder = models.embedder(model)
    check_chunking({**info.chunking, "max_tokens": tokens}, embedder)
    if info.model == model and info.fingerprint == embedder.fingerprint:
        raise InvalidInput(
            f"collection {name!r} has the vectors of {model!r} already: name another model"
        )
    return database.value(
        int,
        "create_space",
        collection=name,
        model=model,
        dimensions=embedder.dimensions,
        distance=distance,
        index_options=index_options,
    )


def find_space(database: Database, name: str, space_id: int) -> Space:
    for space in database.list_spaces(name):
        if space.space_id == space_id:
            return space
    raise NotFound(f"collection {name!r} has no embedding space {space_id}; it was dropped")


def build_space(
    database: Database,
    open_worker: OpenWorker,
    name: str,
    space_id: int,
    progress: Report | None,
) -> Space:
    """Work the collection's queue until every chunk has its vector in the space,
    and make its index.

    Raises: NotReady when chunks could not be embedded for good.
    """
    space = find_space(database, name, space_id)
    embedded = 0

    def on_progress(documents: int, chunks: int) -> None:
        nonlocal embedded
        embedded += chunks
        if progress:
            chunks = min(space.embedded + embedded, space.chunks)
            progress(Progress(chunks=chunks, of_chunks=space.chunks))

    on_progress(0, 0)
    worker = open_worker([name], on_progress=on_progress, llm_of=None)
    while True:
        worker.drain()
        space = find_space(database, name, space_id)
        embedded = 0
        on_progress(0, 0)
        if space.embedded == space.chunks:
            database.build_indexes([name])
            return find_space(database, name, space_id)
        if space.failed and not space.waiting and not database.queue_backlog([name]):
            jobs = database.list_jobs(name, "dead", 1)
            reason = f": {jobs[0]['last_error']}" if jobs else ""
            raise NotReady(
                f"{space.chunks - space.embedded} of {space.chunks} chunks have no vector in space"
                f" {space_id}, "
                f"{space.failed} embed jobs failed{reason}; mend the cause, then run "
                f'"rag-pg jobs -c {name} --retry" and this again'
            )
        time.sleep(POLL_SECONDS)


def rechunk(
    database: Database,
    models: Models,
    open_worker: OpenWorker,
    name: str,
    chunking: Mapping[str, Any],
    wait: bool,
    progress: Report | None,
    *,
    force: bool = False,
) -> int:
    """Set the chunking of a collection and, if `wait`,
    work its queue until every document is cut again."""
    info = database.get_collection(name)
    for space in database.list_spaces(name):
        check_chunking(chunking, models.embedder(space.model))
    total = database.value(int, "set_chunking", collection=name, chunking=chunking, force=force)
    done = embedded = 0
    worker: Worker | None = None

    def on_progress(documents: int, chunks: int) -> None:
        nonlocal done, embedded
        done, embedded = min(done + documents, total), embedded + chunks
        if progress:
            planned = max(embedded, worker.planned[0] if worker else 0)
            progress(
                Progress(documents=done, of_documents=total, chunks=embedded, of_chunks=planned)
            )

    on_progress(0, 0)
    worker = open_worker([info.name], on_progress=on_progress, llm_of=None)
    if wait:
        work_backlog(database, worker, name)
    return total


def compare_spaces(
    database: Database, models: Models, name: str, queries: Sequence[Query], limit: int
) -> list[SpaceComparison]:
    """Embed each query by the model of each space and compare what the spaces find."""
    if not queries:
        raise InvalidQuery("there is no query to compare by: pass texts, or mappings with query")
    spaces = database.list_spaces(name)
    embedded: list[dict[str, Any]] = [
        {"query": q} if isinstance(q, str) else dict(q) for q in queries
    ]
    for index, query in enumerate(embedded):
        if not isinstance(query.get("query"), str) or query.keys() - {"query", "relevant"}:
            raise InvalidQuery(
                f"query {index} has the keys {', '.join(sorted(query)) or 'none'}: pass query, a"
                " text, and optionally relevant, uris or grades by uri"
            )
        query["embeddings"] = {}
    for space in spaces:
        embedder = models.embedder_of(database, name, space.space_id)
        for query in embedded:
            vector = embed_query(embedder, query["query"])
            query["embeddings"][str(space.space_id)] = vector.tolist()
    rows = database.rows(Compared, "compare_spaces", collection=name, queries=embedded, limit=limit)
    return [_summary(s, [r for r in rows if r.space_id == s.space_id]) for s in spaces]


def _summary(space: Space, rows: Sequence[Compared]) -> SpaceComparison:
    return SpaceComparison(
        space_id=space.space_id,
        model=space.model,
        state=space.state,
        share=space.share,
        overlap=_mean([r.overlap for r in rows]),
        rank_difference=_mean([r.rank_difference for r in rows]),
        recall=_mean([r.recall for r in rows]),
        ndcg=_mean([r.ndcg for r in rows]),
        hits=[tuple(r.chunk_ids) for r in rows],
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
