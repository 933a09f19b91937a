"""The rewrites by name, and their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from rag_pg.errors import InvalidInput
from rag_pg.protocols import LLM
from rag_pg.search.rewrite.conversation import stand_alone
from rag_pg.search.rewrite.expansion import EXPANSIONS
from rag_pg.search.rewrite.helper import Helper
from rag_pg.search.rewrite.rewritten import Rewritten, Variant, read_history
from rag_pg.types import Message

REWRITES = ("conversation", *EXPANSIONS)
MOST_VARIANTS = 16  # that rag.search_variants takes


def rewrite_question(
    question: str,
    names: Sequence[str],
    *,
    history: Sequence[Message | Mapping[str, Any]] = (),
    helper_llm: LLM | None = None,
) -> Rewritten:
    """Return a question rewritten by the rewrites named, in the order of `REWRITES`.

    A conversation is made to stand alone whenever there is a history. Each rewrite asks the model
    at most once (twice, where its first answer does not fit the schema). One that fails leaves the
    question as it is, and `notes` say so.

    Raises: InvalidInput (an unknown rewrite, a turn that is none).
    """
    wanted = check_rewrites(names)
    turns = read_history(history, question)
    helper = Helper(helper_llm)
    question = stand_alone(question, turns, helper)
    variants = [Variant(query=question)]
    for name in EXPANSIONS:
        if name in wanted:
            variants += EXPANSIONS[name](question, helper)
    return Rewritten(
        question=question,
        variants=tuple(dict.fromkeys(variants))[:MOST_VARIANTS],
        notes=tuple(helper.notes),
        steps=tuple(helper.steps),
        usage=helper.usage,
    )


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
