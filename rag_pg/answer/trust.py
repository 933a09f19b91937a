"""Hits -> those that an answer may rest on: what is of low trust takes a quarter of the places."""

from __future__ import annotations

from rag_pg.types import Hit, Hits

TRUST = "trust"  # a key of the metadata; who adds a document, or attaches a location, says it
OTHERS = 3  # passages beside which one of low trust may stand


def is_low(hit: Hit) -> bool:
    """Whether the metadata of the document say {"trust": "low"}."""
    return hit.metadata.get(TRUST) == "low"


def ration(hits: Hits) -> str | None:
    """Take out passages of low trust beyond one for each three others, the worst of them; where
    there are no others, all stay. Return a note where some went."""
    others = sum(not is_low(hit) for hit in hits)
    low = [number for number, hit in enumerate(hits) if is_low(hit)]
    beyond = low[max(1, others // OTHERS) :] if others else []
    for number in reversed(beyond):
        del hits[number]
    if not beyond:
        return None
    return (
        f"{len(beyond)} of {len(low)} passages of low trust were left out: they take at most a "
        "quarter of the places"
    )
