"""How good are the rankings? nDCG@10 and recall of keyword,
vector and hybrid search on evaluation sets.

    python bench/quality.py [SET …] [--ready] [--model NAME] [--queries N]      default: scifact

A set is embedded once and kept in its collection: a second run only asks.
--ready takes the set's own vectors, which are of minilm.
"""

from __future__ import annotations

import argparse
import random
import time
from dataclasses import replace

import ir_measures
from ir_measures import R, nDCG
from lib import data
from rich.console import Console
from rich.table import Table

from rag_pg import Rag
from rag_pg.client.collection import Collection

MEASURES = (nDCG @ 10, R @ 10, R @ 100)
MODES = {"keyword": (0.0, 1.0), "vector": (1.0, 0.0), "hybrid": (0.5, 0.5)}
LANGUAGES = {"de": "german", "es": "spanish", "fr": "french", "ru": "russian", "zh": "simple"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=["scifact"])
    parser.add_argument("--ready", action="store_true", help="take the set's own vectors")
    parser.add_argument("--model", default="minilm", help="what makes the vectors")
    parser.add_argument("--queries", type=int, help="at most so many, drawn by chance")
    arguments = parser.parse_args()
    if arguments.ready and arguments.model != "minilm":
        parser.error("--ready are vectors of minilm")
    table = Table("set", "mode", *map(str, MEASURES), "queries", "ms per query")
    results = []
    with Rag() as rag:
        for name in arguments.sets:
            evaluation = data.read(name)
            docs = load(rag, evaluation, ready=arguments.ready, model=arguments.model)
            if arguments.queries is not None and arguments.queries < len(evaluation.queries):
                drawn = random.Random(3).sample(sorted(evaluation.queries), arguments.queries)
                evaluation = replace(
                    evaluation, queries={query: evaluation.queries[query] for query in drawn}
                )
            for mode, weights in MODES.items():
                row = measure(docs, evaluation, weights)
                results.append({"set": name, "mode": mode, **row})
                table.add_row(
                    name,
                    mode,
                    *(
                        f"{v:.4f}"
                        if isinstance(v, float) and k != "ms"
                        else f"{v:.1f}"
                        if k == "ms"
                        else str(v)
                        for k, v in row.items()
                    ),
                )
    Console().print(table)
    data.keep("quality", results)


def load(rag: Rag, evaluation: data.EvalSet, *, ready: bool, model: str = "minilm") -> Collection:
    """Open the set's collection, filling it on the first run."""
    language = LANGUAGES.get(evaluation.name.rpartition("-")[2], "english")
    name = f"eval-{evaluation.name}" + ("" if model == "minilm" else f"-{model}")
    docs = rag.collection(name, language=language, model=model)
    if docs.stats().embedded < len(evaluation.documents):
        began = time.monotonic()
        docs.add_chunks(data.records(evaluation, ready=ready))
        print(
            f"{evaluation.name}: {docs.stats().embedded} chunks in {time.monotonic() - began:.0f} s"
        )
    return docs


def measure(
    docs: Collection, evaluation: data.EvalSet, weights: tuple[float, float]
) -> dict[str, float]:
    """Ask every query and score the answers."""
    run = []
    seconds = 0.0
    for query_id, text in evaluation.queries.items():
        began = time.perf_counter()
        hits = docs.search(text, limit=100, vector_weight=weights[0], keyword_weight=weights[1])
        seconds += time.perf_counter() - began
        run += [ir_measures.ScoredDoc(query_id, hit.uri, -place) for place, hit in enumerate(hits)]
    judgements = [
        ir_measures.Qrel(query, document, score)
        for query, scores in evaluation.qrels.items()
        if query in evaluation.queries
        for document, score in scores.items()
    ]
    values = ir_measures.calc_aggregate(MEASURES, judgements, run)
    return {
        **{str(measure): float(values[measure]) for measure in MEASURES},
        "queries": len(evaluation.queries),
        "ms": 1000 * seconds / len(evaluation.queries),
    }


if __name__ == "__main__":
    main()
