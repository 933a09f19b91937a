"""Passages of low trust, many of them, do not fill an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from contexts import context_of
from passages import hits

from rag_pg.types import Hits


def found(trust: Sequence[str | None]) -> Hits:
    given = hits(*(f"Passage {number} tells something else." for number, _ in enumerate(trust)))
    return Hits(
        replace(hit, metadata={"trust": value} if value else {})
        for hit, value in zip(given, trust, strict=True)
    )


@pytest.mark.parametrize(
    ("trust", "kept", "left_out"),
    [
        ("hhhh", [1, 2, 3, 4], 0),
        ("llll", [1, 2, 3, 4], 0),  # there is nothing else
        ("lllh", [1, 4], 2),  # the best of low trust keeps its place
        ("llhhhlhhh", [1, 2, 3, 4, 5, 7, 8, 9], 1),
        ("hhhl", [1, 2, 3, 4], 0),
        ("", [], 0),
    ],
)
def test_low_trust_has_a_quarter_of_the_places(trust: str, kept: list[int], left_out: int) -> None:
    name = {"h": None, "l": "low"}
    context = context_of("q", lambda query, **options: found([name[one] for one in trust]))
    assert [hit.chunk_id for hit in context.search("q")] == kept
    notes = [note for note in context.trace.notes if "low trust" in note]
    assert len(notes) == bool(left_out)
    assert all(f"{left_out} of {trust.count('l')} passages" in note for note in notes)


def test_other_values_are_no_low_trust() -> None:
    context = context_of("q", lambda query, **options: found(["high", "", "LOW", "medium"]))
    assert len(context.search("q")) == 4
