"""Texts with a character of every category of Unicode, and quotations cut and changed at it."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice

from citation_oracle import IGNORED

# Where the character (x) stands; the words around are of every kind that a cut may divide.
PLACES = {
    "inside a word": "un{x}healthy", "behind a word": "healthy{x}", "before a word": "{x}healthy",
    "between words": "healthy {x} food", "around a word": "{x}healthy{x}",
    "twice": "un{x}{x}healthy", "inside a number": "1{x}250", "between numbers": "1 {x} 250",
    "before a number": "{x}250", "away before a number": "{x} 250", "behind a number": "250{x}",
    "away behind a number": "250 {x}", "number and word": "250{x}mg", "in raised": "10{x}²",
    "word and number": "rule{x}7", "behind a mark": "healthy. {x}250",
    "at the end of a line": "un{x}\nhealthy", "between characters": "合同{x}生效",
}  # fmt: skip
CUTS = (
    "ends before", "ends behind", "begins before", "begins behind", "ends one before",
    "begins one behind", "around", "left out", "a space for it", "a hyphen for it", "spaced out",
    "divided at it", "emphasised", "in quotation marks", "with ellipses", "whole",
)  # fmt: skip
EMPHASIS = "*_`~"  # Markdown, not characters


# What a text says, and where a quotation of it says something else: it stops at ], begins at [, or
# either at |.
SAID = {
    "decimal": "the price of it is {n}.|{m} in all shops",
    "thousands": "it has {n},|250 rooms in all",
    "time": "the office opens at {n}:|30 on all days",
    "begins in a decimal": "they take {n}|.{m} mg of it",
    "sign": "the result was −[{n} percent of it",
    "sign and currency": "the year ended at -[${n} million",
    "sign and blanks": "the room has -  [{n} degrees in May",
    "about": "it takes ≈ [{n} minutes of work",
    "tolerance": "it is {n}.{m} ± [0.{m} units wide",
    "times a power": "a dose has {n}|×10⁶ cells of it",
    "raised": "the rate is 10|⁻³ in each of them",
    "exponent": "the value was {n}] E-5 for them",
    "fraction": "you take {n}⁄|{m} cup of sugar",
    "vulgar fraction": "the pipe has {n}|½ inches here",
    "unit": "they take {n}] mg of it per day",
    "per cent in words": "the rate is {n}] per cent of it",
    "currency": "the fine was $|{n} for all of them",
    "magnitude": "it cost {n}] million euros to us",
    "groups of figures": "there live {n}| 500 people in it",
    "broken number": "there live {n}|\n500 people",
    "Arabic figures": "the price is ١٢٥|٠٠ for all of it",
    "full width": "the price is １２．|５ for them",
    "middle dot": "the dose is 1·|{n} mg for them",
    "apostrophe in a number": "it is CHF 12’|{n}0 in all",
    "telephone number": "call them at 030 |1234 {n}56 in May",
    "range": "it is open from {n}–|{m} in May",
    "product": "they take {n} × [{m} mg of the salt",
    "ratio": "mix it in a ratio {n}:|{m} of both",
    "date": "it was signed on {n}.|10.2023 by both",
    "version": "they need release {n}.|{m}.1 of it",
    "contraction": "they can|{a}t pay for it now",
    "divided word": "this is un-\n|healthy food for them",
    "soft hyphen": "this is un\u00ad|healthy food for them",
    "divided softly": "it is un\u00ad\n|lawful now",
    "invisible": "this is un\u2060|healthy food for them",
    "compound": "a room for non{d}|smoker guests",
    "emphasis": "this is un|**healthy** food for them",
    "emphasis and hyphen": "a **non**-|smoker room",
    "HTML": "this is un<b>|healthy</b> food for them",
    "struck out": "it is ~~not~~ [due in May to us",
    "accent": "they met at the cafe|\u0301 of the town",
    "joined picture": "they cheer 👩\u200d|🚀 in May",
    "programming language": "they write it in C|++ on all days",
    "accounts": "the year ended at ([{n}) million",
    "negation in Chinese": "合同自签署之日起不[生效双方无需履行",
    "numeral": "价格为三百|五十元整不含任何税费",
    "hexadecimal": "the register is 0x{n}1F|A0 in all of them",
    "colour": "the colour is #ff0|0a{n} in all of them",
    "hash": "the hash is {n}a7bd3e2|360a3d29eea4 in all",
    "version and name": "they need release 1.{n}.3|-rc1 of it",
    "address of a host": "the host is 192.168.|{n}.1 in May",
    "e-mail": "they write to john@|example{n}.com in May",
    "URL": "it is at https://example.com/{n}?|page=5 of it",
    "ordinal": "this is the {n}1|st of them in May",
    "German ordinal": "sie kommen am {m}.] Mai in die Stadt",
    "ISO date": "it was signed on 2024-01|-1{m} by both",
    "afternoon": "the office opens at {n}:30] p.m. on all days",
    "beginning of a range": "it takes {n}] to 99 minutes of work",
    "end of a range": "it takes {n} to [99 minutes of work",
    "at least": "the result was ≥ [{n} in all of them",
    "unequal": "the result was ≠ [{n} in all of them",
    "code of a currency": "the fine was CHF [{n} for all of them",
    "bracket in a word": "this is (un)[healthy food for them",
    "ending in brackets": "it is for the employ](ee)s of it",
    "accent alone": "this is un˘|healthy food for them",
    "raised sign": "the rate is 10⁻|³ in each of them",
    "entity of a sign": "the result was &minus;[{n} degrees",
    "entity in a number": "the price of it is {n}&#46;|99 in all",
    "entity in a word": "this is un&shy;|healthy food for them",
    "Hebrew abbreviation": 'הארכיון של צה|"ל שומר את הכל',
    "Chinese ordinal": "价格为第[十五条规定的金额不含任何税费",
    "Indian figures": "the price is १२,|३४ for all of it",
    "section": "it is told by § [{n} of the law in all",
    "interval": "the value is in ([{n}, 99] in all of them",
    "sign in words": "the result was minus [{n} degrees in May",
    "two units": "it lasts {n} h| 30 min in all of them",
    "degrees and minutes": "the place is at {n}°] 30′ in the north",
    "product in letters": "the room has {n} x [10 metres of floor",
    "name with a dot": "they write all of it in .[NET in May",
    "negation of code": "you have to set it to ![enabled in May",
    "ordinal of a noun": "das ist der {n}.] Tag in der Stadt",
    "share": "they scored {n}| of 1{m}0 points in it",
    "share of": "they scored {n} out of| 1{m}0 points in it",
    "dimensions": "the board has {n} by| 1{m} metres in all",
    "ratio with blanks": "mix it in a ratio {n} :| {m} of both",
    "short magnitude": "es kostet {n} Mio.| Euro in der Stadt",
    "magnitude of a currency": "it cost {n} million| euros to us",
    "sign of a section": "it is told by §| {n} of the law in all",
    "times": "цена выросла в {n}] раз за этот год",
    "metres": "the area is {n}] metre² of the floor",
    "squared": "the area is {n} metre]² of the floor",
    "time of day": "the office opens at {n} [p.m. on all days",
    "unit with a prefix": "the pressure was {n} [mbar in all of them",
    "name of a unit": "la capacidad es de {n} [litros en total",
    "equation": "it was written as E] = mc² in a paper",
    "side of an equation": "it was written as y = [x + {n} in a paper",
    "reaction": "it follows {n} [H₂ + O₂ in a paper",
    "code of a condition": "guard it with x [!= null in all of them",
    "standard": "they follow RFC] {n} in all of the tools",
    "side of the world": "the hut stands at {n}°] N of the trees",
    "hundreds in words": "they saw two| hundred people in May",
    "tens in words": "the hut has twenty| five rooms for them",
    "fraction in words": "they took two| thirds of it away",
    "sign before a word": "it was minus [five degrees in May",
    "decimal in Chinese": "合同写明剂量为一点|五克并且双方都已经知道了这件事情",
    "fraction in Chinese": "合同写明他的股份为三分之|一并且双方都已经知道了这件事情",
    "sign in Chinese": "合同写明气温为负[{n}度并且双方都已经知道了这件事情",
    "decimal in Japanese": "契約では値は三・|五グラムであり双方はそれをすでに知っている",
    "letter of an appendix": "it is told by Appendix] B of the law in all",
    "Roman numeral": "she came with Elizabeth] II to the town in May",
    "number of a name": "they flew with Apollo] {n} to the moon in May",
    "number of a page": "all of it stands on page] {n}, as they say",
    "Arabic reference": "وفقا للقانون رقم] {n} يدفع المستأجر الأجرة كل شهر",
    "year of a date": "the lease ends on {m} March] 2027 in all of them",
    "year of a month": "es wurde im Mai] 2027 in der Stadt eröffnet",
    "day of a month": "it opens on the {m}th] of July for all of them",
    "unit of a number in words": "the rate is twenty] per cent of it in all",
    "syllable of Thai": "ผู้เช่าต้องชำระค่าเช่]า ทุกเดือน",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """category: general category of the character; place: a key of PLACES; cut: one of CUTS."""

    category: str
    place: str
    cut: str
    source: str
    quote: str


def categories() -> dict[str, str]:
    """Return the characters of each general category that a text can have."""
    found: dict[str, list[str]] = defaultdict(list)
    for code in range(1, sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        if category not in ("Cs", "Cn") and unicodedata.normalize("NFC", chr(code)) not in EMPHASIS:
            found[category].append(chr(code))
    return {category: "".join(some) for category, some in found.items()}


def make_pairs(count: int, *, seed: int) -> Iterator[Pair]:
    """Yield `count` pairs: each category at each place with each cut in turn, by a random
    character; half of them are among the first 40 of their category, which texts have most.

    Of the first 448 pairs each category and each place has each cut.
    """
    rng = random.Random(seed)
    every = categories()
    names, places = rng.sample(list(every), len(every)), rng.sample(list(PLACES), len(PLACES))
    kinds = [
        (category, places[(number + turn) % len(places)], cut)
        for turn in range(len(places))
        for number, category in enumerate(names)
        for cut in CUTS
    ]
    for category, place, cut in islice(cycle(kinds), count):
        some = every[category]
        x = rng.choice(some[:40] if rng.random() < 0.5 else some)
        yield _pair(category, place, cut, x)


def _pair(category: str, place: str, cut: str, x: str) -> Pair:
    head, tail = "They told us that the food was ", " of the people of the town"
    middle = PLACES[place].replace("{x}", x)
    source = head + middle + tail
    at = len(head) + middle.index(x)
    behind = at + len(x)
    seen = (
        middle.strip()
        if category[0] == "Z"
        else middle.strip(f"{x} \n")
        if IGNORED.match(x) or category == "Cc"
        else x
    )
    apart = (" ", "  ") if category[0] == "M" else (x, f" {x} ")
    bold = middle.replace(seen, f"**{seen}**", 1)
    quote = {
        "ends before": source[:at], "ends behind": source[:behind], "begins before": source[at:],
        "begins behind": source[behind:], "ends one before": source[: at - 1],
        "begins one behind": source[behind + 1 :], "around": head[10:] + middle + tail[:-6],
        "left out": source.replace(x, ""), "a space for it": source.replace(x, " "),
        "a hyphen for it": source.replace(x, "-"), "spaced out": source.replace(*apart),
        "divided at it": source.replace(x, f"{x}-\n"), "emphasised": head[10:] + bold + tail,
        "in quotation marks": f"“{source[len(head) - 9 :]}”,",
        "with ellipses": f"... {source[9:-8]} …", "whole": source,
    }[cut]  # fmt: skip
    return Pair(category=category, place=place, cut=cut, source=source, quote=quote)
