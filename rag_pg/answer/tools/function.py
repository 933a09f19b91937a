"""A Python function -> a tool: its signature is the schema, its docstring the description."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, NotRequired, get_type_hints

from rag_pg.errors import InvalidInput
from rag_pg.extras import extra
from rag_pg.tools import LONGEST_DESCRIPTION, check_tool
from rag_pg.types import TOOL_SECONDS, AgentTool


def function_tool(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = True,
    timeout: float = TOOL_SECONDS,
) -> AgentTool:
    """Return a function as a tool. Types of its parameters may be whatever pydantic reads from
    JSON: numbers, texts, dates, enumerations, Literal, lists, dataclasses, models, Annotated.

    Args:
        function: plain or async, its parameters annotated. It is called in a thread of its own.
        name, description: default: those of the function. read_only: False for one that changes
            something, or may not run beside others. timeout: seconds; an async function is
            cancelled then, of a plain one the result is no longer waited for.
    Raises: InvalidInput (a parameter without a type, *args, a type that JSON cannot hold).
    """
    with extra("tools", "a function as a tool needs"):
        from pydantic import (
            ConfigDict,
            PydanticSchemaGenerationError,
            PydanticUserError,
            TypeAdapter,
        )
        from pydantic_core import to_json, to_jsonable_python
        from typing_extensions import TypedDict

    name = str(name or getattr(function, "__name__", type(function).__name__))
    annotations, defaults = _parameters(name, function)
    fields = {
        key: NotRequired[kind] if key in defaults else kind for key, kind in annotations.items()
    }
    make: Any = TypedDict
    arguments = make("arguments", fields)
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(arguments)
        schema = adapter.json_schema()
    except (PydanticUserError, PydanticSchemaGenerationError) as exc:
        reason = str(exc).partition("\n")[0]
        raise InvalidInput(f"the parameters of {name} are no JSON: {reason}") from exc
    for key, kind in schema.get("properties", {}).items():
        kind.pop("title", None)
        if defaults.get(key) is not None:
            kind["default"] = to_jsonable_python(defaults[key], fallback=str)
    schema.pop("title", None)
    schema.setdefault("properties", {})

    def run(**given: Any) -> Any:
        values = adapter.validate_json(to_json(given))
        result = function(**values)
        if inspect.isawaitable(result):
            result = asyncio.run(_within(result, timeout))
        return to_jsonable_python(result, fallback=str)

    told = description if description is not None else inspect.getdoc(function) or ""
    return check_tool(
        AgentTool(
            name=name,
            description=told[:LONGEST_DESCRIPTION],
            parameters=schema,
            run=run,
            read_only=read_only,
            timeout=timeout,
        )
    )


def _parameters(name: str, function: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the types of a function's parameters, and the defaults of those that have one."""
    try:
        signature = inspect.signature(function)
        owner = function if inspect.isroutine(function) else getattr(function, "func", None)
        hints = get_type_hints(owner or type(function).__call__, include_extras=True)
    except (NameError, TypeError, ValueError, AttributeError) as exc:
        raise InvalidInput(f"the signature of {name} cannot be read: {exc}") from exc
    annotations: dict[str, Any] = {}
    for key, parameter in signature.parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InvalidInput(
                f"parameter {key} of {name} has no name to call it by; give it a name and a type"
            )
        if key not in hints:
            raise InvalidInput(
                f"parameter {key} of {name} has no type; write {key}: str, or another"
            )
        annotations[key] = hints[key]
    defaults = {
        key: parameter.default
        for key, parameter in signature.parameters.items()
        if parameter.default is not parameter.empty
    }
    return annotations, defaults


async def _within(result: Any, timeout: float) -> Any:
    return await asyncio.wait_for(result, timeout)
