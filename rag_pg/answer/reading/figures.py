"""The numbers of a text that nothing it was made from has."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache

from rag_pg.text import is_function_word, same_word, words

_MOST_DIGITS = 4300  # that Python reads as one number
MOST_COUNTED = 12  # a number in a word up to which it may count what a source lists

_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:[,'’\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_SPACED = re.compile(r"(?<![\w.,])(?<!\d )[1-9]\d{0,2}(?: \d{3})+(?![.,:]?\d| \d)")  # 30 000
_CITATION = re.compile(r"\[\d+(?:, \d+)*\]")
_LISTED = re.compile(r"(?m)^[^\S\n]*\d{1,3}[.)]\s|(?<=\s)\d{1,2}\)\s")  # the number of an item
_UUID = re.compile(r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_GROUPS = re.compile("[,'’ \u00a0\u202f]")
_COMMA = re.compile(r"(?<![\d.,])(\d+),(\d{1,2})(?![\d.,]*\d)")  # 1,5 in most of Europe
_POINTS = re.compile(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?![.,]?\d)")  # 1.250 there
_AFTERNOON = re.compile(r"(?<![\d:])(\d{1,2})(?::\d\d)?\s?p\.?\s?m\b", re.IGNORECASE)
_MORNING = re.compile(r"(?<![\d:])(\d{1,2})(?::\d\d)?\s?a\.?\s?m\b", re.IGNORECASE)
_OCLOCK = re.compile(r"(?<=\d):00\b(?!:)")
_DATE = re.compile(  # 31.03., and not 4.2 at the end of a sentence
    r"(?<![\d.])(\d{1,2})\.(\d{1,2})\.(?=\d{2,4}\b|\s?[^\W\dA-ZÄÖÜ]|[,;:)]|(?<=\d\d\.[01]\d\.))"
)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")
_WRITTEN = re.compile(rf"{_SPACED.pattern}|{_COMMA.pattern}|{_NUMBER.pattern}")
_ADDED = re.compile(r"\s*-?\s*|\s+(?:et|y)\s+")
_TENS = re.compile(r"\b(?:vingt|trente|quarante|cinquante|soixante)(?:-|\s)+et(?:-|\s)+$", re.I)
_BACK = 20  # characters before a number, in which a word that it is added to stands
_ROW = re.compile(
    r"-?[^\S\t]*(?:(?:and|or|to|und|oder|bis|et|ou|à|y|o|a|,|-|–|/|%|€|°)+"
    r"|(?:out )?of(?: the)?|von(?: den)?|sur(?: les)?|de (?:los|las))[^\S\t]*",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"(?:[^\S\t]|-)*(?:(?:degrees?|grad|degrés?|grados)\s(?=celsius|fahrenheit))?(km/h|m/s|°\s?[CF]\b|[^\W\d_]+|[%‰°€$£])",
    re.IGNORECASE,
)
_SECOND = re.compile(r"(?:\s+[^\W\d_]+(?:-[^\W\d_]+)*){0,2}")
SINGLE = re.compile(r"\b(?:one|eine?[nmrs]?|une?|una|uno)\b", re.IGNORECASE)
SENTENCES = re.compile(r"(?<=[.!?])\s")
_ENDS = re.compile(r"\s*(?:[.;,)]|\Z)(?!\d)")
_TIMES = ("times", "mal", "fois", "veces")
_NAMED = re.compile(r"[^\W\d_]-?\Z")  # before a number that is a part of a name: N1, vault-2
_SHORT = {"m": "million", "mn": "million", "mio": "million", "bn": "billion", "k": "thousand"}
_CURRENCY = re.compile(r"[€$£]\s?\Z")
_SIGNS = {"€": "euros", "$": "dollars", "£": "pounds"}

_NUMBERS_IN_WORDS = """
0 zero null zéro cero; 1 one ein eine einen einem einer eins un une una uno;
2 two zwei deux dos twice zweimal; 3 three drei trois tres; 4 four vier quatre cuatro;
5 five fünf cinq cinco; 6 six sechs seis; 7 seven sieben sept siete; 8 eight acht huit ocho;
9 nine neun neuf nueve; 10 ten zehn dix diez; 11 eleven elf onze once; 12 twelve zwölf douze doce;
13 thirteen dreizehn treize trece; 14 fourteen vierzehn quatorze catorce;
15 fifteen fünfzehn quinze quince; 16 sixteen sechzehn seize dieciséis;
17 seventeen siebzehn diecisiete; 18 eighteen achtzehn dieciocho; 19 nineteen neunzehn diecinueve;
20 twenty zwanzig vingt veinte; 30 thirty dreißig trente treinta;
40 forty vierzig quarante cuarenta; 50 fifty fünfzig cinquante cincuenta;
60 sixty sechzig soixante sesenta; 70 seventy siebzig setenta; 80 eighty achtzig ochenta;
90 ninety neunzig noventa; 100 hundred hundert cent cien; 1000 thousand tausend mille mil
"""
SPELLED_OUT = {
    word: int(value)
    for value, *found in map(str.split, _NUMBERS_IN_WORDS.split(";"))
    for word in found
}
_GERMAN = re.compile(
    "(ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun)und"
    "(zwanzig|dreißig|vierzig|fünfzig|sechzig|siebzig|achtzig|neunzig)"
)
_SEVERAL = {"null", "once", "elf", "quince", "cent", "mil"}  # another word somewhere
COUNTS = tuple(word for word, value in SPELLED_OUT.items() if value > 1 and word not in _SEVERAL)
_IN_ORDER = """
first 1st erste ersten erster erstes premier première primer primera; second 2nd zweite zweiten zweiter zweites deuxième segundo segunda; third 3rd dritte dritten dritter drittes troisième tercer tercera; fourth 4th vierte vierten vierter viertes quatrième cuarto cuarta
fifth 5th fünfte fünften fünfter fünftes cinquième quinto quinta; sixth 6th sechste sechsten sechster sechstes sixième sexto sexta; seventh siebte siebten siebter; eighth achte achten achter; ninth neunte neunten neunter; tenth zehnte zehnten zehnter
"""  # noqa: E501
_PLAIN = {folded: value for word, value in SPELLED_OUT.items() for folded in words(word)}
ORDINALS = {
    word: rank
    for rank, line in enumerate(re.split(r"[;\n]", _IN_ORDER.strip()), 1)
    for word in (*line.split(), *words(line))
}
YEAR = "january januar janvier enero; february februar février febrero; march märz mars marzo; april avril abril; may mai mayo; june juni juin junio; july juli juillet julio; august août agosto; september septembre septiembre; october oktober octobre octubre; november novembre noviembre; december dezember décembre diciembre"  # noqa: E501
MONTHS = {name: at for at, names in enumerate(YEAR.split("; "), 1) for name in names.split()}
MONTH = "|".join(MONTHS)  # a pattern


_LARGE: dict[str, int | Decimal] = {
    unit: 10**zeros
    for zeros, units in (
        (3, "thousand tausend mille mil"),
        (6, "million millions mio millionen millón millones"),
        (9, "billion billions milliarde milliarden milliard milliards mrd"),
    )
    for unit in units.split()
} | dict.fromkeys(("cents", "centimes", "céntimos", "pence", "rappen"), Decimal("0.01"))
_PARTS = {
    Decimal("0.5"): re.compile(r"(?i)\b(?:half|halb\w{0,2}|hälfte|demie?|moitié|medi[ao]|mitad)\b"),
    Decimal("0.33"): re.compile(r"(?i)\b(?:third|drittel|tiers|tercio|terzo)\b"),
    Decimal("0.25"): re.compile(r"(?i)\b(?:quarter|viertel|quart|cuarto)\b"),
}
_HOURS = {"noon": 12, "midday": 12, "mittag": 12, "mittags": 12, "midi": 12, "mediodía": 12}


def unfounded_figures(text: str, known: Iterable[str]) -> list[str]:
    """Return the numbers of `text`, as they are written, that none of the texts has, nor rounds to.

    Numbers of citations and of list items are none, nor is what stands in the id of a row.
    """
    plain = _LISTED.sub("", _CITATION.sub("", text))
    texts = (_UUID.sub("", other) for other in known)
    values = {_value(match[0]) for other in texts for match in _NUMBER.finditer(other)}
    found = dict.fromkeys(match[0] for match in _NUMBER.finditer(plain))
    return [written for written in found if not _is_known(_value(written), values)]


def foreign_figures(claim: str, source: str, results: str = "") -> list[str]:
    """Return the numbers of a claim, in digits or in words, that a source does not have.

    A source has a number as well that it has in words, as the name of a month, as an ordinal or in
    another notation (1,250 and 1.250, 2 pm and 14:00). A small number in a word may count what the
    source lists ("three parts"). Any is foreign where the source has other numbers of the same, and
    not this one ("six months" for 3 months).

    Args:
        results: of tools, whose numbers may be of anything.
    """
    plain = _OCLOCK.sub("", _LISTED.sub("", _CITATION.sub("", claim)))
    given, values = figures_of(results), figures_of(source)
    counted = [(n, of) for text, one, of in counted_figures(source) for n in readings(text, one)]
    large = {one * _LARGE[of] for one, of in counted if of in _LARGE}
    wrong = _other_half(plain, source) if not given else []
    late = {Decimal(int(match[1])) for match in _AFTERNOON.finditer(plain)}
    for written, value, unit in counted_figures(plain):
        if _has(written, value, given) or value in large:
            continue
        if unit in _LARGE and value * _LARGE[unit] in values:
            continue
        if value in late and value % 12 + 12 in values:
            continue
        same = [other for other, of in counted if unit and of and same_word(unit, of)]
        if same and (value in _elliptic(source, unit) or value in _at_distance(source, unit)):
            continue
        listed = not written[0].isdigit() and value <= MOST_COUNTED
        if (same and not _has(written, value, {*same})) or (
            not _has(written, value, values) and not (listed and not same)
        ):
            wrong.append(written)
    return [*dict.fromkeys(wrong)]


def is_number(word: str) -> bool:
    """Whether a word in small letters is a number, in digits or spelled out."""
    return word.isdigit() or word in _PLAIN


def number_in_word(word: str) -> int | None:
    """Return the number that a word in small letters without accents is, in digits or spelled out;
    None for none, and for one that may be another word as well."""
    if word.isdecimal() and len(word) <= _MOST_DIGITS:
        return int(word)
    return None if word in _SEVERAL or _PLAIN.get(word) == 1 else _PLAIN.get(word)


def _in_word(word: str) -> int | None:
    """Return the number that a word is; None for one that may be another word as well."""
    if word.endswith("mal") and word[:-3] in SPELLED_OUT:
        return SPELLED_OUT[word[:-3]]
    if (joined := _GERMAN.fullmatch(word)) is not None:
        return SPELLED_OUT[joined[1]] + SPELLED_OUT[joined[2]]
    first, _, second = word.partition("-")
    if second and first in SPELLED_OUT and second in SPELLED_OUT:
        return SPELLED_OUT[first] + SPELLED_OUT[second]
    return None if word in _SEVERAL else SPELLED_OUT.get(word)


@lru_cache(1024)
def figures_of(source: str) -> frozenset[Decimal]:
    """Return the numbers of a text, in each notation that it may have them in."""
    found = {Decimal(match[0].replace(".", "")) for match in _POINTS.finditer(source)}
    found |= {Decimal(f"{match[1]}.{match[2]}") for match in _COMMA.finditer(source)}
    found |= {_value(match[0]) for match in _NUMBER.finditer(source)}
    found |= {Decimal(int(match[1]) % 12 + 12) for match in _AFTERNOON.finditer(source)}
    found |= {Decimal(n) for m in _DATE.finditer(source) for n in m.groups()}
    found |= {value for _, _, value in _numbers(source)}
    found |= {value * _LARGE[unit] for _, value, unit in counted_figures(source) if unit in _LARGE}
    for part, named in _PARTS.items():
        found |= {part, part * 100} if named.search(source) else set()
    for match in _WORD.finditer(source.lower()):
        word = match[0]
        for number in (_in_word(word), _in_word(word.partition("-")[0]), SPELLED_OUT.get(word),
                       ORDINALS.get(word), MONTHS.get(word), _HOURS.get(word)):  # fmt: skip
            if number is not None:
                found.add(Decimal(number))
    return frozenset(found)


def _elliptic(source: str, unit: str) -> set[Decimal]:
    """The numbers whose unit stands before them in their sentence: six months, the tenant three."""
    return {
        value
        for sentence in SENTENCES.split(source)
        if any(of and same_word(unit, of) for _, _, of in counted_figures(sentence))
        for _, stop, value in _numbers(sentence)
        if _ENDS.match(sentence, stop)
    }


def _at_distance(source: str, unit: str) -> set[Decimal]:
    """The numbers whose unit stands behind another word, and one where an article stands before it:
    two consecutive months, one tablet."""
    spans = [(stop, value) for _, stop, value in _numbers(source)]
    spans += [(match.end(), Decimal(1)) for match in SINGLE.finditer(source)]
    return {
        value
        for stop, value in spans
        if (behind := _SECOND.match(source, stop)) is not None
        and any(same_word(unit, word) for word in words(behind[0])[:2])
    }


def _other_half(claim: str, source: str) -> list[str]:
    """The hours of a claim that a source has of the other half of the day alone."""
    halves = ((_MORNING, _AFTERNOON), (_AFTERNOON, _MORNING))
    return [
        match[0]
        for mine, other in halves
        for match in mine.finditer(claim)
        if match[1] in other.findall(source) and match[1] not in mine.findall(source)
    ]


def readings(written: str, value: Decimal) -> list[Decimal]:
    """Return the values that a number may have: 1.200 is twelve hundred in most of Europe."""
    grouped = [Decimal(written.replace(".", ""))] if _POINTS.fullmatch(written) else []
    return [value, *grouped]


def _has(written: str, value: Decimal, values: Collection[Decimal]) -> bool:
    if any(one in values for one in readings(written, value)):
        return True
    is_rough = len(written.replace(".", "").strip("0")) > 1  # 2 is not 1.8, but 42 is 41.7
    return is_rough and _is_known(value, values)


@lru_cache(1024)
def counted_figures(text: str) -> Sequence[tuple[str, Decimal, str]]:
    """Return the numbers of a text as they are written, their values and what they are numbers of:
    the word behind them, or behind the next of a row of them, "" for none that says something."""
    found: list[tuple[str, Decimal, str]] = []
    later, start = "", len(text)  # of the number behind
    for begin, stop, value in reversed(_numbers(text)):
        behind = _NEXT.match(text, stop)
        unit = behind[1].lower() if behind else ""
        if text[begin:stop].lower().endswith(("mal", "twice")) or unit in _TIMES:
            unit = "times"
        elif later and _ROW.fullmatch(text[stop:start]):
            unit = later
        elif sign := _CURRENCY.search(text[max(0, begin - 2) : begin]):
            unit = _SHORT.get(unit, unit if unit in _LARGE else sign[0].strip())
        elif is_function_word(unit) or _NAMED.search(text[max(0, begin - 2) : begin]):
            unit = ""
        unit = _SIGNS.get(unit, unit)
        found.append((text[begin:stop], value, unit))
        later, start = unit, begin
    return tuple(found[::-1])


@lru_cache(1024)
def _numbers(text: str) -> Sequence[tuple[int, int, Decimal]]:
    """Where the numbers of a text stand, in digits and in words, with their values."""
    text = _DATE.sub(r"\1 \2 ", text)
    found = [(m.start(), m.end(), _read(m[0])) for m in _WRITTEN.finditer(text)]
    for match in _WORD.finditer(text):
        number = _in_word(match[0].lower())
        is_article = number == 1 and not match[0].lower().endswith("mal")
        start = match.start()
        if number is not None and (
            not is_article or _TENS.search(text, max(0, start - _BACK), start)
        ):
            found.append((match.start(), match.end(), Decimal(number)))
    joined: list[tuple[int, int, Decimal]] = []
    for begin, stop, value in sorted(found):
        first = joined[-1] if joined else (0, 0, Decimal(0))
        is_tens = 20 <= first[2] <= 90 and text[first[0]].isalpha() and text[begin].isalpha()
        if is_tens and value < 10 and _ADDED.fullmatch(text[first[1] : begin]):
            joined[-1] = (first[0], stop, first[2] + value)
        else:
            joined.append((begin, stop, value))
    return joined


def in_digits(text: str) -> str:
    """Return a text with digits in the place of the numbers that it spells out."""
    for begin, stop, value in reversed(_numbers(text)):
        if text[begin].isalpha():
            text = f"{text[:begin]}{value}{text[stop:]}"
    return text


def _read(written: str) -> Decimal:
    """The value of a number in digits: 1,5 is one and a half."""
    return Decimal(written.replace(",", ".")) if _COMMA.fullmatch(written) else _value(written)


def _value(written: str) -> Decimal:
    return Decimal(_GROUPS.sub("", written))


def _is_known(value: Decimal, values: Collection[Decimal]) -> bool:
    if value in values:
        return True
    exponent = value.as_tuple().exponent
    step = Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
    return any(abs(other - value) * 2 <= step for other in values)
