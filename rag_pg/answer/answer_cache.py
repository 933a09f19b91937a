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
from rag_pg.protocols import LLM, Embedder
from rag_pg.search import find_period, local_time
from rag_pg.types import Answer, Event, Step, Usage, Vectors

# Their answers depend on the clock, or on what tools read beside the collection.
NOT_KEPT = ("metadata", "agent")


def answer_scope(
    options: Mapping[str, Any],
    *,
    question: str,
    collection: str,
    model: LLM | None,
    helper_llm: LLM | None,
    embedder: Callable[[], Embedder],
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
    if options.get("tools") or options.get(
        "views"
    ):  # what they read is no part of the collection's version
        return None
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
    return digest(collection, models, embedder().fingerprint, given)


def ask_kept(
    question: str,
    scope: bytes,
    entries: Entries,
    collection: str,
    listener: Callable[[Event], None] | None,
    answer: Callable[[], Answer],
    vector: Callable[[], Vectors] | None,
) -> Answer:
    """Return the answer that was given before, while the collection and the caller's rights are the
    same; else what `answer` gives, which is kept unless it was degraded.

    Args:
        vector: of the question; None: only an equal question's answer is given again.
    """
    started = time.perf_counter()
    key = digest("answer", scope.hex(), question)
    assert key is not None  # of texts
    looked = entries.look("answer", [key], collection)
    kept = unpack(Answer, looked.values[0])
    meaning = None
    if kept is None and vector is not None and not looked.refusal:
        try:
            meaning = vector()
        except RagError:  # the search will say so
            meaning = None
    if meaning is not None:
        similar = entries.similar(collection, scope, question, meaning)
        if similar is not None:
            kept = unpack(Answer, entries.look("answer", [similar], collection).values[0])
            key = key if kept is None else similar
    if kept is not None:
        tokens = kept.usage.prompt_tokens + kept.usage.answer_tokens
        entries.uses.add(
            "answer",
            looked.collection_key,
            hits={key},
            misses=0,
            saved_tokens=tokens,
            saved_cost=kept.cost or 0.0,
        )
        return _given_again(kept, tokens, started, listener)
    got = answer()
    if looked.refusal:
        return replace(got, notes=(*got.notes, f"nothing is cached: {looked.refusal}"))
    entries.uses.add("answer", looked.collection_key, hits=set(), misses=1)
    if not got.notes and got.strategy not in NOT_KEPT and not got.tool_results:
        entries.keep(
            "answer",
            {key: pack(replace(got, steps=()))},
            looked.version,
            collection=collection,
            saved_tokens=got.usage.prompt_tokens + got.usage.answer_tokens,
            saved_cost=got.cost or 0.0,
            question=None if meaning is None else question,
            scope=None if meaning is None else scope,
            embedding=meaning,
        )
    return got


def _given_again(
    kept: Answer, tokens: int, started: float, listener: Callable[[Event], None] | None
) -> Answer:
    """The answer with what giving it again took; its text and citations are told to a listener."""
    step = Step(
        kind="cache",
        detail={"saved_tokens": tokens, "saved_cost": kept.cost},
        seconds=time.perf_counter() - started,
    )
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
        seconds=time.perf_counter() - started,
        trace_id=secrets.token_hex(16),
        cached=True,
    )
