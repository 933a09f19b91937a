"""Fifty questions to the documentation of FastAPI: an ingest, a run, a report.

    make bench-evaluation-demo      needs RAG_PG_EVAL_DATA

The questions (tests/quality/fastapi_pages.jsonl) name the pages that answer them; one passes when
such a page is among the first five hits. The pages are added twice: embedded, and with the vectors
of that, which is the time of an ingest beside its embedding. Memory is that of this process beyond
the one that had loaded the model and embedded a batch.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from lib import data

from rag_pg import Rag
from rag_pg.client.collection import Collection
from rag_pg.types import Vectors

ROOT = Path(__file__).parent.parent
QUESTIONS = ROOT / "tests" / "quality" / "fastapi_pages.jsonl"
REPORT = ROOT / "build" / "eval-demo.html"
NAME = "eval-demo"
K = 5


def main() -> None:
    root = data.folder("docs-fastapi-en") / "files"
    pages = [
        {"uri": str(page.relative_to(root)), "content": page.read_text(encoding="utf-8")}
        for page in sorted(root.rglob("*.md"))
    ]
    with Rag() as rag:
        docs = open_empty(rag)
        embedder, embed = docs.embedder, docs.embedder.embed_documents
        embed([page["content"][:1500] for page in pages])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        known: dict[str, Vectors] = {}

        def remember(texts: Sequence[str]) -> Vectors:
            vectors = embed(texts)
            known.update(zip(texts, vectors, strict=True))
            return vectors

        embedder.embed_documents = remember  # type: ignore[method-assign]
        wall = add(docs, pages)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        docs = open_empty(rag)
        embedder.embed_documents = lambda texts: np.stack(  # type: ignore[method-assign]
            [known[text] for text in texts]
        )
        beside = add(docs, pages)
        embedder.embed_documents = embed  # type: ignore[method-assign]
        rag.evaluation.sets.import_file(NAME, QUESTIONS)
        docs.search("warm")
        run = docs.evaluation.run(NAME, name="demo")
        found = {
            m.metric: m.value
            for m in rag.evaluation.runs.metrics(run.run_id, k=K)
            if m.category is None
        }
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(rag.evaluation.runs.report([run.run_id], k=K).html(), encoding="utf-8")
        began = time.perf_counter()
        docs.evaluation.gates.set(NAME)
        rag.evaluation.runs.set_baseline(run.run_id)
        docs.evaluation.gates.check()
        gate = time.perf_counter() - began
    print(f"pass (page among the first {K}): {found['hit_rate']:.0%} of {run.queries} questions")
    print(f"recall@{K} {found['recall']:.3f}, ndcg@{K} {found['ndcg']:.3f}, mrr {found['mrr']:.3f}")
    print(f"a search: median {1000 * found['latency_p50']:.0f} ms,"
          f" p95 {1000 * found['latency_p95']:.0f} ms")  # fmt: skip
    print(f"ingest of {len(pages)} pages: {wall:.0f} s; with ready vectors {beside:.1f} s;"
          f" memory of the process beyond the model: {grown:.0f} MB")  # fmt: skip
    print(f"a gate of {run.queries} questions: {gate:.1f} s")
    print("processes that waited for a processor, 1 and 15 minutes:", os.getloadavg()[::2])
    print(f"report: {REPORT} ({REPORT.stat().st_size // 1024} KB)")


def open_empty(rag: Rag) -> Collection:
    """The collection of the pages, as yet without any."""
    if NAME in {one.name for one in rag.collections()}:
        rag.drop_collection(NAME)
    return rag.collection(NAME, model="minilm")


def add(docs: Collection, pages: Sequence[Mapping[str, str]]) -> float:
    """Add the pages; the seconds that took."""
    began = time.perf_counter()
    docs.add(*(dict(page) for page in pages))
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
