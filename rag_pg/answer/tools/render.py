"""A value -> a text for a language model, never above a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_pg.text import estimate_tokens
from rag_pg.tools import as_json

RESULT_TOKENS = 1500
_CELL = 500  # characters of a value in a table
_REST = 30  # tokens for what tells how much was left out
CountTokens = Callable[[Sequence[str]], Sequence[int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rendered:
    """A text, how many rows or characters of the value it shows, and how many it leaves out."""

    text: str
    shown: int
    left_out: int


def render(
    value: Any, *, max_tokens: int = RESULT_TOKENS, count_tokens: CountTokens = estimate_tokens
) -> Rendered:
    """Return rows, or an object as one of them, as lines of tab-separated values under their names,
    a text as it is, and anything else as JSON; what does not fit is left out, which its last line
    tells.

    Args:
        max_tokens: at least 50.
    """
    if isinstance(value, Mapping) and value:
        value = [value]
    if isinstance(value, list | tuple) and value:
        if all(isinstance(row, Mapping) for row in value):
            names = list(dict.fromkeys(name for row in value for name in row))
            lines = ["\t".join(_cell(row.get(name)) for name in names) for row in value]
            return _fitting("\t".join(map(_cell, names)), lines, max_tokens, count_tokens)
        return _fitting("", [_cell(item) for item in value], max_tokens, count_tokens)
    text = value if isinstance(value, str) else as_json(value)
    return _cut(text, max_tokens, count_tokens)


def _fitting(
    head: str, lines: Sequence[str], max_tokens: int, count_tokens: CountTokens
) -> Rendered:
    kept = [head] if head else []
    left = max_tokens - _REST - sum(count_tokens(kept))
    shown = 0
    for line, tokens in zip(lines, count_tokens(lines), strict=True):
        left -= tokens + 1
        if left < 0:
            break
        kept.append(line)
        shown += 1
    if left_out := len(lines) - shown:
        kept.append(f"… {left_out} of {len(lines)} more; ask for fewer, or narrow the filter")
    text = "\n".join(kept)
    if count_tokens([text])[0] > max_tokens:  # the names alone do not fit
        return _cut(text, max_tokens, count_tokens)
    return Rendered(text=text, shown=shown, left_out=left_out)


def _cut(text: str, max_tokens: int, count_tokens: CountTokens) -> Rendered:
    """Return the longest beginning that fits."""
    if count_tokens([text])[0] <= max_tokens:
        return Rendered(text=text, shown=len(text), left_out=0)
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        fits = count_tokens([text[:middle]])[0] <= max_tokens - _REST
        low, high = (middle, high) if fits else (low, middle - 1)
    rest = len(text) - low
    return Rendered(text=f"{text[:low]}\n… {rest} more characters", shown=low, left_out=rest)


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else as_json(value)
    text = " ".join(text.split()) or '""'
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"
