"""Statements about gates, and the questions and runs that they are measured by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.db.connection import Statements
from rag_pg.types import EvalQuery, Gate, GateCheck, GateResult, Vectors


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
        self.call(
            "set_gate",
            collection=collection,
            set_name=set_name,
            metric=metric,
            epsilon=epsilon,
            k=k,
            options=options,
        )

    def drop_gate(self, collection: str, set_name: str, metric: str) -> bool:
        return self.value(
            bool, "drop_gate", collection=collection, set_name=set_name, metric=metric
        )

    def list_gates(self, collection: str | None = None) -> list[Gate]:
        return self.rows(Gate, "list_gates", collection=collection)

    def check_gates(self, run_id: int, baseline: int | None = None) -> list[GateResult]:
        return self.rows(GateResult, "check_gates", run_id=run_id, baseline_run=baseline)

    def record_refused_change(
        self, collection: str, change: str, checks: Sequence[Mapping[str, Any]]
    ) -> None:
        self.call("_record_refused_change", of_collection=collection, change=change, checks=checks)

    def list_gate_checks(self, collection: str | None, limit: int) -> list[GateCheck]:
        return self.rows(GateCheck, "list_gate_checks", collection=collection, limit=limit)

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

    def put_eval_embeddings(
        self, set_name: str, fingerprint: str, query_ids: Sequence[str], vectors: Sequence[Vectors]
    ) -> int:
        return self.value(
            int,
            "put_eval_embeddings",
            set_name=set_name,
            fingerprint=fingerprint,
            query_ids=query_ids,
            embeddings=vectors,
        )

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
