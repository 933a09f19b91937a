"""What every provider's language model does alike."""

from __future__ import annotations

import json
import re
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
    """The value of a JSON text; else the first object or array in it, as in a fence or behind a word of
    introduction; None where there is none."""
    try:
        return json.loads(text)
    except ValueError:
        start = re.search(r"[{\[]", text)
    if start is None:
        return None
    try:
        return json.JSONDecoder().raw_decode(text, start.start())[0]
    except ValueError:
        return None
