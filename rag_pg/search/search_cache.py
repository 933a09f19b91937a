"""Hits that are kept: of a search that depends on nothing but its arguments and the collection."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from rag_pg.cache import Entries, digest, pack, unpack
from rag_pg.protocols import Embedder
from rag_pg.search.options import SearchOptions
from rag_pg.search.rewrite import Rewritten
from rag_pg.text import estimate_tokens
from rag_pg.types import CollectionInfo, Hit, Hits, Method


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptHits:
    """What is kept of hits."""

    hits: Sequence[Hit]
    method: Method
    notes: Sequence[str]


def search_key(
    info: CollectionInfo, rewritten: Rewritten, options: SearchOptions, embedder: Embedder | None
) -> bytes | None:
    """Return the key of a search; None where it depends on more: on the time of day, or on a
    reranker that is no name.

    Args:
        embedder: of the query's vectors; None: they are not wanted.
    """
    boosts = [*(options.get("boosts") or ()), *rewritten.boosts]
    rerank = options.get("rerank")
    if any("recency" in boost for boost in boosts):
        return None
    if not isinstance(rerank, str | None) or (rerank or "").partition(":")[0] == "llm":
        return None
    return digest(
        info.name,
        embedder.fingerprint if embedder is not None else None,
        rewritten.question if rerank is not None else None,
        [asdict(variant) for variant in rewritten.variants],
        rewritten.filter,
        boosts,
        {name: value for name, value in options.items() if value is not None},
    )


def find_kept(
    key: bytes,
    rewritten: Rewritten,
    entries: Entries,
    *,
    collection: str,
    find: Callable[[], Hits],
    waiting: Callable[[int], str | None],
) -> Hits:
    """Return the hits that were found before, while the collection and the caller's rights are the
    same; else those of `find`, which are kept unless a leg was skipped.

    Args:
        waiting: called with the number of hits; says whether documents wait and no worker lives.
    """
    started = time.perf_counter()
    looked = entries.look("search", [key], collection)
    kept = unpack(KeptHits, looked.values[0])
    if kept is not None:
        entries.uses.add("search", looked.collection_key, hits={key}, misses=0)
        note = waiting(len(kept.hits))
        return Hits(
            kept.hits,
            [*rewritten.notes, *kept.notes, *([note] if note else [])],
            method=kept.method,
            count_tokens=estimate_tokens,
            seconds=time.perf_counter() - started,
            question=rewritten.question,
            steps=rewritten.steps,
            cached=True,
        )
    hits = find()
    if looked.refusal:
        hits.notes = (*hits.notes, f"nothing is cached: {looked.refusal}")
        return hits
    entries.uses.add("search", looked.collection_key, hits=set(), misses=1)
    if not hits.skipped:
        waits = waiting(len(hits))
        notes = [note for note in hits.notes[len(rewritten.notes) :] if note != waits]
        packed = pack(KeptHits(hits=list(hits), method=hits.method, notes=notes))
        entries.keep("search", {key: packed}, looked.version, collection=collection)
    return hits
