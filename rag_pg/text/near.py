"""Passages that say the same but for a few words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rag_pg.text.tokens import words

ALIKE = 0.85  # of the three-word sequences of both, that both have
SEQUENCE = 3

_TOKEN = re.compile(r"\d[\d.,:/-]*\d|\w+(?:['’]\w+)*|[^\w\s]")
_OUTLINE = re.compile(r"\d+|(?<!\w)[A-Z]\w*")
_SIGNS = frozenset("-+−±<>≤≥=≠~≈$€£¥%‰°")
_TELLING_WORDS = """
no not never none nor neither without except unless cannot zero one two three four five six seven
eight nine ten eleven twelve twenty thirty forty fifty sixty ninety hundred thousand million billion
half double before after above below more less minimum maximum must may
nicht kein keine keinen nie ohne weder ne pas jamais sans aucun sin nunca ningún non senza mai
нет не ни без никогда
"""
_TELLING = frozenset(_TELLING_WORDS.split())
_TELLING_CJK = re.compile("[不没沒未無无非否]")


def drop_near_duplicates(texts: Sequence[str]) -> list[int]:
    """Return which texts (from 0) remain without those that say the same as one before them.

    Two say the same when they share ALIKE of their sequences of three words (Jaccard), and when
    their numbers with units and signs, names (words with a capital letter), negations and words of
    quantity are the same, in the same order. Source: Broder, On the Resemblance and Containment of
    Documents, 1997.
    """
    kept: list[int] = []
    groups: dict[tuple[str, ...], list[tuple[int, list[str], frozenset[tuple[str, ...]]]]] = {}
    for at, text in enumerate(texts):
        outline = tuple(_OUTLINE.findall(text))  # equal where what must be the same is
        group = groups.setdefault(outline, [])
        group.append((at, [], frozenset()))
        if len(group) == 1:
            kept.append(at)
            continue
        for position, (other, telling, _) in enumerate(group):
            if not telling:
                group[position] = (other, [*_telling(texts[other]), ""], _sequences(texts[other]))
        _, telling, sequences = group.pop()
        if not any(
            told == telling and _share(sequences, known) >= ALIKE for _, told, known in group
        ):
            group.append((at, telling, sequences))
            kept.append(at)
    return kept


def _telling(text: str) -> list[str]:
    """The words and signs of a text that change what it says, in order."""
    tokens = _TOKEN.findall(text)
    found = _TELLING_CJK.findall(text)
    for before, token in pairwise(["", *tokens]):
        if any(char.isdigit() for char in token):
            found += [before, token] if before in _SIGNS else [token]
        elif _tells(token) or (before[-1:].isdigit() and (token in _SIGNS or token.isalpha())):
            found.append(token)  # or the unit of a number
    return found


def _tells(token: str) -> bool:
    small = token.lower()
    return token != small or small in _TELLING or token.endswith(("n't", "n’t"))


def _sequences(text: str) -> frozenset[tuple[str, ...]]:
    found = words(text)
    return frozenset(
        tuple(found[at : at + SEQUENCE]) for at in range(max(1, len(found) - SEQUENCE + 1))
    )


def _share(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    smaller, larger = sorted((len(one), len(other)))
    if smaller < ALIKE * larger:
        return 0.0
    both = len(one & other)
    return both / (len(one) + len(other) - both)
