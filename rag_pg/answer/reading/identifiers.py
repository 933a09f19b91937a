"""Identifiers: words with digits, as part numbers, versions, error codes and dates have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from rag_pg.text import is_function_word, same_word

MOST = 20  # identifiers of a question that are looked for
_SIGN = re.compile(r"([§#№]+)\s*(?=\d)")  # before a number
_RANGE = re.compile(  # Halls 4 to 6
    r"([^\W\d_]+)[.:]*\s+(\d{1,9})\s*(?:to|through|bis|à|a|[-–—])\s*(\d{1,9})(?![\w-]|[.,]\d)",
    re.IGNORECASE,
)
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
    """The identifiers with digits of a question (BW-300, version 4.2.0, error 809, § 5).

    forms: the name of each, a pattern for it, and one for all identifiers of its form."""

    forms: list[tuple[str, re.Pattern[str], re.Pattern[str]]]

    @classmethod
    def of(cls, question: str) -> Identifiers:
        """Find the first MOST of a question; a number alone is one with the word or the sign before
        it."""
        forms = []
        for before, token in pairwise(["", *_SIGN.sub(r"\1 ", question).split()]):
            token, word = token.strip(MARKS), before.strip(MARKS)
            is_word = word.isalpha() and (before[-1] == "." or not is_function_word(word.lower()))
            if not any(char.isdigit() for char in token) or (
                token.isdigit() and not (is_word or _SIGN.match(f"{word}0"))
            ):
                continue
            name = f"{word} {token}" if token.isdigit() else token
            gap = r"[.:]*\s+" if is_word else r"\s*"
            own = re.escape(name).replace(r"\ ", gap)
            forms.append((name, _pattern(own), _pattern(re.sub(r"\d+", r"\\d+", own))))
            if len(forms) == MOST:
                break
        return cls(forms)

    def stand_in(self, text: str) -> bool:
        """Whether a text has one of them, or a range of numbers with it (Halls 4 to 6)."""
        return any(own.search(text) for _, own, _ in self.forms) or any(self._ranges(text))

    def are_named_by(self, line: str) -> bool:
        """Whether a line is an identifier of the form of one of them and nothing else."""
        return any(form.fullmatch(line.strip(MARKS)) for _, _, form in self.forms)

    def differ_in(self, text: str) -> bool:
        """Whether a text has an identifier of the form of one of them, and none of them."""
        is_like = any(form.search(text) for _, _, form in self.forms) or self._ranges(text)
        return bool(is_like) and not self.stand_in(text)

    def _ranges(self, text: str) -> list[bool]:
        """Of each range of numbers behind the word of one of them, whether it has its number."""
        named = [name.split() for name, *_ in self.forms if " " in name]
        return [
            int(first) <= int(number) <= int(last)
            for word, number in named
            for other, first, last in _RANGE.findall(text)
            if int(first) < int(last) and same_word(word.casefold(), other.casefold())
        ]


def _pattern(form: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.,-]){form}(?![\w-]|[.,]\d)", re.IGNORECASE)
