"""Quantities with their units: what a claim measures otherwise than its source."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import combinations, pairwise

from rag_pg.answer.reading.figures import (
    SENTENCES,
    counted_figures,
    figures_of,
    foreign_figures,
    number_in_word,
    readings,
)
from rag_pg.text import is_function_word, words

# A line: a dimension, and its units with their size; units of size 0 cannot be converted.
_DIMENSIONS = """
0.001 ms millisecond milliseconds millisekunden millisecondes milisegundos; 1 second seconds sec secs sekunde sekunden seconde secondes segundo segundos; 60 minute minutes min mins minuten minuto minutos; 3600 hour hours hr hrs stunde stunden heure heures hora horas h; 86400 day days tag tage tagen jour jours dia dias; 604800 week weeks woche wochen semaine semaines semana semanas; 2629800 month months monat monate monaten mois mes meses; 7889400 quarter quarters quartal quartale trimestre; 31557600 year years jahr jahre jahren an ans annee annees ano anos; 315576000 decade decades jahrzehnt; 3155760000 century centuries jahrhundert siecle siglo
1 millimetre millimetres millimeter millimeters mm; 10 centimetre centimetres centimeter centimeters cm; 1000 metre metres meter meters metern metro metros m; 1000000 kilometre kilometres kilometer kilometers km kilometro kilometros; 25.4 inch inches; 304.8 foot feet ft; 914.4 yard yards; 1609344 mile miles meile meilen
1 milligram milligrams milligramm mg; 1000 gram grams gramm gramme grammes gramo gramos g; 1000000 kilogram kilograms kilogramm kilo kilos kg; 1000000000 tonne tonnes ton tons tonnen; 28349.5 ounce ounces oz
1 millilitre millilitres milliliter milliliters ml; 10 cl; 1000 litre litres liter liters litro litros l; 3785.4 gallon gallons
1 km/h kmh; 1.609344 mph; 3.6 m/s
1 °c celsius; 1 °f fahrenheit
1 thousand tausend mille mil; 1000 million millions mio millionen millón millones; 1000000 billion billions milliarde milliarden milliard milliards mrd
1 kb; 1000 mb; 1000000 gb; 1000000000 tb
1 db dezibel decibel decibels
0 euro euros eur €; 0 dollar dollars usd $; 0 pound pounds gbp £; 0 franc francs franken chf; 0 yen
"""  # noqa: E501
_DIFFER = re.compile(
    r"\b(?:less|fewer|more|\w+er than|difference|weniger|mehr|unterschied|moins|plus|différence"
    r"|menos|más|diferencia|before|previous\w*|increas\w*|decreas\w*|rose|risen|gr[eo]wn?|growth"
    r"|f[ae]ll\w*|dropped|declin\w*|reduc\w*|raised|lowered|up|down|higher|lower|zuvor|vorher|stieg"
    r"|gestiegen|sank|gesunken|augment\w*|baiss\w*|auparavant|aument\w*|antes)\b",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"\b(?:total\w*|altogether|together|combined|in all|sum|insgesamt|zusammen|gesamt\w*|summe"
    r"|en tout|en todo)\b",
    re.IGNORECASE,
)
_HALF = re.compile(r"\b(?:half|hälfte|halbe[nrs]?|moitié|mitad)\b", re.IGNORECASE)
_WORD = 40  # letters, more than a function word has
_MOST = 12  # numbers of a text, with which others are computed
_ONE = re.compile(
    r"(?<!\bof )(?<!\bhalf )\b(?:one|an?|eine[rnm]?|ein|une?|una)\s+(\w+)\b(?!\s+of\b)",
    re.IGNORECASE,
)
_TOLERANCE = Decimal("0.035")  # a month may be of 30 days, 20 km/h are about 12 mph
_EACH = re.compile(
    r"\b(?:per|an?|each|every|pro|je|jede[nrs]?|im|par|por|al|chaque|cada|tous les|alle)"
    r"\s+(\w+)(?:\s+(\w+))?",
    re.IGNORECASE,
)
_PER = re.compile(r"\b(?:per|pro|je|par|por)\s+(\w+)", re.IGNORECASE)
_NIGHTS = ("night", "nacht", "nuit", "noche")
_OFTEN = {
    word: unit
    for line in """
hour hourly stündlich
day daily nightly täglich quotidien night nacht nuit noche
week weekly wöchentlich hebdomadaire
month monthly monatlich mensuel
quarter quarterly vierteljährlich
year yearly annual annually jährlich annuel anual""".strip().splitlines()
    for unit, *often in (line.split(),)
    for word in words(" ".join(often))
}
_ACROSS = re.compile(
    r"(?<![\w.,])(\w+(?:[.,]\d+)?)\s+(\w+)\s+(long|wide|high|tall|deep|thick|lang|breit|hoch|tief|dick)\b",
    re.IGNORECASE,
)
_ALIKE = {"tall": "high"}
_ASKED = (  # of which a question asks how much, by a unit of each dimension
    (
        ("day",),
        r"how\s+long\b(?!\s+is\s+the)|\bhow\s+soon\b|\bduration\b|\bwie\s*lange?\b|\bdauert?\b"
        r"|\bcombien\s+de\s+temps\b|\bdurée\b|\bcuánto\s+(?:tiempo|dura)\b",
    ),
    (
        ("euro", "dollar", "pound", "franc", "yen"),
        r"\b(?:costs?|prices?|fees?|salary|rent|earns?|charges?|kosten|kostet|preise?|gebühr(?:en)?"
        r"|gehalt|miete|prix|coûte(?:nt)?|coût|precio|cuestan?|prezzo|costa)\b",
    ),
)
_COUNTED = re.compile(
    r"\b(?:how\s+many|wie\s*viele|combien\s+d['’e]|cuánt[oa]s|quant[ie])\s*(\w+)", re.IGNORECASE
)
_MONEY = re.compile(r"[€$£]\s?\d")
_SUM = re.compile(  # $310 million, 310 million dollars
    r"([€$£])\s?(\d(?:[\d.,]*\d)?)|(?<![\d.,€$£])(\d(?:[\d.,]*\d)?)\s(\w{3,9})\.?\s([^\W\d_]+|[€$£])"
)


def _read_units() -> dict[str, tuple[int, Decimal, str]]:
    found: dict[str, tuple[int, Decimal, str]] = {}
    for dimension, line in enumerate(_DIMENSIONS.strip().splitlines()):
        for unit in line.split(";"):
            size, *names = unit.split()
            found |= dict.fromkeys(names, (dimension, Decimal(size), names[0]))
    return found


_UNITS = _read_units()

Kind = tuple[int, str]  # a dimension, and the unit where none of it can be converted
_TIME, _PLAIN = (0, ""), (-1, "")
_YEAR = re.compile(r"(?<![\w.,-])(?:1\d{3}|20\d\d)(?![\w,-]|\.\d)")
_A_YEAR = _UNITS["year"][1]
_PERCENT = ("%", "percent", "prozent")
_HALF_A_PERCENT = Decimal("0.5")  # to which it is rounded

# The number, its dimension, the amount in the smallest unit of that, the name of the unit.
Quantity = tuple[Decimal, int, Decimal, str]


def foreign_measures(claim: str, source: str, results: str = "", whole: str = "") -> list[str]:
    """Return the numbers of a claim that a source does not have (see `foreign_figures`), and those
    that it has of another unit alone: 20 hours for 20 minutes.

    What is the same when it is converted (2 weeks, 14 days) is none, nor is the sum of others of
    the claim. Units of one dimension that cannot be converted (euros, dollars) differ. A small
    number in a word counts what a source lists, but not with a unit.

    Args:
        whole: the text that the source is a part of, whose figures may be reckoned with.
    """
    mine, there = [*_quantities(claim)], [*_quantities(source)]
    known = [*there, *_rates(source)]
    known += [("", one) for _, one in _compounds(source, there)]

    def is_there(quantity: Quantity) -> bool:
        return any(_is_same(one, quantity) for _, one in known)

    same = {written for written, one in mine if is_there(one)}
    for parts, together in _compounds(claim, mine):
        if is_there(together):
            same |= parts
    converted = {written.split()[0] for written in same}
    given, figures = figures_of(results), figures_of(source)
    wrong = [n for n in foreign_figures(claim, source, results) if n not in converted]
    paid, known_sums = ({*_sums(text)} for text in (claim, source))
    wrong += [n for sign, n in paid - known_sums if any(n == of for _, of in known_sums)]
    for written, quantity in mine:
        value, dimension = quantity[0], quantity[1]
        others = [one for _, one in there if one[:2] == (value, dimension)]
        others = others or [*_all_of_units(value, source, there)]
        is_new = not results and value not in figures
        if (others or is_new) and written not in same and value not in given:
            wrong.append(written)
    computed: Collection[str] = ()
    if wrong:
        computed = _computed(claim, f"{source}\n{whole}", figures | figures_of(whole))
        computed |= _differences(claim, mine, source)
    return [one for one in dict.fromkeys(wrong) if one.split()[0] not in computed]


def _sums(text: str) -> Iterator[tuple[str, str]]:
    """Yield the currency and the number of each sum with a sign or a magnitude."""
    for match in _SUM.finditer(text):
        name = _plain(match[1] or match[5])
        is_sum = match[1] or _is_magnitude(_plain(match[4]))
        if is_sum and name in _UNITS and not _UNITS[name][1]:
            yield _UNITS[name][2], match[2] or match[3]


def _all_of_units(
    value: Decimal, source: str, there: Sequence[tuple[str, Quantity]]
) -> Sequence[Quantity]:
    """The quantities with a number, where it stands in a text with nothing else behind it."""
    found = [one for _, one in there if one[0] == value]
    return found if len(found) == sum(one == value for _, one, _ in counted_figures(source)) else ()


def _computed(claim: str, source: str, figures: Collection[Decimal]) -> set[str]:
    """The numbers of a claim that are the sum of others in it which a source has, a number of the
    source and unit as often as another in it says, or the difference of two of one unit there."""
    counted = counted_figures(claim)[:_MOST]
    units = {unit for _, _, unit in counted if unit}
    told = counted_figures(source)
    known = [*dict.fromkeys((value, unit) for _, value, unit in told if unit in units)][:_MOST]
    pairs = [(a, b) for (a, one), (b, other) in combinations(known, 2) if one == other]
    computed = {abs(a - b) for a, b in pairs} if _DIFFER.search(claim) else set()
    computed |= {a + b for a, b in pairs} if _TOTAL.search(claim) else set()
    shares = {part for part in figures if 0 < part < 1} | _halves(claim, source)
    shares |= {part / 100 for _, part, unit in told if unit == "%"}
    computed |= {of * part for of, _ in known for share in shares for part in (share, 1 - share)}
    found: set[str] = set()
    for written, value, unit in counted:
        others = [(w, v) for w, v, _ in counted if w != written]
        parts = [v for _, v in others if v in figures]
        times = [w for w, v in others if v > 1 for b, of in known if of == unit and v * b == value]
        if (
            times
            or not computed.isdisjoint(readings(written, value))
            or any(sum(some) == value for n in (2, 3) for some in combinations(parts, n))
        ):
            found |= {written, *times}
    return found


def _differences(claim: str, mine: Iterable[tuple[str, Quantity]], source: str) -> set[str]:
    """The numbers of a claim that say by how much two amounts of a sentence or two years in it
    differ."""
    found: set[str] = set()
    differs = _DIFFER.search(claim) is not None
    counted = counted_figures(claim)
    for sentence in SENTENCES.split(source):
        amounts = [*comparable_amounts(sentence)] if differs else []
        plain = [value for _, value, unit in counted_figures(sentence) if differs and not unit]
        amounts += [(_PLAIN, value) for value in plain]
        amounts += [(_TIME, int(year) * _A_YEAR) for year in _YEAR.findall(sentence)]
        pairs = combinations(dict.fromkeys(amounts[:_MOST]), 2)
        spans = [(kind, a, b) for (kind, a), (other, b) in pairs if kind == other]
        apart = {(kind, abs(a - b)) for kind, a, b in spans}
        found |= {w.split()[0] for w, one in mine if (_kind(one), one[2]) in apart}
        found |= {w for w, value, _ in counted if (_PLAIN, value) in apart}
        found |= {
            written
            for written, value, unit in counted
            if unit in _PERCENT
            and any(b and abs(abs(a - b) / b * 100 - value) <= _HALF_A_PERCENT
                    for kind, one, two in spans if kind != _TIME
                    for a, b in ((one, two), (two, one)))
        }  # fmt: skip
    return found


def _halves(claim: str, source: str) -> set[Decimal]:
    return {Decimal("0.5")} if _HALF.search(claim) and _HALF.search(source) else set()


def is_unit(word: str) -> bool:
    """Whether a word is a unit that amounts are compared in."""
    return word in _UNITS


def _is_magnitude(word: str) -> bool:
    return word in _UNITS and _UNITS[word][0] == _UNITS["thousand"][0]


@lru_cache(64)
def asked_dimensions(question: str) -> frozenset[int]:
    """Return the dimensions of the amount that a question asks for: how long, how many days, what
    something costs; none where it does not say."""
    if (match := _COUNTED.search(question)) and (unit := _plain(match[1])) in _UNITS:
        return frozenset({_UNITS[unit][0]})
    return frozenset(
        _UNITS[unit][0]
        for units, asks in _ASKED
        if re.search(asks, question, re.IGNORECASE)
        for unit in units
    )


def has_amount(text: str, dimensions: Collection[int]) -> bool:
    """Whether a text has an amount of one of some dimensions."""
    own = {one[1] for _, one in (*_quantities(text), *_rates(text))}
    return not own.isdisjoint(dimensions) or (
        _UNITS["euro"][0] in dimensions and _MONEY.search(text) is not None
    )


def is_measured_otherwise(claim: str, sentence: str) -> bool:
    """Whether a claim has a rate where a sentence has another (per month, yearly), or says of a
    measure that it is of another side ("10 metres long" for wide)."""
    for is_one in (False, True):  # an hour
        mine, there = (
            [rate for name, rate in _rates(text) if bool(_ONE.match(name)) == is_one]
            for text in (claim, sentence)
        )
        if mine and there and not any(_is_same(one, other) for one in mine for other in there):
            return True
    each = [[_plain(unit) in _UNITS for unit in _PER.findall(text)] for text in (claim, sentence)]
    if all(each) and len({*each[0], *each[1]}) == 2 and len({*each[0]}) == len({*each[1]}) == 1:
        return True  # per year, per claim
    sides = _sides(sentence)
    return any(sides.get(measure, {side}).isdisjoint({side})
               for measure, found in _sides(claim).items() for side in found)  # fmt: skip


@lru_cache(4096)  # as each statement is compared with the same sentences
def amounts_of(text: str) -> frozenset[Decimal | tuple[int, Decimal]]:
    """Return the numbers of a text, and what it measures whatever the unit: two weeks, 14 days."""
    return figures_of(text) | {one[1:3] for _, one in (*_quantities(text), *_rates(text))}


@lru_cache(1024)
def comparable_amounts(text: str) -> Sequence[tuple[Kind, Decimal]]:
    """Return what a text measures: amounts of one kind can be compared."""
    return tuple((_kind(one), one[2]) for _, one in _quantities(text))


def _kind(quantity: Quantity) -> Kind:
    _, dimension, _, name = quantity
    return dimension, "" if _UNITS[name][1] else name


def is_of_dimension(units: Collection[str], dimension: int) -> bool:
    """Whether a dimension is that of one of some units."""
    return any(_UNITS[unit][0] == dimension for unit in units)


def _quantities(text: str) -> Iterator[tuple[str, Quantity]]:
    for written, value, unit in counted_figures(text):
        known = _UNITS.get(unit.replace(" ", "")) or _UNITS.get(_plain(unit))
        if known is not None:
            dimension, size, name = known
            for one in readings(written, value):
                amount = one * size if size else one
                if name == "°f":
                    amount = (one - 32) * 5 / 9
                yield f"{written} {unit}", (one, dimension, amount, name)


def _compounds(
    text: str, found: Sequence[tuple[str, Quantity]]
) -> Iterator[tuple[set[str], Quantity]]:
    """Yield the amounts written in two units (2 hours and 20 minutes), with their parts."""
    for (one, larger), (other, smaller) in pairwise(found):
        _, dimension, amount, name = larger
        if dimension != smaller[1] or not 0 < smaller[2] < _UNITS[name][1]:
            continue
        if re.search(rf"{re.escape(one)},?\s+(?:\w{{1,3}}\s+)?{re.escape(other)}", text):
            yield {one, other}, (larger[0], dimension, amount + smaller[2], smaller[3])


def _rates(text: str) -> Iterator[tuple[str, Quantity]]:
    """Yield how often something is: every three months, per year, daily."""
    for match in _EACH.finditer(text):
        before = text[max(0, match.start() - _WORD) : match.start()].split()[-1:]
        if match[0].lower().startswith("a") and before and is_function_word(before[0]):
            continue  # for a minute
        counted = number_in_word(_plain(match[1] or ""))
        unit, number = (match[2], counted) if counted and match[2] else (match[1], 1)
        name = _OFTEN.get(_plain(unit), _plain(unit))
        if name in _UNITS and _UNITS[name][0] == 0:
            _, size, of = _UNITS[name]
            yield match[0], (Decimal(number), 0, number * size, of)
    for word in words(text):
        if word in _OFTEN and word not in _NIGHTS:
            _, size, of = _UNITS[_OFTEN[word]]
            yield word, (Decimal(1), 0, size, of)
    for match in _ONE.finditer(text):
        if (unit := _plain(match[1])) in _UNITS:
            dimension, size, of = _UNITS[unit]
            yield match[0], (Decimal(1), dimension, size, of)


def _sides(text: str) -> dict[tuple[str, str], set[str]]:
    """Return of what sides measures are: (10, metres): wide."""
    found: dict[tuple[str, str], set[str]] = {}
    for match in _ACROSS.finditer(text):
        side = match[3].lower()
        found.setdefault((match[1], _plain(match[2])[:3]), set()).add(_ALIKE.get(side, side))
    return found


def _is_same(one: Quantity, other: Quantity) -> bool:
    if one[1] != other[1] or one[3] == other[3]:
        return one[1:3] == other[1:3]
    near = abs(one[2] - other[2]) <= _TOLERANCE * max(one[2], other[2])
    return bool(_UNITS[one[3]][1]) and near


def _plain(word: str) -> str:
    return next(iter(words(word)), word.lower())
