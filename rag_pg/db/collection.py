"""Statements about collections."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.errors import NotFound
from rag_pg.types import CollectionInfo, CollectionStats


class Collections(Statements):
    """Collections: made, listed, dropped."""

    def create_collection(
        self,
        name: str,
        *,
        model: str,
        dimensions: int,
        distance: str,
        language: str,
        chunking: Mapping[str, Any],
        index_options: Mapping[str, Any],
    ) -> int:
        return int(
            self._scalar(
                """SELECT rag.create_collection(%(name)s, %(model)s, %(dimensions)s, %(distance)s,
                   rag._find_language(%(language)s), %(chunking)s, %(index_options)s)""",
                name=name,
                model=model,
                dimensions=dimensions,
                distance=distance,
                language=language,
                chunking=Jsonb(chunking),
                index_options=Jsonb(index_options),
            )
        )

    def list_collections(self) -> list[CollectionInfo]:
        return self._rows(CollectionInfo, "SELECT * FROM rag.list_collections()")

    def get_collection(self, name: str) -> CollectionInfo:
        """A collection's settings as they are now. Raises NotFound, naming those that exist."""
        (found,) = self._rows(
            CollectionInfo, "SELECT * FROM rag.get_collection(%(name)s)", name=name
        )
        return found

    def check_language(self, name: str) -> str:
        """Return the name of a text search configuration as it is stored, e.g. rag.auto for auto.
        Raises InvalidInput."""
        return str(
            self._scalar("SELECT rag._language_name(rag._find_language(%(name)s))", name=name)
        )

    def detect_language(self, content: str) -> str | None:
        """Return the text search configuration for a text, None where it is not certain."""
        found = self._scalar("SELECT rag.detect_language(%(content)s)", content=content)
        return None if found is None else str(found)

    def find_collection(self, name: str) -> CollectionInfo | None:
        try:
            return self.get_collection(name)
        except NotFound:
            return None

    def collection_stats(self, name: str | None = None) -> list[CollectionStats]:
        return self._rows(
            CollectionStats, "SELECT * FROM rag.collection_stats(%(name)s)", name=name
        )

    def collection_version(self, collection: str) -> int:
        """Return a number that changes with what a search, a count or an answer could see."""
        return int(
            self._scalar("SELECT rag.collection_version(%(collection)s)", collection=collection)
        )

    def set_chunking(
        self, collection: str, chunking: Mapping[str, Any], *, forced: bool = False
    ) -> int:
        return int(
            self._scalar(
                "SELECT rag.set_chunking(%(collection)s, %(chunking)s, %(forced)s)",
                collection=collection,
                chunking=Jsonb(chunking),
                forced=forced,
            )
        )

    def alter_collection(
        self,
        name: str,
        *,
        description: str | None = None,
        keep_versions: timedelta | None = None,
        keep_answers: timedelta | None = None,
        sample_queries: float | None = None,
        keep_query_text: bool | None = None,
        keep_queries: timedelta | None = None,
        max_queries: int | None = None,
        recall_target: float | None = None,
        ef_search: int | None = None,
        keep_original: bool | None = None,
        forced: bool = False,
    ) -> None:
        self._scalar(
            """SELECT rag.alter_collection(%(name)s, description => %(description)s,
               keep_versions => %(keep_versions)s, keep_answers => %(keep_answers)s,
               sample_queries => %(sample_queries)s, keep_query_text => %(keep_query_text)s,
               keep_queries => %(keep_queries)s, max_queries => %(max_queries)s,
               recall_target => %(recall_target)s, ef_search => %(ef_search)s,
               keep_original => %(keep_original)s, forced => %(forced)s)""",
            name=name,
            description=description,
            keep_versions=keep_versions,
            keep_answers=keep_answers,
            sample_queries=sample_queries,
            keep_query_text=keep_query_text,
            keep_queries=keep_queries,
            max_queries=max_queries,
            recall_target=recall_target,
            ef_search=ef_search,
            keep_original=keep_original,
            forced=forced,
        )

    def preset_chunking(self, preset: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._scalar(
            "SELECT rag.preset_chunking(%(preset)s)", preset=preset
        )
        return found

    def drop_collection(self, name: str) -> None:
        self._scalar("SELECT rag.drop_collection(%(name)s)", name=name)

    def create_copy(
        self,
        source: str,
        name: str,
        *,
        model: str,
        dimensions: int,
        chunking: Mapping[str, Any],
    ) -> None:
        self._scalar(
            """SELECT rag._create_copy(%(source)s, %(name)s, %(model)s, %(dimensions)s,
                   %(chunking)s)""",
            source=source,
            name=name,
            model=model,
            dimensions=dimensions,
            chunking=Jsonb(chunking),
        )

    def copy_documents(self, source: str, name: str, after_uri: str) -> list[tuple[UUID, str, int]]:
        return self._tuples(
            """SELECT document_id, uri, characters
               FROM rag._copy_documents(%(source)s, %(name)s, %(after_uri)s)""",
            source=source,
            name=name,
            after_uri=after_uri,
        )
