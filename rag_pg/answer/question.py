"""What is asked of a collection: a question, what was said before it, and how to answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, get_args

from rag_pg.errors import InvalidInput
from rag_pg.types import Message

Verify = Literal["once", "strict"]
Unsupported = Literal["drop", "mark", "keep"]
Expand = Literal["window", "section"]
PASSAGES = 8  # hits that an answer is made of


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What is asked.

    text: the question; it stands alone. history: the conversation before it, as it was written.
    verify: how a helper judges the statements of the answer, None: not at all. unsupported: what
    becomes of statements without support; None: drop where a model judges them, else mark.
    min_support: how often an answer must be right to be given, 0 to 1; None: nobody asks. today:
    what sources are compared with to tell how current they are.
    """

    text: str
    history: Sequence[Message] = ()
    verify: Verify | None = None
    unsupported: Unsupported | None = None
    min_support: float | None = None
    today: date = field(default_factory=date.today)


def check_choice(name: str, given: str | None, choices: Any) -> Any:
    """Return the value of an option that is one of the words of a Literal, or None. Raises:
    InvalidInput."""
    *words, last = get_args(choices)
    if given in (None, *words, last):
        return given
    raise InvalidInput(
        f"{name} is {given!r:.100}; use {', '.join(words)} or {last}, or leave it out"
    )


def check_support(min_support: float | None) -> float | None:
    """Return how often an answer must be right. Raises: InvalidInput."""
    is_number = isinstance(min_support, int | float) and not isinstance(min_support, bool)
    if min_support is None or (is_number and 0 <= min_support <= 1):
        return min_support
    raise InvalidInput(f"min_support is {min_support!r:.100}; use a share from 0 to 1, as 0.9")
