"""Fifty questions to the documentation of FastAPI: an ingest, a run, a report.

    make eval-demo      needs RAG_PG_EVAL_DATA

The questions (tests/quality/fastapi_pages.jsonl) name the pages that answer them; one passes when
such a page is among the first five hits. Embedding is timed apart from the rest of the ingest.
Memory is that of this process beyond the one that had loaded the model and embedded a batch.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from pathlib import Path

from lib import data

from rag_pg import Rag
from rag_pg.types import Vectors

ROOT = Path(__file__).parent.parent
QUESTIONS = ROOT / "tests" / "quality" / "fastapi_pages.jsonl"
REPORT = ROOT / "build" / "eval-demo.html"
NAME = "eval-demo"
K = 5


def main() -> None:
    pages = data.folder("docs-fastapi-en") / "files"
    with Rag() as rag:
        if NAME in {one.name for one in rag.collections()}:
            rag.drop_collection(NAME)
        docs = rag.collection(NAME, model="minilm")
        embed = docs.embedder.embed_documents
        embed([page.read_text(encoding="utf-8")[:1500] for page in sorted(pages.glob("*.md"))])
        before, spent = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, 0.0

        def timed(batch: Sequence[str]) -> Vectors:
            nonlocal spent
            began = time.perf_counter()
            vectors = embed(batch)
            spent += time.perf_counter() - began
            return vectors

        docs.embedder.embed_documents = timed  # type: ignore[method-assign, assignment]
        began = time.perf_counter()
        docs.add(*(
            {"uri": str(page.relative_to(pages)), "content": page.read_text(encoding="utf-8")}
            for page in sorted(pages.rglob("*.md"))
        ))  # fmt: skip
        wall = time.perf_counter() - began
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        rag.import_eval_set(NAME, QUESTIONS)
        docs.search("warm")
        run = docs.evaluate(NAME, name="demo")
        found = {m.metric: m.value for m in rag.eval_metrics(run.run_id, k=K) if m.category is None}
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(rag.eval_report([run.run_id], k=K).html(), encoding="utf-8")
        began = time.perf_counter()
        docs.set_gate(NAME)
        rag.set_eval_baseline(run.run_id)
        docs.check_gates()
        gate = time.perf_counter() - began
    print(f"pass (page among the first {K}): {found['hit_rate']:.0%} of {run.queries} questions")
    print(f"recall@{K} {found['recall']:.3f}, ndcg@{K} {found['ndcg']:.3f}, mrr {found['mrr']:.3f}")
    print(f"a search: median {1000 * found['latency_p50']:.0f} ms,"
          f" p95 {1000 * found['latency_p95']:.0f} ms")  # fmt: skip
    print(f"ingest: {wall:.0f} s, of them {wall - spent:.0f} s beside the embedding; memory of the"
          f" process beyond the model: {grown:.0f} MB")  # fmt: skip
    print(f"a gate of {run.queries} questions: {gate:.1f} s")
    print(f"report: {REPORT} ({REPORT.stat().st_size // 1024} KB)")


if __name__ == "__main__":
    main()
