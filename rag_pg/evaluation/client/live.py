"""Sampled live queries of a collection, asked again."""

from __future__ import annotations

from collections.abc import Mapping

from rag_pg.client import OpenCollection
from rag_pg.evaluation.types import Replay, ReplayedQuery
from rag_pg.providers import embed_query
from rag_pg.search import StatementOptions, check_names

CHANGED = StatementOptions.__optional_keys__ - {"limit", "offset", "filter"}


def replay(
    opened: OpenCollection,
    candidate: str | None,
    options: StatementOptions,
    *,
    sample: int,
    k: int,
) -> Replay:
    """See `CollectionEvaluation.replay`."""
    check_names(options, known=CHANGED, call="replay")
    database = opened.rag.database
    name, asked = opened.name, {"options": options, "candidate": candidate, "k": k}
    found = database.rows(ReplayedQuery, "replay_queries", collection=name, sample=sample, **asked)
    if candidate is not None:
        found = _embed_anew(opened, found, candidate, asked)
    notes = []
    if not found:
        notes.append(
            "no live query of this model is kept: alter(sample_queries=0.05) keeps a share of"
            " those that are asked from now on"
        )
    if count := sum(query.query_text is None for query in found):
        notes.append(
            f"{count} of {len(found)} queries were kept without their words: they are replayed"
            " by their vectors alone"
        )
    return Replay(k=k, queries=found, notes=notes)


def _embed_anew(
    opened: OpenCollection,
    found: list[ReplayedQuery],
    candidate: str,
    asked: Mapping[str, object],
) -> list[ReplayedQuery]:
    """Ask those again that the candidate has no vectors for, by its own model."""
    database = opened.rag.database
    ours, theirs = (database.space_settings(name) for name in (opened.name, candidate))
    if ours.fingerprint is not None and ours.fingerprint == theirs.fingerprint:
        return found
    texts = {q.query_id: q.query_text for q in found if q.legs == "hybrid" and q.query_text}
    if not texts:
        return found
    embedder = opened.rag.models.embedder_of(database, candidate)
    vectors = [embed_query(embedder, text) for text in texts.values()]
    embedded = database.rows(
        ReplayedQuery, "replay_queries", collection=opened.name, sample=len(texts),
        query_ids=list(texts), embeddings=vectors, **asked,
    )  # fmt: skip
    anew = {query.query_id: query for query in embedded}
    return [anew.get(query.query_id, query) for query in found]
