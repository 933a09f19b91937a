"""How long a fuzzer runs, and with which seeds.

`make test` tries a few fixed seeds. `make fuzz` tries new ones for RAG_PG_FUZZ_SECONDS in all,
shared among the fuzzers, and prints each fuzzer's first seed.
RAG_PG_FUZZ_SEED=n repeats seed n alone.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable

FUZZERS = 9  # that share the time
SECONDS = float(os.environ.get("RAG_PG_FUZZ_SECONDS", "0")) / FUZZERS
SEED = os.environ.get("RAG_PG_FUZZ_SEED")


def fuzz(run: Callable[[int], None], fixed: int) -> None:
    """Call run(seed) for the fixed seeds 1, 2, …, or for new ones while time is left.

    A failure names its seed.
    """
    if SEED:
        seeds = iter([int(SEED)])
    elif SECONDS:
        first = secrets.randbelow(10**9)
        print(f"\n{run.__qualname__}: seeds from {first} on")
        seeds = iter(range(first, first + 10**9))
    else:
        seeds = iter(range(1, fixed + 1))
    stop = time.monotonic() + SECONDS
    for number, seed in enumerate(seeds):
        if SECONDS and not SEED and time.monotonic() > stop:
            print(f"{number} seeds")
            return
        try:
            run(seed)
        except BaseException as error:
            error.add_note(f"repeat it with RAG_PG_FUZZ_SEED={seed}")
            raise
