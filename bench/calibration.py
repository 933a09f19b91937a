"""How well does a calibration tell right answers from wrong ones, and from questions without one?

    python bench/calibration.py [SET] [--model NAME] [--questions 700] [--judge 0.85]

squad2-dev: so many answerable questions and so many near misses (unanswerable ones about the same
paragraphs), all paragraphs in one collection; off the corpus are questions of anthropic-docs and
scifact. Another set, as xquad-de or piaf-fr: a quarter of its articles and a fifth of the
paragraphs of the others are left out of the collection; questions about left out articles are off
the corpus, those about left out paragraphs are near misses (another paragraph may answer some).

Half of the questions, chosen 20 times by chance, is fitted to; every figure is the mean (and the
standard deviation) of those of the other half.

--judge SHARE: also with a judgement among the features that is no model's: the label of the
question, which is turned round by chance so that it is right of SHARE of the questions. It shows
what a judge of that accuracy would bring, not what any model does.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from statistics import mean, stdev

import numpy as np
from lib import data
from rich.console import Console
from rich.table import Table

from rag_pg import Rag
from rag_pg.answer import JUDGEMENT
from rag_pg.client.collection import Collection
from rag_pg.evaluation.calibrate import (
    Observation,
    accuracy_at,
    auroc,
    calibrate,
    fit,
    measure_context,
)
from rag_pg.evaluation.client.calibration import observe_questions

SQUAD = "squad2-dev"
OTHERS = ("anthropic-docs", "scifact")
LANGUAGES = {"de": "german", "fr": "french", "es": "spanish", "ru": "russian"}
SPLITS = 20
OFF = 400  # questions off the corpus, at most

Queries = list[dict[str, object]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", default=SQUAD, metavar="SET")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--questions", type=int, default=700)
    parser.add_argument("--judge", type=float, metavar="SHARE")
    arguments = parser.parse_args()
    evaluation = data.read(arguments.name)
    if arguments.name == SQUAD:
        documents, own, off = evaluation, *squad_questions(evaluation, arguments.questions)
    else:
        documents, own, off = leave_out(evaluation, arguments.questions)
    with Rag() as rag:
        docs = open_documents(rag, documents, arguments.model)
        sets = (f"{arguments.name}-{arguments.questions}", f"off-{arguments.name}")
        rag.evaluation.sets.put(sets[0], own)
        rag.evaluation.sets.put(sets[1], off)
        found = observe(rag, docs, sets)
    table = Table("left out", "mean", "sd", title=f"{arguments.name}, {SPLITS} halves")
    kept = {"": report(table, found[0], found[1], arguments.name)}
    if arguments.judge is not None:
        name = f"judge {arguments.judge:g}"
        judged = [judge(items, arguments.judge) for items in found]
        kept[name] = report(table, judged[0], judged[1], arguments.name, name)
    Console().print(table)
    for figures in kept.values():
        Console().print("by calibrate (5 folds):", figures["stored"])
    data.keep("calibration", kept)


def report(
    table: Table, own: list[Observation], off: list[Observation], set_name: str, name: str = ""
) -> dict[str, object]:
    """Add the figures of the halves to the table, and return them with those of `calibrate`."""
    splits = [measure_split(random.Random(n).sample(own, len(own)), off) for n in range(SPLITS)]
    found = {key: [split[key] for split in splits] for key in splits[0]}
    for key, values in found.items():
        label = f"{key}, {name}" if name else key
        table.add_row(label, f"{mean(values):.3f}", f"{stdev(values):.3f}")
    stored = calibrate([*own, *off], set_name=set_name, settings={})
    return {"splits": found, "stored": dict(stored.figures)}


def judge(items: Sequence[Observation], share: float) -> list[Observation]:
    """Return observations with a judgement that is right of about `share` of them."""
    chance = random.Random(85)
    return [
        replace(
            item,
            features={
                **item.features,
                JUDGEMENT: float(item.answerable == (chance.random() < share)),
            },
        )
        for item in items
    ]


def open_documents(rag: Rag, evaluation: data.EvalSet, model: str) -> Collection:
    """The collection of a set's documents, filled on the first run."""
    name = evaluation.name if model == "minilm" else f"{evaluation.name}-{model}"
    language = LANGUAGES.get(evaluation.name.rpartition("-")[2], "english")
    docs = rag.collection(name, language=language, model=model)
    if docs.stats().embedded < len(evaluation.documents):
        docs.add_chunks(data.records(evaluation, ready=model == "minilm"))
    return docs


def observe(
    rag: Rag, docs: Collection, sets: Sequence[str]
) -> tuple[list[Observation], list[Observation]]:
    """What the questions of the corpus and those off it show."""
    queries = rag.evaluation.sets.queries(sets[0])
    random.Random(14).shuffle(queries)
    own = observe_questions(docs._opened, sets[0], queries)
    off = observe_questions(
        docs._opened, sets[1], rag.evaluation.sets.queries(sets[1]), off_corpus=True
    )
    return [o for o in own if o is not None], [o for o in off if o is not None]


def read_answers(name: str) -> dict[str, list[str]]:
    lines = data.lines(data.folder(name) / "answers.jsonl")
    return {line["_id"]: list(line["answers"]) for line in lines}


def squad_questions(evaluation: data.EvalSet, count: int) -> tuple[Queries, Queries]:
    """Questions of the corpus, half of them near misses, and others."""
    answers = read_answers(SQUAD)
    chance = random.Random(14)
    keys = sorted(key for key in evaluation.queries if key in answers)
    near = sorted(data.lines(data.folder(SQUAD) / "unanswerable.jsonl"), key=lambda u: u["_id"])
    chance.shuffle(keys)
    chance.shuffle(near)
    own = [answerable(evaluation, key, answers[key]) for key in keys[:count]]
    own += [{"id": u["_id"], "question": u["text"], "unanswerable": True} for u in near[:count]]
    off: Queries = [
        {"id": f"{name}:{key}", "question": text, "unanswerable": True}
        for name in OTHERS
        for key, text in sorted(data.read(name).queries.items())[: OFF // 2]
    ]
    return own, off


def leave_out(evaluation: data.EvalSet, count: int) -> tuple[data.EvalSet, Queries, Queries]:
    """A set without some of its articles and paragraphs, and the questions about what is there,
    about left out paragraphs, and about left out articles."""
    answers = read_answers(evaluation.name)
    chance = random.Random(14)
    titles = sorted({document["title"] for document in evaluation.documents.values()})
    away = set(chance.sample(titles, len(titles) // 4))
    keys = sorted(key for key, one in evaluation.documents.items() if one["title"] not in away)
    gone = set(chance.sample(keys, len(keys) // 5))
    kept = {key: evaluation.documents[key] for key in keys if key not in gone}
    groups: tuple[list[str], list[str], list[str]] = ([], [], [])
    for key in sorted(evaluation.queries):
        relevant = evaluation.qrels[key].keys()
        if relevant <= kept.keys() and key in answers:
            groups[0].append(key)
        elif not relevant & kept.keys():
            groups[1 if relevant & gone else 2].append(key)
    for group in groups:
        chance.shuffle(group)
    own = [answerable(evaluation, key, answers[key]) for key in groups[0][:count]]
    own += [unanswerable(evaluation, key) for key in groups[1][:count]]
    off = [unanswerable(evaluation, key) for key in groups[2][:OFF]]
    return replace(evaluation, documents=kept), own, off


def answerable(evaluation: data.EvalSet, key: str, answers: Sequence[str]) -> dict[str, object]:
    relevant = list(evaluation.qrels[key])
    return {
        "id": key, "question": evaluation.queries[key], "relevant": relevant, "answers": answers,
    }  # fmt: skip


def unanswerable(evaluation: data.EvalSet, key: str) -> dict[str, object]:
    return {"id": key, "question": evaluation.queries[key], "unanswerable": True}


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
