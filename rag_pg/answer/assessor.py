"""Whether what was found answers a question, as the collection's calibration has measured it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rag_pg.answer.answerability import assess
from rag_pg.answer.asker import Asker
from rag_pg.answer.extractive.answer import judge_strength
from rag_pg.answer.extractive.passage_scores import Evidence
from rag_pg.answer.features import FEATURES, RERANKED
from rag_pg.answer.llm_relevance import (
    JUDGEMENT,
    JUDGEMENT_SCHEMA,
    Judgement,
    find_judge,
    judgement_messages,
    read_judgement,
)
from rag_pg.answer.retriever import Retriever
from rag_pg.answer.trace import Trace
from rag_pg.errors import InvalidInput, RagError
from rag_pg.types import Assessment, Calibration, Hit


class Assessor:
    """Assesses the evidence for one question and for those that are asked on the way.

    Args:
        min_support: how often an answer must be right to be given; None: nobody asks.
    """

    def __init__(
        self, retriever: Retriever, asker: Asker, trace: Trace, min_support: float | None = None
    ) -> None:
        self.min_support = min_support
        self.assessments: dict[str, Assessment] = {}  # by the question
        self._retriever, self._asker, self._trace = retriever, asker, trace
        self._models = asker.names  # that may be asked for a calibration's judgement
        self._judgements: dict[tuple[str, tuple[int, ...]], Judgement | None] = {}
        self._calibration: tuple[Calibration | None] | None = None

    @property
    def calibration(self) -> Calibration | None:
        """When answers are right, read when it is first needed; None, with a note, where that was
        not measured or does not hold.

        Raises: InvalidInput: nothing was measured to be right as often as min_support.
        """
        if self._calibration is None:
            self._calibration = (self._read(),)
        return self._calibration[0]

    def check(self) -> None:
        """Raises: as `calibration`."""
        _ = self.calibration

    def assess(
        self, question: str, hits: Sequence[Hit], *, anew: bool = False
    ) -> Assessment | None:
        """Return whether hits answer the question; None where the collection is not calibrated,
        nothing was found, or nothing could be embedded.

        Judged once, by the first hits. anew: by these hits too; the better assessment holds.
        """
        before = self.assessments.get(question)
        if self.calibration is not None and (before is None or anew):
            evidence = self._retriever.examine(question, hits)
            if evidence is not None:
                self.judge(question, evidence)
                if before is not None and (before.support or 0.0) > (
                    self.assessments[question].support or 0.0
                ):
                    self.assessments[question] = before
        return self.assessments.get(question)

    def judge(self, question: str, evidence: Evidence) -> Assessment:
        """Return what evidence is worth: by the calibration; by its strength alone where there is
        none, or nothing could be embedded."""
        calibration = self.calibration
        if calibration is not None and not evidence.is_embedded:
            self._trace.note("the calibration was not applied, as nothing could be embedded")
            calibration = None
        if calibration is not None and calibration.settings.get("rerank", "") != evidence.reranker:
            with_ = calibration.settings.get("rerank") or "no reranker"
            self._trace.note(f"the calibration was not applied, as it was measured with {with_}")
            calibration = None
        if calibration is None:
            return judge_strength(question, evidence)
        judgement = self._judgement(question, evidence, calibration)
        found = assess(question, evidence, calibration, self.min_support, judgement)
        self.assessments[question] = found
        self._trace.step(
            "assessment",
            zone=found.zone,
            support=None if found.support is None else round(found.support, 4),
            reason=found.reason,
            judgement=None if judgement is None else judgement.score,
        )
        return found

    def _judgement(
        self, question: str, evidence: Evidence, calibration: Calibration
    ) -> Judgement | None:
        """Return the judgement that the calibration was measured with, asked once of each question
        and its passages; None, with a note, where its model does not give it."""
        if calibration.judged is None:
            return None
        hits = [c.hit for c in evidence.candidates]
        key = (question, tuple(hit.chunk_id for hit in hits))
        if key not in self._judgements:
            self._judgements[key] = self._ask_judgement(question, hits, calibration.judged)
        if self._judgements[key] is None:
            self._trace.note("support was measured without a model's judgement")
        return self._judgements[key]

    def _ask_judgement(
        self, question: str, hits: Sequence[Hit], judged: Calibration
    ) -> Judgement | None:
        models = [m for m in (self._asker.helper_llm, self._asker.llm) if m is not None]
        judge, why = find_judge(judged, models, self._asker.failed)
        if judge is None:
            self._trace.note(why)
            return None
        messages = judgement_messages(question, hits)
        reply = self._asker.extract_from(
            messages, JUDGEMENT_SCHEMA, purpose="the judgement", by=judge
        )
        return None if reply is None else read_judgement(reply)

    def _read(self) -> Calibration | None:
        applied = "" if self.min_support is None else "; min_support was not applied"
        try:
            found = self._retriever.calibration()
        except RagError as exc:  # an answer needs no calibration
            self._trace.note(f"the calibration could not be read: {exc}{applied}")
            return None
        if found is None:
            if applied:
                name = self._retriever.collection
                self._trace.note(f"{name} is not calibrated (rag-pg calibrate){applied}")
            return None
        if stale := _stale(found):
            self._trace.note(f"the calibration is not applied, as {stale}{applied}")
            return None
        if found.judged is not None and found.judged.stale:
            why = found.judged.stale
            self._trace.note(f"the calibration's judgement is not applied, as {why}")
            found = replace(found, judged=None)
        self._check_support(found)
        return found

    def _check_support(self, calibration: Calibration) -> None:
        usable = [c for c in _fits(calibration) if c.judge_model in (None, *self._models)]
        least = self.min_support
        if least is None or any(c.threshold_for(least) is not None for c in usable):
            return
        most = max((bound for c in usable for bound in c.lower_bounds), default=0.0)
        raise InvalidInput(
            f"min_support is {least}, and no answer was measured to be right that often:"
            f" the most that {calibration.question_count} questions show is {most:.2f};"
            " ask for less, or calibrate with more questions"
        )


def _fits(calibration: Calibration) -> list[Calibration]:
    """What was measured without a model's judgement, and with it."""
    return [c for c in (calibration, calibration.judged) if c is not None]


def _stale(calibration: Calibration) -> str | None:
    """Why a calibration does not hold; "" or None where it does."""
    names = {name for fit in _fits(calibration) for name in fit.features}
    if unknown := sorted(names - {*FEATURES, *RERANKED, JUDGEMENT}):
        return f"this release does not measure {', '.join(unknown)}"
    return calibration.stale
