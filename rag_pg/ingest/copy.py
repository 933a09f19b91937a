"""A temporary copy of a collection, with another chunking or model; dropped after its use, whatever
happens."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from rag_pg.chunk import check_chunking
from rag_pg.db import Database
from rag_pg.errors import NotReady, RagError
from rag_pg.ingest.wait import OpenWorker, Report, work_queue
from rag_pg.protocols import Checked
from rag_pg.providers import Models
from rag_pg.types import CollectionInfo

MARK = ".sweep-"  # in the names of copies, before a number
LONGEST_NAME = 80  # characters of the collection's own name, in that of its copy


@contextmanager
def temporary_copy(
    database: Database,
    models: Models,
    open_worker: OpenWorker,
    source: CollectionInfo,
    *,
    chunking: Mapping[str, Any] | None = None,
    model: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
    progress: Report | None = None,
) -> Iterator[CollectionInfo]:
    """Copy the documents of a collection into one of another name, cut and embedded as wanted, and
    drop it in the end. The collection itself is only read.

    Args:
        chunking, model: None: as the collection has them. tell: is told the copy's name, and when
            it is gone.
    Raises: InvalidInput, ModelUnavailable, and NotReady where documents cannot be made searchable.
    """
    name = f"{source.name[:LONGEST_NAME]}{MARK}{secrets.token_hex(4)}"
    embedder = models.embedder(model or source.model)
    chunking = source.chunking if chunking is None else chunking
    check_chunking(chunking, embedder)
    if isinstance(embedder, Checked):
        embedder.check()
    try:
        database.call(
            "_create_copy",
            source=source.name,
            copy_name=name,
            model=embedder.name if model is None else model,
            dimensions=embedder.dimensions,
            chunking=chunking,
        )
        tell(f"{name} is a temporary copy of {source.name}")
        _fill(database, open_worker, source.name, name, progress)
        yield database.get_collection(name)
    finally:
        _drop(database, name, tell)


def _fill(
    database: Database, open_worker: OpenWorker, source: str, name: str, progress: Report | None
) -> None:
    after, ids, characters = "", set[UUID](), 0
    while batch := database.tuples(
        ("document_id", "uri", "characters"),
        "_copy_documents",
        source=source,
        copy_name=name,
        after_uri=after,
    ):
        ids |= {document_id for document_id, _, _ in batch}
        characters += sum(count for _, _, count in batch)
        after = batch[-1][1]
    failures = work_queue(database, open_worker, name, ids, progress, characters)
    if failures:
        raise NotReady(
            f"{len(failures)} of {len(ids)} documents cannot be made searchable so:"
            f" {failures[0].uri}: {failures[0].error}"
        )


def _drop(database: Database, name: str, tell: Callable[[str], None]) -> None:
    """Drop the copy; say how, where that cannot be done now."""
    try:
        if database.find_collection(name) is None:
            return
        database.drop_collection(name)
        database.remove_dropped()
    except BaseException as exc:
        tell(f"{name} is not dropped ({exc or type(exc).__name__}): rag-pg drop {name}")
        if not isinstance(exc, RagError):
            raise
    else:
        tell(f"{name} is dropped")


def left_copies(database: Database, source: str) -> list[str]:
    """Names of copies that are there: of sweeps that go on elsewhere, or that were killed."""
    start = f"{source[:LONGEST_NAME]}{MARK}"
    return [one.name for one in database.list_collections() if one.name.startswith(start)]
