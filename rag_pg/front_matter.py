"""The YAML block at the top of a Markdown file: its title, and the metadata that filters can use."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

import yaml

from rag_pg.decode import clean_text

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LENGTH = 64_000  # characters; a longer block is not looked for

Scalar = str | int | float | bool


@dataclass(frozen=True, kw_only=True, slots=True)
class FrontMatter:
    """title: "" where there is none; body: the text after the block."""

    body: str
    title: str = ""
    metadata: Mapping[str, Scalar | list[Scalar]] = field(default_factory=dict)


def split_front_matter(text: str) -> FrontMatter:
    """Take the front matter off a Markdown text.

    Kept as metadata are strings, numbers, booleans, dates (as ISO 8601 text) and lists of these;
    nested values, and text that PostgreSQL cannot store, are left out. A block that is not a YAML mapping is not front matter: it stays.
    """
    block = _BLOCK.match(text[:_LENGTH])
    if block is None:
        return FrontMatter(body=text)
    try:
        values = yaml.safe_load(block[1])
        texts = yaml.load(block[1], yaml.BaseLoader)
    except Exception:  # PyYAML lets ValueError, KeyError, RecursionError and others through
        return FrontMatter(body=text)
    if values is None:
        return FrontMatter(body=text[block.end() :])
    if not isinstance(values, dict):
        return FrontMatter(body=text)
    title = _scalar(texts.get("title"))  # as written: 3.10 stays 3.10
    metadata = {
        key: kept
        for key, value in values.items()
        if isinstance(key, str)
        and _scalar(key)
        and key != "title"
        and (kept := _kept(value)) is not None
    }
    return FrontMatter(
        body=text[block.end() :],
        title=title.strip() if isinstance(title, str) else "",
        metadata=metadata,
    )


def _kept(value: object) -> Scalar | list[Scalar] | None:
    if isinstance(value, list):
        items = [_scalar(item) for item in value]
        kept = [item for item in items if item is not None]
        return kept if len(kept) == len(items) else None
    return _scalar(value)


def _scalar(value: object) -> Scalar | None:
    if isinstance(value, date):  # and datetime
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no such numbers
        return None
    if isinstance(value, str) and clean_text(value)[1]:  # YAML can write "\\0"
        return None
    return value if isinstance(value, (str, int, float)) else None
