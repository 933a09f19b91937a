"""Calls of tools as lines of text, for a model that has none: TOOL_CALL: name({"argument": …})."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.errors import InvalidInput
from rag_pg.types import Tool, ToolCall

MARK = "TOOL_CALL:"
_CALL = re.compile(rf"^[ \t]*{MARK}(.*)$", re.MULTILINE)
_FORM = re.compile(r"[ \t]*([A-Za-z0-9_-]{1,64})[ \t]*\((.*)\)[ \t]*")
_PROTOCOL = """\
To call tools, answer with a line for each call and nothing else: \
TOOL_CALL: name({{"argument": value}}), for example \
TOOL_CALL: search({{"query": "opening hours"}}). You are then told the results. \
The tools, where ? marks what may be left out:
{tools}"""
_FORM_TOLD = 'write lines of the form TOOL_CALL: name({"argument": value}), and nothing behind them'


def describe_tools(tools: Sequence[Tool]) -> str:
    """Return what a model has to be told that calls tools by text."""
    lines = [f"- {tool.name}({_signature(tool.parameters)}): {tool.description}" for tool in tools]
    return _PROTOCOL.format(tools="\n".join(lines))


def _signature(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    return ", ".join(
        f"{name}{'' if name in required else '?'}: {_kind(kind)}"
        for name, kind in schema.get("properties", {}).items()
    )


def _kind(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "any"
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"[{_kind(schema.get('items'))}]"
    kind = schema.get("type", "any")
    return "|".join(kind) if isinstance(kind, list) else str(kind)


def parse_calls(text: str) -> list[ToolCall]:
    """Return the calls that a text makes, none where it is none. Raises: InvalidInput for half a
    call."""
    return [_call(number, line) for number, line in enumerate(_CALL.findall(text), 1)]


def _call(number: int, line: str) -> ToolCall:
    form = _FORM.fullmatch(line)
    if form is None:
        raise InvalidInput(_FORM_TOLD)
    try:
        arguments = json.loads(
            form[2].strip() or "{}", parse_constant=_refuse, object_pairs_hook=_object
        )
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(f"the arguments of {form[1]} are not JSON: {exc}") from exc
    if not isinstance(arguments, dict):
        raise InvalidInput(f"the arguments of {form[1]} are no JSON object")
    return ToolCall(id=f"call{number}", name=form[1], arguments=arguments)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found
