"""JSON: schemas of tools, made from parameters and checked; arguments checked by them; results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from rag_pg.errors import InvalidInput
from rag_pg.extras import extra
from rag_pg.types import TOOL_SECONDS, AgentTool, to_json

LARGEST = 20_000  # characters of a schema
LONGEST_DESCRIPTION = 2_000
MOST_SECONDS = 600
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def make_tool(
    name: str,
    description: str,
    run: Callable[..., Any],
    /,
    *,
    timeout: float = TOOL_SECONDS,
    **parameters: Mapping[str, Any],
) -> AgentTool:
    """Return a tool that reads; a parameter without a default is required. A default that is
    empty is not told."""
    required = [key for key, value in parameters.items() if "default" not in value]
    schema = {
        "type": "object",
        "properties": {
            key: {k: v for k, v in value.items() if k != "default" or v}
            for key, value in parameters.items()
        },
        "required": required,
        "additionalProperties": False,
    }
    return AgentTool(
        name=name, description=description, parameters=schema, run=run, timeout=timeout
    )


def check_tool(tool: AgentTool) -> AgentTool:
    """Return the tool. Raises: InvalidInput (a name, schema or time-out that cannot be)."""
    if not isinstance(tool.name, str) or not _NAME.fullmatch(tool.name):
        raise InvalidInput(
            f"{tool.name!r:.100} is no name for a tool; use 1 to 64 of a-z, A-Z, 0-9, _ and -"
        )
    if len(tool.description) > LONGEST_DESCRIPTION:
        raise InvalidInput(
            f"the description of tool {tool.name} has {len(tool.description)} characters;"
            f" use at most {LONGEST_DESCRIPTION}"
        )
    if not 0 < tool.timeout <= MOST_SECONDS:
        raise InvalidInput(
            f"timeout {tool.timeout!r:.100} of tool {tool.name} is out of range;"
            f" use seconds above 0, up to {MOST_SECONDS}"
        )
    jsonschema = _library()
    try:
        size = len(json.dumps(tool.parameters))
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
        fits = tool.parameters.get("type") == "object"
    except (TypeError, ValueError, AttributeError, jsonschema.SchemaError) as exc:
        reason = getattr(exc, "message", str(exc))
        raise InvalidInput(f"parameters of tool {tool.name} are no JSON schema: {reason}") from exc
    if not fits or size > LARGEST:
        raise InvalidInput(
            f"parameters of tool {tool.name} are no JSON schema of type object with at most"
            f" {LARGEST} characters"
        )
    return tool


def read_arguments(tool: AgentTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call. A null that no schema admits is one that is left out, and a
    text that stands for another type is read as JSON: models write both.

    Raises: InvalidInput telling what does not fit the tool's schema.
    """
    properties = tool.parameters.get("properties", {})
    if tool.parameters.get("additionalProperties") is False:
        for name in arguments:
            if name not in properties:
                raise InvalidInput(
                    f"{tool.name} has no argument {name!r:.60}; it has {', '.join(properties)}"
                )
    read = {
        name: _read(value, properties.get(name, {}).get("type"))
        for name, value in arguments.items()
        if value is not None or not isinstance(properties.get(name, {}).get("type"), str)
    }
    _check(tool, read)
    return read


def _read(value: Any, kind: Any) -> Any:
    if not isinstance(value, str) or not isinstance(kind, str) or kind == "string":
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _check(tool: AgentTool, arguments: Mapping[str, Any]) -> None:
    jsonschema = _library()
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    nothing: Any = Registry()  # a schema refers to nothing outside itself
    validator = jsonschema.Draft202012Validator(tool.parameters, registry=nothing)
    try:
        wrong = next(validator.iter_errors(arguments), None)
    except (Unresolvable, RecursionError) as exc:
        raise InvalidInput(f"the schema of {tool.name} refers to what it does not hold") from exc
    if wrong is not None:
        raise InvalidInput(f"{wrong.json_path}: {wrong.message:.300}")


def _library() -> Any:
    with extra("tools", "calling tools needs"):
        import jsonschema  # takes a tenth of a second
    return jsonschema


def as_json(value: Any) -> str:
    """Return a value as JSON on one line. Raises: ValueError (a value that holds itself)."""
    try:
        plain = to_json(value, for_models=True)
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    except RecursionError as exc:
        raise ValueError("a value that holds itself, or is nested too deep") from exc
