"""How the passage that is nearest to a question is of another column, quantity or year than it asks
for."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise, takewhile

from rag_pg.answer.aggregates import MONEY, is_operation
from rag_pg.answer.candidate import Candidate
from rag_pg.answer.display import OPEN
from rag_pg.answer.figures import MONTHS, foreign_figures
from rag_pg.answer.freshness import holds_since
from rag_pg.answer.head import find_names
from rag_pg.answer.identifiers import Identifiers
from rag_pg.answer.measures import is_unit
from rag_pg.answer.negation import is_negated
from rag_pg.answer.question_kind import find_lacking_value, has_number, lacks_price
from rag_pg.answer.rows import names_cell
from rag_pg.answer.term_match import is_in
from rag_pg.text import (
    content_words,
    find_tables,
    is_among,
    is_function_word,
    named_cells,
    same_word,
    words,
)

Nearness = Callable[[str, Sequence[str]], float]  # of a text to the nearest of some others

MOST = 3  # words for what is asked of a row
NEAR = 0.3  # of a word and a row that has it under another name
NEAR_QUESTION = 0.15  # of a question without the row's name, and a column that has it
_NUMBER = {"number", "nummer", "numero"}  # which a row with figures has
_PRICE = {
    *words("cost price fee rate charge pay spend kosten kostet preis zahlen coûte prix precio")
}
_MEANS = {*words("mean means meaning bedeutet bedeutung signifie significa")}
_PERIOD = re.compile(
    r"(?i)\b(?:(?:second|minute|hour|day|week|month|quarter|year)s?|(?:dai|hour|week|month|quarter|year)ly"
    r"|Sekunden?|Minuten?|Stunden?|Tage?n?|Wochen?|Monate?n?|Quartale?|Jahre?n?"
    r"|jours?|semaines?|mois|ans?|heures?|días?|semanas?|mes|meses|años?|horas?)\b"
)
_LASTING = {*words("often long frequently interval period time oft häufig lange dauer souvent")}
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
    rf"(?m)^\s*\d{{1,3}}[.)]\s|\d{{1,2}}\.?\s+(?:{'|'.join(MONTHS)})\b|\b(?:{'|'.join(MONTHS)})\s+\d{{1,2}}\b"
    r"|\b(?:19|20)\d\d\b|\b\d{1,2}[:.]\d\d\b|[$€£]\s?\d[\d.,]*",
    re.IGNORECASE,
)
BESIDE = 2  # sentences before and behind the best one, that may have what is asked for by its kind
_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![\d.,]\d|\d)")
_SHORT_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)\s?[/–-]\s?(\d\d)(?!\d)")  # 2021/22
_QUANTITY = re.compile(r"(?<![\w-])(\d[\d.,]*)[-\u2011]([^\W\d_]{2,})(?![\w-])")  # 60-litre
_OPEN = re.compile(  # what is said or asked of more than one year
    r"\b(?:since|before|after|until|till|from|by|between|as\s+of|ab|seit|vor|nach|bis|von|depuis"
    r"|avant|après|dès|desde|antes|después|hasta)\s+(?:\S+\s+){0,3}?(?=(?:19|20)\d\d)",
    re.IGNORECASE,
)


def find_mismatch(
    question: str,
    best: Candidate,
    others: Sequence[Candidate],
    unknown: Collection[str],
    near: Nearness,
) -> str:
    """Return how the best passage is of something else than a question asks for; "": it is not, or
    that cannot be told.

    A row of a table that the question names has no column for what it asks, no row is of the kind
    that it names (a corporate membership), a quantity in one word
    (a 60-litre bin) is not among those that the passage tells apart, the passage is of other years,
    or it has no telephone number, mail address, price or colour where one is asked for.

    Args:
        others: passages, one of which may have the quantity or the year. unknown: words of the
            question that no document has. near: 0: as near as text about something else.
    """
    lacking = find_lacking_value(question, _near(best))
    return (
        _other_quantity(question, best, others)
        or _other_count(question, best, others, near)
        or _other_year(question, best, others)
        or _other_row(question, best, unknown, near)
        or _other_column(question, best, near)
        or (f"the nearest passage has no {lacking}" if lacking else "")
    )


def _near(best: Candidate) -> str:
    """What stands near the best sentence of a passage, and above it without its figures."""
    near = range(max(best.best - BESIDE, 0), min(best.best + BESIDE + 1, len(best.shown)))
    heading = best.headings_above[best.best]
    around = [best.shown[at] for at in near if best.headings_above[at] == heading]
    above = [best.hit.title, best.hit.heading, heading, *_table(best)[0]]  # "Prices"
    return "\n".join([*around, *(re.sub(r"\d", "", text) for text in above)])


def tells_no_price(question: str, best: Candidate) -> bool:
    """Whether a question asks for what may be a price and a passage tells none where it answers."""
    return lacks_price(question, _near(best))


def _other_quantity(question: str, best: Candidate, others: Sequence[Candidate]) -> str:
    for number, unit in _QUANTITY.findall(question):
        asked = f"{number} {unit}"
        alike = [c for c in others if c.words_found >= best.words_found]
        if all(foreign_figures(asked, _apart(c)) for c in (best, *alike)):
            own = [n for n, of in _QUANTITY.findall(best.hit.content) if same_word(of, unit)]
            if own:
                told = ", ".join(dict.fromkeys(f"{n}-{unit}" for n in own))
                return f"the nearest passage is of {told}, not of {number}-{unit}"
    return ""


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
    is_listed = is_one or "row" in kinds or shown.endswith(OPEN)
    if not counted or is_listed or any(map(is_unit, counted)):
        return ""
    if any(_counts(text, counted) for text in texts):
        return ""
    things = [thing for text in texts[:1] for thing in _things_counted(text)]
    is_any = counted[0] in _ANYTHING and has_number(texts[0])
    if is_any or (things and near(" ".join(counted), things) >= NEAR):
        return ""
    return f"the nearest passage does not say how many {' '.join(counted)}"


def _counts(text: str, things: Sequence[str]) -> bool:
    """Whether a number stands before or behind one of some things."""
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


def _apart(c: Candidate) -> str:
    return _QUANTITY.sub(r"\1 \2", f"{c.hit.title}\n{c.hit.heading}\n{c.hit.content}")


def _other_year(question: str, best: Candidate, others: Sequence[Candidate]) -> str:
    """The years of a passage that are none of those of the question, nor around them."""
    asked = set(_YEAR.findall(question))
    own = _years(best)
    if not asked or not own or asked & own or _OPEN.search(question):
        return ""
    alike = [best, *(c for c in others if c.words_found >= best.words_found)]
    since = [day.year for c in alike if (day := holds_since(c.hit.metadata))]
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


def _other_row(question: str, best: Candidate, unknown: Collection[str], near: Nearness) -> str:
    """The word before the name of the first column, where it is that of no row, nor nearly."""
    names, rows = _table(best)
    keys = [row[0] for row in rows if row[0]]
    if len(keys) < 2 or any(names_cell(question, key) for key in keys):
        return ""
    for asked, _ in Identifiers.of(question).forms:  # size 15
        name, _, number = asked.partition(" ")
        for column, cells in zip(names, zip(*rows, strict=True), strict=True):
            if is_among(name.lower(), words(column)) and _all_others(number, cells):
                return f"the table has no row with {column} {number}"
    named = {word for name in find_names(question) for word in words(name)}
    others = {*unknown, *(named - {*words(f"{best.hit.title} {best.hit.content}")})}
    for word, kind in pairwise(content_words(question)):
        is_kind = is_among(kind, words(names[0]))
        is_other = is_kind and word in others and not is_operation(word)
        if is_other and near(word, keys) < NEAR:
            return f"the table by “{names[0]}” has no row “{word}”"
    return ""


def _all_others(number: str, cells: Sequence[str]) -> bool:
    """Whether each cell of a column is one number alone, and none the given one."""
    return bool(number) and all(
        cell.strip().isdigit() and int(cell) != int(number) for cell in cells
    )


def _table(best: Candidate) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The names of the columns and the rows of the table in which the best sentence stands."""
    for table in find_tables(best.hit.content, best.sentences):
        if table.first <= best.best < table.last:
            return table.names, table.cells
    alone = named_cells(best.sentences[best.best].text)
    if len(alone) > 2 and best.sentences[best.best].kind == "item":
        return [name for name, _ in alone], [[cell for _, cell in alone]]
    return (), ()


def _other_column(question: str, best: Candidate, near: Nearness) -> str:
    """What a question asks of a row that it names, where no column is named like it, nor nearly,
    and nothing beside the table speaks of it."""
    names, rows = _table(best)
    names = [name.replace("_", " ") for name in names if name]
    named = [cell for row in rows for cell in row if names_cell(question, cell)]
    outside = f"{best.hit.title} {best.hit.heading} {' '.join(best.headings_above)}"
    own = [cell for row in rows if not set(named).isdisjoint(row) for cell in row]
    known = {word for text in (outside, *own) for word in words(text)}
    asked = [word for word in content_words(question) if not is_function_word(word)]
    if any(char.isdigit() for cell in own for char in cell):
        known |= _NUMBER
    if any(map(MONEY.search, own)) or any(word in _PRICE for n in names for word in words(n)):
        known |= _PRICE
    if any(map(_PERIOD.search, own)):
        known |= _LASTING
    rest = [word for word in asked if word not in _MEANS and not _has(known, word)]
    is_else = len(rest) > MOST or any(is_in(word, n) for word in rest for n in find_names(question))
    beside = [t for t, s in zip(best.shown, best.sentences, strict=True) if s.kind == "prose"]
    columns = {word for text in (*names, *beside) for word in words(text)}
    if not named or not rest or is_else or any(_has(columns, word) for word in rest):
        return ""
    # "When … open" is nearer to hours than "open" alone
    unnamed = (w for w in question.split() if is_function_word(w) or not _has(known, w))
    if near(" ".join(unnamed), names) >= NEAR_QUESTION:
        return ""
    return f"the table that has “{max(named, key=len)}” has no column for “{' '.join(rest)}”"


def _has(own: set[str], word: str) -> bool:
    return any(is_among(part, own) for part in words(word))
