"""A set or a run -> files: JSON Lines, CSV, BEIR, TREC."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rag_pg.db import Database
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.files.cells import FIELDS, cell_of
from rag_pg.evaluation.run import find_run
from rag_pg.evaluation.types import LineCount
from rag_pg.types import EvalQuery


def export_set(database: Database, set_name: str, path: Path, *, form: str) -> list[str]:
    """Write a set as jsonl or csv (a file), beir or trec (a folder); return notes on what the form
    cannot hold.

    Raises: InvalidInput (it cannot be written, an unknown form), NotFound.
    """
    if form not in _WRITERS:
        raise InvalidInput(f"there is no form {form!r}; use {', '.join(sorted(_WRITERS))}")
    queries = database.list_eval_queries(set_name)
    try:
        _WRITERS[form](queries, path)
    except OSError as exc:
        raise InvalidInput(f"cannot write {path}: {exc}") from exc
    if form in ("jsonl", "csv"):
        return []
    lost = sum(1 for query in queries if _beyond_qrels(query))
    notes = [f"{form} holds questions and graded documents alone: {lost} questions have more, such"
             " as quotes or answers"] if lost else []  # fmt: skip
    texts = {text for query in queries for text in (query.query_id, *_grades(query))}
    return notes + (_blanks(texts) if form == "trec" else [])


def _blanks(texts: Iterable[str]) -> list[str]:
    """A note on ids that hold blanks."""
    blank = [text for text in texts if text.split() != [text]]
    told = "ids and uris hold blanks: trec_eval and the command ir_measures read none"
    return [f"{len(blank)} {told}"] if blank else []


def _beyond_qrels(query: EvalQuery) -> bool:
    passages = any(one.keys() - {"uri", "grade"} for one in query.relevant)
    expected = query.answers or query.expected_terms or query.expected_metadata
    return bool(passages or expected or query.unanswerable or query.min_score is not None)


def _entry(query: EvalQuery) -> dict[str, Any]:
    """A question as an import takes it, without what is empty."""
    fields = {
        "id": query.query_id,
        "question": query.question,
        "category": query.category,
        "source": query.source,
        "unanswerable": query.unanswerable,
        "relevant": list(query.relevant),
        "answers": list(query.answers),
        "expected_terms": list(query.expected_terms),
        "expected_metadata": query.expected_metadata,
        "min_score": query.min_score,
    }
    return {key: value for key, value in fields.items() if value not in ("", False, [], {}, None)}


def _write_jsonl(queries: Iterable[EvalQuery], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for query in queries:
            file.write(json.dumps(_entry(query), ensure_ascii=False) + "\n")


def _write_csv(queries: Iterable[EvalQuery], path: Path) -> None:
    """A row for each judgement."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, FIELDS)
        rows.writeheader()
        for query in queries:
            entry = _entry(query)
            for judgement in entry.pop("relevant", None) or [{}]:
                row = {**entry, **judgement}
                row["relevant"] = cell_of([row.pop("uri")]) if judgement else ""
                for key in ("answers", "expected_terms"):
                    row[key] = cell_of(entry.get(key, ()))
                if "expected_metadata" in row:
                    row["expected_metadata"] = json.dumps(row["expected_metadata"])
                rows.writerow(row)


def _write_beir(queries: Iterable[EvalQuery], path: Path) -> None:
    (path / "qrels").mkdir(parents=True, exist_ok=True)
    with (
        (path / "queries.jsonl").open("w", encoding="utf-8", newline="\n") as texts,
        (path / "qrels" / "test.tsv").open("w", encoding="utf-8", newline="\n") as qrels,
    ):
        qrels.write("query-id\tcorpus-id\tscore\n")
        for query in queries:
            record = {"_id": query.query_id, "text": query.question}
            texts.write(json.dumps(record, ensure_ascii=False) + "\n")
            for uri, grade in _grades(query).items():
                qrels.write(_row(query.query_id, uri, _number(grade)))


def _write_trec(queries: Iterable[EvalQuery], path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)
    with (
        (path / "topics.tsv").open("w", encoding="utf-8", newline="\n") as topics,
        (path / "qrels.txt").open("w", encoding="utf-8", newline="\n") as qrels,
    ):
        for query in queries:
            topics.write(_row(query.query_id, " ".join(query.question.split())))
            for uri, grade in _grades(query).items():
                qrels.write(_row(query.query_id, "0", uri, _number(grade)))


def _row(*cells: str) -> str:
    """A line of cells with tabs between them. Raises: InvalidInput (a cell that holds one)."""
    for cell in cells:
        if re.search(r"[\t\r\n]", cell):
            raise InvalidInput(
                f"{cell!r:.100} holds a tab or a line's end, which this form cannot; export jsonl"
            )
    return "\t".join(cells) + "\n"


def _number(grade: float) -> str:
    return str(int(grade)) if grade == int(grade) else repr(grade)


def _grades(query: EvalQuery) -> dict[str, float]:
    """The best grade of each document."""
    grades: dict[str, float] = {}
    for one in query.relevant:
        grades[one["uri"]] = max(one["grade"], grades.get(one["uri"], one["grade"]))
    return grades


_WRITERS: Mapping[str, Callable[[Iterable[EvalQuery], Path], None]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "beir": _write_beir,
    "trec": _write_trec,
}


def export_run(database: Database, run_id: int, path: Path) -> LineCount:
    """Write what a run found in TREC's form, for trec_eval and ir-measures: each document where its
    first chunk stands, with the tag that an imported run came with; return how many lines.

    Raises: InvalidInput (it cannot be written), NotFound.
    """
    ranked = database.tuples(("query_id", "uri", "rank"), "_ranked_documents", of_run=run_id)
    run = find_run(database, run_id)
    tag = str(run.settings.get("imported") or f"rag_pg-{run_id}")
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for query_id, uri, rank in ranked:
                file.write(_row(query_id, "Q0", uri, str(rank), f"{1 / rank:.9f}", tag))
    except OSError as exc:
        raise InvalidInput(f"cannot write {path}: {exc}") from exc
    count = LineCount(len(ranked))
    ids = {query_id for query_id, _, _ in ranked}
    count.notes = _blanks(ids | {uri for _, uri, _ in ranked})
    if missing := run.queries - len(ids):
        told = "questions have no line: nothing was found for them, or they failed"
        count.notes.append(f"{missing} {told}")
    return count
