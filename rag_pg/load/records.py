"""Tables, JSON and e-mail, by the standard library."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import dropwhile, islice
from typing import Any

from rag_pg.errors import InvalidInput
from rag_pg.text import clean_text, separated_rows, unique_object
from rag_pg.types import Loaded

_SNIFFED = 20_000  # characters in which the separator of a table is looked for
_TITLES = 5  # lines that may stand above a table
_SEPARATOR = re.compile(r"sep=([,;\t|])[ \t]*$", re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d\d?(?:-\d\d?)?(?:[ T].*)?|\d\d?([./-])\d\d?\1(?:\d\d){1,2}")
_OWN = ("uri", "content", "title", "media_type", "language", "metadata")


def table_rows(text: str, suffix: str, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table with the numbers of their last lines, without the line by which
    Excel is told its separator. strict: an open quote is an error. Raises: csv.Error."""
    rows = separated_rows(text, _dialect(text, suffix), strict=strict)
    if _SEPARATOR.match(text):
        next(rows)
    return rows


def _dialect(text: str, suffix: str) -> type[csv.Dialect]:
    if suffix == ".tsv":
        return csv.excel_tab
    told = _SEPARATOR.match(text)
    lines = [f"a{told[1]}b"] if told else text[:_SNIFFED].split("\n", _TITLES)[:_TITLES]
    for line in lines:  # one without a separator may be a title
        with suppress(csv.Error):
            dialect = csv.Sniffer().sniff(line, ",;\t|")
            dialect.doublequote = True
            return _Column if dialect.delimiter == "," and _is_prose(text) else dialect
    return csv.excel  # one column


class _Column(csv.excel):
    """One column, whose cells may have commas."""

    delimiter = "\x1f"


def _is_prose(text: str) -> bool:
    """Whether commas are those of sentences: a blank follows each, and below lines without one,
    as a title, they are not as many in each line, and part no column of figures. In the first line
    they part names of columns."""
    lines = text[:_SNIFFED].split("\n")[: None if len(text) <= _SNIFFED else -1]
    every = [row for row in csv.reader(lines, skipinitialspace=True) if row]
    head, *rows = [*dropwhile(lambda row: len(row) < 2, every)] or [[]]
    if (
        every[0] is head
        or len({len(head), *map(len, rows)}) < 2
        or re.search(r",\S", text[:_SNIFFED])
    ):
        return False
    columns = zip(*(map(kind_of, row) for row in rows), strict=False)
    return len(rows) < 2 or not any(map(all, islice(columns, 1, len(head))))


def kind_of(cell: str) -> str:
    """What a cell holds: a date, a number, an address, "" for words."""
    if _DATE.fullmatch(cell):
        return "date"
    if any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell)):
        return "number"
    return "address" if " " not in cell and ("@" in cell or "://" in cell) else ""


def json_documents(
    text: str, suffix: str, keys: Mapping[str, str]
) -> Iterator[Loaded | str] | None:
    """Return the documents of a JSON array or of JSON lines, None if it does not hold documents.

    It does when its first record is an object with the texts uri and content, or keys that `keys`
    calls so. Other keys become metadata. A record that is no document gives a message instead.
    Raises: InvalidInput (the first record lacks the keys that `keys` names).
    """
    records: Iterator[tuple[str, Any]]
    if suffix == ".jsonl":
        records = _lines(text, unique_object)
        first = next(_lines(text, dict), ("", None))[1]
    else:
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            return None
        first = values[0] if isinstance(values, list) and values else None
        records = ((f"record {number}", value) for number, value in enumerate(values or (), 1))
    if keys and isinstance(first, Mapping):
        _check_keys(first, keys)
    if not isinstance(first, dict) or not (keys or {"uri", "content"} <= first.keys()):
        return None
    return (_document(location, _renamed(record, keys)) for location, record in records)


def table_documents(text: str, suffix: str, keys: Mapping[str, str]) -> Iterator[Loaded | str]:
    """Return a document for each row of a CSV or TSV file, whose columns `keys` names.

    Raises: InvalidInput (it cannot be read as a table, or lacks the columns).
    """
    table = table_rows(text, suffix, strict=True)
    try:
        names = next(table, (0, []))[1]
    except csv.Error as exc:
        raise InvalidInput(f"cannot be read: {exc}; check its quotes") from exc
    _check_keys(dict.fromkeys(names), keys)
    return _rows(table, names, keys)


def _rows(
    table: Iterator[tuple[int, list[str]]], names: list[str], keys: Mapping[str, str]
) -> Iterator[Loaded | str]:
    try:
        for number, row in table:
            location = f"line {number}"
            if len(row) > len(names):
                yield f"{location} has {len(row)} fields for {len(names)} columns; mend it"
            elif row:
                record = {name: cell for name, cell in zip(names, row, strict=False) if cell}
                yield _document(location, _renamed(record, keys))
    except csv.Error as exc:
        yield f"{exc}; check its quotes"


def _check_keys(first: Mapping[str, Any], keys: Mapping[str, str]) -> None:
    if missing := [key for key in keys if key not in first]:
        raise InvalidInput(
            f"has no {', '.join(missing)} to map in its first record; it has"
            f" {', '.join(map(str, first))}"
        )
    renamed = _renamed(first, keys)
    if isinstance(renamed, Mapping) and not {"uri", "content"} <= renamed.keys():
        raise InvalidInput(
            "has no uri and content after mapping; its first record has"
            f" {', '.join(map(str, first))}: map those"
        )


def _renamed(record: Any, keys: Mapping[str, str]) -> Any:
    """Return a record with its keys as `keys` calls them; a number that names a document is its
    text. One that has a key of both names is an error instead."""
    if not keys or not isinstance(record, Mapping):
        return record
    renamed = {key: value for key, value in record.items() if key not in keys}
    for key, own in keys.items():
        if own in renamed:
            return InvalidInput(
                f"it has both {key} and {own}, which would be the same: rename one of them"
            )
        if key in record:
            value = record[key]
            number = isinstance(value, int | float) and not isinstance(value, bool)
            renamed[own] = str(value) if number else value
    return renamed


def _lines(text: str, make: Callable[[list[tuple[str, Any]]], Any]) -> Iterator[tuple[str, Any]]:
    """Yield what each line says, or why it is no JSON. make: of the pairs of an object."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield f"line {number}", json.loads(line, object_pairs_hook=make)
            except (ValueError, RecursionError) as exc:
                yield f"line {number}", exc


def _document(location: str, record: Any) -> Loaded | str:
    if isinstance(record, InvalidInput):
        return f"{location}: {record}"
    if isinstance(record, Exception):
        return f"{location} is not JSON: {record}; mend it"
    if not isinstance(record, Mapping):
        return f"{location} is a {type(record).__name__}; write an object with uri and content"
    texts = {key: record.get(key) or "" for key in _OWN if key != "metadata"}
    wrong = [key for key, value in texts.items() if not isinstance(value, str)]
    wrong += [key for key in ("uri", "content") if not texts[key]]
    extra = record.get("metadata") or {}
    if wrong or not isinstance(extra, Mapping):
        return f"{location}: {(wrong or ['metadata'])[0]} is missing or of the wrong type; mend it"
    metadata = {key: value for key, value in record.items() if key not in _OWN}
    (uri, a), (content, b), (title, c) = map(
        clean_text, (texts["uri"], texts["content"], texts["title"])
    )
    return Loaded(
        uri=uri,
        title=title,
        content=content,
        media_type=texts["media_type"] or "text/plain",
        language=texts["language"] or None,
        metadata={**metadata, **extra},
        removed=a + b + c,
        other_keys=tuple(metadata),
    )
