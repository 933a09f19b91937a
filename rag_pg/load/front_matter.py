"""The YAML or TOML block at the top of a Markdown file:
its title, and the metadata that filters can use."""

from __future__ import annotations

import math
import re
from collections import Counter
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
        values, texts, twice = _toml(block[1]) if kind == "TOML" else _yaml(block[1])
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
    told = {
        "front matter left out, which metadata cannot hold": dropped,
        "of what the front matter has twice the last counts": [clean_text(one)[0] for one in twice],
    }
    notes = [f"{problem}: {', '.join(names)}" for problem, names in told.items() if names]
    return FrontMatter(
        body=text[block.end() :],
        title=title.strip() if isinstance(title, str) else "",
        metadata=metadata,
        notes=notes,
    )


def _yaml(block: str) -> tuple[Any, Any, Sequence[str]]:
    """The values of a block, the same as they are written, and the keys that come twice."""
    import yaml  # not before there is a block to read

    loader = yaml.BaseLoader(block)
    node = loader.get_single_node()
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    names = Counter(key.value for key, _ in pairs if isinstance(key.value, str))
    texts = None if node is None else loader.construct_document(node)
    return yaml.safe_load(block), texts, [name for name, count in names.items() if count > 1]


def _toml(block: str) -> tuple[Any, Any, Sequence[str]]:
    import tomllib

    values = tomllib.loads(block)
    return values, values, ()


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
