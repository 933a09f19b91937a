"""What gates need before they measure a change of a collection, and what they refused."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rag_pg.db import Database
from rag_pg.errors import GateFailed, RagError
from rag_pg.providers import Models, embed_query

log = logging.getLogger(__name__)


def embed_queries(
    database: Database, models: Models, set_name: str, collection: str, space_id: int | None = None
) -> int:
    """Keep the vectors of a set's questions by the model of a space (None: the active one); return
    how many. Raises: NotFound, ModelUnavailable, ProviderError."""
    queries = database.list_eval_queries(set_name)
    embedder = models.embedder_of(database, collection, space_id)
    if database.space_settings(collection, space_id).fingerprint is None:  # all vectors are brought
        database.set_fingerprint(collection, embedder.fingerprint, space_id)
    return database.value(
        int,
        "put_eval_embeddings",
        set_name=set_name,
        fingerprint=embedder.fingerprint,
        query_ids=[query.query_id for query in queries],
        embeddings=[embed_query(embedder, query.question) for query in queries],
    )


def embed_gated_queries(
    database: Database, models: Models, collection: str, space_id: int | None = None
) -> None:
    """Keep the vectors that the gates of a collection need to measure its active space, and another
    beside it."""
    gates = [gate for gate in database.list_gates(collection) if gate.kind == "search"]
    for set_name in sorted({gate.eval_set for gate in gates}):
        for of_space in dict.fromkeys((None, space_id)):
            embed_queries(database, models, set_name, collection, of_space)


@contextmanager
def refusal_recorded(database: Database, collection: str) -> Iterator[None]:
    """Record what a gate refuses inside: the database cannot, for it takes back all that the
    refused call wrote."""
    try:
        yield
    except GateFailed as exc:
        try:
            database.call(
                "_record_refused_change",
                of_collection=collection,
                change=exc.change,
                checks=exc.checks,
            )
        except RagError as error:  # the refusal is what the caller has to hear
            log.warning("a refused change of %s is not recorded: %s", collection, error)
        raise
