"""Earlier versions of documents, logged answers, receipts of erasures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentVersion:
    """A version of a document that is there: current, replaced by a later one, or deleted.
    valid_from: None where nobody knows it; valid_until: None of the current one."""

    version: int
    state: Literal["current", "replaced", "deleted"]
    valid_from: datetime | None
    valid_until: datetime | None
    title: str
    characters: int


@dataclass(frozen=True, kw_only=True, slots=True)
class DocumentText:
    """What a document said in one of its versions."""

    version: int
    valid_from: datetime | None
    valid_until: datetime | None
    title: str
    content: str
    media_type: str
    language: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class LineChange:
    """A line of a difference: = stands in both texts, - in the old one alone, + in the new one.
    Line numbers begin with 1; None in the text that has no such line."""

    change: Literal["=", "-", "+"]
    old_line: int | None
    new_line: int | None
    line: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedAnswer:
    """A logged answer, and what was said of it. sources: the uris that it cites."""

    answer_id: UUID
    answered_at: datetime
    question: str
    answer: str
    found: bool
    reason: str
    strategy: str
    model: str
    sources: Sequence[str]
    likes: int
    dislikes: int
    comments: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayedCitation:
    """A citation of a logged answer, against what its source said then and says now. None: that
    version is not kept."""

    number: int
    uri: str
    quote: str
    version_then: int | None
    stood_then: bool | None
    version_now: int | None
    stands_now: bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Erasure:
    """The receipt of an erasure: SHA-256 of each uri in hexadecimal digits, and how many rows were
    removed, by table."""

    erasure_id: int
    collection: str
    document_hashes: Sequence[str]
    removed: Mapping[str, int]
    erased_by: str
    erased_at: datetime
