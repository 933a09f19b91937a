"""Words as a lexical comparison sees them, in any script. Pure."""

from __future__ import annotations

import math
import operator
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import TypeVar

T = TypeVar("T")

_LEAST = 4  # letters that forms of one word have in common

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_RUN = re.compile(f"[{_CJK}]+|[^\\W_{_CJK}]+")
_IN_CJK = re.compile(f"[{_CJK}]")

_WIDE = re.compile(r"[\u2e80-\ufaff\uff00-\uffef\U0001f000-\U0003ffff]")
_MARKS = re.compile(r"[!-@\[-`{-~]")  # ASCII digits and punctuation
_OTHER = re.compile(r"[\u0250-\u2e7f]")

_FUNCTION_WORDS = """
a an the of in on at to for from by with as is are was were be been being am do does did doing done
have has had having what which who whom whose when where why how it its they them their there this
that these those and or not no if then than so such can could may might must shall should will would
i you he she we me my your his her our us about into over under between during also any some there s
t tell give explain describe please much many
der die das den dem des ein eine einer eines einem einen und oder ist sind war waren wird werden
wurde wurden hat haben hatte hatten kann können muss musst müssen darf dürfen soll sollte
sollen was wer wen wem wessen wie wo wann warum wieso welche welcher welches welchen welchem wofür
womit wodurch wohin woher viel viele
diese dieser dieses diesem diesen von vom zu zum zur im an am auf aus bei mit nach für über
unter durch als auch nicht es er sie ich du wir ihr mein meine meinen meiner sich man mir mich dass
el la los las un una unos unas y o de del al en por para con que qué quién quien quiénes cuál cual
cuáles cómo como cuándo cuando dónde donde cuánto cuántos cuántas es son fue fueron ser se su sus lo
le les mi me puedo puede hay
du et ou est sont était étaient qui quoi quel quelle quels quelles comment quand pourquoi combien
dans sur pour par avec sans ce cette ces il ils elle elles aux mon ma mes je tu nous vous peut
di il lo gli uno e è sono che chi quale quali dove perché nel nella della delle dei da con su per
o os as um uma da do das dos em no na quem qual quais quando onde quanto são foi
faut dois doit puis
и в во на с со к о об по за из от до у не что кто как где когда почему какой какая какие какое каким
сколько был была были было быть это этот мне мой моя я он она они мы вы их его её ли для же а но
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


def words(text: str) -> list[str]:
    """Return the words of `text` in lower case and without accents; of CJK, pairs of characters.

    Single letters are left out, single digits are not.
    """
    found: list[str] = []
    for run in _RUN.findall(_fold(text)):
        if run[0] >= _CJK[0] and _IN_CJK.match(run):
            found += [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        elif len(run) > 1 or run.isdigit():
            found.append(run)
    return found


@lru_cache(4096)  # as each statement is compared with the same texts
def word_set(text: str) -> frozenset[str]:
    """The different words of a text, see `words`."""
    return frozenset(words(text))


def told_words(text: str) -> list[str]:
    """Return the words of a text that say something, in order; [] where none does."""
    return [word for word in words(text) if word not in _FOLDED]


def content_words(text: str) -> list[str]:
    """Return the different words of a question that carry its meaning, in order.

    Without function and question words of the larger European languages, unless nothing else is
    left.
    """
    different = list(dict.fromkeys(words(text)))
    return [word for word in different if word not in _FOLDED] or different


@lru_cache(4096)
def is_function_word(text: str) -> bool:
    """Whether a text is nothing but function and question words of larger European languages."""
    found = words(text)
    return bool(found) and all(word in _FOLDED for word in found)


def same_word(one: str, other: str) -> bool:
    """Whether two words are forms of one: equal, or alike in at least their first 4 letters, 60 %
    of the longer ("create", "creating") and all of their figures, or one of 3 letters and its
    plural. Stands in for a stemmer in every language."""
    if one == other:
        return True
    if one[:_LEAST] != other[:_LEAST]:
        return one in _plurals(other) or other in _plurals(one)
    need = max(_needed(one), _needed(other))
    return one[:need] == other[:need] and min(len(one), len(other)) >= need


def is_among(word: str, others: Collection[str]) -> bool:
    """Whether a form of a word is among others, see `same_word`."""
    return word in others or any(same_word(word, other) for other in others)


def common_start(
    one: Sequence[T], other: Sequence[T], is_same: Callable[[T, T], bool] = operator.eq
) -> int:
    """How many items two sequences begin with that are the same."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: is_same(*pair), pairs))


def has_word(text: str, word: str) -> bool:
    """Whether a text has a form of a word in small letters without accents, see `same_word`."""
    found, heads, own, longer = _beginnings(text)
    if word in found:
        return True
    if len(word) <= 5 and any(form in found for form in (*_plurals(word), *_singulars(word))):
        return True
    if word[:_LEAST] not in heads:
        return False
    need = _needed(word)
    return word[:need] in longer or any(word[:n] in own for n in range(need + 1, len(word) + 1))


def _plurals(word: str) -> Sequence[str]:
    """The plurals of a word of 3 letters, which is too short to be told by its beginning."""
    return (f"{word}s", f"{word}es") if len(word) == 3 and word.isalpha() else ()


def _singulars(word: str) -> Sequence[str]:
    return [word[:3]] if word[3:] in ("s", "es") and word.isalpha() else []


@lru_cache(4096)
def _needed(word: str) -> int:
    """How many letters a word has in common with each form of it that is no longer."""
    figures = next((n for n in range(len(word), 0, -1) if word[n - 1].isdigit()), 0)
    return max(_LEAST, -(-len(word) * 6 // 10), figures)


@lru_cache(4096)  # as `word_set`
def _beginnings(text: str) -> tuple[frozenset[str], set[str], set[str], set[str]]:
    """The words of a text, and beginnings of them: the least, what a word has in common with those
    of its forms that are no longer, and all from that on to the whole."""
    found = word_set(text)
    heads, own, longer = set(), set(), set()
    for word in found:
        need = _needed(word)
        heads.add(word[:_LEAST])
        own.add(word[:need])
        longer |= {word[:n] for n in range(need, max(need, len(word)) + 1)}
    return found, heads, own, longer


def estimate_tokens(texts: Sequence[str]) -> list[int]:
    """Return about how many tokens a language model makes of each text, erring on the high side.

    One per 3 letters or spaces, per digit or mark, per CJK character, per 2 characters of any other
    script, and 2 around the text. No tokenizer, no network.
    """
    lengths = []
    for text in texts:
        cjk, marks, other = (len(p.findall(text)) for p in (_WIDE, _MARKS, _OTHER))
        letters = len(text) - cjk - marks - other
        lengths.append(2 + cjk + marks + math.ceil(other / 2) + math.ceil(letters / 3))
    return lengths


def _fold(text: str) -> str:
    lower = text.casefold()
    if lower.isascii():
        return lower
    plain = unicodedata.normalize("NFKD", lower)
    for mark in filter(unicodedata.combining, {*plain}):
        plain = plain.replace(mark, "")
    return unicodedata.normalize("NFC", plain)


_FOLDED = frozenset(_fold(word) for word in FUNCTION_WORDS)
