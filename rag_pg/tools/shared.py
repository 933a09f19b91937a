"""A tool that several doors offer, and what it reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pg.db import Database
from rag_pg.tools.schema import make_tool
from rag_pg.types import TOOL_SECONDS, AgentTool

MOST_ROWS = 100  # of one call
MOST_PAGED = 1000  # of all pages of facets, groups and rows
Schema = Mapping[str, Any]
Filter = Mapping[str, Any] | None
TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
ANY: Schema = {}
FILTER: Schema = {
    "type": "object",
    "description": 'By metadata, e.g. {"year": {"$gte": 2024}}; $in, $like, $or…',
    "default": {},
}
NAMES: Schema = {"type": "array", "items": TEXT, "default": []}
LIMIT: Schema = {"type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": 20}
DETAIL: Schema = {"type": "string", "enum": ["low", "full"], "default": "low"}
AGGREGATES: Schema = {
    "type": "object",
    "description": '{"name": {"sum": "amount"}}; count (of "*"), count_distinct, sum, avg, min,'
    " max.",
}
GROUPING: Mapping[str, Schema] = {
    "group_by": {**NAMES, "description": "Fields, or parts of dates: year(signed), month, day…"},
    "filter": FILTER,
    "having": {
        "type": "object",
        "description": 'A filter of aggregates: {"n": {"$gt": 1}}.',
        "default": {},
    },
    "order_by": {**NAMES, "description": 'Names; "-total" descends.'},
    "limit": LIMIT,
}


class Listed(list[dict[str, Any]]):
    """Rows of a result, and notes about them."""

    def __init__(self, rows: Sequence[dict[str, Any]] = (), notes: Sequence[str] = ()) -> None:
        super().__init__(rows)
        self.notes = notes


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """What a tool reads. within: a filter that all documents pass of which it tells anything."""

    database: Database
    collection: str = ""
    within: Filter = None

    def filter(self, filter: Filter) -> Mapping[str, Any]:
        """Return a filter within that of the source."""
        given = {} if filter is None else filter
        return (
            {"$and": [self.within, given]} if self.within and given != {} else self.within or given
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedTool:
    """A tool before anybody offers it.

    parameters: their JSON schemas by name; one without a default is required. rows: the key of the
    list that it returns, "" where it returns one object. result: the schema of a row, or of that
    object. run: called with a `Source` and the arguments by name, and with `offset` where rows are
    counted by a `limit`.
    """

    name: str
    description: str
    parameters: Mapping[str, Schema]
    result: Schema
    run: Callable[..., Any]
    rows: str = ""

    def offer(
        self,
        run: Callable[..., Any],
        /,
        *,
        without: Collection[str] = (),
        explained: Collection[str] = (),
        timeout: float = TOOL_SECONDS,
        **parameters: Schema,
    ) -> AgentTool:
        """Return it as a door offers it.

        Args:
            run: called with the arguments by name. without: parameters that the door has no use
                for. explained: those that it describes elsewhere. parameters: those that it has
                beside, or narrower ones.
        """
        own = {key: dict(one) for key, one in self.parameters.items() if key not in without}
        for key in own.keys() & explained:
            own[key].pop("description", None)
        return make_tool(self.name, self.description, run, timeout=timeout, **{**own, **parameters})


def row(optional: Mapping[str, Schema] | None = None, /, **required: Schema) -> dict[str, Any]:
    """Return the schema of an object with these keys; an optional one may be null."""
    some = {
        key: {**one, "type": [one["type"], "null"]} if isinstance(one.get("type"), str) else one
        for key, one in (optional or {}).items()
    }
    return {"type": "object", "properties": {**required, **some}, "required": list(required)}


def listed(item: Schema) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": item}
