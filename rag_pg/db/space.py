"""Statements about embedding spaces."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.errors import DiskFull, OutOfMemory

from rag_pg.db.connection import is_pooled
from rag_pg.db.statements import Statements
from rag_pg.types import CosineSpread, Space

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceSettings:
    """What makes the vectors of a space."""

    space_id: int
    model: str
    dimensions: int
    distance: str
    fingerprint: str | None
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """What one space finds for one query: a row of rag.compare_spaces."""

    query_number: int
    query_text: str
    space_id: int
    chunk_ids: Sequence[int]
    overlap: float | None
    rank_difference: float | None
    recall: float | None
    ndcg: float | None


class Spaces(Statements):
    """Embedding spaces: built, compared, activated."""

    def cosine_spread(self, collection: str) -> CosineSpread | None:
        """How the cosines of the active space are spread; None: it is not measured."""
        columns = ("similarity_mean", "similarity_spread")
        for mean, spread in self.tuples(columns, "_cosine_spread", collection=collection):
            return None if mean is None else CosineSpread(mean=mean, spread=spread)
        return None

    def list_spaces(self, collection: str | None = None) -> list[Space]:
        return self.rows(Space, "list_spaces", collection=collection)

    def space_settings(self, collection: str, space_id: int | None = None) -> SpaceSettings:
        return self.only(
            SpaceSettings, "space_settings", collection=collection, wanted_space=space_id
        )

    def set_fingerprint(
        self, collection: str, fingerprint: str, space_id: int | None = None
    ) -> None:
        self.call(
            "set_fingerprint",
            collection=collection,
            embedder_fingerprint=fingerprint,
            of_space=space_id,
        )

    def build_indexes(self, collections: Sequence[str] | None) -> int:
        """Make the indexes of spaces whose vectors are in, beside readers and writers;
        return how many."""
        made = 0
        shared = True
        with self.connection() as connection:
            direct = not is_pooled(connection)  # a pooler would keep the settings for others
            try:
                while True:
                    row = connection.execute(
                        self.in_schema(
                            """SELECT statement, CASE WHEN %(direct)s THEN
                                pg_catalog.set_config('maintenance_work_mem', memory, false) END
                            FROM {rag}.pending_indexes(%(collections)s::pg_catalog.text[])
                            LIMIT 1"""
                        ),
                        {
                            "direct": direct,
                            "collections": None if collections is None else list(collections),
                        },
                    ).fetchone()
                    if row is None:
                        return made
                    try:
                        connection.execute(row[0])
                    except (DiskFull, OutOfMemory) as exc:  # see rag._build_index
                        if not (direct and shared):
                            raise
                        shared = False
                        log.warning("an index is built by one process: %s", exc)
                        connection.execute("SET max_parallel_maintenance_workers = 0")
                    else:
                        made += 1
            finally:
                if direct and not connection.closed:
                    connection.execute("RESET maintenance_work_mem")
                    connection.execute("RESET max_parallel_maintenance_workers")
