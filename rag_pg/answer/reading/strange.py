"""The words of a claim that neither its sources have nor everybody uses: what a model adds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from importlib.resources import files

from rag_pg.answer.reading.figures import counted_figures, is_number, number_in_word
from rag_pg.answer.reading.negation import CLAUSE, ONLY, content_of
from rag_pg.answer.reading.relations import OF_SIDES
from rag_pg.answer.reading.talk import ENDINGS, is_of_speech
from rag_pg.text import is_function_word, same_word, words

_LEAST = 2  # such words in a clause; of the less common ones, each is a half
_SHARE = 1 / 4  # of the clause's words, from which on they are what it says
_OF_WHOLE, _SHARE_OF_WHOLE = 2.5, 1 / 3  # the same of a whole claim
_MANY = 3  # words of a clause that nothing has, unless it has no others
_FREQUENT = 500  # words of a language that say nothing new
_SOME = 40  # words that stand for any
_PART = 4  # letters of a word that is a part of a compound
_STEM = 4  # letters of a common word with an ending
_LANGUAGE = 1 / 4  # of a claim's words that are common, where its language is known


def strange_words(claim: str, known: Collection[str]) -> list[str]:
    """Return the words of the first clause that says something by words which are neither known nor
    common: who says the same in words of their own takes common ones.

    Common are the 3,000 most frequent words of English, German, French, Spanish, Italian and
    Portuguese; a claim in another language has none.
    """
    stated = words(claim)
    ordinary = sum(is_function_word(word) or word in _ranks() for word in stated)
    if ordinary < len(stated) * _LANGUAGE:
        return []
    clauses = [
        _told(clause, known)
        for clause in CLAUSE.split(claim)
        if not any(number_in_word(word) and word in known for word in words(clause))
    ]
    for told, found in clauses:
        weight = sum(map(_strangeness, found))
        least = 1 if len(found) == told >= _MANY else max(_LEAST, told * _SHARE)
        if weight >= least and len(found) >= min(told, _MANY):
            return found
    told = sum(number for number, _ in clauses)
    found = [word for _, some in clauses for word in some]
    return found if sum(map(_strangeness, found)) >= max(_OF_WHOLE, told * _SHARE_OF_WHOLE) else []


def _told(clause: str, known: Collection[str]) -> tuple[int, list[str]]:
    """How many words of a clause say something, and which of them nothing has."""
    told = [word for word in dict.fromkeys(content_of(clause)) if not is_number(word)]
    unknown = [word for word in told if not is_known(word, known)]
    found = [word for word in unknown if not is_of_speech(word)]
    counted = [unit for figure, _, unit in counted_figures(clause) if figure[0].isdigit()]
    found = [word for word in found if not (says_how(word) or word in words(" ".join(counted)))]
    return len(told) - len(unknown) + len(found), found


def says_how(word: str) -> bool:
    """Whether a word says of something else how much, whether or in what unit it is: who says the
    same in other words changes these first (interdit, maximal, min)."""
    return word in OF_SIDES or bool(ONLY.fullmatch(word))


def is_known(word: str, known: Collection[str]) -> bool:
    """Whether a text has a word, or a compound of it."""
    return word in known or any(same_word(word, o) or _is_part(word, o) for o in known)


def is_common(word: str) -> bool:
    """Whether a word in small letters without accents is a common one, or a form of it."""
    return _strangeness(word) < 1


def is_frequent(word: str) -> bool:
    """Whether a word or a form of it is among those of a language that say nothing new."""
    return _strangeness(word) == 0


@lru_cache(4096)
def _strangeness(word: str) -> float:
    ranks = [
        _ranks()[form]
        for form in (word, *(word[:-n] for n in (1, 2, 3) if word[-n:] in ENDINGS))
        if form in _ranks() and (form == word or len(form) >= _STEM)
    ]
    return 1.0 if not ranks else 0.5 * (min(ranks) >= _FREQUENT)


def _is_part(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _PART and (long.startswith(short) or long.endswith(short))


def is_english(text: str) -> bool:
    """Whether more words of a text are common ones of English than of another language."""
    english, *others = (sum(word in line for word in words(text)) for line in _lines())
    return english > max(others)


@cache
def ordinary_words() -> Sequence[str]:
    """Some words of English that are common, and not the most frequent ones."""
    told = [word for word in _lines()[0] if not is_function_word(word)]
    return told[_FREQUENT :: len(told) // _SOME]


@cache
def _lines() -> Sequence[dict[str, int]]:
    """The place of each common word, by language, of English first."""
    text = files("rag_pg.answer.reading").joinpath("common_words.txt").read_text(encoding="utf-8")
    found: list[dict[str, int]] = []
    for line in text.splitlines():
        found.append({})
        for rank, word in enumerate(words(line)):
            found[-1].setdefault(word, rank)
    return found


@cache
def _ranks() -> dict[str, int]:
    """The place of each common word among those of its language."""
    return {
        w: min(line.get(w, rank) for line in _lines())
        for one in _lines()
        for w, rank in one.items()
    }
