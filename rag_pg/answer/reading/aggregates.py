"""What is counted over the rows of a table: sum, average, maximum, minimum, number."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Context, Decimal, localcontext
from functools import partial
from itertools import chain
from typing import Literal

from rag_pg.answer.reading.freshness import source_date
from rag_pg.answer.reading.scales import OF_COLUMNS, OF_OTHERS, SCALES, Scale
from rag_pg.text import Table, content_words, is_among, is_function_word, words

Aggregate = Literal["sum", "average", "maximum", "minimum", "count"]

MOST_ROWS = 60  # that something is counted over: they are shown
_LONGEST_DATE = 20  # characters of a cell
LONGEST = 1000  # characters of a question that asks for that
_NUMBER = re.compile(
    r"([$€£¥₹]|[A-Z]{3}|)\s?([+−-]?\d[\d.,'’ \u00a0\u202f]{0,30})\s?([^\d\s.,]{0,12})"
)
MONEY = re.compile(r"[$€£¥₹]|\b(?:euros?|dollars?|pounds?|francs?|EUR|USD|GBP|CHF)\b")
_FREE = ("free", "gratis", "kostenlos", "frei", "gratuit", "gratuito")
_BEHIND = re.compile(r"(?:[,;] (?=[^\W\d])| \().*\Z", re.DOTALL)
_THOUSANDTHS = {mark: re.compile(rf"{re.escape(mark)}\d{{3}}(?!\d)") for mark in ".,"}
_TOTAL = re.compile(r"(?:(?:grand |sub)?total|sum|gesamt\w*|summe|insgesamt|somme|suma|totale?)\b")
_NO_QUANTITY = re.compile(
    r"version|release|id|nr|no|number|phone|zip|plz|code|year|jahr|date|datum"
)
_MOST_OF, _LEAST_OF = map(
    "|".join, zip(*(s.superlatives() for s in SCALES if s.columns), strict=True)
)
_ASKED: dict[Aggregate, str] = {
    "sum": r"sum|total|totals|altogether|combined|summe|gesamt\w*|insgesamt|somme|suma|totale?",
    "average": r"average|mean|durchschnitt\w*|mittelwert|moyenne?|promedio",
    "maximum": r"maximum|max|largest|biggest|greatest|größte\w*|maximale?\w*|meisten"
    rf"|{_MOST_OF}|(?<!at )most(?! of\b)",
    "minimum": r"minimum|min|smallest|fewest|kleinste\w*|minimale?\w*|wenigsten"
    rf"|{_LEAST_OF}|(?<!at )least",
    "count": r"how many|number of|wie viele|anzahl|combien de|cuánt[oa]s",
}
_ASKED_OF_DATES: dict[Aggregate, str] = {
    "maximum": r"newest|latest|most recent|youngest|neueste\w*|jüngste\w*|späteste\w*"
    r"|plus récente?s?|más recientes?",
    "minimum": r"oldest|earliest|älteste\w*|früheste\w*|plus ancien(?:ne)?s?|más antigu[oa]s?",
}
_OF_DATES = re.compile(rf"\b(?:{'|'.join(_ASKED_OF_DATES.values())})\b", re.IGNORECASE)
_SUPERLATIVES: dict[Aggregate, tuple[str, str]] = {  # of numbers, of dates
    "maximum": ("highest", "latest"),
    "minimum": ("lowest", "earliest"),
}
_OPERATION = re.compile(rf"\b(?:{'|'.join(_ASKED.values())})\b", re.IGNORECASE)
_OF_TABLES = (
    "all", "every", "each", "table", "list", "row", "column", "value", "amount", "listed",
    "expensive", "together", "overall", "belong", "contain", "include", "sell", "give", "offer",
    "run", "alle", "allen", "tabelle", "liste", "zeile", "spalte", "wert", "betrag", "gehören",
    "enthalten", "geben", "bieten", "laufen",
)  # fmt: skip


def asked_aggregate(question: str) -> Aggregate | None:
    """Return what a question wants to be counted over the rows of a table, None: nothing."""
    return _asked(question, _ASKED)


def is_counted(question: str) -> bool:
    """Whether a question may ask for something over the rows of a table, dates included."""
    return (asked_aggregate(question) or _asked(question, _ASKED_OF_DATES)) is not None


def _asked(question: str, by: Mapping[Aggregate, str]) -> Aggregate | None:
    if len(question) > LONGEST:
        return None
    text = " ".join(question.casefold().split())
    found = {name for name, pattern in by.items() if re.search(rf"\b(?:{pattern})\b", text)}
    if "count" in found and len(found) > 1:  # the total number of
        found -= {"count"} if found & {"average", "maximum", "minimum"} else {"sum"}
    return found.pop() if len(found) == 1 else None


def asked_extreme(question: str, row: str) -> str:
    """Return the word of a question for what is counted, "" where a row says it itself."""
    match = _OPERATION.search(question)
    own = {found.casefold() for found in _OPERATION.findall(row)}
    return "" if match is None or match[0].casefold() in own else match[0]


def without_operation(question: str, table: Table) -> str:
    """Return a question without the words of what is counted, and with the name of a column of the
    table for another word that it has for that (cost, where it has prices)."""
    left = _OF_DATES.sub(" ", _OPERATION.sub(" ", question)).split()
    plain = [word.strip("?!.,;:").casefold() for word in left]
    names = words(" ".join(table.names))
    for scale in _named(table, plain):
        name = table.names[named_columns(table, scale)[0]]
        left = [
            name if is_among(word, scale) and not is_among(word, names) else shown
            for word, shown in zip(plain, left, strict=True)
        ]
    return " ".join(left)


def aggregate(question: str, table: Table, about: str) -> tuple[str, Sequence[int]] | None:
    """Return what is asked of a whole table, in words, and the sentences of the rows that it is
    true of; None where that cannot be told for certain.

    That is where no column or several are meant, the question has a word that neither the names of
    the columns nor `about` (what stands above the table) have, or one that stands in some rows
    alone, a cell is no number or has another unit, thousands cannot be told from decimals, or there
    is a row of totals, which has no part in a maximum or minimum.
    """
    if not 1 < len(table.rows) <= MOST_ROWS:
        return None
    wanted, plain = asked_aggregate(question), _OPERATION.sub(" ", question)
    of_dates = _asked(question, _ASKED_OF_DATES)
    is_extreme = wanted in _SUPERLATIVES
    read = partial(read_numbers, table, is_extreme=is_extreme)
    asked = _asked_words(_OF_DATES.sub(" ", plain) if of_dates else plain)
    meant = named_columns(table, asked)
    if of_them := _columns_of(question, table, OF_COLUMNS):
        meant = of_them
    elif not any(map(read, meant)):
        meant = _columns_of(question, table, OF_OTHERS) or meant
    named = _named(table, asked)
    if not any(map(read, meant)):
        meant = [n for names in named for n in named_columns(table, names)] or meant
    known = [*words(about), *words(" ".join(table.names)), *_OF_TABLES, *chain(*named)]
    known += _of_all(table)
    if not all(is_among(word, known) for word in asked):
        return None
    if of_dates and not of_them:
        return _extreme_date(of_dates, asked, meant, table)
    if wanted is None:
        return None
    if wanted == "count":
        has_totals = any(_TOTAL.match(row[0].casefold()) for row in table.cells)
        return None if has_totals else _count(asked, meant, table)
    columns = [(n, found) for n in meant if (found := read(n))]
    if len(columns) != 1 or _restricts(asked, table, columns[0][0]):
        return None
    column, (numbers, unit) = columns[0]
    name = table.names[column].casefold()
    if _OPERATION.search(name) or any(_NO_QUANTITY.fullmatch(word) for word in words(name)):
        return None
    totals = [
        n
        for n, row in enumerate(table.cells)
        if _TOTAL.match(row[0].casefold()) and _may_be_sum(numbers[n], sum(numbers) - numbers[n])
    ]
    counted = [number for n, number in enumerate(numbers) if n not in totals]
    if not counted or (totals and not is_extreme):
        return None
    value = _calculated(wanted, counted)
    if is_extreme:
        best = [n for n, number in enumerate(numbers) if number == value and n not in totals]
        return _extreme(table, column, best, f"{_SUPERLATIVES[wanted][0]} of {len(counted)}")
    shown = f"{wanted} of {table.names[column]}: {unit.format(f'{value:f}')}"
    return f"{shown} ({len(numbers)} rows)", table.rows


def _asked_words(question: str) -> list[str]:
    asked = content_words(" ".join(question.split()))
    return [word for word in asked if not is_function_word(word)]


def _extreme(
    table: Table, column: int, best: Sequence[int], which: str
) -> tuple[str, Sequence[int]]:
    """The rows that have the most or least, by their first cells, in words."""
    things = ", ".join(table.cells[n][0] for n in best) + ": " if column else ""
    cell = table.cells[best[0]][column].strip()
    shown = f"{things}{table.names[column]} {cell}, the {which} rows"
    return shown, [table.rows[n] for n in best]


def _extreme_date(
    wanted: Aggregate, asked: Sequence[str], meant: Sequence[int], table: Table
) -> tuple[str, Sequence[int]] | None:
    """The rows of the latest or earliest date of the one column of dates, or that which is meant;
    None where there is none, or two, or a question has a word that stands in some rows alone."""
    dated = {n: days for n in range(len(table.names)) if (days := _days(table, n))}
    columns = [n for n in meant if n in dated] or list(dated)
    if len(columns) != 1 or _restricts(asked, table, columns[0]):
        return None
    column, days = columns[0], dated[columns[0]]
    value = max(days) if wanted == "maximum" else min(days)
    best = [n for n, day in enumerate(days) if day == value]
    return _extreme(table, column, best, f"{_SUPERLATIVES[wanted][1]} of {len(days)}")


def _days(table: Table, column: int) -> list[date] | None:
    """The dates of a column; None where a cell is none, or all are of digits alone."""
    cells = [row[column].strip() for row in table.cells]
    if not all(cells) or all(map(str.isdigit, cells)) or max(map(len, cells)) > _LONGEST_DATE:
        return None
    days = [source_date({}, cell, "") for cell in cells]
    return [day for day in days if day] if all(days) else None


def row_as_table(table: Table, row: int) -> Table:
    """Return a row of a table whose columns are things as a table with a row for each of them."""
    name, *cells = table.cells[row]
    at = table.rows[row]
    return Table(
        first=at,
        last=at + 1,
        names=[table.names[0] or "-", name],
        rows=[at] * len(cells),
        cells=list(zip(table.names[1:], cells, strict=True)),
        is_headed=True,
    )


def _calculated(wanted: Aggregate, numbers: Sequence[Decimal]) -> Decimal:
    """An aggregate, exact but for a mean without end, which has four decimals more."""
    if wanted in ("maximum", "minimum"):
        return max(numbers) if wanted == "maximum" else min(numbers)
    with localcontext(Context(prec=200)):
        total = sum(numbers, Decimal())
        if wanted == "sum":
            return total
        exponent = total.as_tuple().exponent
        mean = round(total / len(numbers), 4 - (exponent if isinstance(exponent, int) else 0))
        return mean.normalize() if mean != mean.to_integral() else mean.to_integral()


def _may_be_sum(number: Decimal, of_others: Decimal) -> bool:
    """Whether a number may be the sum of the others, though of rounded ones or of some."""
    return 10 * abs(number) >= 9 * abs(of_others)


def _count(
    asked: Sequence[str], meant: Sequence[int], table: Table
) -> tuple[str, Sequence[int]] | None:
    """How many rows there are, where each is of something else by the columns that are meant, and
    none is left out."""
    for n in meant:
        different = {row[n].casefold() for row in table.cells}
        if len(different) < len(table.cells) or (n and read_numbers(table, n)):
            return None
    if not meant or _restricts(asked, table, None):
        return None
    return f"number of {table.names[meant[-1]]}: {len(table.rows)}", table.rows


def named_columns(table: Table, asked: Sequence[str]) -> list[int]:
    """The columns of whose names a question has a word."""
    return [n for n, name in enumerate(table.names) if _names(name, asked)]


def _columns_of(question: str, table: Table, scales: Sequence[Scale]) -> list[int]:
    """The columns that a superlative of a question means: those of weights, for heaviest."""
    text = question.casefold()
    return [
        n
        for scale in scales
        if scale.columns and re.search(rf"\b(?:{'|'.join(scale.superlatives())})\b", text)
        for n in named_columns(table, scale.columns.split())
    ]


def _named(table: Table, asked: Sequence[str]) -> list[list[str]]:
    """Names of what columns are of that a question names by another word: price and cost."""
    scales = [scale.columns.split() for scale in SCALES if scale.columns]
    return [s for s in scales if any(is_among(w, asked) for w in s) and named_columns(table, s)]


def _names(name: str, asked: Sequence[str]) -> bool:
    return any(is_among(word, asked) for word in content_words(name))


def _restricts(asked: Sequence[str], table: Table, column: int | None) -> bool:
    """Whether a question has a word that stands in some rows alone, but for what is counted."""
    rest = [word for word in asked if not any(_names(name, [word]) for name in table.names)]
    inside = {
        word
        for row in table.cells
        for n, cell in enumerate(row)
        for word in words(cell)
        if n != column
    }
    return any(is_among(word, inside - _of_all(table)) for word in rest)


def _of_all(table: Table) -> set[str]:
    """The words that each row begins with."""
    return set.intersection(*({*words(row[0])} for row in table.cells))


def read_numbers(
    table: Table, column: int, *, is_extreme: bool = False
) -> tuple[list[Decimal], str] | None:
    """The numbers of a column and how they are written with their unit; None where one is none, or
    not all have the same unit.

    Args:
        is_extreme: of a maximum or minimum, for which what is free costs 0, and words behind a
            number count nothing (40 %, students only).
    """
    cells = [row[column].strip() for row in table.cells]
    free = [is_extreme and cell.casefold() in _FREE for cell in cells]
    if is_extreme:
        cells = [_BEHIND.sub("", cell) for cell in cells]
    found = [
        _NUMBER.fullmatch(cell) for cell, is_free in zip(cells, free, strict=True) if not is_free
    ]
    if not all(found) or len({(m[1], m[3]) for m in found if m}) != 1:
        return None
    numbers = [match[2].strip() for match in found if match]
    first = next(match for match in found if match)
    is_money = MONEY.search(f"{first[1]} {first[3]} {table.names[column]}") is not None
    mark = _decimal_mark(numbers, is_money=is_money)
    if mark is None or (any(free) and not is_money):
        return None
    before, after = first.string[: first.start(2)], first.string[first.start(2) + len(numbers[0]) :]
    unit = "{}".join(part.replace("{", "{{").replace("}", "}}") for part in (before, after))
    told = iter([_read_number(number, mark) for number in numbers])
    return [Decimal() if is_free else next(told) for is_free in free], unit


def _decimal_mark(numbers: Sequence[str], *, is_money: bool) -> str | None:
    """Which mark parts decimals in all of some numbers; None where that cannot be told: 1,234, but
    of money, which has no three decimals."""
    possible = [mark for mark in ".," if all(re.fullmatch(_form(mark), n) for n in numbers)]
    if is_money and len(possible) == 2:
        possible = [
            mark for mark in possible if not any(_THOUSANDTHS[mark].search(n) for n in numbers)
        ]
    if len(possible) == 2 and any("." in n or "," in n for n in numbers):
        return None
    return possible[0] if possible else None


def _form(mark: str) -> str:
    thousands = r"[,'’ \u00a0\u202f]" if mark == "." else r"[.'’ \u00a0\u202f]"
    return rf"[+−-]?(?:\d{{1,3}}(?:{thousands}\d{{3}})+|\d+)(?:{re.escape(mark)}\d+)?"


def _read_number(number: str, mark: str) -> Decimal:
    whole, _, decimals = number.replace("−", "-").partition(mark)
    return Decimal(re.sub(r"[^\d+-]", "", whole) + (f".{decimals}" if decimals else ""))
