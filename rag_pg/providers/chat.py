"""What every provider's language model does alike."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pg.types import Message, Tool


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatRequest:
    """The arguments of `LLM.complete` and `LLM.stream`."""

    messages: Sequence[Message]
    schema: Mapping[str, Any] | None
    tools: Sequence[Tool]
    temperature: float
    max_tokens: int


def parse_json(text: str) -> Any:
    """The value of a JSON text, also of one in a Markdown fence; None where it is none."""
    text = text.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].rpartition("```")[0]
    try:
        return json.loads(text)
    except ValueError:
        return None
