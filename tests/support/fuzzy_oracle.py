"""Which words a mistyped one may have been, in plain Python: what typo tolerance has to agree with.

Nothing is shared with the implementation but the lexemes, the language of a query and the filters
of ordinary words. Queries hold no word of British or American spelling.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Set
from functools import lru_cache
from hashlib import sha256
from string import ascii_lowercase
from typing import Any

import psycopg

from rag_pg.db.schema import share

WEIGHT, MOST_WORDS, MOST_FORMS = 0.7, 5, 3
FILTERS = {path.stem: path.read_bytes() for path in share("sql").rglob("*.bloom")}


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


def in_filter(stored: bytes, word: str) -> bool:
    """Whether all seven bits of a word are set."""
    digest = sha256(word.replace("ß", "ss").encode()).digest()
    first, step = int.from_bytes(digest[:4]), int.from_bytes(digest[4:8])
    places = [(first + n * step) % (8 * len(stored)) for n in range(7)]
    return all(stored[place // 8] >> place % 8 & 1 for place in places)


def without_accents(word: str) -> str:
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", word))


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

    def listed(self, query: str) -> list[str]:
        """The languages of the collection and of the query whose ordinary words are known."""
        row = self.db.execute("SELECT rag._guess_language(%s)", [query]).fetchone()
        return [name for name in {*self.languages, *(row or ())} if name in FILTERS]

    def has_function_word(self, words: Iterable[str]) -> bool:
        """Whether some language makes no lexeme of one of the words."""
        row = self.db.execute(
            """SELECT count(*) FROM unnest(%s::text[]) AS language, unnest(%s::text[]) AS word
               WHERE to_tsvector(language::regconfig, word) = ''""",
            [self.languages, list(words)],
        ).fetchone()
        return row is not None and row[0] > 0

    def variants(self, word: str, listed: Iterable[str]) -> list[str]:
        """What a word may have been before an error; nothing where it is no error."""
        ordinary = [name for name in listed if in_filter(FILTERS[name], word)]
        others = sorted(edits(word))
        if ordinary == ["english"]:  # which is written without accents
            others = [w for w in others if without_accents(w) == without_accents(word) != w]
        elif ordinary:
            return []
        return [] if self.has_function_word(others) else others

    def find(
        self,
        query: str,
        terms: Mapping[str, Hashable],
        frequencies: Mapping[str, int],
        written: Set[str],
    ) -> dict[str, str]:
        """Lexemes that are searched for instead -> the lexeme of the query that each stands for.

        Args:
            terms: lexemes of the query and the word that each is a form of.
            frequencies: of the lexemes that some chunk has, the number of chunks that do.
            written: the words of the chunks, in lower case.
        """
        known = {word for term, word in terms.items() if frequencies.get(term)}
        unknown = {term for term, word in terms.items() if word not in known}
        found: dict[str, str] = {}
        words = [w for w in query.lower().split() if re.fullmatch(r"[^\W\d_]{4,40}", w)]
        listed = self.listed(query) if unknown else []
        tried = 0
        for word, lexemes in zip(words, self.lexed(words), strict=True):
            if not lexemes & unknown or tried == MOST_WORDS:
                continue
            tried += 1
            if not listed and len(word) < 6:
                continue
            real = [
                w
                for w in self.variants(word, listed)
                if w in written or any(in_filter(FILTERS[name], w) for name in listed)
            ]
            forms = {x for lexed in self.lexed(real) for x in lexed if frequencies.get(x)}
            near = sorted(forms, key=lambda x: (-frequencies[x], x))[:MOST_FORMS]
            if len(word) < (5 if listed else 8) and len(near) > 1:
                continue
            for form in near:
                if form not in terms:
                    found.setdefault(form, min(lexemes & unknown))
        return found
