"""Statements about requests: what somebody waits for a worker to answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.text import clean_text


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What rag.take_request hands to a worker: somebody waits for the answer."""

    request_id: int
    kind: str
    collection_name: str
    arguments: Mapping[str, Any]


class Requests(Statements):
    """Requests: taken, answered."""

    def take_request(
        self,
        worker: str,
        collections: Sequence[str] | None,
        kinds: Sequence[str] | None = None,
    ) -> Request | None:
        rows = self._rows(
            Request,
            """SELECT * FROM rag.take_request(%(worker)s, %(collections)s::pg_catalog.text[],
               %(kinds)s::pg_catalog.text[])""",
            worker=worker,
            collections=None if collections is None else list(collections),
            kinds=None if kinds is None else list(kinds),
        )
        return rows[0] if rows else None

    def answer_request(
        self, request_id: int, result: Mapping[str, Any] | None, error: str | None
    ) -> None:
        """Hand over an answer, without what jsonb cannot store: NUL, lone surrogates, NaN."""
        self._scalar(
            "SELECT rag.answer_request(%(request_id)s, %(result)s, %(error)s)",
            request_id=request_id,
            result=None if result is None else Jsonb(_storable(result)),
            error=error,
        )


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)[0]
    if isinstance(value, UUID | date):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {_storable(key): _storable(one) for key, one in value.items()}
    return [_storable(one) for one in value] if isinstance(value, list | tuple) else value
