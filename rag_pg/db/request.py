"""Statements about requests: what somebody waits for a worker to answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

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
        return self.row(
            Request, "take_request", worker_name=worker, collections=collections, kinds=kinds
        )

    def answer_request(
        self, request_id: int, result: Mapping[str, Any] | None, error: str | None
    ) -> None:
        """Hand over an answer, without what jsonb cannot store: NUL, lone surrogates, NaN."""
        self.call("answer_request", request_id=request_id, result=_storable(result), error=error)


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
