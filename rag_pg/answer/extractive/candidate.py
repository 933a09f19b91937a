"""A hit that may answer a question, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from rag_pg.answer.reading.freshness import source_date
from rag_pg.answer.reading.passage import Page
from rag_pg.answer.reading.term_match import Numbers
from rag_pg.text import Sentence
from rag_pg.types import Hit

COVERAGE = 0.75  # of a similarity: what all words of the question in a hit count for


@dataclass(kw_only=True, slots=True, eq=False)
class Candidate:
    """A hit as a page alone, and of each of its sentences: the displayed text, the heading within
    the hit above it, what is compared with the question (it under its heading, or the document's
    own question that it answers), the share of the question's words that it has, alone, with
    headings and beyond these, which tells it from its neighbours, its similarity to the question
    (nan: not embedded) and its score.
    of_another: those of another identifier than the question names: rows of figures and sections
    where another one has it.

    relative_score: of the hit in the search, 1: the best hit's. coverage: the share of the
    question's words that the hit has; words_found: which.
    """

    hit: Hit
    relative_score: float
    page: Page
    sentences: Sequence[Sentence]
    shown: list[str]
    headings_above: list[str]
    compared: list[str]
    word_shares: Numbers = field(default_factory=lambda: np.zeros(0))
    word_shares_with_headings: Numbers = field(default_factory=lambda: np.zeros(0))
    word_shares_beyond: Numbers = field(default_factory=lambda: np.zeros(0))
    similarities: Numbers = field(default_factory=lambda: np.zeros(0))
    scores: Numbers = field(default_factory=lambda: np.zeros(0))
    of_another: set[int] = field(default_factory=set)
    coverage: float = 0.0
    words_found: set[str] = field(default_factory=set)
    score: float = 0.0
    is_reranked: bool = False

    @property
    def evidence(self) -> float:
        if self.is_reranked:
            return float(self.scores.max())
        return float(np.nanmax(self.similarities)) + COVERAGE * self.coverage

    @property
    def best(self) -> int:
        return int(np.argmax(self.scores))

    @property
    def day(self) -> date | None:
        """From when its document holds, where that is told."""
        return source_date(self.hit.metadata, f"{self.hit.title}\n{self.hit.uri}", self.hit.content)
