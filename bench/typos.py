"""What typo tolerance does to questions: nDCG@10 with and without it, and how many are told of it.

    python bench/typos.py [SET …] [--sample 400] [--seed 21] [--hybrid] [--report]

Each question is asked as it is and with one typing error: a letter lost, added, changed or
exchanged with its neighbour in the longest word (five letters or more). Without errors, questions
are also drawn over all sets together. --hybrid: with vectors of minilm, too. --report: print what
was searched for instead in questions without errors.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterable, Mapping

import ir_measures
import numpy as np
from ir_measures import nDCG
from lib import data
from quality import load, sampled
from rich.console import Console
from rich.table import Table

from rag_pg import Rag
from rag_pg.client.collection import Collection

SETS = ("adi", "anthropic-docs", "scifact", "squad2-dev", "xquad-en", "xquad-de", "xquad-es",
        "xquad-ru", "xquad-zh", "piaf-fr")  # fmt: skip
TOLD = "searched for instead"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--sample", type=int, default=400, help="at most so many of a set")
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--hybrid", action="store_true")
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    table = Table("set", "questions", "told", "keyword", "± tolerance", "hybrid", "± tolerance")
    told: dict[str, str] = {}
    found = []
    with Rag() as rag:
        for name in arguments.sets:
            evaluation = sampled(data.read(name), arguments.sample)
            docs = load(rag, evaluation, ready=(data.folder(name) / "minilm.npz").exists())
            mistyped = with_errors(evaluation.queries, arguments.seed)
            for kind, asked in (("as they are", evaluation.queries), ("an error each", mistyped)):
                row = measure(docs, asked, evaluation, arguments.hybrid)
                found.append({"set": name, "kind": kind, "questions": len(asked), **row})
                table.add_row(f"{name}, {kind}", str(len(asked)), *map(str, row.values()))
            told |= notes(docs, data.read(name).queries)
    Console().print(table)
    print_share(told, arguments.seed, arguments.sample, arguments.report)
    data.keep("typos", found)


def with_errors(queries: Mapping[str, str], seed: int) -> dict[str, str]:
    return {key: mistype(text, random.Random(f"{seed} {key}")) for key, text in queries.items()}


def mistype(text: str, chance: random.Random) -> str:
    """Put one error into the longest word of five letters or more."""
    words = [m for m in re.finditer(r"[^\W\d_]+", text) if len(m[0]) >= 5]
    if not words:
        return text
    match = max(words, key=lambda m: len(m[0]))
    word = match[0]
    letters = sorted(set(re.findall(r"[^\W\d_]", text.lower())))
    while word == match[0]:
        at, letter = chance.randrange(len(word)), chance.choice(letters)
        word = chance.choice([
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
        ])  # fmt: skip
    return text[: match.start()] + word + text[match.end() :]


def measure(
    docs: Collection, asked: Mapping[str, str], evaluation: data.EvalSet, hybrid: bool
) -> dict[str, object]:
    """nDCG@10 without tolerance, and the mean and interval of what it changes."""
    row: dict[str, object] = {"told": 0}
    for leg in ("keyword", "hybrid") if hybrid else ("keyword",):
        weight = 0.0 if leg == "keyword" else None
        runs, row["told"] = search(docs, asked, weight)
        plain, tolerant = (score(run, evaluation, asked) for run in runs)
        change = np.array([tolerant[key] - plain[key] for key in sorted(asked)])
        interval = 1.96 * change.std() / max(1, len(change)) ** 0.5
        row[leg] = round(float(np.mean(list(plain.values()))), 4)
        row[f"{leg} change"] = f"{change.mean():+.4f} ± {interval:.4f}"
    return row


def search(
    docs: Collection, asked: Mapping[str, str], vector_weight: float | None
) -> tuple[list[list[ir_measures.ScoredDoc]], int]:
    """Every question's hits without and with tolerance; how many were told of it."""
    runs: list[list[ir_measures.ScoredDoc]] = [[], []]
    told = 0
    for key, text in asked.items():
        for tolerant in (False, True):
            hits = docs.search(text, vector_weight=vector_weight, typo_tolerance=tolerant)
            told += any(TOLD in note for note in hits.notes)
            runs[tolerant] += [
                ir_measures.ScoredDoc(key, hit.uri, -place) for place, hit in enumerate(hits)
            ]
    return runs, told


def score(
    run: Iterable[ir_measures.ScoredDoc], evaluation: data.EvalSet, asked: Mapping[str, str]
) -> dict[str, float]:
    judgements = [
        ir_measures.Qrel(key, document, grade)
        for key in asked
        for document, grade in evaluation.qrels[key].items()
    ]
    scores = dict.fromkeys(asked, 0.0)
    for metric in ir_measures.iter_calc([nDCG @ 10], judgements, run):
        scores[metric.query_id] = metric.value
    return scores


def notes(docs: Collection, queries: Mapping[str, str]) -> dict[str, str]:
    """What each question without errors is told: "" where nothing."""
    return {
        f"{docs.name} {text}": "; ".join(
            note for note in docs.search(text, vector_weight=0.0).notes if TOLD in note
        )
        for text in queries.values()
    }


def print_share(told: Mapping[str, str], seed: int, sample: int, report: bool) -> None:
    drawn = random.Random(seed).sample(sorted(told), min(sample, len(told)))
    print(
        f"as they are, {len(told)} questions: {sum(map(bool, told.values()))} told of other words;"
        f" of {len(drawn)} drawn with seed {seed}: {sum(bool(told[key]) for key in drawn)}"
    )
    if report:
        for key, note in told.items():
            if note:
                print(f"{key}\n    {note}")


if __name__ == "__main__":
    main()
