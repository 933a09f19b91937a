"""The versions of a document: listed, as they were, and how two differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from rag_pg import console
from rag_pg.console import Column
from rag_pg.errors import NotFound

if TYPE_CHECKING:
    from rag_pg.client import Collection
    from rag_pg.types import LineChange

_STYLES = {"-": "red", "+": "green", "=": ""}


def print_versions(opened: Collection, uri: str) -> None:
    found = opened.versions.list(uri)
    if not found:
        opened.get(uri)  # says that there is none
    console.listing(
        found,
        (
            "version",
            "state",
            Column("from", console.local_time, optional=True, value="valid_from"),
            Column("until", console.local_time, optional=True, value="valid_until"),
            "characters",
            Column("title", optional=True),
        ),
    )


def print_text_at(opened: Collection, uri: str, at: str) -> None:
    """Print what a document said at a time. Raises: NotFound, InvalidInput."""
    moment = console.parsed_moment(at)
    text = opened.versions.at(uri, moment)
    if text is None:
        raise NotFound(
            f"what {uri} said at {console.local_time(moment)} is not kept; rag-pg show {uri} -c"
            f" {opened.name} --versions lists what is"
        )
    if console.as_json.get():
        console.write_json(text)
        return
    since = "" if text.valid_from is None else f" from {console.local_time(text.valid_from)}"
    until = "" if text.valid_until is None else f" until {console.local_time(text.valid_until)}"
    console.write_message((f"version {text.version}{since}{until}", "dim"))
    console.write(text.content)


def print_difference(uri: str, numbers: tuple[int, int], lines: Sequence[LineChange]) -> None:
    """Print a difference in the unified form."""
    if console.as_json.get():
        console.listing(lines, empty="")
        return
    if not lines:
        console.write_message("their texts are equal")
        return
    for sign, number in zip(("---", "+++"), numbers, strict=True):
        console.write((f"{sign} {uri} version {number}", "bold"))
    for hunk in _hunks(lines):
        spans = [
            f"{found[0]},{len(found)}" if found else "0,0"
            for found in (
                [line.old_line for line in hunk if line.old_line is not None],
                [line.new_line for line in hunk if line.new_line is not None],
            )
        ]
        console.write((f"@@ -{spans[0]} +{spans[1]} @@", "dim"))
        for line in hunk:
            sign = " " if line.change == "=" else line.change
            console.write((f"{sign}{line.line}", _STYLES[line.change]))


def _hunks(lines: Sequence[LineChange]) -> Iterator[list[LineChange]]:
    """Yield the runs of lines that follow one another; equal lines stand around each."""
    hunk = [lines[0]]
    for before, line in pairwise(lines):
        both_equal = before.change == line.change == "="
        if both_equal and (line.old_line or 0) - (before.old_line or 0) > 1:
            yield hunk
            hunk = []
        hunk.append(line)
    yield hunk
