"""What `make test` tries a part of, and `make test-long` as a whole, in its turn of `.ci/run`."""

from __future__ import annotations

import os

LONG = bool(os.environ.get("RAG_PG_TEST_SLOW"))


def tries(whole: int, part: int) -> int:
    """How many random cases a test that is marked `longer` goes through."""
    return whole if LONG else part
