"""Statements about calibrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        found = self._rows(
            Calibration, "SELECT * FROM rag.get_calibration(%(collection)s)", collection=collection
        )
        return found[0] if found else None

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
