"""Statements about requests: what somebody waits for a worker to answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_pg.db.statements import Statements
from rag_pg.text import clean_text
from rag_pg.types import to_json


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What rag.take_request hands to a worker: somebody waits for the answer."""

    request_id: int
    kind: str
    collection_name: str
    arguments: Mapping[str, Any]


class Requests(Statements):
    """Requests: taken, answered."""

    def answer_request(
        self, request_id: int, result: Mapping[str, Any] | None, error: str | None
    ) -> None:
        """Hand over an answer, without what jsonb cannot store: NUL, lone surrogates, NaN."""
        clean = _clean(to_json(result))
        self.call("answer_request", request_id=request_id, result=clean, error=error)


def _clean(value: Any) -> Any:
    """Return a value of JSON without what texts of the database cannot hold."""
    if isinstance(value, str):
        return clean_text(value)[0]
    if isinstance(value, dict):
        return {_clean(key): _clean(one) for key, one in value.items()}
    return [_clean(one) for one in value] if isinstance(value, list) else value
