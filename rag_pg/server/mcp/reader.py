"""The collections that a server may read, through statements that can write nothing."""

from __future__ import annotations

from collections.abc import Sequence

from rag_pg.client import Collection, Rag
from rag_pg.errors import InvalidInput, NotFound
from rag_pg.types import CollectionInfo

SEARCHED_TOGETHER = 16  # collections, by a search that names none


class Reader:
    """A client whose every statement is read only and bounded in time.

    Args:
        collections: only these; None: all that its role may read. timeout: seconds of a statement.
    """

    def __init__(self, rag: Rag, *, collections: Sequence[str] | None, timeout: float) -> None:
        self.timeout = timeout
        self._allowed = None if collections is None else frozenset(collections)
        self.rag = rag.with_settings(
            {"transaction_read_only": "on", "statement_timeout": f"{int(timeout * 1000)}ms"}
        )
        self.rag.cache_entries = self.rag.cache_entries.wanted(False)  # which would be written

    def collections(self) -> list[CollectionInfo]:
        """The settings of those that may be read, by name."""
        found = self.rag.collections()
        return [one for one in found if self._allowed is None or one.name in self._allowed]

    def collection(self, name: str | None) -> Collection:
        """Open a collection; None: the only one there is. Raises: NotFound, InvalidInput."""
        if name is None:
            names = [one.name for one in self.collections()]
            if len(names) != 1:
                raise InvalidInput(f"say which collection; {_there_are(names)}")
            name = names[0]
        if self._allowed is None or name in self._allowed:
            try:
                return self.rag.get_collection(name)
            except NotFound:
                pass  # its message names collections that this server may not show
        names = [one.name for one in self.collections()]
        raise NotFound(f"there is no collection {name!r:.120}; {_there_are(names)}")

    def searched_collections(self, name: str | None) -> list[Collection]:
        """Open the collections of a search: the one named, or all. Raises: as `collection`."""
        if name is not None:
            return [self.collection(name)]
        names = [one.name for one in self.collections()]
        if not 1 <= len(names) <= SEARCHED_TOGETHER:
            raise InvalidInput(f"say which collection; {_there_are(names)}")
        return [self.collection(one) for one in names]


def _there_are(names: Sequence[str]) -> str:
    """Say which collections there are, in short."""
    listed = ", ".join(names[:10])
    more = f" and {len(names) - 10} more, see list_collections" if len(names) > 10 else ""
    return f"there are: {listed}{more}" if names else "none can be read here"
