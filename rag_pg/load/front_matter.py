"""The YAML or TOML block at the top of a Markdown file:
its title, and the metadata that filters can use."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from typing import Any

from rag_pg.text import clean_text

_BLOCK = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LENGTH = 64_000  # characters; a longer block is not looked for

Scalar = str | int | float | bool


@dataclass(frozen=True, kw_only=True, slots=True)
class FrontMatter:
    """title: "" where there is none; body: the text after the block; notes: what was left out."""

    body: str
    title: str = ""
    metadata: Mapping[str, Scalar | list[Scalar]] = field(default_factory=dict)
    notes: Sequence[str] = ()


def split_front_matter(text: str) -> FrontMatter:
    """Take the front matter off a Markdown text.

    Kept as metadata are strings, numbers, booleans, dates (as ISO 8601 text) and lists of these;
    nested values, and text that PostgreSQL cannot store, are left out, which a note says. A block
    that is no YAML mapping (between lines of ---) or TOML (+++) is not front matter: it stays; one
    that is no YAML or TOML has a note.
    """
    head = text[:_LENGTH]
    block, kind = (_TOML.match(head), "TOML") if head[:1] == "+" else (_BLOCK.match(head), "YAML")
    if block is None:
        return FrontMatter(body=text)
    try:
        values, texts = _toml(block[1]) if kind == "TOML" else _yaml(block[1])
    except Exception as exc:  # PyYAML lets ValueError, KeyError, RecursionError and others through
        problem = " ".join(str(getattr(exc, "problem", None) or exc).split())
        return FrontMatter(
            body=text, notes=[f"the front matter is no {kind} and stays text: {problem}"]
        )
    if values is None:
        return FrontMatter(body=text[block.end() :])
    if not isinstance(values, dict):
        return FrontMatter(body=text)
    title = _scalar(texts.get("title"))  # as written: 3.10 stays 3.10
    metadata, dropped = {}, []
    for key, value in values.items():
        if key == "title":
            continue
        kept = _kept(value) if isinstance(key, str) and _scalar(key) else None
        if kept is not None:
            metadata[str(key)] = kept
        elif value is not None:
            dropped.append(clean_text(str(key))[0])
    return FrontMatter(
        body=text[block.end() :],
        title=title.strip() if isinstance(title, str) else "",
        metadata=metadata,
        notes=[f"front matter left out, which metadata cannot hold: {', '.join(dropped)}"]
        if dropped
        else (),
    )


def _yaml(block: str) -> tuple[Any, Any]:
    """The values of a block, and the same as they are written."""
    import yaml  # not before there is a block to read

    return yaml.safe_load(block), yaml.load(block, yaml.BaseLoader)


def _toml(block: str) -> tuple[Any, Any]:
    import tomllib

    values = tomllib.loads(block)
    return values, values


def _kept(value: object) -> Scalar | list[Scalar] | None:
    if isinstance(value, list):
        items = [_scalar(item) for item in value]
        kept = [item for item in items if item is not None]
        return kept if len(kept) == len(items) else None
    return _scalar(value)


def _scalar(value: object) -> Scalar | None:
    if isinstance(value, (date, time)):  # and datetime
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no such numbers
        return None
    if isinstance(value, str) and clean_text(value)[1]:  # YAML can write "\\0"
        return None
    return value if isinstance(value, (str, int, float)) else None
