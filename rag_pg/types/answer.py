"""Answers, their citations, and the events while they are made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal
from uuid import UUID

from rag_pg.types.table import brief, shorten
from rag_pg.types.tool import ToolResult
from rag_pg.types.usage import Step, Usage

_MARKUP = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)")  # what Markdown would act on in a name


CitationStatus = Literal[
    "exact", "normalised", "partial", "misattributed", "fabricated", "superseded", "unknown"
]
PROVEN: tuple[CitationStatus, ...] = ("exact", "normalised")


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Citation:
    """A statement of an answer, and the passage of source [number] that stands behind it.

    All offsets are in characters, from 0, stop exclusive; None where nobody looked.

    quote: the source's own text, unchanged. start, stop: of the statement in `Answer.text`.
    chunk_id: of the best chunk of the source; chunk_ids: all that were joined in it.
    chunk_start, chunk_stop: of the quote in the content of chunk_id, None where it reaches beyond
    it. document_start, document_stop: in the document's text of `version`; None where its chunks
    were brought ready-made. page: the page, slide or sheet (`page_kind`) on which the quote begins,
    from 1. status: of rag.check_citation; exact and normalised are proven. similarity: 0 to 1, the
    share of the quote that stands in the source without a break. supports: whether the source says
    the statement, by itself or as a part of what is cited together; None where that cannot be told.
    as_of: from when its document holds, by its metadata, its name or the quote.
    """

    number: int
    chunk_id: int
    uri: str
    title: str
    heading: str
    quote: str
    document_id: UUID | None = None
    chunk_ids: Sequence[int] = ()
    start: int | None = None
    stop: int | None = None
    chunk_start: int | None = None
    chunk_stop: int | None = None
    document_start: int | None = None
    document_stop: int | None = None
    version: int | None = None
    page: int | None = None
    page_kind: Literal["page", "slide", "sheet"] | None = None
    status: CitationStatus | None = None
    similarity: float | None = None
    supports: bool | None = None
    as_of: date | None = None

    def __repr__(self) -> str:
        return brief(self, "number", "uri", "status", quote=shorten(self.quote))

    @property
    def names(self) -> Sequence[str]:
        """What names the source: title, section, page, date, uri, and a doubt about its quote."""
        title = "" if self.heading.startswith(self.title) else self.title
        page = f"{self.page_kind} {self.page}" if self.page_kind else ""
        day = self.as_of.isoformat() if self.as_of else ""
        doubt = "" if self.is_proven else self.status or ""
        parts = [title, self.heading, page, day, self.uri, doubt]
        return list(dict.fromkeys(filter(None, parts)))

    @property
    def is_proven(self) -> bool:
        """Whether the quote stands in its source."""
        return self.status in PROVEN


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedQuote:
    """Where the quote of a citation stands; see `Citation`. updated_on: when the document was last
    stored; metadata: the document's. Offsets in the document alone where its chunks are gone and
    its text still has the quote; all None but status where the text was replaced."""

    status: CitationStatus
    similarity: float | None
    chunk_key: int | None
    chunk_start: int | None
    chunk_stop: int | None
    document_start: int | None
    document_stop: int | None
    document_version: int | None
    page_kind: Literal["page", "slide", "sheet"] | None
    page: int | None
    updated_on: date | None
    metadata: Mapping[str, Any] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Freshness:
    """How current the sources of an answer are.

    status: current; superseded (a source says that it no longer holds, its text was replaced, or a
    later edition of it was found); conflicting (sources of different dates state different
    figures). as_of: the latest date of the cited sources, None where none has one. reasons: what
    was found, a sentence each, with the dates.
    """

    status: Literal["current", "superseded", "conflicting"]
    as_of: date | None = None
    reasons: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Answer:
    """An answer with its sources.

    found: False when the documents do not answer. sufficient: whether what was found was judged
    enough for a whole answer; None where nobody judged. reason: why it is not found, or not whole.
    support: the probability, 0 to 1, that it is right; None where the collection is not calibrated.
    strategy: what made it, after fallbacks. model: what wrote the text. notes: what was degraded (a
    leg that was skipped, a citation that was dropped, a fallback). steps: what was done, in order.
    usage: tokens of all calls.
    cost: US dollars; None where a model's price is not known. seconds: all of it. trace_id: 32
    hexadecimal digits, as in W3C trace contexts. citations: one for each statement and source it
    cites, in the order of the text; see `sources`. unsupported: the statements, as they were
    written, that no source supports. freshness: None where nothing is cited.
    tool_results: results of tools that the text cites, numbered together with the citations.
    cached: whether it was given before, from the collection as it is; `steps` then holds one of
    kind cache, and nothing was spent.
    """

    text: str
    found: bool
    citations: Sequence[Citation] = ()
    sufficient: bool | None = None
    reason: str = ""
    strategy: str = ""
    model: str = ""
    notes: Sequence[str] = ()
    steps: Sequence[Step] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    seconds: float = 0.0
    trace_id: str = ""
    unsupported: Sequence[str] = ()
    freshness: Freshness | None = None
    tool_results: Sequence[ToolResult] = ()
    cached: bool = False
    support: float | None = None

    def __repr__(self) -> str:
        sources = len(self.sources)
        return brief(self, "found", "strategy", sources=sources, text=shorten(self.text))

    @property
    def sources(self) -> Sequence[Citation]:
        """The first citation of each source, by their numbers."""
        first: dict[int, Citation] = {}
        for citation in self.citations:
            first.setdefault(citation.number, citation)
        return [first[number] for number in sorted(first)]

    def _repr_markdown_(self) -> str:
        return self.markdown()

    def markdown(self) -> str:
        """Return the text, and a section that names its sources by their numbers."""
        lines = {c.number: _source_line(c) for c in self.sources}
        lines |= {r.number: _result_line(r) for r in self.tool_results}
        if not lines:
            return self.text
        listed = [f"- [{number}] {line}" for number, line in sorted(lines.items())]
        return "\n".join([self.text, "", "## Sources", "", *listed])


def _source_line(citation: Citation) -> str:
    """Return a source as a line of Markdown."""
    parts = (" ".join(part.split()) for part in citation.names)
    return " · ".join(_MARKUP.sub(r"\\\g<0>", part) for part in parts if part)


def _result_line(result: ToolResult) -> str:
    """Return a tool's call as a line of Markdown."""
    return _MARKUP.sub(r"\\\g<0>", result.call)


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What happens while a question is answered.

    kind: search, tool_call, tool_result and step carry `step`; token a piece of the answer's
    `text`; citation the `citation` or `tool_result` that the text before it has first; answer, the
    last, the whole `answer`, which replaces the tokens where its text is another: after a fallback
    or a check.
    """

    kind: Literal["search", "step", "tool_call", "tool_result", "token", "citation", "answer"]
    text: str = ""
    step: Step | None = None
    citation: Citation | None = None
    tool_result: ToolResult | None = None
    answer: Answer | None = None
