"""Whether a sentence says the opposite of another, by its negations and its opposites."""

from __future__ import annotations

import re

from rag_pg.answer.opposites import find_opposite
from rag_pg.text import is_function_word, same_word, words

_NEGATION = re.compile(
    r"""(?<!\w)(?:not|no|never|none|neither|nor|cannot|without|excluding|except|\w+n['’]t
    |nicht|kein\w*|nie|niemals|ohne|pas|jamais|aucune?|sans|sin|nunca|jamás|ningun\w*|ningún
    |не|нет|никогда|без|ni|non|(?-i:mai)|senza|não|nenhum\w*|sem|niet|geen|nooit|zonder
    )(?!\w)|不|没有|ない|ません|ليس|لا(?=\s)|नहीं""",
    re.IGNORECASE | re.VERBOSE,
)
_NONE = re.compile(  # what looks like a negation and denies nothing, or not all
    r"\b(?:not only|nicht nur|pas seulement|no sólo|no solo|не только"
    r"|(?:no|not|nicht|pas|no)\s+(?:later|more|less|longer|fewer|mehr|länger|später|weniger|plus|más)"
    r"(?=\s+(?:than|als|de|que)\b)"
    r"|(?:not|nicht|pas|no)\s+(?:necessarily|always|all|every\w*|unbedingt|immer|jede\w*|alle\w*"
    r"|toujours|tous|toutes|siempre|todos|todas))\b",
    re.IGNORECASE,
)
_PARTICLE = re.compile(r"^\W*(?:no|nein|non|não|nee|нет)\s*[,.:;!–—-]+\s*", re.IGNORECASE)
_ONLY = re.compile(
    r"\b(?:only|solely|exclusively|nur|lediglich|ausschließlich|seulement|uniquement|sólo|solo"
    r"|solamente|únicamente|только|unless|until|bis|jusqu\w*|alone|allein|other|others|another"
    r"|andere\w*|autres?|otr[oa]s?)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;:()—–]\s+|\s+(?:and|or|but|while|whereas|because|if|when|und|oder|aber|sondern|weil|wenn|et"
    r"|ou|mais|car|si|y|o|pero|sino|porque)\s+",
    re.IGNORECASE,
)
_STEM = 4  # letters
_ALIKE = 0.6  # of a clause's words, that the other has


def is_negated(text: str) -> bool:
    """Whether a text denies something, in the larger European languages and a few others."""
    return bool(_NEGATION.search(_NONE.sub(" ", text)))


def contradicts(claim: str, sentence: str, before: str = "") -> bool:
    """Whether a sentence denies what a claim says in the same words, or says what it denies.

    One of them alone has a negation, of a word that the other has, or the opposite of a word of the
    other; not both. What only some may or do is no denial of what others do not.

    Args:
        before: what stands before the sentence, whose words it may mean by a pronoun.
    """
    claim, sentence, before = (" ".join(text.split()) for text in (claim, sentence, before))
    return any(
        _denies(clause, sentence, before)
        for clause in _CLAUSE.split(_PARTICLE.sub("", claim))
        if len(_content(clause)) > 1
    )


def _denies(clause: str, sentence: str, before: str) -> bool:
    mine, there = _content(clause), _content(sentence)
    parts = [part for part in _CLAUSE.split(sentence) if any(_has(mine, w) for w in _content(part))]
    nearest = max(parts, key=lambda part: sum(_has(_content(part), w) for w in mine), default="")
    if _ONLY.search(clause) or _ONLY.search(nearest):
        return False
    here, others = _count(clause), sum(map(_count, parts))
    if (here and others) or here > 1 or others > 1:
        return False
    around = [*there, *_content(before)]
    if sum(_has(around, word) for word in mine) < _ALIKE * len(mine):
        return False
    negates = any(_has(there, word) for word in _denied(clause))
    negates = negates or any(_has(mine, word) for word in _denied(sentence))
    return negates != (find_opposite(clause, sentence) is not None)


def _count(text: str) -> int:
    return len(_NEGATION.findall(_NONE.sub(" ", text)))


def _denied(text: str) -> list[str]:
    """The words that the negations of a text stand before, in the last place behind."""
    found: list[str] = []
    for clause in _CLAUSE.split(_NONE.sub(" ", text)):
        for negation in _NEGATION.finditer(clause):
            behind = [
                word for word in _content(clause[negation.end() :]) if not word.endswith("ly")
            ]
            found += behind[:1] or _content(clause[: negation.start()])[-1:]
    return found


def _content(text: str) -> list[str]:
    return [word for word in words(_NEGATION.sub(" ", text)) if not is_function_word(word)]


def _has(found: list[str], word: str) -> bool:
    return any(same_word(word, other) or _begins(word, other) for other in found)


def _begins(one: str, other: str) -> bool:
    """Whether a word of some length is another with an ending: wait, waiting."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _STEM and long.startswith(short)
