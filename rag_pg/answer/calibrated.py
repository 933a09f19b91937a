"""The calibration that a question is answered by, and how often its answer must be right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from rag_pg.answer.features import FEATURES
from rag_pg.answer.llm_relevance import JUDGEMENT
from rag_pg.db import Database
from rag_pg.errors import InvalidInput, RagError
from rag_pg.protocols import LLM
from rag_pg.types import Calibration


def check_support(min_support: float | None) -> None:
    """Raises: InvalidInput."""
    if min_support is None:
        return
    if (
        isinstance(min_support, bool)
        or not isinstance(min_support, int | float)
        or not (0 <= min_support <= 1)
    ):
        raise InvalidInput(f"min_support is {min_support!r:.100}; use a share from 0 to 1, as 0.9")


def read_calibration(
    database: Database,
    collection: str,
    min_support: float | None,
    notes: list[str],
    models: Sequence[LLM | None] = (),
) -> Callable[[], Calibration | None]:
    """Return what reads the calibration once, when it is needed; None: answers are given without.

    Args:
        notes: are told why there is none, where min_support asks for one or it does not hold.
        models: that may be asked for the judgement of a calibration that has one.
    Raises, when called: InvalidInput: nothing was measured to be right as often as min_support.
    """

    @cache
    def read() -> Calibration | None:
        applied = "" if min_support is None else "; min_support was not applied"
        try:
            found = database.get_calibration(collection)
        except RagError as exc:  # an answer needs no calibration
            notes.append(f"the calibration could not be read: {exc}{applied}")
            return None
        if found is None:
            if applied:
                notes.append(f"{collection} is not calibrated (rag-pg calibrate){applied}")
            return None
        stale = found.stale
        fits = [found] if found.judged is None else [found, found.judged]
        measured = {*FEATURES, JUDGEMENT}
        if unknown := sorted({name for fit in fits for name in fit.features} - measured):
            stale = f"this release does not measure {', '.join(unknown)}"
        if stale:
            notes.append(f"the calibration is not applied, as {stale}{applied}")
            return None
        if found.judged is not None and found.judged.stale:
            notes.append(f"the calibration's judgement is not applied, as {found.judged.stale}")
            found, fits = replace(found, judged=None), fits[:1]
        usable = [f for f in fits if f.judge_model in (None, *(m.name for m in models if m))]
        if min_support is not None and all(
            fit.threshold_for(min_support) is None for fit in usable
        ):
            most = max((bound for fit in usable for bound in fit.lower_bounds), default=0.0)
            raise InvalidInput(
                f"min_support is {min_support}, and no answer was measured to be right that often:"
                f" the most that {found.question_count} questions show is {most:.2f};"
                " ask for less, or calibrate with more questions"
            )
        return found

    return read
