"""Files of questions and judgements -> a set: JSON Lines, CSV, BEIR, TREC.

A line that cannot be read is reported with its number, and the rest is stored.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from psycopg.types.json import Jsonb

from rag_pg.db import Database, checked_json
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.files.cells import FIELDS, entry_of_cells
from rag_pg.evaluation.statements import SavedQuery
from rag_pg.evaluation.types import EvalImport, Rejected
from rag_pg.text import separated_rows, undecoded

BATCH = 500
_OTHER_NAMES: Mapping[str, str] = {
    "_id": "id",
    "query_id": "id",
    "text": "question",
    "query": "question",
}


@dataclass(slots=True)
class _Read:
    """What was read: entries of rag.put_eval_queries with the file and line of each, and what could
    not be."""

    entries: dict[str, tuple[dict[str, Any], str, int]] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, entry: object, file: str, line: int) -> None:
        """Add an entry; of one id the first is kept, and the others are reported."""
        if not isinstance(entry, Mapping):
            self.reject(file, line, f"it is {entry!r:.100}; use an object with a question")
            return
        try:
            checked_json("the question", Jsonb(dict(entry)))
        except InvalidInput as exc:
            self.reject(file, line, str(exc))
            return
        key = str(entry.get("id") or entry.get("question"))
        if key in self.entries:
            self.reject(file, line, f"question {key!r:.100} stands in line {self.entries[key][2]}")
            return
        self.entries[key] = (dict(entry), file, line)

    def reject(self, file: str, line: int, reason: str) -> None:
        self.rejected.append(Rejected(file=file, line=line, reason=reason))


def import_set(
    database: Database,
    set_name: str,
    path: Path,
    *,
    form: str | None = None,
    qrels: Path | None = None,
    source: str = "human",
) -> EvalImport:
    """Store the questions of a file or folder in a set, which is made when there is none.

    Args:
        form: jsonl, csv, beir or trec; None: a folder is beir, else the suffix says it.
        qrels: judgements in TREC's form (question, 0, uri, grade; of BEIR without the 0), instead
            of those of the folder. source: human, synthetic, feedback or log.
    Raises: InvalidInput (a file that cannot be read, an unknown form).
    """
    chosen = form or _form_of(path)
    if chosen not in _READERS:
        raise InvalidInput(f"there is no form {chosen!r}; use {', '.join(sorted(_READERS))}")
    read = _Read()
    _READERS[chosen](path, qrels, read)
    return _store(database, set_name, read, source)


def put_queries(
    database: Database, set_name: str, queries: Sequence[Mapping[str, Any]], source: str
) -> EvalImport:
    """Store questions in a set; see rag.put_eval_queries. `Rejected.line` counts them, from 1."""
    if isinstance(queries, str | bytes | Mapping):
        raise InvalidInput(f"the questions are {queries!r:.100}; pass a list of objects")
    read = _Read()
    for number, entry in enumerate(queries, 1):
        read.add(entry, "question", number)
    return _store(database, set_name, read, source)


def _store(database: Database, set_name: str, read: _Read, source: str) -> EvalImport:
    entries = list(read.entries.values())
    counts = {"added": 0, "updated": 0, "unchanged": 0}
    database.value(int, "put_eval_set", set_name=set_name, description=None)
    for start in range(0, len(entries), BATCH):
        batch = entries[start : start + BATCH]
        queries = [entry for entry, *_ in batch]
        for saved in database.rows(
            SavedQuery, "put_eval_queries", set_name=set_name, queries=queries, source=source
        ):
            _, file, line = batch[saved.entry_number - 1]
            if saved.state == "rejected":
                read.reject(file, line, saved.reason or "")
            else:
                counts[saved.state] += 1
    return EvalImport(
        **counts,
        rejected=sorted(read.rejected, key=lambda one: (one.file, one.line)),
        notes=read.notes,
    )


def _form_of(path: Path) -> str:
    if path.is_dir():
        return "beir"
    if not path.exists():
        raise InvalidInput(f"there is no file {path}")
    forms = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv"}
    if path.suffix.lower() not in forms:
        raise InvalidInput(
            f"the form of {path.name} is not told by its name:"
            " name it .jsonl or .csv, or say which by --format (form=)"
        )
    return forms[path.suffix.lower()]


def _lines(path: Path, read: _Read) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not empty, with their numbers. Raises: InvalidInput."""
    try:
        with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
            for number, line in enumerate(file, 1):
                if fault := undecoded(line):
                    read.reject(path.name, number, fault)
                elif line.strip():
                    yield number, line.rstrip("\r\n")
    except OSError as exc:
        raise InvalidInput(f"cannot read {path}: {exc}") from exc


def _objects(path: Path, read: _Read) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of JSON Lines, their fields under our names."""
    for number, line in _lines(path, read):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as exc:
            read.reject(path.name, number, f"not JSON: {exc}")
            continue
        if not isinstance(value, dict):
            read.reject(path.name, number, "not a JSON object")
            continue
        yield number, {_OTHER_NAMES.get(key, str(key)): item for key, item in value.items()}


def _read_jsonl(path: Path, qrels: Path | None, read: _Read) -> None:
    judged = _read_qrels(qrels, read) if qrels else {}
    for number, entry in _objects(path, read):
        found = judged.pop(str(entry.get("id")), None)
        read.add(entry | ({"relevant": found[0]} if found else {}), path.name, number)
    _report_unasked(judged, qrels, read)


def _read_csv(path: Path, qrels: Path | None, read: _Read) -> None:
    """Rows of one id are one question: each brings a judgement."""
    judged = _read_qrels(qrels, read) if qrels else {}
    try:
        text = path.read_bytes().decode("utf-8-sig", "surrogateescape")
        separator = "\t" if path.suffix.lower() == ".tsv" else ","
        rows = separated_rows(text, "excel", delimiter=separator)
        heads = next(rows, (0, []))[1]
        if fault := undecoded(",".join(heads)):
            raise InvalidInput(f"{path.name}:1: {fault}")
        names = [_OTHER_NAMES.get(head, head) for head in heads]
        if set(names) - set(FIELDS) or "question" not in names:
            raise InvalidInput(
                f"{path.name} has the columns {', '.join(names)}; it needs question, and may"
                f" have {', '.join(FIELDS)}"
            )
        for number, row in rows:
            if not row:
                continue
            if fault := undecoded(",".join(row)):
                read.reject(path.name, number, fault)
                continue
            try:
                entry = entry_of_cells(
                    {key: cell for key, cell in zip(names, row, strict=False) if cell}
                )
            except ValueError as exc:
                read.reject(path.name, number, str(exc))
                continue
            known = read.entries.get(entry.get("id", ""))
            if known is not None and known[0]["question"] == entry["question"]:
                known[0].setdefault("relevant", []).extend(entry.get("relevant", []))
                continue
            found = judged.pop(entry.get("id", ""), None)
            read.add(entry | ({"relevant": found[0]} if found else {}), path.name, number)
    except (OSError, csv.Error) as exc:
        raise InvalidInput(f"cannot read {path}: {exc}") from exc
    _report_unasked(judged, qrels, read)


def _read_beir(path: Path, qrels: Path | None, read: _Read) -> None:
    """A folder of queries.jsonl and qrels/test.tsv or qrels.tsv; with answers.jsonl and
    unanswerable.jsonl where there are."""
    if not (path / "queries.jsonl").is_file():
        raise InvalidInput(f"{path} has no queries.jsonl: name the folder of a BEIR set")
    found = [qrels] if qrels else [path / "qrels" / "test.tsv", path / "qrels.tsv"]
    present = next((file for file in found if file.is_file()), None)
    if present is None:
        raise InvalidInput(f"{path} has neither qrels/test.tsv nor qrels.tsv: name the qrels")
    judged = _read_qrels(present, read)
    answers: dict[str, Any] = {}
    if (path / "answers.jsonl").is_file():
        for _, entry in _objects(path / "answers.jsonl", read):
            answers[str(entry.get("id"))] = entry.get("answers")
    unjudged = 0
    for number, entry in _objects(path / "queries.jsonl", read):
        judgements = judged.pop(str(entry.get("id")), None)
        if judgements is None:  # of another part of the set
            unjudged += 1
            continue
        kept = {key: entry[key] for key in FIELDS if key in entry}
        kept |= {"id": str(entry.get("id")), "relevant": judgements[0]}
        if answers.get(kept["id"]):
            kept["answers"] = answers[kept["id"]]
        read.add(kept, "queries.jsonl", number)
    if (path / "unanswerable.jsonl").is_file():
        for number, entry in _objects(path / "unanswerable.jsonl", read):
            kept = {key: entry[key] for key in ("id", "question", "category") if key in entry}
            read.add(kept | {"unanswerable": True}, "unanswerable.jsonl", number)
    if unjudged:
        read.notes.append(f"{unjudged} questions that {present.name} does not judge were left out")
    _report_unasked(judged, present, read)


def _read_trec(path: Path, qrels: Path | None, read: _Read) -> None:
    """Topics as <top> records or as lines of an id, a tab and a question, with their qrels."""
    if qrels is None:
        raise InvalidInput("topics of TREC need their judgements: name the qrels")
    judged = _read_qrels(qrels, read)
    for number, key, question in _topics(path, read):
        judgements = judged.pop(key, None)
        entry = {"id": key, "question": question}
        read.add(entry | ({"relevant": judgements[0]} if judgements else {}), path.name, number)
    _report_unasked(judged, qrels, read)


def _topics(path: Path, read: _Read) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the id and the title of each topic."""
    lines = list(_lines(path, read))
    if not any(re.match(r"\s*<top>", line, re.IGNORECASE) for _, line in lines):
        for number, line in lines:
            key, tab, question = line.partition("\t")
            if not tab or not question.strip():
                read.reject(path.name, number, "not an id, a tab and a question")
                continue
            yield number, key.strip(), question.strip()
        return
    text = "\n".join(line for _, line in lines)
    numbers = [number for number, _ in lines]
    for topic in re.finditer(r"<top>(.*?)</top>", text, re.IGNORECASE | re.DOTALL):
        first = numbers[text.count("\n", 0, topic.start())]
        name = re.search(r"<num>\s*(?:Number:)?\s*([^\s<]+)", topic[1], re.IGNORECASE)
        title = re.search(r"<title>\s*+(?:Topic:\s*+)?([^<]+)", topic[1], re.IGNORECASE)
        if name is None or title is None:
            read.reject(path.name, first, "a topic without <num> or <title>")
            continue
        yield first, name[1], " ".join(title[1].split())


def _read_qrels(path: Path, read: _Read) -> dict[str, tuple[list[dict[str, Any]], int]]:
    """Judgements by question: of TREC (four columns) or of BEIR (three, under a head)."""
    found: dict[str, tuple[list[dict[str, Any]], int]] = {}
    for number, line in _lines(path, read):
        cells = line.split("\t") if "\t" in line else line.split()
        if number == 1 and cells[0].lower() in ("query-id", "query_id", "qid"):
            continue
        try:
            key, uri, grade = (cells[0], cells[-2], float(cells[-1]))
            if len(cells) not in (3, 4) or not key or not uri:
                raise ValueError
        except (ValueError, IndexError):
            read.reject(path.name, number, "not a question, a uri and a grade")
            continue
        # TREC marks junk by a grade below 0: not relevant
        found.setdefault(key, ([], number))[0].append({"uri": uri, "grade": max(grade, 0.0)})
    return found


def _report_unasked(
    judged: Mapping[str, tuple[Sequence[Any], int]], qrels: Path | None, read: _Read
) -> None:
    for key, (_, line) in judged.items():
        assert qrels is not None
        read.reject(qrels.name, line, f"there is no question {key!r:.100}")


_READERS: Mapping[str, Callable[[Path, Path | None, _Read], None]] = {
    "jsonl": _read_jsonl,
    "csv": _read_csv,
    "beir": _read_beir,
    "trec": _read_trec,
}
