"""How well does a calibration tell right answers from wrong ones, and from questions without one?

    python bench/calibration.py [--questions 700] [--model minilm]

squad2-dev: so many answerable questions and so many near misses (unanswerable ones about the same
paragraphs), all paragraphs in one collection; off the corpus are questions of anthropic-docs and
scifact. Half of the questions, chosen 20 times by chance, is fitted to; every figure is the mean
(and the standard deviation) of those of the other half.
"""

from __future__ import annotations

import argparse
import random
from statistics import mean, stdev

import numpy as np
from lib import data
from rich.console import Console
from rich.table import Table

from rag_pg import Rag
from rag_pg.client.calibration import observe_questions
from rag_pg.client.collection import Collection
from rag_pg.evaluation import Observation, calibrate, fit
from rag_pg.evaluation.calibrate import accuracy_at, auroc, measure_context

NAME = "squad2-dev"
OTHERS = ("anthropic-docs", "scifact")
SPLITS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=700)
    arguments = parser.parse_args()
    with Rag() as rag:
        docs = open_documents(rag)
        sets = store_questions(rag, arguments.questions)
        queries = rag.eval_queries(sets[0])
        random.Random(14).shuffle(queries)
        own = [o for o in observe_questions(docs, sets[0], queries) if o is not None]
        others = observe_questions(docs, sets[1], rag.eval_queries(sets[1]), off_corpus=True)
        off = [o for o in others if o is not None]
        stored = calibrate([*own, *off], set_name=sets[0], settings={})
    splits = [measure_split(random.Random(n).sample(own, len(own)), off) for n in range(SPLITS)]
    found = {name: [split[name] for split in splits] for name in splits[0]}
    table = Table("left out", "mean", "sd", title=f"{NAME}, {SPLITS} halves")
    for name, values in found.items():
        table.add_row(name, f"{mean(values):.3f}", f"{stdev(values):.3f}")
    Console().print(table)
    Console().print("by calibrate (5 folds):", dict(stored.figures))
    data.keep("calibration", {"splits": found, "stored": dict(stored.figures)})


def open_documents(rag: Rag) -> Collection:
    """The collection of all paragraphs, filled on the first run."""
    evaluation = data.read(NAME)
    docs = rag.collection(NAME)
    if docs.stats().embedded < len(evaluation.documents):
        docs.add_chunks(data.records(evaluation, ready=True))
    return docs


def store_questions(rag: Rag, count: int) -> tuple[str, str]:
    """Store the questions as two sets: of the corpus and off it."""
    evaluation = data.read(NAME)
    answers = {a["_id"]: a["answers"] for a in data.lines(data.folder(NAME) / "answers.jsonl")}
    chance = random.Random(14)
    keys = sorted(key for key in evaluation.queries if key in answers)
    near = sorted(data.lines(data.folder(NAME) / "unanswerable.jsonl"), key=lambda u: u["_id"])
    chance.shuffle(keys)
    chance.shuffle(near)
    own: list[dict[str, object]] = [
        {
            "id": key,
            "question": evaluation.queries[key],
            "relevant": list(evaluation.qrels[key]),
            "answers": answers[key],
        }
        for key in keys[:count]
    ]
    own += [{"id": u["_id"], "question": u["text"], "unanswerable": True} for u in near[:count]]
    off: list[dict[str, object]] = []
    for name in OTHERS:
        others = sorted(data.read(name).queries.items())
        off += [
            {"id": f"{name}:{key}", "question": text, "unanswerable": True}
            for key, text in others[:200]
        ]
    sets = (f"{NAME}-{count}", "off-corpus")
    rag.put_eval_queries(sets[0], own)
    rag.put_eval_queries(sets[1], off)
    return sets


def measure_split(own: list[Observation], off: list[Observation]) -> dict[str, float]:
    """Fit to the first half, measure on the second."""
    half = len(own) // 2
    fitted, held_out = own[:half], own[half:]
    model = fit(fitted)
    answerable, right = model.probabilities(held_out)
    support = answerable * right
    far = np.multiply(*model.probabilities(off))
    is_answerable = np.array([o.answerable for o in held_out])
    is_right = np.array([o.right for o in held_out])[is_answerable]
    strength = np.array([o.strength for o in held_out])
    _, context = measure_context([o for o in held_out if o.answerable])
    return {
        "off corpus": auroc(support[is_answerable], far) or 0.0,
        "near misses": auroc(support[is_answerable], support[~is_answerable]) or 0.0,
        "near, uncalibrated": auroc(strength[is_answerable], strength[~is_answerable]) or 0.0,
        "right of all": float(is_right.mean()),
        "at 80 %, by right": accuracy_at(right[is_answerable], is_right, 0.8),
        "at 80 %, by support": accuracy_at(support[is_answerable], is_right, 0.8),
        "at 50 %, by right": accuracy_at(right[is_answerable], is_right, 0.5),
        "gold kept": context["context_kept"],
        "tokens saved": context["context_tokens_saved"],
    }


if __name__ == "__main__":
    main()
