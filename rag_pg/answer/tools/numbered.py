"""What an answer may cite: passages and results of tools, numbered together, by random keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_pg.answer.prompt import SYSTEM, cite, one_line
from rag_pg.text import KEY, Fence, new_keys
from rag_pg.types import Citation, Hit, ToolResult


class Numbered:
    """`sources`: in order of their numbers; `keys`: by which the model cites them; `fence`: what
    they are quoted by."""

    def __init__(self) -> None:
        self.fence = Fence()
        self._entries: list[tuple[Citation | ToolResult, str]] = []

    @property
    def sources(self) -> list[Citation | ToolResult]:
        return [source for source, _ in self._entries]

    @property
    def keys(self) -> list[str]:
        return [key for _, key in self._entries]

    def add_hit(self, hit: Hit) -> tuple[Citation, str]:
        """Return the source of a hit and its key, the same when it was found before."""
        for source, key in self._entries:
            if isinstance(source, Citation) and source.chunk_id == hit.chunk_id:
                return source, key
        source = cite(len(self._entries) + 1, hit, hit.content)
        return source, self._add(source, hit.content)

    def add_result(self, name: str, arguments: Mapping[str, Any], text: str) -> str:
        """Return a result as a quotation with the key by which it is cited."""
        number = len(self._entries) + 1
        result = ToolResult(number=number, name=name, arguments=dict(arguments), text=text)
        return self.fence.quote(f"result [{self._add(result, text)}] of {name}", text)

    def without_marks(self, text: str) -> str:
        """Return a result as a model was shown it without what is random: its fence and keys."""
        for key in self.keys:
            text = text.replace(f"[{key}]", "[]")
        return text.replace(self.fence.mark, "")

    def passage(self, key: str) -> Citation | None:
        """Return the passage of a key."""
        found = KEY.search(key.lower())
        sources = [source for source, own in self._entries if found and own == found[0]]
        return next((source for source in sources if isinstance(source, Citation)), None)

    def of_document(self, uri: str) -> list[tuple[Citation, str]]:
        """Return the passages of a document with their keys, by its uri as it was shown."""
        return [
            (source, key)
            for source, key in self._entries
            if isinstance(source, Citation) and uri in (source.uri, one_line(source.uri))
        ]

    def _add(self, source: Citation | ToolResult, text: str) -> str:
        (key,) = new_keys(1, [SYSTEM, text, *self.keys])
        self._entries.append((source, key))
        return key
