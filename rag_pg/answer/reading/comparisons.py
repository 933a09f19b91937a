"""A comparison that figures of its source deny: "Elm is cheaper than Oak" where Elm costs 90 euros
and Oak 60."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice

from rag_pg.answer.reading.figures import counted_figures, number_in_word
from rag_pg.answer.reading.measures import Kind, comparable_amounts, is_of_dimension, is_unit
from rag_pg.answer.reading.negation import CLAUSE, is_negated
from rag_pg.answer.reading.passage import read_source
from rag_pg.answer.reading.rows import names_cell
from rag_pg.answer.reading.scales import SCALES
from rag_pg.text import has_word, is_function_word, same_word, told_words

_THAN = re.compile(r"(?<!rather )(?<!other )\b(?:than|als|que)\b", re.IGNORECASE)
_AS = re.compile(  # three times as much as
    r"(?P<over>\b(?:more|less)\s+than\s+)?\b(?:(?P<twice>twice|half)|(?P<times>\w+)\s+times)\s+as\s+"
    r"\w+\s+(?:\w+\s+){0,2}?as\b",
    re.IGNORECASE,
)
_ROUGH = re.compile(
    r"\b(?:about|almost|nearly|roughly|around|approximately|close to|over)\b", re.IGNORECASE
)
_COMPARED = [  # of what dimensions, whether there is more of it, and what says so
    (scale.units.split(), more, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))
    for scale in SCALES
    if scale.units
    for more, pattern in zip((True, False), scale.comparatives(), strict=True)
]
_MEASURED = (  # what a verb measures: costs more, takes less time
    (("euro",), r"costs?|price|pays?|kosten|kostet|zahlt|zahlen|coûtent?|coûte|cuestan?"),
    (("gram",), r"weighs?|wiegt|wiegen|pèse|pesan?"),
    (("day",), r"lasts?|lasted|takes?|took|dauert|dauern|durent?|duran?"),
)
_MORE = re.compile(r"\b(?:more|mehr|plus|más)\b(?:\s+([^\W\d]\w+))?", re.IGNORECASE)
_LESS = re.compile(r"\b(?:less|fewer|weniger|moins|menos)\b(?:\s+([^\W\d]\w+))?", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;:]\s")
_IN = re.compile(
    r"\s*(in|on|at|for|with|from|by|im|an|bei|für|mit|aus|von|en|dans|chez|pour|avec|con|para)\s",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\s*(?:it|he|she|they|es|er|sie|il|elle|ils|elles)\b", re.IGNORECASE)
_NEAR = Decimal("0.05")  # of a multiple, that is told exactly
_ABOUT = Decimal("0.25")  # of one that is told roughly
_MOST_TEXTS = 100  # that speak of a thing and are compared; of what more speak, none tells it all

Amounts = dict[Kind, list[Decimal]]


def is_reckoned_wrongly(claim: str, sources: Sequence[str]) -> bool:
    """Whether a claim compares two things of which its sources have the figures, and all of these
    say otherwise.

    The figures of a thing are those of its row, in the columns that the claim names where it names
    some; and of the clauses and sentences that name it and not the other thing.
    """
    for clause in _CLAUSE.split(claim):
        than = _AS.search(clause) or _THAN.search(clause)
        if than is None or is_negated(clause):
            continue
        first_part, second_part = clause[: than.start()], clause[than.end() :]
        if where := _IN.match(second_part):  # more in the first group than in the other
            first_part = re.split(rf"(?i)\b{where[1]}\s", first_part)[-1]
        before, behind = told_words(first_part), told_words(second_part)
        first = next((w for w in before if w not in behind), "")
        second = next((w for w in behind if w not in before), "")
        if first and second and _is_denied(clause, first, second, than, sources):
            return True
    return False


def _is_denied(
    clause: str, first: str, second: str, than: re.Match[str], sources: Sequence[str]
) -> bool:
    kinds, has_more, noun = _compared(clause, than)
    mine = _amounts(clause, first, second, noun, sources)
    others = _amounts(clause, second, first, noun, sources) if mine else {}
    shared = [
        kind
        for kind in mine
        if kind in others and (noun or not kinds or is_of_dimension(kinds, kind[0]))
    ]
    if than.re is _AS:
        return len(shared) == 1 and _is_other_multiple(
            clause, than, mine[shared[0]], others[shared[0]]
        )
    if has_more is None:
        return False
    return bool(shared) and all(
        max(mine[kind]) <= min(others[kind]) if has_more else min(mine[kind]) >= max(others[kind])
        for kind in shared
    )


def _compared(clause: str, than: re.Match[str]) -> tuple[Sequence[str], bool | None, str]:
    """Return of what dimensions a clause compares, whether it says that there is more of it, and
    the noun of which there is more or less."""
    before = clause[: than.start()]
    for kinds, more, pattern in _COMPARED:
        if pattern.search(before):
            return kinds, more, ""
    measured: Sequence[str] = next(
        (k for k, verb in _MEASURED if re.search(rf"\b(?:{verb})\b", before, re.IGNORECASE)), ()
    )
    for more, amount in ((True, _MORE), (False, _LESS)):
        if match := amount.search(before):
            noun = (match[1] or "").lower()
            is_noun = not measured and noun and not is_function_word(noun)
            return measured, more, noun if is_noun else ""
    return measured, None, ""


def _is_other_multiple(
    clause: str, than: re.Match[str], mine: Sequence[Decimal], others: Sequence[Decimal]
) -> bool:
    if than["twice"]:
        times = Decimal(2) if than["twice"].lower() == "twice" else Decimal("0.5")
    else:
        number = number_in_word(than["times"].lower())
        if number is None:
            return False
        times = Decimal(number)
    ratios = [one / other for one in mine for other in others if other]
    if than["over"]:
        is_more = than["over"].lower().startswith("more")
        return bool(ratios) and all(r <= times if is_more else r >= times for r in ratios)
    near = _ABOUT if _ROUGH.search(clause[: than.end()]) else _NEAR
    return bool(ratios) and all(abs(ratio - times) > near * times for ratio in ratios)


def _amounts(clause: str, thing: str, other: str, noun: str, sources: Sequence[str]) -> Amounts:
    """Return what the sources say that a thing measures, by kind."""
    found: Amounts = {}
    texts = [*islice(_texts(clause, thing, other, sources), _MOST_TEXTS + 1)]
    for text in texts if len(texts) <= _MOST_TEXTS else ():
        for kind, amount in _read(text, noun):
            found.setdefault(kind, []).append(amount)
    return found


def _read(text: str, noun: str) -> Iterator[tuple[Kind, Decimal]]:
    figures = counted_figures(text)
    if not noun:
        yield from comparable_amounts(text)
        yield from (((-1, unit), value) for _, value, unit in figures if unit and not is_unit(unit))
        return
    for _, value, unit in figures:
        if (unit and same_word(unit, noun)) or (not unit and len(figures) == 1):
            yield (-1, noun), value


def _texts(clause: str, thing: str, other: str, sources: Sequence[str]) -> Iterator[str]:
    """Yield the parts of sources that speak of one thing and not of the other."""
    for source in sources:
        read = read_source(source)
        for table in read.tables:
            columns = [n for n, name in enumerate(table.names) if n and names_cell(clause, name)]
            for row in table.cells:
                if has_word(row[0], thing):
                    yield "; ".join(row[n] for n in columns or range(1, len(row)))
        speaks = False
        for sentence in read.sentences:
            if sentence.kind == "row":
                continue
            text = sentence.text
            here, there = has_word(text, thing), has_word(text, other)
            speaks = (here or (speaks and bool(_PRONOUN.match(text)))) and not there
            if speaks:
                yield text
            elif here:
                parts = [part for part in CLAUSE.split(text) if part.strip()]
                yield from (p for p in parts if has_word(p, thing) and not has_word(p, other))
