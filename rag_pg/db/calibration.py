"""Statements about calibrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.types import Calibration


class Calibrations(Statements):
    """Calibrations: stored, read, dropped; bounds of shares."""

    def put_calibration(self, collection: str, calibration: Mapping[str, Any]) -> None:
        self._scalar(
            "SELECT rag.put_calibration(%(collection)s, %(calibration)s)",
            collection=collection,
            calibration=Jsonb(calibration),
        )

    def get_calibration(self, collection: str) -> Calibration | None:
        """What is stored, with what is judged within it."""
        plain, judged = (
            *self._rows(
                Calibration,
                "SELECT * FROM rag.get_calibration(%(collection)s)",
                collection=collection,
            ),
            None,
            None,
        )[:2]
        return None if plain is None else replace(plain, judged=judged)

    def relevant_chunks(
        self, collection: str, set_name: str, query_id: str, chunk_ids: Sequence[int]
    ) -> set[int]:
        """Those of the chunks that are relevant to a question of a set: they share a passage with
        it, or belong to its document where no passage is judged."""
        return set(
            self._scalars(
                """SELECT rag._relevant_chunks(%(collection)s, %(set_name)s, %(query_id)s,
                       %(chunk_ids)s)""",
                collection=collection,
                set_name=set_name,
                query_id=query_id,
                chunk_ids=list(chunk_ids),
            )
        )

    def corpus_fingerprint(self, collection: str) -> str:
        return str(
            self._scalar("SELECT rag.corpus_fingerprint(%(collection)s)", collection=collection)
        )

    def drop_calibration(self, collection: str) -> bool:
        return bool(
            self._scalar("SELECT rag.drop_calibration(%(collection)s)", collection=collection)
        )

    def lower_bounds(self, successes: Sequence[int], trials: Sequence[int]) -> list[float]:
        """Of each share, by rag.clopper_pearson."""
        return [
            float(row["lower_bound"])
            for row in self._dicts(
                """SELECT i.lower_bound
                   FROM ROWS FROM (pg_catalog.unnest(%(successes)s::pg_catalog.int8[]),
                                   pg_catalog.unnest(%(trials)s::pg_catalog.int8[]))
                       WITH ORDINALITY AS s (successes, trials, n)
                   CROSS JOIN LATERAL rag.clopper_pearson(s.successes, s.trials) AS i
                   ORDER BY s.n""",
                successes=list(successes),
                trials=list(trials),
            )
        ]
