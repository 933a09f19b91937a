"""The embedding spaces of a collection."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.client.opened import OfCollection
from rag_pg.client.threaded import in_thread
from rag_pg.ingest import (
    Query,
    Report,
    build_space,
    compare_spaces,
    create_space,
    find_space,
    refusal_recorded,
)
from rag_pg.types import Space, SpaceComparison


class Spaces(OfCollection):
    """The vectors of a collection by one model or another: made, compared, activated."""

    def list(self) -> list[Space]:
        """The collection's embedding spaces, with their progress."""
        return self._database.list_spaces(self._name)

    @in_thread("long")
    def create(
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
            activate: then search with it, see `activate`; implies waiting.
            progress: called with a `Progress`: chunks embedded, of all.
        Raises: InvalidInput (an unknown model, one that does not read the chunks whole, the active
            one), NotReady when chunks cannot be embedded.
        """
        space_id = create_space(
            self._database,
            self._opened.rag.models,
            self._name,
            model,
            distance or self._opened.info.distance,
            index_options or {},
        )
        if wait or activate:
            build_space(self._database, self._opened.rag.worker, self._name, space_id, progress)
        if activate:
            self.activate(space_id)
        return find_space(self._database, self._name, space_id)

    @in_thread("long")
    def compare(
        self, queries: Sequence[Query], *, limit: int = 10
    ) -> builtins.list[SpaceComparison]:
        """What each embedding space finds for the same queries, by exact vector search.

        Args:
            queries: texts, or mappings with query and relevant: uris, or grades by uri.
        """
        return compare_spaces(self._database, self._opened.rag.models, self._name, queries, limit)

    @in_thread("long")
    def activate(self, space_id: int, *, force: bool = False) -> int:
        """Search with that space from now on; return how many chunks have no vector in it.

        Gates of the collection measure it first; the vectors of their questions are
        made here.

        Raises: NotReady while chunks lack vectors, GateFailed where it is worse than the active
            one, both unless `force`, which is recorded; NotFound.
        """
        from rag_pg.ingest import embed_gated_queries

        if not force:
            embed_gated_queries(self._database, self._opened.rag.models, self._name, space_id)
        with refusal_recorded(self._database, self._name):
            missing = self._database.value(int, "activate_space", space_id=space_id, force=force)
        self._opened.searcher.refresh()
        return missing

    @in_thread("long")
    def rollback(self, *, force: bool = False) -> int:
        """Search with the space that was active before; return its id.
        Raises: NotFound, NotReady."""
        space_id = self._database.value(int, "rollback_space", collection=self._name, force=force)
        self._opened.searcher.refresh()
        return space_id

    def drop(self, space_id: int) -> None:
        """Remove a space that is not active. Raises: InvalidInput, NotFound."""
        self._database.call("drop_space", space_id=space_id)
        self._database.remove_dropped()
