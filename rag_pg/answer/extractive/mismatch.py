"""How the passage that is nearest to a question has no value of the kind, or of the year, that it
asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import takewhile

from rag_pg.answer.extractive.candidate import Candidate
from rag_pg.answer.reading.display import OPEN
from rag_pg.answer.reading.figures import MONTH
from rag_pg.answer.reading.freshness import are_editions, holds_since
from rag_pg.answer.reading.measures import is_unit
from rag_pg.answer.reading.negation import is_negated
from rag_pg.answer.reading.question_kind import (
    QuestionKind,
    asks_when,
    find_lacking_value,
    has_number,
)
from rag_pg.answer.reading.strange import is_common
from rag_pg.text import is_among, is_function_word, told_words, words

_CAPITAL = re.compile(r"(?<=\s)[A-ZÀ-ÖØ-Þ][\w'’-]*")  # not the first word of a question
Nearness = Callable[[str, Sequence[str]], float]  # of a text to the nearest of some others

NEAR = 0.3  # of what is counted and another name for it
_ANYTHING = {
    *words("people persons men women times leute personen menschen mal personnes fois veces")
}
_HOW_MANY = {*words("number total maximum minimum limit anzahl zahl nombre número")}
_COUNTED = re.compile(
    r"\b(?:how\s+many|the\s+number\s+of|wie\s*viele|combien\s+d(?:e\s|['’])|cuánt[oa]s)\s+"
    r"(?:(?:of|von)\s+)?(?:(?:the|our|my|your|these|den|unseren)\s+)?((?:[\w'-]+\s*){1,3})",
    re.IGNORECASE,
)
_NO_COUNT = re.compile(  # the number of an item, dates, times and sums
    rf"(?m)^\s*\d{{1,3}}[.)]\s|\d{{1,2}}\.?\s+(?:{MONTH})\b|\b(?:{MONTH})\s+\d{{1,2}}\b"
    r"|\b(?:19|20)\d\d\b|\b\d{1,2}[:.]\d\d\b|[$€£]\s?\d[\d.,]*",
    re.IGNORECASE,
)
_WHEN = re.compile(  # a date, a day of the week or a time
    rf"\b(?:{MONTH}|(?:19|20)\d\d|\d{{1,2}}[:.]\d\d|\d{{1,2}}\s?(?:[ap]m|uhr|h)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?"
    r"|mittwochs?|sonnabends?)\b",
    re.IGNORECASE,
)
_CLAUSES = re.compile(r"[.,;:!?()]\s|\n")
BESIDE = 2  # sentences before and behind the best one, that may have what is asked for by its kind
_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![\d.,]\d|\d)")
_SHORT_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)\s?[/–-]\s?(\d\d)(?!\d)")  # 2021/22
_OPEN = re.compile(  # what is said or asked of more than one year
    r"\b(?:since|before|after|until|till|from|by|between|as\s+of|ab|seit|vor|nach|bis|von|depuis"
    r"|avant|après|dès|desde|antes|después|hasta)\s+(?:\S+\s+){0,3}?(?=(?:19|20)\d\d)",
    re.IGNORECASE,
)


def find_mismatch(
    question: str, best: Candidate, others: Sequence[Candidate], near: Nearness
) -> str:
    """Return how the best passage is of something else than a question asks for; "": it is not, or
    that cannot be told.

    It does not say how many there are where that is asked, it is of other years or of another
    thing than a document is titled by, or it has no telephone number, mail address, price or colour
    where one is asked for.

    Args:
        others: passages, one of which may have the count or the year. near: 0: as near as text
            about something else.
    """
    lacking = find_lacking_value(question, _near(best))
    return (
        _other_count(question, best, others, near)
        or _other_year(question, best, others)
        or _other_name(question, best, others)
        or (f"the nearest passage has no {lacking}" if lacking else "")
    )


def _other_name(question: str, best: Candidate, others: Sequence[Candidate]) -> str:
    named = next((c.hit.title for c in others if is_named_instead(question, c, best)), "")
    return f"the nearest passage is of {best.hit.title}, not of {named}" if named else ""


def is_named_instead(question: str, c: Candidate, best: Candidate) -> bool:
    """Whether a question names the document of a passage (Raven Hut), and not that of the best one,
    whose title has a word of that (Lake Hut) and which has nothing of the other's name. A word that
    is common, or small in the question, is none: Hut rules may say what Hut prices do not."""
    asked, own = words(question), told_words(best.hit.title)
    name = told_words(c.hit.title)
    rest = [word for word in name if not is_among(word, own)]
    if not 0 < len(rest) < len(name) or all(is_among(word, asked) for word in own):
        return False
    whole = words(f"{best.hit.heading}\n{best.hit.content}")
    written = words(" ".join(_CAPITAL.findall(question)))
    return (
        all(is_among(word, asked) for word in name)
        and all(is_among(word, written) and not is_common(word) for word in rest)
        and not any(is_among(word, whole) for word in rest)
        and not are_editions(best.hit, c.hit)
    )


def lacks_value(question: str, c: Candidate, kind: QuestionKind) -> bool:
    """Whether a question asks for a price or its like, a number or a time, and a passage has none
    by which it might answer."""
    heading = f"{c.hit.title}\n{c.hit.heading}\n{c.headings_above[c.best]}"
    return (
        find_lacking_value(question, _near(c)) != ""
        or (kind == "quantity" and not any(map(has_number, c.shown)))
        or (asks_when(question) and not _WHEN.search(f"{heading}\n{_near(c)}"))
    )


def _near(best: Candidate) -> str:
    """What stands near the best sentence of a passage, and above it without its figures."""
    near = range(max(best.best - BESIDE, 0), min(best.best + BESIDE + 1, len(best.shown)))
    heading = best.headings_above[best.best]
    around = [best.shown[at] for at in near if best.headings_above[at] == heading]
    tables = [t for t in best.page.tables if t.first <= best.best < t.last]
    told = [text for t in tables for text in (*t.names, best.shown[max(t.first - 1, 0)])]
    above = [best.hit.title, best.hit.heading, heading, *told]  # "Prices", "Prices in euros."
    return "\n".join([*around, *(re.sub(r"\d", "", text) for text in above)])


def _other_count(
    question: str, best: Candidate, others: Sequence[Candidate], near: Nearness
) -> str:
    """What a question wants the number of, where no passage with as many of its words has one near
    it, or of what may be another name for it; what a list or a table has may be counted."""
    match = _COUNTED.search(question)
    counted = list(takewhile(lambda w: not is_function_word(w), words(match[1]))) if match else []
    shown = best.shown[best.best]
    kinds = [s.kind for s in best.sentences[best.best :][: BESIDE + 1]]
    alike = [best, *(c for c in others if c.words_found >= best.words_found)]
    texts = [_NO_COUNT.sub(" ", _near(c)) for c in alike]

    def names(text: str) -> bool:
        return any(is_among(word, words(text)) for word in counted)

    is_one = kinds[0] == "item" and names(texts[0]) and not names(shown)
    is_row = any(best.best in t.rows and names(" ".join(t.names)) for t in best.page.tables)
    is_listed = is_one or is_row or "row" in kinds or shown.endswith(OPEN)
    if not counted or is_listed or any(map(is_unit, counted)):
        return ""
    if any(_counts(text, counted) for text in texts):
        return ""
    things = _things_counted(texts[0])
    is_any = counted[0] in _ANYTHING and has_number(texts[0])
    if is_any or (things and near(" ".join(counted), things) >= NEAR):
        return ""
    return f"the nearest passage does not say how many {' '.join(counted)}"


def _counts(text: str, things: Sequence[str]) -> bool:
    """Whether a number stands before or behind one of some things, or, once they are named, alone:
    there can only be four of them."""
    is_named = False
    for clause in _CLAUSES.split(text):
        found = words(clause)
        is_named = is_named or any(is_among(word, things) for word in found)
        alone = [*map(is_function_word, found), True]
        if is_named and any(
            has_number(w) and alone[at - 1] and alone[at + 1] for at, w in enumerate(found)
        ):
            return True
    for line in text.splitlines():
        before, _, behind = line.partition(":")
        if any(map(has_number, words(behind)[:2])) and any(
            is_among(w, things) for w in words(before)
        ):
            return True
        found = words(line)
        for at, word in enumerate(found):
            beside = [*found[max(at - 4, 0) : at], *found[at + 1 : at + 3]]
            if is_among(word, things) and any(
                has_number(w) or is_negated(w) or w in _HOW_MANY for w in beside
            ):
                return True
    return False


def _things_counted(text: str) -> list[str]:
    """What stands behind the numbers of a text."""
    found = words(text)
    return [
        " ".join(behind)
        for at, word in enumerate(found)
        if has_number(word)
        and (
            behind := [
                w for w in found[at + 1 : at + 4] if not (is_function_word(w) or has_number(w))
            ]
        )
    ]


def _other_year(question: str, best: Candidate, others: Sequence[Candidate]) -> str:
    """The years of a passage that are none of those of the question, nor around them."""
    asked = set(_YEAR.findall(question))
    own = _years(best)
    if not asked or not own or asked & own or _OPEN.search(question):
        return ""
    alike = [best, *(c for c in others if c.words_found >= best.words_found)]
    titled = [c for c in alike if c.hit.title == best.hit.title != ""]
    are_several = len({c.hit.document_id for c in titled}) > 1  # editions, not reports of years
    since = [day.year for c in alike if (day := holds_since(c.hit.metadata))]
    since += [c.day.year for c in titled if are_several and c.day]
    if any(asked & _years(c) for c in alike) or any(year <= int(min(asked)) for year in since):
        return ""
    is_within = any(min(own) < year < max(own) for year in asked)
    is_open = _OPEN.search(best.hit.content) is not None and min(own) < min(asked)
    if is_within or is_open:
        return ""
    return f"the nearest passage is of {', '.join(sorted(own))}, not of {', '.join(sorted(asked))}"


def _years(c: Candidate) -> set[str]:
    hit = c.hit
    values = " ".join(map(str, hit.metadata.values()))
    text = f"{hit.title}\n{hit.heading}\n{hit.uri.rpartition('/')[2]}\n{values}\n{hit.content}"
    text = text.replace("_", " ")
    seasons = {
        str(int(y) + 1) for y, end in _SHORT_YEAR.findall(text) if int(end) == int(y[2:]) + 1
    }
    return seasons.union(_YEAR.findall(text))
