"""What a strategy has at hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rag_pg.answer.asker import Asker
from rag_pg.answer.assessor import Assessor
from rag_pg.answer.editor import Editor
from rag_pg.answer.question import Question
from rag_pg.answer.reading.addresses import Known
from rag_pg.answer.retriever import Retriever
from rag_pg.answer.trace import Trace
from rag_pg.answer.trust import ration
from rag_pg.types import Hit, Hits


@dataclass(kw_only=True, slots=True)
class AnswerContext:
    """What a strategy has at hand: the question, what finds, who asks models, what was done.

    retrieved: what was found until now, by the ids of its chunks. weak: ids of those that the
    calibration leaves out. shown: what a model was shown as a source. denied: statements that a
    model wrote and took back by itself. editor: what judges the text and tells it to a listener.
    """

    question: Question
    retriever: Retriever
    trace: Trace
    asker: Asker
    assessor: Assessor
    retrieved: dict[int, Hit] = field(default_factory=dict)
    weak: set[int] = field(default_factory=set)
    shown: list[str] = field(default_factory=list)
    denied: list[str] = field(default_factory=list)
    editor: Editor = field(default_factory=Editor)

    def search(self, query: str, **options: Any) -> Hits:
        """Return the hits of a query; keywords alone answer while the embedder fails.

        Args:
            options: as of `Collection.search`, instead of those of the question.
        Raises: as `Collection.search`.
        """
        hits = self.retriever.search(query, **options)
        for text in filter(None, (*hits.notes, ration(hits))):
            self.trace.note(text)
        self.retrieved |= {hit.chunk_id: hit for hit in hits}
        self._mark_weak(hits)
        found = [
            {"chunk_id": hit.chunk_id, "uri": hit.uri, "score": round(hit.score, 4)} for hit in hits
        ]
        self.trace.step("search", seconds=hits.seconds, query=query, method=hits.method, hits=found)
        return hits

    def _mark_weak(self, hits: Hits) -> None:
        calibration = self.assessor.calibration
        if calibration is None or calibration.context_ratio is None or not hits:
            return
        if any(hit.rerank_score is not None for hit in hits):
            return  # their order is another
        least = calibration.context_ratio * max(hit.score for hit in hits)
        found = {hit.chunk_id for hit in hits if hit.score < least}
        self.weak = (self.weak | found) - {hit.chunk_id for hit in hits if hit.score >= least}

    def known(self, texts: Iterable[str] = ()) -> Known:
        """Return what the sources say: of all that was found, what a model was shown, and `texts`.
        What somebody asks is no invention of a model's either."""
        asked = (turn.content for turn in self.question.history if turn.role == "user")
        found = (
            f"{hit.title}\n{hit.heading}\n{hit.uri}\n{hit.content}"
            for hit in self.retrieved.values()
        )
        return Known([self.question.text, *asked, *found, *self.shown, *texts])
