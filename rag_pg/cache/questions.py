"""Whether two questions ask for the same, by their words.

Vectors of two questions are nearly the same when a number, a name or a "not" is another one, and so
are those of a question and its opposite. So words decide, and their order: "What killed Anna" and
"Anna killed what" have the same ones. What may differ are articles, politeness, contractions,
plurals, capitals and punctuation. A synonym makes another question.
"""

from __future__ import annotations

import re
import unicodedata

_POLITE = re.compile(
    r"""^(?:\W*(?:hello|hi|hey|please|kindly|(?:can|could|would|will)\s+you(?:\s+please)?
            (?=\s+(?:please|tell|explain|say)\b)
        |tell\s+me|do\s+you\s+know|i\s+(?:want|need|would\s+like|'d\s+like)\s+to\s+know
        |i\s+wonder|bitte|hallo|(?:kannst\s+du|können\s+sie)\s+mir\s+(?:bitte\s+)?sagen
        |sag(?:en\s+sie)?\s+mir|s'il\s+(?:te|vous)\s+pla[iî]t|dis-moi|dites-moi|bonjour
        |por\s+favor|hola|dime|d[ií]game)\b[\s,:]*)+
      |[\s,]*\b(?:please|thanks|thank\s+you|bitte|danke|merci|s'il\s+(?:te|vous)\s+pla[iî]t
        |por\s+favor|gracias)\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
_CONTRACTIONS = (
    (re.compile(r"\bcan't\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
    (re.compile(r"\b(what|who|where|when|how|that|it|there)'s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"'re\b", re.IGNORECASE), " are"),
    (re.compile(r"'s\b", re.IGNORECASE), " of"),  # France's capital: the capital of France
)
_TOKEN = re.compile(r"[-+−]?\d+(?:[.,:/]\d+)*[%€$£]?|\w+|[-+−*/<>=≤≥≠%€$£&@#]")
_ARTICLES = """
a an the of do does der die das den dem des ein eine einer eines einem einen
le la les un une du el los las una unos unas
"""
_LEFT_OUT = frozenset(_ARTICLES.split())


def ask_the_same(one: str, other: str) -> bool:
    """Whether two questions have the same words in the same order, but for what changes no
    answer."""
    first, second = _words(one), _words(other)
    return len(first) == len(second) and all(map(_same_word, first, second))


def _words(question: str) -> list[str]:
    """The words, numbers and signs of a question that count, in order."""
    text = unicodedata.normalize("NFKC", question).replace("’", "'")
    text = _POLITE.sub(" ", text.strip())
    for pattern, written_out in _CONTRACTIONS:
        text = pattern.sub(written_out, text)
    return [
        word
        for position, word in enumerate(_TOKEN.findall(text))
        if word.casefold() not in _LEFT_OUT or (position and word[0].isupper())
    ]


def _same_word(one: str, other: str) -> bool:
    """Whether two words are the same, or one is the plural of the other and none is a name."""
    short, long = sorted((one.casefold(), other.casefold()), key=len)
    if short == long:
        return True
    plural = len(short) > 3 and long in (f"{short}s", f"{short}es")
    return plural and one.islower() and other.islower()
