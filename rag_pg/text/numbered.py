"""Lines that begin with a number: clauses of contracts, and values that are explained. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

LONGEST_NAME = 60  # characters of what names a clause

_CLAUSE = re.compile(  # § 4, Article 4, 4. **Fees.**
    r"[ \t]*(?P<name>§§?"
    r"|(?!Step|Schritt|Paso)[A-Z][a-zà-ÿ]{0,11}\.?(?=[ \u00a0])|(?=\d+[.)][ \t]+(?:\*\*|__)\w))"
    r"[ \u00a0]?(?P<number>\d{1,3})(?:[.):]|\b)(?=[ \t]+\S)(?![ \t]+\|)"
)
_NAMED = re.compile(rf"(?:(?:§+|[A-Z]\w*\.?)[ \u00a0]?)?\d{{1,3}}[.):]? \S.{{0,{LONGEST_NAME}}}")
_COUNTED = re.compile(r"[ \t]*(?:\d{1,3}[.):]|§|[A-Z]\w*\.?[ \u00a0]\d)")  # 3. Roof, TOP 3 Roof
_FULL_STOP = re.compile(r"[^\W_]{2}[)\"'”’»]*[.!?](?:\s|\Z)")
_PART = re.compile(r"[ \t]*(?:\(\d{1,2}[a-z]?\)|\d{1,3}\.\d{1,2}\.?|\(?[a-z]\))[ \t]+\S")
_VALUE = re.compile(r"([ ]*)(\d{1,3})[ ]{2,}\S")
_OF_STEPS = 99  # the highest number of a step


def find_clauses(lines: Sequence[str]) -> set[int]:
    """The numbers of the lines that begin a clause: with the same word, § or only a name in bold,
    and a number that is one more than that of the one before; three at least, or two with §."""
    runs: list[list[int]] = []
    goes_on: dict[tuple[str, int], list[int]] = {}  # by what the next line has to begin with
    for at, line in enumerate(lines):
        if match := _CLAUSE.match(line):
            name, number = match["name"], int(match["number"])
            if (run := goes_on.pop((name, number), None)) is None:
                runs.append(run := [])
            run.append(at)
            goes_on[name, number + 1] = run
    return {
        at for run in runs if len(run) > 2 - lines[run[0]].lstrip().startswith("§") for at in run
    }


def names_clause(line: str, below: Sequence[str]) -> bool:
    """Whether a line is the number and name of a clause whose parts, (1) or 4.1, begin below, or of
    a paragraph that is below it, though it could have begun in this line."""
    is_name = _NAMED.fullmatch(line.strip()) and line[-1:] not in ".;:,!?"
    if not is_name or _PART.match(line):
        return False
    width = max(map(len, below))
    return bool(_PART.match(below[0])) or (
        below[0][:1].isupper()
        and _COUNTED.match(line) is not None
        and len(line) + 1 + len(below[0].split(None, 1)[0]) <= width
        and any(map(_FULL_STOP.search, below))
    )


def find_values(lines: Sequence[str]) -> set[int]:
    """The numbers of the lines that begin with a value, two spaces and what it means, as exit codes
    have it: numbers that do not count up by one are no steps."""
    found: set[int] = set()
    run: list[tuple[int, int]] = []
    depth = 0
    for at, line in enumerate([*lines, "."]):
        match = _VALUE.match(line)
        if run and line and (len(line) - len(line.lstrip()) < depth or at == len(lines)):
            counts = all(b == a + 1 for (_, a), (_, b) in pairwise(run))
            if not counts or not 0 < run[0][1] <= _OF_STEPS:
                found.update(number for number, _ in run)
            run = []
        if match and (not run or len(match[1]) == depth):
            run, depth = [*run, (at, int(match[2]))], len(match[1])
    return found
