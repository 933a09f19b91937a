"""filters: a filter and boosts from a question, by its words or by a model, each checked before
use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rag_pg.errors import InvalidInput
from rag_pg.search.rewrite.conditions import conditions_by_model
from rag_pg.search.rewrite.fields import Condition, Metadata
from rag_pg.search.rewrite.helper import Helper
from rag_pg.search.rewrite.mentions import conditions_by_words, is_form
from rag_pg.text import compared_things, is_among, words

BOOST = 1.2  # the score of a chunk with a value that the question only mentions is multiplied by it


def filter_question(
    question: str, metadata: Metadata, now: datetime, helper: Helper, within: Mapping[str, Any]
) -> tuple[dict[str, Any], list[dict[str, Any]], frozenset[str]]:
    """Return the filter that a question asks for ({}: none), boosts, and the words of the question
    that the filter was read from.

    A condition that does not compile, or that leaves no document, is dropped. The helper's notes
    say what was made of the question, and what was dropped.

    Args:
        within: the caller's own filter.
    """
    fields = metadata.fields()
    found = conditions_by_model(question, fields, now, helper) if helper.llm is not None else None
    by = "model" if found is not None else "words"
    conditions, dropped = found or conditions_by_words(question, fields, now)
    conditions, halves = _without_halves(question, conditions)
    dropped = [*dropped, *halves]
    kept = _checked([c for c in conditions if c.explicit], metadata, within, dropped)
    boosts = [{"filter": c.filter, "multiply": BOOST} for c in conditions if not c.explicit]
    for condition in kept:
        helper.notes.append(f"filter from the question: {_shown(condition)}")
    for condition in conditions:
        if not condition.explicit:
            helper.notes.append(f"boost from the question: {_shown(condition)}")
    helper.notes += dropped
    filters = [condition.filter for condition in kept]
    combined = combine(*filters)
    if combined or boosts:
        helper.tell("filters", by=by, filter=combined, boosts=boosts)
    named = [word for condition in kept for word in condition.words]
    read = [word for word in words(question) if any(is_form(word, name) for name in named)]
    return combined, boosts, frozenset(read)


def combine(*filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the filter that holds where all of them do; {} where there is none."""
    given = [dict(f) for f in filters if f]
    keys = [key for f in given for key in f]
    if len(keys) == len(set(keys)):
        return {key: value for f in given for key, value in f.items()}
    return {"$and": given}


def _without_halves(
    question: str, conditions: Sequence[Condition]
) -> tuple[list[Condition], list[str]]:
    """Return the conditions that exclude none of two things which a question compares, and what was
    dropped."""
    sides = [words(thing) for thing in compared_things(question)]
    kept, dropped = [], []
    for condition in conditions:
        own = words(condition.source)
        speaks = [any(is_among(word, own) for word in side) for side in sides]
        if speaks.count(True) == 1:
            dropped.append(f"{_shown(condition)} was dropped: the question compares it")
        else:
            kept.append(condition)
    return kept, dropped


def _checked(
    conditions: Sequence[Condition],
    metadata: Metadata,
    within: Mapping[str, Any],
    dropped: list[str],
) -> list[Condition]:
    """The conditions that leave some document, together with those before them."""
    kept: list[Condition] = []
    for condition in conditions:
        try:
            count = metadata.count(combine(within, *(c.filter for c in [*kept, condition])))
        except InvalidInput as exc:
            dropped.append(f"{_shown(condition)} was dropped: {exc}")
            continue
        if count:
            kept.append(condition)
        else:
            dropped.append(f"{_shown(condition)} was dropped: no document matches")
    return kept


def _shown(condition: Condition) -> str:
    return f"{condition.in_words} (“{condition.source}”)"
