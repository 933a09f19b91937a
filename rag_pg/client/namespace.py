"""Calls about one noun, held by the collection or the client that they are of."""

from __future__ import annotations

from rag_pg.client.opened import OpenCollection
from rag_pg.client.resources import Resources


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
