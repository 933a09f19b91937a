"""Labels of people for the results of a run: from a file or a program, checked one by one, stored
as the scores of the judge `human`, which other judges are measured by."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_pg.db import Database
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.run import find_run
from rag_pg.evaluation.statements import ResultRow
from rag_pg.evaluation.types import LabelReport, Rejected
from rag_pg.text import separated_rows, undecoded

PERSON = "human"
VERSION = "1"  # people have none
COLUMNS = ("query_id", "score", "reason")
_WORDS: Mapping[str, float] = {"yes": 1.0, "right": 1.0, "no": 0.0, "wrong": 0.0}

_Line = tuple[int, Mapping[str, Any] | str]  # its number, and what it holds or what is wrong


def judge_of(person: str) -> str:
    """The name under which a person's labels are stored. Raises: InvalidInput."""
    if any(character.isspace() for character in person):
        raise InvalidInput(f"{person!r:.100} is no name of a person: use one without spaces")
    return f"{PERSON}:{person}" if person else PERSON


def put_labels(
    database: Database, run_id: int, labels: Sequence[Mapping[str, Any]] | Path, person: str
) -> LabelReport:
    """Store labels; those that cannot be are reported, and the others stored.

    Args:
        labels: objects of query_id, score (0 to 1, yes or no) and perhaps reason, or a file of
            them: JSON Lines, or CSV with these columns. The last of a question counts.
    Raises: InvalidInput (a file that cannot be read), NotFound (no such run).
    """
    judge = judge_of(person)
    if isinstance(labels, Path):
        lines, source = list(_lines_of(labels)), labels.name
    else:
        lines, source = list(enumerate(map(_as_label, labels), 1)), "label"
    find_run(database, run_id)
    rows = database.rows(ResultRow, "_reported_results", of_run=run_id, depth=1)
    known = {row.query_id for row in rows}
    if not known:
        raise InvalidInput(f"run {run_id} has no results to label; rag-pg eval show lists the runs")
    stored: dict[str, Mapping[str, Any]] = {}
    rejected: list[Rejected] = []
    for number, line in lines:
        try:
            label = _checked(line, known)
            stored[label["query_id"]] = label
        except ValueError as exc:
            rejected.append(Rejected(file=source, line=number, reason=str(exc)))
    if stored:
        database.call(
            "put_eval_scores", run_id=run_id, judge=judge, judge_version=VERSION,
            scores=list(stored.values()),
        )  # fmt: skip
    return LabelReport(stored=len(stored), rejected=rejected)


def _as_label(given: object) -> Mapping[str, Any] | str:
    if isinstance(given, Mapping):
        return given
    return f"it is {given!r:.100}; use an object of query_id and score"


def _checked(line: Mapping[str, Any] | str, known: set[str]) -> Mapping[str, Any]:
    """Raises: ValueError saying what is wrong with a label."""
    if isinstance(line, str):
        raise ValueError(line)
    query_id, given = str(line.get("query_id", "")), line.get("score")
    if query_id not in known:
        raise ValueError(f"the run has no question {query_id!r:.100}")
    word = str(given).strip().lower()
    try:
        score = _WORDS[word] if word in _WORDS else float(word)
    except ValueError:
        score = -1.0
    if not 0 <= score <= 1:
        raise ValueError(f"the label of {query_id!r:.100} is {given!r:.50}; use 0 to 1, yes or no")
    reason = line.get("reason")
    return {"query_id": query_id, "score": score} | ({"reason": str(reason)} if reason else {})


def _lines_of(path: Path) -> Iterator[_Line]:
    """Yield the labels of a file. Raises: InvalidInput."""
    try:
        text = path.read_bytes().decode("utf-8-sig", "surrogateescape")
        if path.suffix.lower() in (".csv", ".tsv"):
            separator = "\t" if path.suffix.lower() == ".tsv" else ","
            yield from _rows(path.name, separated_rows(text, "excel", delimiter=separator))
            return
    except OSError as exc:
        raise InvalidInput(f"cannot read {path}: {exc.strerror or exc}") from exc
    except csv.Error as exc:
        raise InvalidInput(f"cannot read {path}: {exc}") from exc
    for number, line in enumerate(text.splitlines(), 1):
        if fault := undecoded(line):
            yield number, fault
        elif line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as exc:
                value = f"not JSON: {exc}"
            yield number, value if isinstance(value, dict | str) else "not a JSON object"


def _rows(name: str, rows: Iterator[tuple[int, list[str]]]) -> Iterator[_Line]:
    heads = next(rows, (0, []))[1]
    if fault := undecoded(",".join(heads)):
        raise InvalidInput(f"{name}:1: {fault}")
    if not {"query_id", "score"} <= set(heads) <= set(COLUMNS):
        raise InvalidInput(
            f"{name} has the columns {', '.join(heads)}; it needs query_id and score, and may have"
            " reason"
        )
    for number, row in rows:
        if fault := undecoded(",".join(row)):
            yield number, fault
        elif row:
            yield number, dict(zip(heads, row, strict=False))
