"""Answers that are kept: of questions that depend on nothing but their options and the
collection."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rag_pg.answer.strategy import is_built_in
from rag_pg.cache import Entries, digest, pack, unpack
from rag_pg.errors import RagError
from rag_pg.protocols import LLM
from rag_pg.search import Searcher, find_period, local_time
from rag_pg.types import Answer, Event, Step, Usage, Vectors

# Their answers depend on the clock, or on what tools read beside the collection.
NOT_KEPT = ("metadata", "agent")


def answer_scope(
    options: Mapping[str, Any],
    *,
    question: str,
    searcher: Searcher,
    model: LLM | None,
    helper_llm: LLM | None,
) -> bytes | None:
    """Return the key of all that an answer depends on beside the question and the collection's
    state; None where it depends on more.

    Args:
        options: of `Collection.ask`, without cache, llm and helper_llm.
    """
    strategy = options.get("strategy", "auto")
    models = [
        None if llm is None else getattr(llm, "fingerprint", "") for llm in (model, helper_llm)
    ]
    if not isinstance(strategy, str) or not is_built_in(strategy) or "" in models:
        return None
    if options.get("tools") or options.get("views"):
        return None  # what they read is no part of the collection's version
    rerank = options.get("rerank")
    if not isinstance(rerank, str | None) or (rerank or "").startswith("llm:"):
        return None
    if any("recency" in boost for boost in options.get("boosts") or ()):
        return None
    given = {name: value for name, value in options.items() if value is not None}
    now, zone = given.pop("now", None), given.pop("time_zone", None)
    moment = local_time(now, zone)
    if now is None:
        if "filters" in given.get("rewrite", ()) or find_period(question, moment) is not None:
            return None  # what "last week" means is another thing from moment to moment
        given["today"] = moment.date()
    else:
        given["now"] = moment
    given["zone"] = str(moment.tzinfo)
    return digest(searcher.info.name, models, searcher.embedder.fingerprint, given)


class AnswerEntry:
    """What the cache has of a question: `answer`, None where it has none; else it keeps one.

    Answers are given again while the collection and the caller's rights are the same: to an equal
    question, and where the settings say so to one that asks for the same in other words.

    Args:
        scope: see `answer_scope`.
    """

    def __init__(self, question: str, scope: bytes, entries: Entries, searcher: Searcher) -> None:
        self._question, self._scope, self._entries = question, scope, entries
        self._collection = searcher.info.name
        self._started = time.perf_counter()
        key = digest("answer", scope.hex(), question)
        assert key is not None  # of texts
        self._key = key
        self._looked = entries.look("answer", [key], self._collection)
        self._meaning: Vectors | None = None
        self.answer = unpack(Answer, self._looked.values[0])
        if self.answer is None and entries.settings.semantic is not None:
            self._look_for_similar(searcher)

    def _look_for_similar(self, searcher: Searcher) -> None:
        if self._looked.refusal:
            return
        try:
            self._meaning = searcher.question_vector(self._question, self._entries)
        except RagError:  # the search will say so
            return
        similar = self._entries.similar(
            self._collection, self._scope, self._question, self._meaning
        )
        if similar is not None:
            looked = self._entries.look("answer", [similar], self._collection)
            self.answer = unpack(Answer, looked.values[0])
            self._key = self._key if self.answer is None else similar

    def give_again(self, kept: Answer, listener: Callable[[Event], None] | None) -> Answer:
        """Return the answer with what giving it again took; its text and citations are told to a
        listener."""
        tokens, cost = kept.usage.prompt_tokens + kept.usage.answer_tokens, kept.cost or 0.0
        self._entries.uses.add(
            "answer",
            self._looked.collection_key,
            hits={self._key},
            misses=0,
            saved_tokens=tokens,
            saved_cost=cost,
        )
        detail = {"saved_tokens": tokens, "saved_cost": kept.cost}
        seconds = time.perf_counter() - self._started
        step = Step(kind="cache", detail=detail, seconds=seconds)
        if listener is not None:
            listener(Event(kind="step", step=step))
            listener(Event(kind="token", text=kept.text))
            for citation in kept.sources:
                listener(Event(kind="citation", citation=citation))
        return replace(
            kept,
            steps=(step,),
            usage=Usage(),
            cost=0.0,
            seconds=time.perf_counter() - self._started,
            trace_id=secrets.token_hex(16),
            cached=True,
        )

    def keep(self, answer: Answer) -> Answer:
        """Keep an answer unless it was degraded; return it."""
        looked, entries = self._looked, self._entries
        if looked.refusal:
            note = f"nothing is cached: {looked.refusal}"
            return replace(answer, notes=(*answer.notes, note))
        entries.uses.add("answer", looked.collection_key, hits=set(), misses=1)
        if answer.notes or answer.strategy in NOT_KEPT or answer.tool_results:
            return answer
        is_similar = self._meaning is not None  # it may answer another question too
        entries.keep(
            "answer",
            {self._key: pack(replace(answer, steps=()))},
            looked.version,
            collection=self._collection,
            saved_tokens=answer.usage.prompt_tokens + answer.usage.answer_tokens,
            saved_cost=answer.cost or 0.0,
            question=self._question if is_similar else None,
            scope=self._scope if is_similar else None,
            embedding=self._meaning,
        )
        return answer
