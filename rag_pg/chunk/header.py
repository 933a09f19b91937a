"""The header that a chunk is embedded under: its document's title and its heading path."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rag_pg.chunk.sections import HeadingPath
from rag_pg.errors import InvalidInput
from rag_pg.text import embedded_text


class Header:
    """Headings as they are stored, at most a quarter of a chunk.

    Args:
        count_tokens: lengths with special tokens. size: without them.
        max_tokens: of a chunk with its header.
    """

    def __init__(
        self,
        count_tokens: Callable[[Sequence[str]], list[int]],
        size: Callable[[Sequence[str]], list[int]],
        max_tokens: int,
    ) -> None:
        self._count = count_tokens
        self._size = size
        self._max = max_tokens

    def headings(
        self, title: str, paths: Sequence[HeadingPath]
    ) -> tuple[dict[HeadingPath, str], dict[HeadingPath, int]]:
        """Return, for every path and every path above it, the heading as it is stored, and how
        many tokens the header leaves for content."""
        known = sorted({path[:depth] for path in (*paths, ()) for depth in range(len(path) + 1)})
        sizes = self._size([" > ".join(path) for path in known])
        headings = [
            " > ".join(path) if size <= self._max // 4 else self._short_path(path)
            for path, size in zip(known, sizes, strict=True)
        ]
        counts = self._count([embedded_text(title, heading, "x") for heading in headings])
        budgets = [self._max - count + 1 for count in counts]
        if min(budgets, default=self._max) < self._max // 8:
            raise InvalidInput(
                f"the title has {self._size([title])[0]} tokens, which leaves no room for content "
                f"in chunks of {self._max}; shorten it, or raise the chunking setting max_tokens"
            )
        return dict(zip(known, headings, strict=True)), dict(zip(known, budgets, strict=True))

    def _short_path(self, path: tuple[str, ...]) -> str:
        limit = self._max // 4
        while len(path) > 1 and self._size([" > ".join(path)])[0] > limit:
            path = path[1:]
        return self._cut(" > ".join(path), limit)

    def _cut(self, text: str, limit: int) -> str:
        """Cut `text` to `limit` tokens, between words where there are any."""
        while text and (tokens := self._size([text])[0]) > limit:
            stop = min(len(text) * limit // tokens, len(text) - 1)
            within = not (text[stop].isspace() or text[:stop].endswith(" "))
            text = text[:stop].rstrip()
            if within and " " in text:
                text = text.rsplit(" ", 1)[0]
        return text
