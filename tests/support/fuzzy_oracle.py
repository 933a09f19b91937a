"""Which words a mistyped one may have been, in plain Python: what typo tolerance has to agree with.

Nothing is shared with the implementation but the lexemes.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from string import ascii_lowercase
from typing import Any

import psycopg

WEIGHT, MOST_WORDS, MOST_FORMS, SHORTEST = 0.7, 5, 3, 4


@lru_cache(maxsize=10_000)
def edits(
    word: str, letters: str = ascii_lowercase + "äàáâãåāăąæëèéêēėęěïìíîīįıöòóôõőøœüùúûūůűųßśšşș"
) -> frozenset[str]:
    """Every word that is one letter lost, added, changed, or two exchanged, away."""
    cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    return frozenset(
        [head + tail[1:] for head, tail in cuts if tail]
        + [head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1]
        + [head + letter + tail[1:] for head, tail in cuts if tail for letter in letters]
        + [head + letter + tail for head, tail in cuts for letter in letters]
    )


class FuzzyTerms:
    """What stands for the words of a query that no chunk has."""

    def __init__(self, db: psycopg.Connection[Any], languages: Iterable[str]) -> None:
        self.db, self.languages = db, sorted(languages)
        self._lexed: dict[tuple[str, ...], list[set[str]]] = {}

    def lexed(self, words: Iterable[str]) -> list[set[str]]:
        """The lexemes of each word in all languages."""
        key = tuple(words)
        if key not in self._lexed:
            self._lexed[key] = [
                set(lexemes)
                for (lexemes,) in self.db.execute(
                    """SELECT ARRAY(SELECT l.lexeme FROM unnest(%s::text[]) AS k (language),
                           unnest(to_tsvector(k.language::regconfig, w.word)) AS l)
                       FROM unnest(%s::text[]) WITH ORDINALITY AS w (word, n) ORDER BY w.n""",
                    [self.languages, list(key)],
                )
            ]
        return self._lexed[key]

    def find(
        self, query: str, terms: Mapping[str, Hashable], frequencies: Mapping[str, int]
    ) -> dict[str, str]:
        """Lexemes that are searched for instead -> the lexeme of the query that each stands for.

        Args:
            terms: lexemes of the query and the word that each is a form of.
            frequencies: of the lexemes that some chunk has, the number of chunks that do.
        """
        known = {word for term, word in terms.items() if frequencies.get(term)}
        unknown = {term for term, word in terms.items() if word not in known}
        found: dict[str, str] = {}
        words = [w for w in query.lower().split() if re.fullmatch(r"[^\W\d_]{4,40}", w)]
        tried = 0
        for word, lexemes in zip(words, self.lexed(words), strict=True):
            if not lexemes & unknown or tried == MOST_WORDS:
                continue
            tried += 1
            forms = {x for lexed in self.lexed(sorted(edits(word))) for x in lexed}
            near = sorted((-frequencies[x], x) for x in forms if frequencies.get(x))
            for _, form in near[:MOST_FORMS]:
                if form not in terms:
                    found.setdefault(form, min(lexemes & unknown))
        return found
