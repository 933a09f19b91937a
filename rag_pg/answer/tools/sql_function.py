"""A function of the database -> a tool: its arguments are the schema, its COMMENT the description.

It is called with bound values by the names of its arguments, as the caller's role, in a read-only
transaction unless it was declared to write, and is cancelled after its time. A function that runs
with its owner's rights (SECURITY DEFINER) is refused: a tool can do no more than the caller can.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rag_pg.db import Database
from rag_pg.errors import InvalidInput, StatementCanceled
from rag_pg.fault import Fault, fault_of
from rag_pg.tools import LONGEST_DESCRIPTION, check_tool
from rag_pg.types import TOOL_SECONDS, AgentTool, FunctionArgument, FunctionInfo

GRACE_SECONDS = 5.0  # for a statement that was cancelled to end
_SYSTEM = ("information_schema", "pg_catalog", "pg_toast")
_JSON_TYPES: Mapping[str, Mapping[str, Any]] = {
    "int2": {"type": "integer"},
    "int4": {"type": "integer"},
    "int8": {"type": "integer"},
    "numeric": {"type": "number"},
    "float4": {"type": "number"},
    "float8": {"type": "number"},
    "bool": {"type": "boolean"},
    "date": {"type": "string", "description": "a date such as 2026-11-22"},
    "timestamp": {"type": "string", "description": "ISO 8601"},
    "timestamptz": {"type": "string", "description": "ISO 8601"},
    "json": {},
    "jsonb": {},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SqlFunction:
    """A function of the database as a tool: name is schema.function, as the catalogue has it.

    read_only: False for one that writes. timeout: seconds, after which it is cancelled.
    """

    name: str
    read_only: bool = True
    timeout: float = TOOL_SECONDS


def sql_function_tool(wanted: SqlFunction, database: Database) -> AgentTool:
    """Return a function of the database as a tool.

    Raises: InvalidInput (there is none of that name that can be a tool, or several).
    """
    function = _find(wanted.name, database)
    limits = database.limited(wanted.timeout, read_only=wanted.read_only)

    def run(**arguments: Any) -> Any:
        try:
            return limits.call_function(function, arguments)
        except StatementCanceled as exc:
            if fault_of(exc) is not Fault.CANCELED:
                raise
            raise TimeoutError(f"no result within {wanted.timeout:g} s") from exc

    schema = {
        "type": "object",
        "properties": {argument.name: _schema(argument) for argument in function.arguments},
        "required": [a.name for a in function.arguments if a.default is None],
        "additionalProperties": False,
    }
    return check_tool(
        AgentTool(
            name=function.name,
            description=function.comment[:LONGEST_DESCRIPTION],
            parameters=schema,
            run=run,
            read_only=wanted.read_only,
            timeout=wanted.timeout + GRACE_SECONDS,
        )
    )


def _find(name: str, database: Database) -> FunctionInfo:
    schema, dot, function_name = name.partition(".")
    if not dot or not schema or not function_name:
        raise InvalidInput(f"{name!r:.100} names no function; use schema.function")
    if schema in _SYSTEM or schema.startswith("pg_"):
        raise InvalidInput(f"{name!r:.100} is the system's; name a function of your own")
    found = database.find_functions(schema, function_name)
    if len(found) != 1:
        many = f"{len(found)} functions" if found else "no function"
        remedy = "give the one that is meant a name of its own" if found else "create it"
        raise InvalidInput(f"there is {many} {name:.100}; {remedy}")
    (function,) = found
    if reason := _unfit(function):
        raise InvalidInput(f"{name:.100} can be no tool: {reason}")
    return function


def _unfit(function: FunctionInfo) -> str:
    """Return why a function can be no tool, "" where it can."""
    if function.kind != "f":
        return "it is a procedure, an aggregate or a window function"
    if not function.may_execute:
        return "this role may not execute it; GRANT EXECUTE, and USAGE of its schema"
    if function.security_definer:
        return (
            "it is SECURITY DEFINER, and a tool has no rights beyond the caller's; call it in a"
            " Python function where that is meant"
        )
    if function.variadic:
        return "it is VARIADIC; give it an array"
    for argument in function.arguments:
        if not argument.name.isidentifier():
            return f"argument {argument.name!r} has no plain name; use letters, digits and _"
        if argument.kind == "p":
            return f"argument {argument.name} is of the pseudo-type {argument.type_name}"
    return ""


def _schema(argument: FunctionArgument) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    if argument.labels:
        schema = {"type": "string", "enum": list(argument.labels)}
    elif argument.category == "A":
        item = _JSON_TYPES.get(argument.type_name.removeprefix("_"), {"type": "string"})
        schema = {"type": "array", "items": dict(item)}
    elif argument.type_name in _JSON_TYPES:
        schema = dict(_JSON_TYPES[argument.type_name])
    if argument.default is not None:
        told = f"default {argument.default:.60}"
        schema["description"] = "; ".join(filter(None, (schema.get("description"), told)))
        if "type" in schema:
            schema["type"] = [schema["type"], "null"]
            if "enum" in schema:
                schema["enum"] = [*schema["enum"], None]
    return schema
