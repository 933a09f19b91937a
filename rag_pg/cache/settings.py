"""What is cached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from rag_pg.errors import InvalidInput

Kind = Literal["embedding", "completion", "search", "answer"]
NAMES: Mapping[str, Kind] = {
    "embeddings": "embedding",
    "completions": "completion",
    "searches": "search",
    "answers": "answer",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cache:
    """What a client keeps in the database, and reads again while nothing that it depends on has
    changed.

    embeddings: vectors of queries that a provider's model made; models that run here are as quick.
    completions: what a helper model answered when it rewrote or routed a question. searches: hits.
    answers: whole answers.
    semantic: 0 to 1, the cosine similarity of two questions from which the answer to one is given
    to the other, if they also have the same words but for articles, politeness and the like; None:
    only to equal questions. ttl: how long an entry is read. max_bytes: of all entries of a role.
    Raises: InvalidInput.
    """

    embeddings: bool = True
    completions: bool = False
    searches: bool = False
    answers: bool = False
    semantic: float | None = None
    ttl: timedelta = timedelta(days=1)
    max_bytes: int = 100_000_000

    def __post_init__(self) -> None:
        if self.semantic is not None and not 0 < self.semantic <= 1:
            raise InvalidInput(f"semantic is {self.semantic!r:.100}; use a similarity above 0 to 1")
        if self.ttl <= timedelta(0):
            raise InvalidInput(f"ttl is {self.ttl}; use a time above 0")
        if self.max_bytes < 1:
            raise InvalidInput(f"max_bytes is {self.max_bytes}; use 1 or more")

    def keeps(self, kind: Kind) -> bool:
        """Whether entries of a kind are read and written."""
        return {
            "embedding": self.embeddings,
            "completion": self.completions,
            "search": self.searches,
            "answer": self.answers,
        }[kind]


OFF = Cache(embeddings=False)
ALL = Cache(completions=True, searches=True, answers=True)


def parse_cache(text: str) -> Cache:
    """Return the cache of a setting: off, all, or names of what is cached, with commas between.

    Raises: InvalidInput (another name).
    """
    if text == "off":
        return OFF
    if text == "all":
        return ALL
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in NAMES]:
        raise InvalidInput(
            f"the cache has no {unknown[0]!r:.100}; use off, all, or some of {', '.join(NAMES)}"
        )
    return Cache(
        embeddings="embeddings" in names,
        completions="completions" in names,
        searches="searches" in names,
        answers="answers" in names,
    )
