"""Words that relate what stands behind them, with their opposites: before and after noon, at most
and at least 14 days, louder than the pump."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache, partial

from rag_pg.answer.reading.figures import SINGLE, in_digits, number_in_word
from rag_pg.text import is_among, is_function_word, same_word, told_words, words

# A line: the phrases of one side, and those that say the opposite of what follows them.
_SIDES = """
before; prior to; ahead of; vor; bevor; avant; antes de | after; following; nach; nachdem; après | during; während; pendant; durante
at most; up to; maximum of; no longer; höchstens; bis zu; au plus; au maximum; como máximo; a lo sumo; jusqu'à | at least; minimum of; mindestens; au moins; al menos; como mínimo
less than; fewer than; shorter than; younger than; lower than; smaller than; under; below; weniger als; kürzer als; jünger als; niedriger als; unter; unterhalb; moins de; au-dessous de; menos de | more than; longer than; older than; higher than; greater than; larger than; over; above; exceed; exceeds; exceeding; mehr als; länger als; älter als; höher als; über; oberhalb; plus de; au-dessus de; más de
until; till; bis | since; seit; depuis; desde
at the latest; spätestens; au plus tard; a más tardar | at the earliest; frühestens; au plus tôt; como pronto
"""  # noqa: E501
_DURING = 2  # the third side of a time
_BOUNDS = (1, 2)  # the lines that bound a number: one says what the other does
# How a bound compares with what is within it, and how it is written.
_BOUND_BY: list[tuple[Callable[[Decimal, Decimal], bool], re.Pattern[str]]] = [
    (
        compare,
        re.compile(
            rf"\b(?:{'|'.join(map(str.strip, side.split(';')))})\s+"
            r"(\d+(?:\.\d+)?)(?![.,]?\d)\s?(\w*)",
            re.IGNORECASE,
        ),
    )
    for compare, side in zip(
        (operator.ge, operator.le, operator.gt, operator.lt),
        [side for line in _BOUNDS for side in _SIDES.strip().splitlines()[line].split("|")],
        strict=True,
    )
]
_SINCE_THEN = re.compile(  # 2009
    r"\b((?:1\d|20)\d\d)\b(.*?)\b(?:since then|seitdem|seither|depuis lors|desde entonces)\b",
    re.IGNORECASE,
)
_NEGATIONS = frozenset(words("no not never cannot nicht nie pas jamais nunca"))
_THAN = re.compile(
    r"\b(?:more|less|fewer|mehr|weniger|plus|moins|más|menos|\w{2,}er)\s+(?:\w+\s+){0,3}?"
    r"((?:than|als|que)\s)",
    re.IGNORECASE,
)
PRONOUNS = frozenset(
    words("one ones other others those these jene diese andere anderen autre autres celui celle")
    + words("ceux celles otro otra otros otras")
)


def read_phrases(table: str) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """Yield the words of each phrase of a table, with its line and its group there."""
    for line, groups in enumerate(table.strip().splitlines()):
        for group, phrases in enumerate(groups.split("|")):
            yield from ((tuple(words(phrase)), line, group) for phrase in phrases.split(";"))


_OF = {
    phrase: (_BOUNDS[0] if line in _BOUNDS else line, side)
    for phrase, line, side in read_phrases(_SIDES)
}
_LONGEST = max(map(len, _OF))
OF_SIDES = frozenset(word for phrase in _OF for word in phrase if not is_function_word(word))


@lru_cache(64)
def bounds_of(text: str, unit: str | None = None) -> list[Callable[[Decimal], bool]]:
    """Whether a number is within each of the bounds that a text has (more than 20, up to one
    litre). unit: the word behind them; None: any."""
    text = SINGLE.sub("1", in_digits(text))
    return [
        partial(compare, Decimal(bound))
        for compare, pattern in _BOUND_BY
        for bound, own in pattern.findall(text)
        if unit is None or same_word(own.casefold(), unit.casefold())
    ]


def is_turned(claim: str, sentence: str) -> bool:
    """Whether a claim says of a word or a number the opposite relation of what a sentence says of
    it, or compares two things the other way round."""
    mine, there = _relations(claim), _relations(sentence)
    for axis, side, anchor in mine:
        sides = {s for a, s, other in there if a == axis and is_same(anchor, other)}
        if sides and side not in sides:
            return True
    return is_swapped(claim, sentence)


@lru_cache(1024)
def _relations(text: str) -> tuple[tuple[int, int, str], ...]:
    return tuple(_read_relations(_SINCE_THEN.sub(r"\1\2since \1", text)))


def _read_relations(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the line and the side of each relation, and the word that follows it."""
    found = words(text)
    at = 0
    while at < len(found):
        for length in range(min(_LONGEST, len(found) - at), 0, -1):
            if (relation := _OF.get(tuple(found[at : at + length]))) is not None:
                anchor = _anchor(found[at + length :])
                if anchor:
                    axis, side = relation
                    denied = bool(_NEGATIONS.intersection(found[max(at - 1, 0) : at]))
                    denied = denied and (axis not in _BOUNDS or anchor.isdigit())  # under the tap
                    yield axis, side ^ denied if side < _DURING else side, anchor
                at += length - 1
                break
        at += 1


def _anchor(behind: Sequence[str]) -> str:
    """The first word that says something of what follows a relation, near to it."""
    for word in behind[:3]:
        number = in_figures(word)
        if number.isdigit() or not is_function_word(word):
            return number
    return ""


def in_figures(word: str) -> str:
    """Return a word, and one that is a number in figures."""
    number = number_in_word(word)
    return word if number is None else str(number)


def is_same(one: str, other: str) -> bool:
    """Whether two words are forms of one, or numbers that are equal."""
    return one == other or (not one.isdigit() and same_word(one, other))


def is_swapped(claim: str, sentence: str) -> bool:
    """Whether "A is louder than B" became "B is louder than A"."""
    mine, there = _THAN.search(claim), _THAN.search(sentence)
    if not mine or not there:
        return False
    before, behind = _things(claim, mine)
    first, second = _things(sentence, there)
    return _share(before, second - first) and _share(behind, first - second)


def _things(text: str, match: re.Match[str]) -> tuple[set[str], set[str]]:
    sides = (text[: match.start(1)], text[match.end() :])
    before, behind = ({word for word in told_words(side) if word not in PRONOUNS} for side in sides)
    return before - behind, behind - before


def _share(some: set[str], others: set[str]) -> bool:
    return any(is_among(word, others) for word in some)
