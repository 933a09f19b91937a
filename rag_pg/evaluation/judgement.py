"""Questions that were observed, and a language model -> the same with its judgement of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rag_pg.answer import (
    JUDGEMENT,
    JUDGEMENT_SCHEMA,
    JUDGEMENT_VERSION,
    Judgement,
    judgement_messages,
    read_judgement,
    shown_texts,
)
from rag_pg.db import Database
from rag_pg.errors import ModelUnavailable, ProviderAuth
from rag_pg.evaluation.calibrate import Observation
from rag_pg.evaluation.generate import SHORTEST, Estimate
from rag_pg.evaluation.statements import kept_verdict, line_of, sample_chunks
from rag_pg.protocols import LLM
from rag_pg.providers import complete_json, cost
from rag_pg.text import estimate_tokens
from rag_pg.threads import Threads
from rag_pg.types import Usage

AT_ONCE = 4
SAMPLED = 100  # chunks that an estimate is made of
ANSWER_TOKENS = 40  # about, of a judgement


def judge_observations(
    items: Sequence[Observation],
    llm: LLM,
    database: Database,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[Observation], list[str]]:
    """Return the observations that the model judged, its judgement among their features, and what
    failed.

    A call for each; what was judged before, of the same passages, is not asked again.
    Raises: ProviderAuth, ModelUnavailable.
    """
    since = time.monotonic()  # what is judged was read before, and is there still

    def attempt(item: Observation) -> Judgement | Exception:
        try:
            return _judge(item, llm, database, since)
        except (ProviderAuth, ModelUnavailable):
            raise
        except Exception as exc:  # a model is anybody's code
            return exc

    found, failures = [], []
    with Threads(AT_ONCE, "rag-pg-judge") as threads:
        for done, (item, given) in enumerate(
            zip(items, threads.map(attempt, items), strict=True), 1
        ):
            if isinstance(given, Exception):
                failures.append(line_of(given))
            else:
                found.append(replace(item, features={**item.features, JUDGEMENT: given.score}))
            if progress is not None:
                progress(done, len(items))
    return found, failures


def _judge(item: Observation, llm: LLM, database: Database, since: float) -> Judgement:
    texts = shown_texts(item.passages)
    version = f"{JUDGEMENT} {JUDGEMENT_VERSION}:{llm.name}"[:200]

    def ask() -> dict[str, Any]:
        messages = judgement_messages(item.question, item.passages)
        return {"reply": complete_json(llm, messages, JUDGEMENT_SCHEMA).parsed}

    judged = [JUDGEMENT, llm.name, item.question, texts]
    return read_judgement(kept_verdict(database, judged, version, since, ask)["reply"])


def estimate_judgements(
    database: Database, collection: str, llm: LLM, *, questions: int, passages: int
) -> Estimate:
    """Return what judging so many questions by so many passages each will take. Asks no model."""
    chunks = sample_chunks(database, collection, SAMPLED, SHORTEST, 0)
    shown = sum(estimate_tokens([chunk.content for chunk in chunks])) / max(len(chunks), 1)
    around = sum(estimate_tokens([m.content for m in judgement_messages("", [])])) + 40
    usage = Usage(
        prompt_tokens=round(questions * (passages * (shown + 30) + around)),
        answer_tokens=questions * ANSWER_TOKENS,
    )
    return Estimate(calls=questions, usage=usage, cost=cost(llm.name, usage))
