"""Statements about gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.types import Gate, GateCheck, GateResult


class Gates(Statements):
    """What changes of a collection must not make worse."""

    def set_gate(
        self,
        collection: str,
        set_name: str,
        *,
        metric: str,
        epsilon: float,
        k: int,
        options: Mapping[str, Any],
    ) -> None:
        self._scalar(
            """SELECT rag.set_gate(%(collection)s, %(set_name)s, %(metric)s, %(epsilon)s, %(k)s,
                   %(options)s)""",
            collection=collection,
            set_name=set_name,
            metric=metric,
            epsilon=epsilon,
            k=k,
            options=Jsonb(options),
        )

    def drop_gate(self, collection: str, set_name: str, metric: str) -> bool:
        return bool(
            self._scalar(
                "SELECT rag.drop_gate(%(collection)s, %(set_name)s, %(metric)s)",
                collection=collection,
                set_name=set_name,
                metric=metric,
            )
        )

    def list_gates(self, collection: str | None = None) -> list[Gate]:
        return self._rows(
            Gate, "SELECT * FROM rag.list_gates(%(collection)s)", collection=collection
        )

    def check_gates(self, run_id: int, baseline: int | None = None) -> list[GateResult]:
        return self._rows(
            GateResult,
            "SELECT * FROM rag.check_gates(%(run_id)s, %(baseline)s)",
            run_id=run_id,
            baseline=baseline,
        )

    def record_refused_change(
        self, collection: str, change: str, checks: Sequence[Mapping[str, Any]]
    ) -> None:
        self._scalar(
            "SELECT rag._record_refused_change(%(collection)s, %(change)s, %(checks)s)",
            collection=collection,
            change=change,
            checks=Jsonb(checks),
        )

    def list_gate_checks(self, collection: str | None, limit: int) -> list[GateCheck]:
        return self._rows(
            GateCheck,
            "SELECT * FROM rag.list_gate_checks(%(collection)s, %(limit)s)",
            collection=collection,
            limit=limit,
        )

    def evaluate_search(
        self, set_name: str, collection: str, limit: int, options: Mapping[str, Any], name: str
    ) -> int:
        return int(
            self._scalar(
                """SELECT rag.evaluate_search(%(set_name)s, %(collection)s, %(limit)s, '{}',
                       %(options)s, %(name)s)""",
                set_name=set_name,
                collection=collection,
                limit=limit,
                options=Jsonb(options),
                name=name,
            )
        )
