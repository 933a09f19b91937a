"""What a prompt shows: the keys of its sources, and what stands between its marks."""

from __future__ import annotations

import re
from collections.abc import Iterable

_BLOCK = re.compile(r"^--- (.+) ([0-9a-f]{16})\n(.*?)\n?^--- end of \1 \2$", re.M | re.S)
_SOURCE = re.compile(r"^--- (?:source|result) \[(\w{6})\](?: of \S+)? [0-9a-f]{16}$", re.M)
_CITED = re.compile(r"\[([1-9]\d?)\]")


def keys_shown(contents: Iterable[str]) -> list[str]:
    """Return the keys of the sources that messages show, the best first, each once."""
    found: list[str] = []
    for content in contents:
        keys = _SOURCE.findall(content)
        if content.startswith("Sources. "):  # shown as 1, 3, 5, 4, 2
            order = [*range(0, len(keys), 2), *range(1, len(keys), 2)[::-1]]
            keys = [keys[order.index(rank)] for rank in range(len(keys))]
        found += [key for key in keys if key not in found]
    return found


def with_keys(text: str, contents: Iterable[str]) -> str:
    """Return a text that cites [1], [2] as a model does that was shown these messages: by keys."""
    keys = keys_shown(contents)
    return _CITED.sub(
        lambda m: f"[{keys[int(m[1]) - 1]}]" if int(m[1]) <= len(keys) else m[0], text
    )


def outside_fences(prompt: str) -> str:
    """Return what of a prompt stands between no marks.

    The marks that count are those that the prompt itself tells of.
    """
    marks = set(re.findall(r"carry the mark ([0-9a-f]{16}) is quoted", _BLOCK.sub("", prompt)))
    return _BLOCK.sub(lambda m: "" if m[2] in marks else m[0], prompt)


def quoted(prompt: str) -> list[str]:
    """Return the texts between the marks."""
    return [match[3] for match in _BLOCK.finditer(prompt)]
