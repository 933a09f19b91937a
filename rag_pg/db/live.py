"""The statement about live queries that searches make: a sample of them is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_pg.db.connection import Statements
from rag_pg.types import Vectors


class LiveQueries(Statements):
    """The sample of live queries."""

    def log_query(
        self,
        collection: str,
        query: str | None,
        embedding: Vectors | None,
        *,
        limit: int,
        filter: Mapping[str, Any],
        options: Mapping[str, Any],
        expected_space: int | None,
        seconds: float,
    ) -> bool:
        """Keep a search that was drawn already; see rag.log_query."""
        return self.value(
            bool,
            "log_query",
            collection=collection,
            query=query,
            embedding=embedding,
            limit=limit,
            filter=filter,
            options=options,
            expected_space=expected_space,
            sampled=True,
            seconds=seconds,
        )
