"""The gates of a collection."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Unpack

from rag_pg.client import OfCollection, in_thread
from rag_pg.errors import NotFound, NotReady
from rag_pg.evaluation.run import find_run
from rag_pg.search import SearchOptions, check_names
from rag_pg.types import Gate, GateCheck, GateResult


class Gates(OfCollection):
    """What the changes of a collection must not make worse."""

    def list(self) -> list[Gate]:
        """What changes of this collection must not make worse."""
        return self._database.list_gates(self._name)

    @in_thread("long")
    def set(
        self,
        set_name: str,
        *,
        metric: str = "ndcg",
        epsilon: float = 0.0,
        k: int = 10,
        **options: Unpack[SearchOptions],
    ) -> None:
        """Demand that no change lowers a metric on a set by more than epsilon, over all questions
        or in a category. `spaces.activate`, `rechunk` and `alter` (ef_search) keep to it.

        Args:
            metric: recall, precision, hit_rate, mrr, map, ndcg, context_precision, context_recall
                or assertion_pass_rate, see rag.query_metrics; or one of answers, which tests runs
                (`check`) and refuses no change: answer_contained, answer_f1, citation_recall,
                citation_precision, abstention. epsilon: 0 to 1. k: of how many hits.
            options: of the search that is measured, as the database takes them.
        Raises: NotFound, InvalidInput, InvalidQuery.
        """
        check_names(options, known=SearchOptions.__optional_keys__, call="search")
        self._database.call(
            "set_gate",
            collection=self._name,
            set_name=set_name,
            metric=metric,
            epsilon=epsilon,
            k=k,
            options=dict(options),
        )

    def drop(self, set_name: str, *, metric: str = "ndcg") -> bool:
        """Demand it no longer; False where there was no such gate. Raises: NotFound."""
        return self._database.value(
            bool, "drop_gate", collection=self._name, set_name=set_name, metric=metric
        )

    @in_thread("long")
    def check(
        self, run_id: int | None = None, *, baseline: int | None = None
    ) -> builtins.list[tuple[int, Sequence[GateResult]]]:
        """Test a run by the gates on its set, or the collection as it is by every gate.

        Args:
            run_id: None: the sets are run now, by the options of their gates; of gates of answers
                the latest run of kind ask is taken that is of the collection as it is, also one
                that failed.
            baseline: a run; None: the one of `Rag.evaluation.runs.set_baseline`.
        Returns: each run with what its gates gave.
        Raises: NotFound (no gate, no baseline), NotReady (the baseline is of other documents or
            questions: it has to be measured anew; it is the run itself; questions could not be
            embedded, or failed and a gate would pass all the same; none of them has the metric of a
            gate; or there is no run of answers).
        """
        from rag_pg.ingest import embed_queries

        database = self._database
        if run_id is not None:
            return [(run_id, database.check_gates(run_id, baseline))]
        done: dict[tuple[str, int, str], int] = {}
        gates = self.list()
        if not gates:
            raise NotFound(
                f"collection {self._name!r} has no gate: rag-pg call set_gate"
                f" collection={self._name} set_name=SET"
            )
        for gate in gates:
            if gate.kind == "ask":
                done[gate.eval_set, 0, "ask"] = self._answered(gate)
                continue
            key = (gate.eval_set, gate.k, repr(gate.options))
            if key not in done:
                embed_queries(database, self._opened.rag.models, gate.eval_set, self._name)
                done[key] = database.evaluate_search(
                    gate.eval_set, self._name, gate.k, gate.options, "gate"
                )
                if notes := find_run(database, done[key]).notes:
                    raise NotReady(f"run {done[key]} of the gate is not whole: {'; '.join(notes)}")
        return [(run, database.check_gates(run, baseline)) for run in done.values()]

    def checks(self, *, limit: int = 100) -> builtins.list[GateCheck]:
        """What the gates decided, the latest first. A change that they refused is there when this
        client, another or the command line made it; not when a call in SQL did."""
        return self._database.rows(
            GateCheck, "list_gate_checks", collection=self._name, limit=limit
        )

    def _answered(self, gate: Gate) -> int:
        """The latest run of answers of the collection as it is, also one that failed: `check_gates`
        says so. Raises: NotReady."""
        found = self._database.optional(
            int, "_latest_answers", set_name=gate.eval_set, of_collection=self._name
        )
        if found is None:
            raise NotReady(
                f"{gate.metric} of set {gate.eval_set!r} is of answers, and no run of them is of"
                f" {self._name!r} as it is now: rag-pg eval run {gate.eval_set} {self._name} --kind"
                " ask, or name a run"
            )
        return found
