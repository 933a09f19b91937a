"""Statements about gates, and the questions and runs that they are measured by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_pg.db.statements import Statements
from rag_pg.types import EvalQuery, Gate, GateResult


class Gates(Statements):
    """What changes of a collection must not make worse."""

    def list_gates(self, collection: str | None = None) -> list[Gate]:
        return self.rows(Gate, "list_gates", collection=collection)

    def check_gates(self, run_id: int, baseline: int | None = None) -> list[GateResult]:
        return self.rows(GateResult, "check_gates", run_id=run_id, baseline_run=baseline)

    def evaluate_search(
        self, set_name: str, collection: str, limit: int, options: Mapping[str, Any], name: str
    ) -> int:
        return self.value(
            int,
            "evaluate_search",
            set_name=set_name,
            collection=collection,
            limit=limit,
            options=options,
            run_name=name,
        )

    def list_eval_queries(self, set_name: str) -> list[EvalQuery]:
        return self.rows(EvalQuery, "list_eval_queries", set_name=set_name)

    def file_eval_run(
        self, run_id: int, collection: str, settings: Mapping[str, Any], version: int
    ) -> None:
        self.call(
            "_file_eval_run",
            of_run=run_id,
            of_collection=collection,
            run_settings=settings,
            version=version,
        )
