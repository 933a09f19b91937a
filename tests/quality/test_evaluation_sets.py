"""Five real sets: the metrics of a run equal those of ir-measures."""

from __future__ import annotations

import json
import os
from pathlib import Path

import ir_measures
import pytest
from ir_measures import AP, RR, P, Qrel, R, ScoredDoc, Success, nDCG

from rag_pg import Rag

DATA = os.environ.get("RAG_PG_EVAL_DATA")
QUICK = {"adi", "anthropic-docs"}
SETS = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.minutes)
    for name in ("adi", "anthropic-docs", "xquad-en", "xquad-zh", "scifact")
]
MEASURES = {
    "recall": R, "precision": P, "mrr": RR, "map": AP, "ndcg": nDCG, "hit_rate": Success,
}  # fmt: skip

pytestmark = [
    pytest.mark.quality,
    pytest.mark.skipif(DATA is None, reason="no data: RAG_PG_EVAL_DATA is not set"),
]


@pytest.mark.parametrize("name", SETS)
def test_metrics_of_a_real_set_are_those_of_ir_measures(rag: Rag, name: str) -> None:
    folder = Path(DATA or "") / name
    docs = rag.collection("docs", model="hash:32")
    lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").split("\n")
    records = [json.loads(line) for line in lines if line]
    docs.add_chunks(
        ({"uri": r["_id"], "title": r.get("title") or "", "content": r["text"] or "-"}
         for r in records),
        wait=False,
    )  # fmt: skip
    report = rag.evaluation.sets.import_file("set", folder)
    assert report.added > 0 and report.rejected == []
    run = docs.evaluation.run("set", limit=100, vector_weight=0)
    assert run.errors == 0 and docs.evaluation.drift("set") == []
    qrels = [
        Qrel(query.query_id, one["uri"], int(one["grade"]))
        for query in rag.evaluation.sets.queries("set")
        for one in query.relevant
    ]
    found = [
        ScoredDoc(query_id, uri, -rank)
        for query_id, uri, rank in rag.database.tuples(
            ("query_id", "uri", "rank"), "_ranked_documents", of_run=run.run_id
        )
    ]
    for k in (1, 10, 100):
        wanted = ir_measures.calc_aggregate([m @ k for m in MEASURES.values()], qrels, found)
        figures = {
            m.metric: m.value
            for m in rag.evaluation.runs.metrics(run.run_id, k=k)
            if not m.category
        }
        for metric, measure in MEASURES.items():
            assert figures[metric] == pytest.approx(wanted[measure @ k], abs=1e-9), (metric, k)
