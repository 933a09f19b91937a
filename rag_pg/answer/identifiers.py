"""Identifiers: words with digits, as part numbers, versions, error codes and dates have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from rag_pg.text import is_function_word

MOST = 20  # identifiers of a question that are looked for
MARKS = "?!.,;:¿¡？！。，、'\"“”„()[]«»"  # beside a word of a question


def is_identifier(word: str) -> bool:
    """Whether a word has digits or lines below."""
    return "_" in word or any(char.isdigit() for char in word)


def is_part_number(word: str) -> bool:
    """Whether a word is an identifier of letters and digits whose parts say nothing alone: P-300,
    not 30-day."""
    return is_identifier(word) and "-" in word and any(char.isupper() for char in word)


@dataclass(frozen=True, slots=True)
class Identifiers:
    """The identifiers with digits of a question (BW-300, version 4.2.0, error 809).

    forms: the name of each, and a pattern for all identifiers of its form."""

    forms: list[tuple[str, re.Pattern[str]]]

    @classmethod
    def of(cls, question: str) -> Identifiers:
        """Find the first MOST of a question; a number alone is one with the word before it."""
        forms = []
        tokens = [token.strip(MARKS) for token in question.split()]
        for before, token in pairwise(["", *tokens]):
            is_number = token.isdigit()
            if not any(char.isdigit() for char in token) or (
                is_number and (not before.isalpha() or is_function_word(before.lower()))
            ):
                continue
            name = f"{before} {token}" if is_number else token
            form = re.sub(r"\d+", r"\\d+", re.escape(name)).replace(r"\ ", r"\s+")
            pattern = rf"(?<![\w.,-]){form}(?![\w-]|[.,]\d)"
            forms.append((name, re.compile(pattern, re.IGNORECASE)))
            if len(forms) == MOST:
                break
        return cls(forms)

    def stand_in(self, text: str) -> bool:
        """Whether a text has one of them."""
        return any(
            " ".join(found.split()).casefold() == name.casefold()
            for name, form in self.forms
            for found in form.findall(text)
        )

    def differ_in(self, text: str) -> bool:
        """Whether a text has an identifier of the form of one of them, and none of them."""
        return not self.stand_in(text) and any(form.search(text) for _, form in self.forms)
