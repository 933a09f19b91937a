"""An open collection: what `Collection` and its namespaces share."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Self
from uuid import UUID

from rag_pg.answer import AskOptions
from rag_pg.client.resources import Resources
from rag_pg.ingest import wait_until_searchable
from rag_pg.protocols import LLM, Embedder
from rag_pg.search import Searcher, SearchOptions
from rag_pg.types import Answer, CollectionInfo, Event, Hits, Vectors


class OpenCollection:
    """The client, the name, the settings and the searcher of a collection."""

    def __init__(self, rag: Resources, info: CollectionInfo) -> None:
        self.rag = rag
        self.name = info.name
        self.searcher = Searcher(rag.database, info, rag.models, rag.cache_entries)

    def unsampled(self) -> Self:
        """Return this collection with searches that nobody asked live: none of them is sampled."""
        other = copy.copy(self)
        other.searcher = self.searcher.unsampled()
        return other

    @property
    def info(self) -> CollectionInfo:
        return self.searcher.info

    @property
    def embedder(self) -> Embedder:
        return self.searcher.embedder

    def search(
        self,
        query: str | None,
        options: SearchOptions,
        *,
        embedding: Sequence[float] | Vectors | None = None,
        wait_for: Iterable[UUID] = (),
        timeout: float = 30,
        max_tokens: int | None = None,
        max_cost: float | None = None,
    ) -> Hits:
        """See `Collection.search`."""
        if wait_for := list(wait_for):
            wait_until_searchable(self.rag.database, self.name, wait_for, timeout)
        return self.searcher.search(
            query, embedding=embedding, max_tokens=max_tokens, max_cost=max_cost, **options
        )

    def answer(
        self,
        question: str,
        options: AskOptions,
        *,
        listener: Callable[[Event], None] | None = None,
        admit: Callable[[LLM, int], None] | None = None,
        logged: bool = True,
    ) -> Answer:
        """See `Collection.ask`.

        Args:
            listener: is called with every event but the answer.
            admit: is called before each call of a model; see `rag_pg.providers.Account`.
            logged: whether it may be kept in the log of answers, and its searches in the sample of
                live queries.
        """
        from rag_pg.answer import ask_question  # not before there is a question

        return ask_question(
            question,
            options,
            searcher=self.searcher if logged else self.searcher.unsampled(),
            listener=listener,
            admit=admit,
            is_logged=logged,
        )


class OfCollection:
    """A namespace of a `Collection`, as `docs.spaces`."""

    def __init__(self, opened: OpenCollection) -> None:
        self._opened = opened
        self._database = opened.rag.database
        self._name = opened.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"


class OfRag:
    """A namespace of a `Rag`, as `rag.jobs`."""

    def __init__(self, rag: Resources) -> None:
        self._rag = rag

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
