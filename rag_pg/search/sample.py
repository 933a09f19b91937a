"""A share of searches is offered to the sample of live queries, where the collection keeps one."""

from __future__ import annotations

import logging
import random
import time
from typing import Any

from rag_pg.db import Database
from rag_pg.errors import RagError
from rag_pg.search.query import Found, Query
from rag_pg.types import CollectionInfo

SECONDS = 60.0  # after which the collection's share is read anew, and a failure is forgotten
PATIENCE = "100ms"  # for a lock: of an erasure, which takes the sample with it
log = logging.getLogger(__name__)


class QuerySample:
    """Offers searches of one collection. A search is kept in a statement of its own after it was
    answered, and never fails for that: what cannot be kept is left out."""

    def __init__(self, database: Database, info: CollectionInfo) -> None:
        self._database = database
        self._name = info.name
        self._share = info.sample_queries
        self._read_at = time.monotonic()

    def offer(self, query: Query, found: Found) -> None:
        """Have the collection's share of searches kept, drawn by chance; none of which a leg was
        skipped."""
        if found.skipped:
            return
        if time.monotonic() - self._read_at > SECONDS:
            self._read_share()
        if self._share == 0 or random.random() >= self._share:
            return
        given: dict[str, Any] = {k: v for k, v in query.statement.items() if v is not None}
        limit, where = given.pop("limit"), given.pop("filter", {})
        given.pop("offset", None)
        embedding = None if found.embeddings is None else found.embeddings[0]
        try:
            self._database.with_settings({"lock_timeout": PATIENCE}).value(
                bool,
                "log_query",
                collection=self._name,
                query=query.variants[0].query,
                embedding=embedding,
                limit=limit,
                filter=where,
                options=given,
                expected_space=None if embedding is None else found.space_id,
                sampled=True,
                seconds=found.seconds,
            )
        except RagError as exc:
            self._rest(exc)

    def _read_share(self) -> None:
        self._read_at = time.monotonic()
        try:
            self._share = self._database.get_collection(self._name).sample_queries
        except RagError as exc:
            self._rest(exc)

    def _rest(self, reason: RagError) -> None:
        self._share, self._read_at = 0.0, time.monotonic()
        log.info("queries of %s are not sampled for a minute: %s", self._name, reason)
