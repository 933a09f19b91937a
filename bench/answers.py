"""How good are the extractive answers, and what do they cost beside their search?

    python bench/answers.py [everyday] [squad2-dev] [halves] [--sample 6] [--calibrate]
    python bench/answers.py halves --half second [--model e5] [--answers FILE]

everyday: the questions of tests/quality/everyday_questions*.jsonl, asked of real documentation:
right is a gold page cited and the fact in what is shown. squad2-dev: how often the gold answer
stands in the first, and in the first two cited passages, of every 6th answerable question.
halves: the questions of tests/quality/questions, by corpus; fact first: the fact stands in the
passage of the first source, on a gold page; needless: answers with another source on no gold page;
--answers: a file for all answers as they are shown, for a reader who grades them.
Collections are filled on the first run; the documents of docs-fastapi-en take minutes.

--calibrate: the everyday questions are asked again when their collections are calibrated, with
questions that are not among them: those of the other file, those of fastapi_pages.jsonl, the set's
own of anthropic-docs, and 200 with and 200 without an answer of squad2-dev. Collections that have
too few of them are told and asked as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import process_time

from lib import data
from lib.clock import percentile
from rich.console import Console
from rich.table import Table

from rag_pg import Rag
from rag_pg.client.collection import Collection
from rag_pg.errors import InvalidInput
from rag_pg.types import Answer

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from calibration import squad_questions
from everyday import QUESTIONS, Grade, grade, open_collection, read_questions
from halves import CORPORA, Half, HalvedQuestion, open_corpus, read_halved

SETS = ("everyday_questions", "everyday_questions_held_back")
# What the answers of four sentences (commit 6160894) gave on the first set.
BEFORE = {
    "set": "everyday_questions, before",
    "right": 0.72,
    "first": 0.72,
    "in first": 0.48,
    "wrongly refused": 0,
    "refused": "4/10",
    "passage": 127,
    "shown": 326,
    "p50 ms": float("nan"),
    "p95 ms": float("nan"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["everyday", "squad2-dev"])
    parser.add_argument("--sample", type=int, default=6, help="every so many questions of a set")
    parser.add_argument("--calibrate", action="store_true", help="everyday questions: also then")
    parser.add_argument("--half", choices=("first", "second"), default="first", help="of halves")
    parser.add_argument("--model", default="minilm", help="of the collections of halves")
    parser.add_argument("--answers", type=Path, help="JSON lines: the answers of halves")
    arguments = parser.parse_args()
    found: dict[str, list[dict[str, object]]] = {}
    with Rag() as rag:
        if "everyday" in arguments.parts:
            found["everyday"] = [BEFORE, *(everyday(rag, name) for name in SETS)]
            if arguments.calibrate:
                found["everyday"] += [calibrated(rag, name) for name in SETS]
        if "squad2-dev" in arguments.parts:
            found["squad2-dev"] = [containment(rag, "squad2-dev", arguments.sample)]
        if "halves" in arguments.parts:
            found[f"{arguments.half} half, {arguments.model}"] = ask_half(
                rag, arguments.half, arguments.model, arguments.answers
            )
    for name, rows in found.items():
        table = Table(*rows[0], title=name)
        for row in rows:
            table.add_row(*(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()))
        Console().print(table)
    data.keep("answers", found)


def everyday(rag: Rag, name: str) -> dict[str, object]:
    """Ask a set of everyday questions and grade the answers."""
    root = data.folder("docs-fastapi-en").parent
    graded = []
    beyond = []
    for question in read_questions(name):
        docs = open_collection(rag, root, question.collection)
        answer = docs.ask(question.question, strategy="extractive")
        beyond.append(beyond_search(answer))
        graded.append((question, grade(question, answer)))
    answerable = [g for q, g in graded if q.pages]
    others = [g for q, g in graded if not q.pages]
    count = len(answerable)
    return {
        "set": name,
        "right": sum(g.right for g in answerable) / count,
        "first": sum(g.first for g in answerable) / count,
        "in first": sum(g.in_first for g in answerable) / count,
        "wrongly refused": sum(not g.answered for g in answerable),
        "refused": f"{sum(not g.answered for g in others)}/{len(others)}",
        "passage": median(g.passage for g in answerable),
        "shown": median(g.length for g in answerable),
        "p50 ms": percentile(beyond, 0.5),
        "p95 ms": percentile(beyond, 0.95),
    }


def calibrated(rag: Rag, name: str) -> dict[str, object]:
    """Calibrate the collections of a set by other questions, and ask those of the set."""
    root = data.folder("docs-fastapi-en").parent
    names = sorted({question.collection for question in read_questions(name)})
    for collection in names:
        docs = open_collection(rag, root, collection)
        rag.evaluation.sets.put(f"{collection}-but-{name}", other_questions(docs, name))
        try:
            found = docs.evaluation.calibrate(f"{collection}-but-{name}")
        except InvalidInput as exc:
            print(f"{collection}: not calibrated: {exc}")
            continue
        unanswerable = found.question_count - found.answerable_count
        print(
            f"{collection}: {found.answerable_count} questions with an answer, {unanswerable}"
            f" without; {found.figures['accuracy']:.0%} right; refused below"
            f" {found.refuse_below:.2f}, no hedge from {found.answer_from:.2f}"
        )
    asked = everyday(rag, name)
    for collection in names:
        rag.collection(collection).evaluation.drop_calibration()
    return {**asked, "set": f"{name}, calibrated"}


def other_questions(docs: Collection, name: str) -> list[dict[str, object]]:
    """Questions of a collection that are not in the everyday set `name`."""
    if docs.name == "squad2-dev":
        return squad_questions(data.read(docs.name), 200)[0]
    uris = [document.uri for document in docs.list(limit=1000)]

    def paged(question: str, pages: Sequence[str]) -> dict[str, object]:
        relevant = [uri for uri in uris if any(uri.endswith(page) for page in pages)]
        return {"question": question, "relevant": relevant, "unanswerable": not pages}

    others = next(one for one in SETS if one != name)
    found = [
        paged(q.question, q.pages) for q in read_questions(others) if q.collection == docs.name
    ]
    if docs.name == "docs-fastapi-en":
        lines = data.lines(QUESTIONS / "fastapi_pages.jsonl")
        found += [paged(line["question"], line["relevant"]) for line in lines]
    else:
        evaluation = data.read(docs.name)
        found += [
            paged(text, list(evaluation.qrels[key])) for key, text in evaluation.queries.items()
        ]
    mine = {question.question for question in read_questions(name)}
    return [one for one in found if one["question"] not in mine]


def containment(rag: Rag, name: str, sample: int) -> dict[str, object]:
    """Ask the answerable questions of a set: where does the gold answer stand?"""
    evaluation = data.read(name)
    answers = {a["_id"]: a["answers"] for a in data.lines(data.folder(name) / "answers.jsonl")}
    docs = rag.collection(name)
    if docs.stats().embedded < len(evaluation.documents):
        docs.add_chunks(data.records(evaluation, ready=True))
    asked = [item for item in evaluation.queries.items() if item[0] in answers][::sample]
    first = both = refused = 0
    beyond = []
    for key, text in asked:
        answer = docs.ask(text, strategy="extractive")
        beyond.append(beyond_search(answer))
        refused += not answer.found
        gold = [" ".join(str(value).lower().split()) for value in answers[key]]
        holds = [
            any(value in " ".join(citation.quote.lower().split()) for value in gold)
            for citation in answer.citations[:2]
        ]
        first += any(holds[:1])
        both += any(holds)
    return {
        "questions": len(asked),
        "in the first cited": first / len(asked),
        "in the first two": both / len(asked),
        "refused": refused / len(asked),
        "p50 ms": percentile(beyond, 0.5),
        "p95 ms": percentile(beyond, 0.95),
    }


def ask_half(rag: Rag, half: Half, model: str, shown: Path | None) -> list[dict[str, object]]:
    """Ask one half of the questions of tests/quality/questions: a row for each corpus, and all."""
    asked = []
    for question in read_halved(half):
        docs = open_corpus(rag, question.collection, model)
        began = process_time()
        answer = docs.ask(question.question, strategy="extractive")
        cpu = 1000 * (process_time() - began)
        asked.append((question, answer, grade(question, answer), cpu))
    if shown:
        lines = (
            {"id": q.id, "question": q.question, "pages": list(q.pages), "facts": list(q.facts)}
            | {"answer": answer.markdown(), "right": g.right, "in_first": g.in_first}
            for q, answer, g, _ in asked
        )
        shown.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return [
        _half_row(name, [one for one in asked if name in ("all", one[0].collection)])
        for name in (*CORPORA, "all")
    ]


def _half_row(
    name: str, asked: Sequence[tuple[HalvedQuestion, Answer, Grade, float]]
) -> dict[str, object]:
    answerable = [(q, a, g) for q, a, g, _ in asked if q.pages]
    needless = [
        any(not c.uri.endswith(tuple(q.pages)) for c in a.citations[1:]) for q, a, _ in answerable
    ]
    refused = {
        kind: [not g.answered for q, _, g, _ in asked if q.unanswerable == kind]
        for kind in ("near", "far")
    }
    count = len(answerable)
    return {
        "corpus": name,
        "questions": len(asked),
        "fact first": sum(g.in_first for _, _, g in answerable) / count,
        "right": sum(g.right for _, _, g in answerable) / count,
        "page first": sum(g.first for _, _, g in answerable) / count,
        "needless": sum(needless) / count,
        "wrongly refused": sum(not g.answered for _, _, g in answerable) / count,
        "near refused": f"{sum(refused['near'])}/{len(refused['near'])}",
        "far refused": f"{sum(refused['far'])}/{len(refused['far'])}",
        "CPU ms": median(cpu for *_, cpu in asked),
    }


def beyond_search(answer: Answer) -> float:
    """Return the milliseconds of an answer without those of its searches."""
    searching = sum(step.seconds for step in answer.steps if step.kind == "search")
    return 1000 * (answer.seconds - searching)


if __name__ == "__main__":
    main()
