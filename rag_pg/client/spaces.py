"""The embedding spaces of a collection."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.client.gates import refusal_recorded
from rag_pg.client.opened import OpenCollection
from rag_pg.errors import NotReady
from rag_pg.ingest import (
    Query,
    Report,
    build_space,
    compare_spaces,
    create_space,
    find_space,
    rechunk,
    temporary_copy,
)
from rag_pg.types import Space, SpaceComparison

log = logging.getLogger(__name__)


class Spaces(OpenCollection):
    """The methods of `Collection` about its embedding spaces."""

    def spaces(self) -> list[Space]:
        """The collection's embedding spaces, with their progress."""
        return self.rag.database.list_spaces(self.name)

    def reembed(
        self,
        model: str,
        *,
        distance: str | None = None,
        index_options: Mapping[str, Any] | None = None,
        wait: bool = True,
        activate: bool = False,
        progress: Report | None = None,
    ) -> Space:
        """Build the vectors of another model in a space beside the active one,
        which is searched meanwhile.

        Args:
            distance: as the active space's by default.
            wait: work the queue until the space is complete; False leaves it to workers.
            activate: then search with it, see `activate_space`; implies waiting.
            progress: called with a `Progress`: chunks embedded, of all.
        Raises: InvalidInput (an unknown model, one that does not read the chunks whole, the active
            one), NotReady when chunks cannot be embedded.
        """
        space_id = create_space(
            self.rag.database,
            self.rag.models,
            self.name,
            model,
            distance or self.info.distance,
            index_options or {},
        )
        if wait or activate:
            build_space(self.rag.database, self.rag.worker, self.name, space_id, progress)
        if activate:
            self.activate_space(space_id)
        return find_space(self.rag.database, self.name, space_id)

    def rechunk(
        self,
        chunking: Mapping[str, Any],
        *,
        wait: bool = True,
        progress: Report | None = None,
        forced: bool = False,
    ) -> int:
        """Cut the documents anew; unchanged chunks keep their vectors,
        and all stay searchable meanwhile.

        Gates of the collection (`set_gate`) want their sets run on documents that are cut so. Where
        there is no such run, the vectors of their questions are made, and they are run on a
        temporary copy first, which costs what cutting and embedding all documents costs.

        Args:
            forced: whatever the gates of the collection demand; it is recorded.
        Returns: how many documents there are, 0 when they are cut like this already.
        Raises: NotReady (the set of a gate has no questions, or what its runs on a copy do not
            mend), GateFailed.
        """

        def cut() -> int:
            return rechunk(
                self.rag.database,
                self.rag.models,
                self.rag.worker,
                self.name,
                chunking,
                wait,
                progress,
                forced=forced,
            )

        with refusal_recorded(self.rag.database, self.name):
            try:
                count = cut()
            except NotReady:
                if not self._embed_gates():
                    raise
                try:
                    count = cut()
                except NotReady:
                    self._measure_chunking(chunking, progress)
                    count = cut()
        self.refresh()
        return count

    def _embed_gates(self) -> bool:
        """Keep the vectors of the gates' questions; False where there are no gates.
        Raises: NotReady (a set has no questions)."""
        from rag_pg.evaluation import embed_queries

        database = self.rag.database
        gates = [gate for gate in database.list_gates(self.name) if gate.kind == "search"]
        sets = sorted({gate.eval_set for gate in gates})
        for name in sets:
            if not database.list_eval_queries(name):
                raise NotReady(
                    f"set {name!r} of a gate has no questions: put some, or drop the gate"
                )
            embed_queries(database, self.rag.models, name, self.name)
        return bool(sets)

    def _measure_chunking(self, chunking: Mapping[str, Any], progress: Report | None) -> None:
        """Run the sets of the gates on a copy that is cut so."""
        database = self.rag.database
        measured = {(gate.eval_set, gate.k, repr(gate.options)): gate
                    for gate in database.list_gates(self.name)
                    if gate.kind == "search"}  # fmt: skip
        version = database.collection_version(self.name)
        with temporary_copy(
            database,
            self.rag.models,
            self.rag.worker,
            self.info,
            chunking=chunking,
            tell=log.info,
            progress=progress,
        ) as copy:
            for gate in measured.values():
                run = database.evaluate_search(
                    gate.eval_set, copy.name, gate.k, gate.options, "gate of another chunking"
                )
                settings = {**gate.options, "limit": gate.k, "chunking": dict(chunking)}
                database.file_eval_run(run, self.name, settings, version)

    def compare_spaces(self, queries: Sequence[Query], *, limit: int = 10) -> list[SpaceComparison]:
        """What each embedding space finds for the same queries, by exact vector search.

        Args:
            queries: texts, or mappings with query and relevant: uris, or grades by uri.
        """
        return compare_spaces(self.rag.database, self.rag.models, self.name, queries, limit)

    def activate_space(self, space_id: int, *, forced: bool = False) -> int:
        """Search with that space from now on; return how many chunks have no vector in it.

        Gates of the collection (`set_gate`) measure it first; the vectors of their questions are
        made here.

        Raises: NotReady while chunks lack vectors, GateFailed where it is worse than the active
            one, both unless `forced`, which is recorded; NotFound.
        """
        from rag_pg.evaluation import embed_gated_queries

        if not forced:
            embed_gated_queries(self.rag.database, self.rag.models, self.name, space_id)
        with refusal_recorded(self.rag.database, self.name):
            missing = self.rag.database.activate_space(space_id, forced=forced)
        self.refresh()
        return missing

    def rollback_space(self, *, forced: bool = False) -> int:
        """Search with the space that was active before; return its id.
        Raises: NotFound, NotReady."""
        space_id = self.rag.database.rollback_space(self.name, forced=forced)
        self.refresh()
        return space_id

    def drop_space(self, space_id: int) -> None:
        """Remove a space that is not active. Raises: InvalidInput, NotFound."""
        self.rag.database.drop_space(space_id)
        self.rag.database.remove_dropped()
