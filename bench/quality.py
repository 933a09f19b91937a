"""How good are the rankings? nDCG@10 and recall of keyword,
vector and hybrid search on evaluation sets.

    python bench/quality.py [SET …] [--ready] [--model NAME] [--queries N]      default: scifact
        [--language NAME] [--together | --dealt]

A set is embedded once and kept in its collection: a second run only asks.
--ready takes the set's own vectors, which are of minilm. --together puts the sets into one
collection, whose documents have their languages detected, and asks it the queries of all; --dealt
the same, with each document of a translated set in one of its languages only.
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
    parser.add_argument("--language", help="instead of the set's own, e.g. auto")
    parser.add_argument("--together", action="store_true", help="the sets as one collection")
    parser.add_argument("--dealt", action="store_true", help="each document in one set only")
    arguments = parser.parse_args()
    if arguments.ready and arguments.model != "minilm":
        parser.error("--ready are vectors of minilm")
    table = Table("set", "mode", *map(str, MEASURES), "queries", "ms per query")
    results = []
    with Rag() as rag:
        evaluations = [data.read(name) for name in arguments.sets]
        if arguments.dealt:
            evaluations = data.dealt(evaluations)
        evaluations = [sampled(evaluation, arguments.queries) for evaluation in evaluations]
        if arguments.together or arguments.dealt:
            evaluations = [data.together(evaluations, "dealt" if arguments.dealt else "together")]
            arguments.language = arguments.language or "auto"
        for evaluation in evaluations:
            name = evaluation.name
            docs = load(
                rag,
                evaluation,
                ready=arguments.ready,
                model=arguments.model,
                language=arguments.language,
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


def sampled(evaluation: data.EvalSet, queries: int | None) -> data.EvalSet:
    """Return a set with at most so many queries, always the same ones."""
    if queries is None or queries >= len(evaluation.queries):
        return evaluation
    drawn = random.Random(3).sample(sorted(evaluation.queries), queries)
    return replace(evaluation, queries={query: evaluation.queries[query] for query in drawn})


def load(
    rag: Rag,
    evaluation: data.EvalSet,
    *,
    ready: bool,
    model: str = "minilm",
    language: str | None = None,
) -> Collection:
    """Open the set's collection, filling it on the first run."""
    name = f"eval-{evaluation.name}" + ("" if model == "minilm" else f"-{model}")
    name += f"-{language}" if language else ""
    language = language or LANGUAGES.get(evaluation.name.rpartition("-")[2], "english")
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
