"""The embedding space that a collection is searched in: its settings and its embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from rag_pg.cache import Entries
from rag_pg.db import Database
from rag_pg.deadline import call_within, current_scope
from rag_pg.protocols import Embedder
from rag_pg.providers import Models
from rag_pg.search.rewrite import Variant
from rag_pg.search.vectors import QueryVectors, Remembering
from rag_pg.types import CollectionInfo, Vectors


class ActiveSpace:
    """Remembers a collection's settings, the embedder of its active space and the vectors of recent
    queries."""

    def __init__(self, database: Database, info: CollectionInfo, models: Models) -> None:
        self.info = info
        self._database, self._models = database, models
        self._embedder: Embedder | None = None
        self._vectors: QueryVectors | None = None
        self._remembering: Remembering | None = None

    @property
    def embedder(self) -> Embedder:
        """Raises CollectionMismatch, ModelUnavailable."""
        if self._embedder is None:
            self._embedder = call_within(
                current_scope(),
                lambda: self._models.embedder_of(self._database, self.info.name),
                self.info.model,
            )
        return self._embedder

    @property
    def remembering(self) -> Embedder:
        """The embedder, which remembers recent texts. Raises: as `embedder`."""
        if self._remembering is None:
            self._remembering = Remembering(self.embedder, self._query_vectors())
        return cast("Embedder", self._remembering)

    def _query_vectors(self) -> QueryVectors:
        if self._vectors is None:
            self._vectors = QueryVectors(self.embedder)
        return self._vectors

    def embed(self, variants: Sequence[Variant], entries: Entries | None) -> list[Vectors]:
        """Return float32 (dimensions,) for each variant. Raises: as the embedder, and as opening
        it."""
        return self._query_vectors().embed(variants, entries)

    def refresh(self) -> None:
        """Read the settings again, after another space was activated."""
        self.info = self._database.get_collection(self.info.name)
        self._embedder = self._vectors = self._remembering = None
