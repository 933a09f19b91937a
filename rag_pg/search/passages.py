"""Hits and the passages that they stand in -> hits with these texts, each told once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rag_pg.types import Hit, Passage


def join_hits(hits: Sequence[Hit], passages: Sequence[Passage], *, longest: int) -> list[Hit]:
    """Return the hits, best first, with the text of the passage that each stands in; those of one
    passage become one, the best.

    A hit stays as it is where its passage is longer than `longest` characters, or is not cut out of
    the stored document: a citation quotes what is stored.
    """
    of_chunk = {chunk_id: passage for passage in passages for chunk_id in passage.chunk_keys}
    joined: list[Hit] = []
    shown: list[Passage] = []
    for hit in hits:
        passage = of_chunk.get(hit.chunk_id)
        if passage is None or len(passage.content) > longest or not _quotes(passage, hit):
            joined.append(hit)
        elif not any(passage is other for other in shown):
            shown.append(passage)
            joined.append(
                replace(hit, content=passage.content, chunk_ids=tuple(passage.chunk_keys))
            )
    return joined


def _quotes(passage: Passage, hit: Hit) -> bool:
    if passage.start_offset is None or passage.stop_offset is None:
        return False
    length = passage.stop_offset - passage.start_offset
    return length == len(passage.content) and hit.content in passage.content
