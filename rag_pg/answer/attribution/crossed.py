"""Two names that a claim has exchanged around a verb, wherever else they stand: "Nordhaven bought
Baltica from Orion" where Orion bought the line Baltica from Nordhaven."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_pg.answer.reading.order import GERMAN, MUTUAL
from rag_pg.text import is_function_word, same_word, words

_TOKEN = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_BY = re.compile(r"\b(?:by|par|por|whom)\b", re.IGNORECASE)
_STOP = re.compile(r";\s|,\s(?:and|but|while|who|which|et|y)\s")
_SHE = re.compile(r"(?:He|She|It|They|Il|Elle|Él|Ella)\b")


def crosses(claim: str, sentence: str, before: str) -> bool:
    """Whether a name that stands before a verb in a sentence stands behind it in a claim, and one
    from behind before it. In German, where the subject may stand behind its verb, that cannot be
    told, nor in the passive.

    Args:
        before: the sentence before, with whose first words a pronoun is meant.
    """
    if match := _SHE.match(sentence):
        sentence = f"{_first_name(before)} {sentence[match.end() :]}"
    if _BY.search(claim) or _BY.search(sentence) or not GERMAN.isdisjoint(words(sentence)):
        return False
    clauses = [_TOKEN.findall(part) for part in _STOP.split(sentence)]
    names = {w for part in (_TOKEN.findall(claim), *clauses) for w in part[1:] if w[0].isupper()}
    return any(
        _are_crossed(mine, there, names)
        for mine in map(_TOKEN.findall, _STOP.split(claim))
        for there in clauses
    )


def _are_crossed(mine: Sequence[str], there: Sequence[str], names: set[str]) -> bool:
    for at, verb in enumerate(mine):
        if verb in names or not verb.islower() or is_function_word(verb) or verb in MUTUAL:
            continue
        found = [n for n, word in enumerate(there) if same_word(verb, word.lower())]
        if len(found) != 1 or not all(
            _is_subject(t[:n], names) for t, n in ((mine, at), (there, found[0]))
        ):
            continue
        (first, second), (left, right) = (
            (names.intersection(t[:n]), names.intersection(t[n:]))
            for t, n in ((mine, at), (there, found[0]))
        )
        if first & right - left and second & left - right:
            return True
    return False


def _is_subject(before: Sequence[str], names: set[str]) -> bool:
    """Whether what stands before a verb ends with a name."""
    told = [word for word in before if not is_function_word(word.lower())]
    return bool(told) and told[-1] in names


def _first_name(text: str) -> str:
    """The words with capital letters that a text begins with."""
    found: list[str] = []
    for word in _TOKEN.findall(text):
        if not word[0].isupper():
            break
        found.append(word)
    return " ".join(found)
