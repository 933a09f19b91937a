"""Tools that a language model may call while it answers, and what they returned."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TOOL_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentTool:
    """A tool: what a language model is told of it, and the function that it calls.

    name: 1 to 64 of a-z, A-Z, 0-9, _ and -. description: when to use it, and what it returns.
    parameters: a JSON schema of type object. run: called with the arguments by name; returns a text
    or a value that JSON can hold. What it raises is told to the model. read_only: it changes
    nothing, and may run beside others. timeout: seconds, above 0 to 600. trusted: False where
    another program wrote description and schema; the model is then shown them as a quotation.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    run: Callable[..., Any]
    read_only: bool = True
    timeout: float = TOOL_SECONDS
    trusted: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Toolset:
    """The tools of one question, in the order of their use.

    rules: how arguments are written. fields: what they may name, in the words of documents. notes:
    which tools could not be had, and why."""

    tools: Sequence[AgentTool] = ()
    rules: str = ""
    fields: str = ""
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """Result [number] of an answer: the tool that gave it, its arguments, and the text that was
    shown to the model."""

    number: int
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""

    @property
    def call(self) -> str:
        """The call on one line: name({"argument": value})."""
        return f"{self.name}({json.dumps(dict(self.arguments), ensure_ascii=False, default=str)})"
