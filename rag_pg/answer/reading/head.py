"""Which words of a question tell what it is about: its names, and the one its meaning hangs on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag_pg.answer.reading.figures import ORDINALS
from rag_pg.answer.reading.identifiers import MARKS, is_identifier
from rag_pg.text import is_among, is_function_word, words

Readings = tuple[Sequence[str], Sequence[str], Sequence[str]]

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
# Function words of German alone, whose nouns all begin with a capital.
_GERMAN = re.compile(
    r"(?i)\b(?:de[rsmn]|d[ai]s|die|eine?[mnrs]?|keine?[mnrs]?|ist|sind|wird|werden|kann|darf|muss|hat"
    r"|haben|gibt|und|oder|nicht|wie|was|wo|we[rnm]|wann|warum|wieso|welche[mnrs]?|viele?n?|für|mit|vo[mn]"
    r"|zu[mr]?|bei[m]?|auf|aus|nach|über|unter|i[hc]h|wir|man|sich|i[mn]|am|ans?)\b"
)
_THOUSANDS = re.compile("(?<=\\d)[,.'’\u00a0\u2009\u202f](?=\\d{3}(?!\\d))")
_LETTER = re.compile(r"(?<![^\W_])([^\W\d_])[-\u2011](?=\d)")  # P-300
_LETTER_APART = re.compile(r"(?<![^\W_])([A-Z])\s(?=\d)")  # P 300
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W_])|(?<=\d)-(?=[^\W\d_])")
# 10-year-old, 120-Liter-Tonne
_QUANTITY = re.compile(r"\d[\d.,]*(?:-[A-ZÀ-Þ]?[a-zà-ÿ]{2,}){1,2}")
_DAY = re.compile(r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?")  # "weekends", "daily" tell of it
_ENDS = ".!?:"
_WHO_OF = re.compile(  # who is the landlord of the warehouse
    r"\W*(?:who(?:['’]s|\s+(?:is|was|are|were))|wer\s+(?:ist|war|sind)|qui\s+(?:est|était|sont)"
    r"|quién(?:es)?\s+(?:es|son|fue))\s+"
    r"(?:the|an?|de[rnms]|die|das|eine?[nrs]?|le|la|les|l['’]|un|une|el|los|las)\s*([\w-]+)\s+"
    r"(?:of|for|de[rsm]?|von|vom|für|du|d['’]|del)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A word of a question. weight: its share of what is asked, 0 to 1; is_met: a passage has it;
    is_known: a document of the collection has it; is_paraphrased: the passages are the nearer for
    it, as those that say it in other words are; is_name: it is written as names and identifiers
    are."""

    word: str
    weight: float
    is_met: bool
    is_known: bool
    is_paraphrased: bool
    is_name: bool


def find_lacking(question: str, asked: Sequence[Asked], *, by_meaning: bool) -> list[str]:
    """Return the words of a question without which nothing answers it, and that no document has.

    These are names and identifiers; by meaning also the head, the word that weighs most (in German
    a noun), and who is asked for (the landlord of a hall), unless the passages have an identifier
    of the question or say it in other words.
    """
    names = [a.word for a in asked if a.is_name and not a.is_met and not a.is_known]
    if not asked or not by_meaning or any(is_identifier(a.word) and a.is_met for a in asked):
        return names
    who = _WHO_OF.match(question)
    counted = [a for a in asked if a.word.casefold() not in ORDINALS]  # the second year is row 2
    told = [a for a in counted if a.word[:1].isupper()] if _is_german(question) else counted
    heads = [max(told or counted or asked, key=lambda a: a.weight)]
    heads += [a for a in asked if who and a.word.casefold() == who[1].casefold()]
    unsaid = [a.word for a in heads if not (a.is_met or a.is_known or a.is_paraphrased)]
    return list(dict.fromkeys([*names, *unsaid]))


def find_names(question: str) -> set[str]:
    """Return the words of a question, as they stand between its spaces, that are names or
    identifiers: with a digit, a line below, a full stop or a capital within, or, where it is not
    German, with a first capital that no sentence begins with. A quantity in one word is none."""
    tokens = question.split()
    found = {t for t in tokens if re.search(r"\d|\w_\w|\w{2}\.[a-z]\w|[a-z][A-Z]|[A-Z]{2}", t)}
    found -= {t for t in found if _QUANTITY.fullmatch(t.strip(MARKS))}
    after = [t for before, t in pairwise(tokens) if before[-1] not in _ENDS]
    capital = {t for t in after if (match := _WORD.search(t)) and match[0][0].isupper()}
    days = {t for t in capital if _DAY.search(t)}
    if len(capital) < len(after) and not _is_german(question):
        found |= capital - days
    return found


def _is_german(question: str) -> bool:
    """Whether most of the function words of a question are German."""
    particles = [word for word in words(question) if is_function_word(word)]
    return 2 * sum(_GERMAN.fullmatch(word) is not None for word in particles) > len(particles)


def occurs_in(word: str, text: Readings) -> bool:
    """Whether a text has a word of a question (`stands_in`), or the number and all that is measured
    by it of a quantity in one word: 120-Liter-Tonne."""
    bare = word.strip(MARKS)
    if _QUANTITY.fullmatch(bare) and bare.count("-") > 1:
        number, _, *things = words(bare)
        return number in text[0] and all(is_among(thing, text[0]) for thing in things)
    return stands_in(word, text)


def stands_in(word: str, text: Readings | str) -> bool:
    """Whether the parts of a word stand one after the other in a text, with accents or without,
    digits with separators of thousands or without, and compounds with hyphens or without."""
    own = read_words(text) if isinstance(text, str) else text
    return any(_follow(parts, whole) for parts, whole in zip(read_words(word), own, strict=True))


def read_words(text: str) -> Readings:
    """Return the words of a text as they are, with compounds in one, and with a capital in one with
    the number behind it; a text that many words are looked for in is read once."""
    plain = _LETTER.sub(r"\1", _THOUSANDS.sub("", text))
    found = words(plain)
    compounds = words(_HYPHEN.sub("", plain)) if "-" in plain else found
    joined = _LETTER_APART.sub(r"\1", plain)
    return found, compounds, words(joined) if joined != plain else found


def _follow(parts: Sequence[str], own: Sequence[str]) -> bool:
    if len(parts) < 2 or parts[0] not in own:
        return len(parts) == 1 and parts[0] in own
    return any(own[at : at + len(parts)] == parts for at in range(len(own) - len(parts) + 1))
