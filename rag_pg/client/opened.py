"""A collection that was opened: its client, its name and its settings."""

from __future__ import annotations

import copy
from functools import partial
from typing import Self

from rag_pg.client.resources import Resources
from rag_pg.protocols import Embedder
from rag_pg.search import Searcher
from rag_pg.types import CollectionInfo


class OpenCollection:
    """What the parts of `Collection` share."""

    def __init__(self, rag: Resources, info: CollectionInfo) -> None:
        self.rag = rag
        self.name = info.name
        self._searcher = Searcher(
            rag.database,
            info,
            read=rag.database.get_collection,
            embedder=partial(rag.models.embedder_of, rag.database),
            reranker=rag.models.reranker,
            entries=rag.cache_entries,
            llm=lambda name: rag.models.helper_llm(name) or rag.models.llm(name),
        )

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, model={self.info.model!r})"

    def _unsampled(self) -> Self:
        """Return this collection with searches that nobody asked live: none of them is sampled."""
        other = copy.copy(self)
        other._searcher = self._searcher.unsampled()
        return other

    @property
    def info(self) -> CollectionInfo:
        """The collection's settings, as they were when it was opened or refreshed."""
        return self._searcher.info

    @property
    def embedder(self) -> Embedder:
        """What embeds this collection's documents and queries.
        Raises CollectionMismatch, ModelUnavailable."""
        return self._searcher.embedder

    def refresh(self) -> None:
        """Read the settings again, after another embedding space was activated."""
        self._searcher.refresh()
