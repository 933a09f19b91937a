"""What the collections and namespaces of a client share: its database, its models, its workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rag_pg.cache import Entries
from rag_pg.config import Settings
from rag_pg.db import Database
from rag_pg.providers import Models

if TYPE_CHECKING:
    from rag_pg.worker import Worker


class Resources(Protocol):
    """The part of `Rag` that its collections and namespaces use."""

    dsn: str | None
    settings: Settings
    models: Models
    cache_entries: Entries

    @property
    def database(self) -> Database: ...

    def worker(self, collections: Sequence[str] | None = None, **options: Any) -> Worker: ...
