"""Cutting the documents of a collection anew, which its gates measure first."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from rag_pg import ingest
from rag_pg.client.opened import OpenCollection
from rag_pg.errors import NotReady
from rag_pg.ingest import Report, refusal_recorded, temporary_copy

log = logging.getLogger(__name__)


def rechunk(
    opened: OpenCollection,
    chunking: Mapping[str, Any],
    *,
    wait: bool,
    progress: Report | None,
    force: bool,
) -> int:
    """See `Collection.rechunk`."""
    rag = opened.rag

    def cut() -> int:
        return ingest.rechunk(
            rag.database,
            rag.models,
            rag.worker,
            opened.name,
            chunking,
            wait,
            progress,
            force=force,
        )

    with refusal_recorded(rag.database, opened.name):
        try:
            count = cut()
        except NotReady:
            if not _embed_gates(opened):
                raise
            try:
                count = cut()
            except NotReady:
                _measure_chunking(opened, chunking, progress)
                count = cut()
    opened.searcher.refresh()
    return count


def _embed_gates(opened: OpenCollection) -> bool:
    """Keep the vectors of the gates' questions; False where there are no gates.
    Raises: NotReady (a set has no questions)."""
    from rag_pg.ingest import embed_queries

    database = opened.rag.database
    gates = [gate for gate in database.list_gates(opened.name) if gate.kind == "search"]
    sets = sorted({gate.eval_set for gate in gates})
    for name in sets:
        if not database.list_eval_queries(name):
            raise NotReady(f"set {name!r} of a gate has no questions: put some, or drop the gate")
        embed_queries(database, opened.rag.models, name, opened.name)
    return bool(sets)


def _measure_chunking(
    opened: OpenCollection, chunking: Mapping[str, Any], progress: Report | None
) -> None:
    """Run the sets of the gates on a copy that is cut so."""
    database = opened.rag.database
    measured = {(gate.eval_set, gate.k, repr(gate.options)): gate
                for gate in database.list_gates(opened.name)
                if gate.kind == "search"}  # fmt: skip
    version = database.collection_version(opened.name)
    with temporary_copy(
        database,
        opened.rag.models,
        opened.rag.worker,
        opened.info,
        chunking=chunking,
        tell=log.info,
        progress=progress,
    ) as copy:
        for gate in measured.values():
            run = database.evaluate_search(
                gate.eval_set, copy.name, gate.k, gate.options, "gate of another chunking"
            )
            settings = {**gate.options, "limit": gate.k, "chunking": dict(chunking)}
            database.file_eval_run(run, opened.name, settings, version)
