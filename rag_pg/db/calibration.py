"""Statements about calibrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rag_pg.db.statements import Statements
from rag_pg.types import Calibration


class Calibrations(Statements):
    """Calibrations: stored, read, dropped; bounds of shares."""

    def put_calibration(self, collection: str, calibration: Mapping[str, Any]) -> None:
        self.call("put_calibration", collection=collection, calibration=calibration)

    def get_calibration(self, collection: str) -> Calibration | None:
        """What is stored, with what is judged within it."""
        rows = self.rows(Calibration, "get_calibration", collection=collection)
        return replace(rows[0], judged=rows[1] if rows[1:] else None) if rows else None

    def lower_bounds(self, successes: Sequence[int], trials: Sequence[int]) -> list[float]:
        """Of each share, by rag._clopper_pearson."""
        return [
            float(lower_bound)
            for (lower_bound,) in self._select(
                """SELECT i.lower_bound
                   FROM ROWS FROM (pg_catalog.unnest(%(successes)s::pg_catalog.int8[]),
                                   pg_catalog.unnest(%(trials)s::pg_catalog.int8[]))
                       WITH ORDINALITY AS s (successes, trials, n)
                   CROSS JOIN LATERAL {rag}._clopper_pearson(s.successes, s.trials) AS i
                   ORDER BY s.n""",
                successes=list(successes),
                trials=list(trials),
            )
        ]
