"""The rewrites by name, and their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rag_pg.errors import InvalidInput
from rag_pg.protocols import LLM
from rag_pg.search.rewrite.conversation import stand_alone
from rag_pg.search.rewrite.expansion import EXPANSIONS
from rag_pg.search.rewrite.fields import Metadata
from rag_pg.search.rewrite.filters import filter_question
from rag_pg.search.rewrite.helper import Helper
from rag_pg.search.rewrite.rewritten import Rewritten, Variant, read_history
from rag_pg.types import Message

REWRITES = ("conversation", "filters", *EXPANSIONS)
MOST_VARIANTS = 16  # that rag.search_variants takes


def rewrite_question(
    question: str,
    names: Sequence[str],
    *,
    history: Sequence[Message | Mapping[str, Any]] = (),
    helper_llm: LLM | None = None,
    metadata: Metadata | None = None,
    within: Mapping[str, Any] | None = None,
    now: datetime | None = None,
    time_zone: str | None = None,
) -> Rewritten:
    """Return a question rewritten by the rewrites named, in the order of `REWRITES`.

    A question is made to stand alone whenever there is a history. Each rewrite asks the model at
    most once (twice, where its first answer does not fit the schema). One that fails leaves the
    question as it is, and `notes` say so.

    Args:
        helper_llm: writes the wordings; None: rules alone, and what needs a model is left out.
        metadata: the fields that filters are about. within: the caller's own filter.
        now: what relative dates refer to; default: the clock. time_zone: an IANA name; default:
            that of now, or the machine's.
    Raises: InvalidInput (an unknown rewrite or time zone, a turn that is none).
    """
    wanted = check_rewrites(names)
    turns = read_history(history, question)
    moment = local_time(now, time_zone)
    helper = Helper(helper_llm)
    question = stand_alone(question, turns, helper)
    filter_: dict[str, Any] = {}
    boosts: list[dict[str, Any]] = []
    filter_words: frozenset[str] = frozenset()
    if "filters" in wanted and metadata is not None:
        filter_, boosts, filter_words = filter_question(
            question, metadata, moment, helper, within or {}
        )
    variants = [Variant(query=question)]
    for name in EXPANSIONS:
        if name in wanted:
            variants += EXPANSIONS[name](question, helper)
    return Rewritten(
        question=question,
        variants=tuple(dict.fromkeys(variants))[:MOST_VARIANTS],
        filter=filter_,
        boosts=tuple(boosts),
        filter_words=filter_words,
        notes=tuple(helper.notes),
        steps=tuple(helper.steps),
        usage=helper.usage,
    )


def local_time(now: datetime | None, time_zone: str | None) -> datetime:
    """Return now in a time zone. Raises: InvalidInput (no such zone)."""
    if time_zone is None:
        return (now or datetime.now()).astimezone() if now is None or now.tzinfo is None else now
    try:
        zone = ZoneInfo(time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise InvalidInput(
            f"there is no time zone {time_zone!r:.100}; use an IANA name such as Europe/Zurich"
        ) from exc
    if now is None:
        return datetime.now(zone)
    return now.replace(tzinfo=zone) if now.tzinfo is None else now.astimezone(zone)


def check_rewrites(names: Sequence[str]) -> frozenset[str]:
    """Return the names of rewrites as a set. Raises: InvalidInput naming those that there are."""
    if isinstance(names, str):
        names = [names]
    for name in names:
        if name not in REWRITES:
            near = get_close_matches(str(name), REWRITES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"use {', '.join(REWRITES)}"
            raise InvalidInput(f"there is no rewrite {name!r:.100}; {hint}")
    return frozenset(names)
