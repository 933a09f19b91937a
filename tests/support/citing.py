"""A language model that cites the sources which have a word, whatever strategy asks it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from fakes import Call, ScriptedLLM

from rag_pg.types import Completion, ToolCall

_SOURCE = re.compile(
    r"^--- (?:source|result) \[(\w{6})\](?: of \S+)? ([0-9a-f]{16})\n(.*?)^--- end of ", re.M | re.S
)
_WORD = re.compile(r"\{(\w+)\}")


def sources_shown(contents: Iterable[str]) -> dict[str, str]:
    """Return the texts that messages show as sources, by their keys."""
    return {m[1]: m[3] for content in contents for m in _SOURCE.finditer(content)}


class CitingLLM(ScriptedLLM):
    """Answers `reply` with the key of the best source that has the word in the place of {word}; [x]
    for one that none has. Searches once where it has tools, fills schemas."""

    def __init__(self, reply: str, *, query: str = "pump") -> None:
        super().__init__(self._act, cites_by_key=False)
        self._reply = reply
        self._query = query

    def _act(self, call: Call) -> Completion | str:
        contents = [message.content for message in call.messages]
        if call.tools and not any(message.role == "tool" for message in call.messages):
            search = ToolCall(id="1", name="search", arguments={"query": self._query})
            return Completion(text="", tool_calls=[search])
        shown = sources_shown(contents)
        if call.schema is not None:
            return json.dumps(self._filled(call.schema["properties"], shown))
        return self._cited(shown)

    def _cited(self, shown: Mapping[str, str]) -> str:
        def key(match: re.Match[str]) -> str:
            return next((k for k, text in shown.items() if match[1] in text), "x")

        return _WORD.sub(lambda match: f"[{key(match)}]", self._reply)

    def _filled(self, properties: Mapping[str, Any], shown: Mapping[str, str]) -> dict[str, Any]:
        known = {
            "final": self._cited(shown),
            "summary": "\n".join(shown.values()),
            "score": 9,
            "sufficient": True,
            "supported": True,
            "follow_up": "",
        }
        empty = {"string": "", "boolean": True, "integer": 1, "array": []}
        return {name: known.get(name, empty[one["type"]]) for name, one in properties.items()}
