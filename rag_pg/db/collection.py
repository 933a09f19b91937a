"""Statements about collections."""

from __future__ import annotations

from typing import Unpack

from psycopg.types.json import Jsonb

from rag_pg.db.arguments import checked_json
from rag_pg.db.statements import Statements
from rag_pg.errors import NotFound
from rag_pg.types import CollectionInfo, CollectionOptions, CollectionStats


class Collections(Statements):
    """Collections: made, listed, dropped."""

    def create_collection(self, name: str, **settings: Unpack[CollectionOptions]) -> int:
        """All settings but `preset`, each with a value."""
        ((number,),) = self._execute(
            """SELECT {rag}.create_collection(%(name)s, %(model)s, %(dimensions)s, %(distance)s,
                   {rag}._find_language(%(language)s), %(chunking)s, %(index_options)s)""",
            **{
                **settings,
                "name": name,
                "chunking": checked_json("chunking", Jsonb(settings["chunking"])),
                "index_options": checked_json("index_options", Jsonb(settings["index_options"])),
            },
        )
        return int(number)

    def list_collections(self) -> list[CollectionInfo]:
        return self.rows(CollectionInfo, "list_collections")

    def get_collection(self, name: str) -> CollectionInfo:
        """A collection's settings as they are now. Raises NotFound, naming those that exist."""
        return self.only(CollectionInfo, "get_collection", name=name)

    def check_language(self, name: str) -> str:
        """Return the name of a text search configuration as it is stored, e.g. rag.auto for auto.
        Raises InvalidInput."""
        ((found,),) = self._select(
            "SELECT {rag}._language_name({rag}._find_language(%(name)s))", name=name
        )
        return str(found)

    def find_collection(self, name: str) -> CollectionInfo | None:
        try:
            return self.get_collection(name)
        except NotFound:
            return None

    def collection_stats(self, name: str | None = None) -> list[CollectionStats]:
        return self.rows(CollectionStats, "collection_stats", name=name)

    def collection_version(self, collection: str) -> int:
        """Return a number that changes with what a search, a count or an answer could see."""
        return self.value(int, "collection_version", collection=collection)

    def drop_collection(self, name: str) -> None:
        self.call("drop_collection", name=name)
