"""Fields that a language model reads out of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_pg.protocols import LLM
from rag_pg.providers import complete_json, prompt_budget
from rag_pg.text import Fence, estimate_tokens
from rag_pg.types import Message

ANSWER_TOKENS = 1024
LONGEST = 100_000  # characters of a document that are read where the model's limit is not known
RULES = (
    "You read metadata out of a document. Take only what the document says; a field that it says"
    " nothing about is null. Dates are YYYY-MM-DD.\n{rule}"
)
_TYPES: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": ["string", "null"]},
    "date": {"type": ["string", "null"]},
    "number": {"type": ["number", "null"]},
    "boolean": {"type": ["boolean", "null"]},
    "list": {"type": ["array", "null"], "items": {"type": "string"}},
}


def extract_fields(
    llm: LLM, title: str, content: str, fields: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the fields that the document says something about; rag.store_extraction checks them.

    Args:
        fields: as rag.set_extraction takes them.
    Raises: as `complete_json`.
    """
    prompt = extraction_prompt(title, beginning(llm, content))
    got = complete_json(llm, prompt, _schema(fields), max_tokens=ANSWER_TOKENS)
    return {name: value for name, value in got.parsed.items() if value is not None}


def extraction_prompt(title: str, content: str) -> list[Message]:
    """The messages that ask for fields; the document stands inside a fence."""
    fence = Fence()
    text = f"{title}\n\n{content}" if title else content
    return [
        Message(role="system", content=RULES.format(rule=fence.rule)),
        Message(role="user", content=f"{fence.quote('document', text)}\n\nRead its metadata."),
    ]


def beginning(llm: LLM, content: str) -> str:
    """What of a document fits into a prompt to the model: all of it, or its beginning."""
    budget = prompt_budget(llm, max_tokens=2 * ANSWER_TOKENS)
    if budget is None:
        return content[:LONGEST]
    tokens = estimate_tokens([content])[0]
    limit = max(0, budget - ANSWER_TOKENS)
    return content if tokens <= limit else content[: len(content) * limit // tokens]


def _schema(fields: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: _property(kind) for name, kind in fields.items()},
        "required": list(fields),
        "additionalProperties": False,
    }


def _property(kind: Mapping[str, Any]) -> dict[str, Any]:
    described = {"description": kind["description"]} if kind.get("description") else {}
    if kind["type"] == "enum":
        return {"enum": [*kind["values"], None], **described}
    return {**_TYPES[kind["type"]], **described}
