"""What `make test` tries a part of, and `make test-long` as a whole, in its turn of `.ci/run`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

LONG = bool(os.environ.get("RAG_PG_TEST_SLOW"))


def tries(whole: int, part: int) -> int:
    """How many random cases a test that is marked `longer` goes through."""
    return whole if LONG else part


def in_turn(cases: Iterable[Any], *kept: Any) -> list[Any]:
    """Cases of one way through the code: those that are kept are for every change, the others have
    their turn."""
    return [
        case if case in kept else pytest.param(case, marks=pytest.mark.minutes) for case in cases
    ]


def spread(cases: int, count: int) -> set[int]:
    """The numbers of so many cases from the first to the last; of two parameters with as many
    values each it is another value of both."""
    return {i * (cases - 1) // max(1, count - 1) for i in range(count)}
