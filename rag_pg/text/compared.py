"""The two things that a question compares. Pure; the larger European languages."""

from __future__ import annotations

import re

from rag_pg.text.tokens import content_words

LONGEST_COMPARISON = 1000  # characters of a question within which it says what it compares

_COMPARED = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:differences?|distinction|unterschiede?|différences?|diferencias?|differenz[ae])\s+"
        r"(?:(?:in|of|bei|im|de|en)\s+(?P<by>(?:[\w-]+\s+){1,4}?))?"
        r"(?:between|zwischen|entre|tra|fra)\s+(.+?)\s+(?:and|und|et|y|e)\s+(.+)",
        r"\bcompare\s+(.+?)\s+(?:and|with|to|against)\s+(.+)",
        r"\bhow\s+(?:do|does)\s+(.+?)\s+compare\s+(?:with|to)\s+(.+)",
        r"\bhow\s+(?:do|does|is|are)\s+(.+?)\s+differ(?:s|ent)?\s+from\s+(.+)",
        r"(?:\b(?:use|choose|prefer|take|pick|is|are|which\s+is\s+\w+[,:])\s+)?([\w.+#-]+(?:\s[\w.+#-]+)?)"
        r"\s+(?:vs\.?|versus)\s+(.+)",
        r"\b(?:use|choose|prefer|take|pick)\s+(.+?)\s+(?:or|over|instead\s+of|rather\s+than)\s+(.+)",
        r"^\W*(?:which|what|who|welche[rsmn]?|wer|was|quel(?:le)?s?|qui|cuál|quién)\b(?P<by>[^,:?]*)"
        r"[,:]\s+(?!(?:and|but|if|und|aber|wenn|et|mais|si|y|pero)\b)"
        r"(?:the\s+|an?\s+|de[rnm]\s+|die\s+|das\s+|l[ea]\s+|el\s+)?([^,;?]+?)\s+(?:or|oder|ou|o)\s+(.+)",
    )
]


def compared_things(question: str) -> list[str]:
    """Return the two things that a question compares, by its first `LONGEST_COMPARISON`
    characters; none where it compares nothing."""
    return _read(question)[0]


def compared_by(question: str) -> list[str]:
    """Return the words that say by what a question compares two things: noise, heavier."""
    return content_words(_read(question)[1])


def _read(question: str) -> tuple[list[str], str]:
    question = " ".join(question[:LONGEST_COMPARISON].split())
    for pattern in _COMPARED:
        if match := pattern.search(question):
            by = match.groupdict().get("by") or ""
            given = match.groups()[pattern.groups - 2 :]
            sides = [re.split(r"[?,;]| in terms ", side)[0] for side in given]
            own = [set(content_words(side)) for side in sides]
            if all(own) and own[0] - own[1] and own[1] - own[0]:
                return sides, by
    return [], ""
