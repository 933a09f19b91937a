"""What goes to a language model, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rag_pg.types.usage import Usage

Finish = Literal["stop", "length", "blocked", "tool_calls"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A function that a language model may call. parameters: a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A call that a language model asks for. signature:
    opaque, to be sent back with the call (Gemini)."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    signature: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A passage that is shown to a language model, which cites it as [key]."""

    key: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A turn of a conversation with a language model.

    role: system (the rules), user (the question), assistant (the model's own, with the tool_calls
    it asked for) or tool (the result of the call `tool_call_id`).
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: Sequence[ToolCall] = ()
    tool_call_id: str | None = None
    sources: Sequence[Source] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """What a language model returned.

    parsed: the value of a text that was asked for by a JSON schema; None where it is none that
    fits. finish: stop (it came to its end), length (max_tokens cut it short; the text may be
    empty), blocked (the provider withheld the rest;
    `reason` is its word for it) or tool_calls (it waits for their results). model, response_id: as
    the provider names what answered, and its answer; "": it does not.
    """

    text: str
    parsed: Any = None
    tool_calls: Sequence[ToolCall] = ()
    finish: Finish = "stop"
    usage: Usage = field(default_factory=Usage)
    reason: str = ""
    model: str = field(default="", compare=False)
    response_id: str = field(default="", compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Capabilities:
    """What a language model can do by itself: answer by a JSON schema, call tools, cite the sources
    of a message (its provider says which, and [key] stands in the text). context_tokens: the most
    that prompt and answer may have together; None: not known.
    thought_tokens: that it may use beside those of its answer, to think first."""

    schema: bool = False
    tools: bool = False
    context_tokens: int | None = None
    citations: bool = False
    thought_tokens: int = 0
