"""The values that cross rag_pg's boundaries: frozen, and named as the SQL output columns are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Scores = NDArray[np.float64]

_MARKUP = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)")  # what Markdown would act on in a name


# --- documents and chunks ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """A file turned into text. `removed` counts NUL and undecodable characters taken out."""

    uri: str
    title: str
    content: str
    media_type: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    language: str | None = None
    removed: int = 0
    notes: Sequence[str] = ()  # what was left out, and why


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadFailure:
    """A document that could not be loaded, and why; path: of its file, which the error names then.
    As text it is a line that names it once."""

    uri: str
    error: str
    path: Path | None = None

    def __str__(self) -> str:
        return self.error if self.path else f"{self.uri}: {self.error}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """A file without anything to load; reason: a word."""

    uri: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A chunk before it is stored: text == document[start:stop]; heading is a path, 'A > B'.
    parent: start and stop of the larger piece it was cut from, by the method small-to-big."""

    start: int
    stop: int
    text: str
    heading: str = ""
    parent: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A stored document. `state` is ready, pending (work is queued) or failed."""

    document_id: UUID
    uri: str
    title: str
    content: str | None
    media_type: str
    language: str | None
    metadata: Mapping[str, Any]
    version: int
    chunks: int
    state: str
    error: str | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Facet:
    """A value of a metadata field, and how many documents hold it."""

    value: Any
    documents: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AddReport:
    """What `Collection.add` did: counts of documents, the uris of those that were read, and what
    failed, each with its reason. `skipped` counts files that were passed over: "empty", or by their
    suffix; `notes` tell what was left out of a document."""

    added: int = 0
    unchanged: int = 0
    uris: Sequence[str] = ()
    failures: Sequence[LoadFailure] = ()
    removed_characters: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    document_ids: Sequence[UUID] = ()  # for `search(…, wait_for=…)`


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far a call is: documents done of those to do (0 of 0 where chunks alone count), chunks
    embedded of about so many; how many there are is known when the last document is cut."""

    documents: int = 0
    of_documents: int = 0
    chunks: int = 0
    of_chunks: int = 0


# --- collections -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionInfo:
    """A collection's settings."""

    collection_id: int
    name: str
    model: str
    dimensions: int
    distance: str
    language: str
    chunking: Mapping[str, Any]
    fingerprint: str | None
    space_id: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """An embedding space: state building, active or retired; `embedded` of `chunks` have their
    vector, `share` of them; `waiting` and `failed` are its embed jobs; index_state is ready,
    building, missing, invalid or none."""

    space_id: int
    collection_name: str
    model: str
    dimensions: int
    distance: str
    state: str
    embedded: int
    chunks: int
    share: float
    waiting: int
    failed: int
    bytes: int
    index_state: str
    fingerprint: str | None
    created_at: datetime
    activated_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SpaceComparison:
    """What one space finds for a set of queries, on average: `overlap` with the active space's
    first hits, `rank_difference` of those that both have; `recall` and `ndcg` where queries have
    judgements. `hits` are the chunk ids by query, in the order asked."""

    space_id: int
    model: str
    state: str
    share: float
    overlap: float | None
    rank_difference: float | None
    recall: float | None
    ndcg: float | None
    hits: Sequence[Sequence[int]]


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectionStats:
    """Counts of documents and chunks; embedded: chunks with a vector in the active space, which is
    of `model`; pending: jobs waiting or running, of which so many are `running`, and `delayed`: not
    due yet; failed: dead jobs; bytes on disk; lag: seconds since the oldest put that is not
    searchable yet, 0 when all are; rate, eta, reason: as of `JobCounts`."""

    collection: str
    model: str
    documents: int
    chunks: int
    embedded: int
    pending: int
    running: int
    delayed: int
    failed: int
    bytes: int
    lag: float
    rate: float
    eta: float | None
    reason: str | None


# --- jobs --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A claimed unit of work. Store and finish with its `lease`."""

    job_id: int
    lease: UUID
    kind: str
    collection_id: int
    collection_name: str
    document_id: UUID
    attempts: int
    space_id: int | None = None  # of an embed job


# --- search --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Hit:
    """One search result. `score` is larger-is-better, comparable within one call only.
    Ranks start at 1; a leg that did not find the chunk, or was skipped, has None.
    rerank_score orders reranked hits, larger is better; None where nothing was reranked."""

    chunk_id: int
    document_id: UUID
    uri: str
    title: str
    heading: str
    content: str
    metadata: Mapping[str, Any]
    score: float
    vector_rank: int | None
    vector_distance: float | None
    keyword_rank: int | None
    keyword_score: float | None
    rerank_score: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A stretch of a document around chunks, as rag.expand returns it.

    start_offset, stop_offset: in characters of the document; None where its chunks were brought
    ready-made. chunk_keys: the chunks in it, in order. rank: which of the chunks asked for is the
    first in it, from 1.
    """

    document_id: UUID
    uri: str
    title: str
    heading: str
    content: str
    start_offset: int | None
    stop_offset: int | None
    chunk_keys: Sequence[int]
    rank: int


Leg = Literal["vector", "rerank"]


class Hits(list[Hit]):
    """Search results, best first.

    skipped: the steps that a provider's failure left out: "vector" (keywords alone answered),
    "rerank" (the fused order stands). notes: why, for people. method: hybrid, vector or keyword:
    the legs that searched. seconds: the whole search. question: what was searched for, after it was
    made to stand alone. steps: how it was rewritten; `usage`: the tokens of that.
    """

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        notes: Sequence[str] = (),
        skipped: Iterable[Leg] = (),
        *,
        method: Literal["hybrid", "vector", "keyword"] = "hybrid",
        count_tokens: Callable[[Sequence[str]], Sequence[int]] = lambda texts: [0] * len(texts),
        seconds: float = 0.0,
        question: str = "",
        steps: Sequence[Step] = (),
    ) -> None:
        super().__init__(hits)
        self.notes = tuple(notes)
        self.skipped: frozenset[Leg] = frozenset(skipped)
        self.method = method
        self.seconds = seconds
        self.question = question
        self.steps = tuple(steps)
        self._count_tokens = count_tokens

    @property
    def total_tokens(self) -> int:
        """The tokens of all contents, estimated."""
        return sum(self._count_tokens([hit.content for hit in self]))

    @property
    def usage(self) -> Usage:
        """The tokens of the calls that rewrote the question."""
        return sum((step.usage for step in self.steps), Usage())


# --- routing --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class MetadataQuery:
    """What a question asks of the metadata alone: how many documents pass the filter (count), which
    ones (list, in an order), or which values a field has (values, `values_of`)."""

    kind: Literal["count", "list", "values"]
    filter: Mapping[str, Any] = field(default_factory=dict)
    values_of: str = ""
    order_by: str = "uri"
    descending: bool = False
    limit: int = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class MetadataResult:
    """What was found: `total` documents or values, and the first of them."""

    query: MetadataQuery
    total: int
    documents: Sequence[Document] = ()
    values: Sequence[Facet] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """How a question is best answered, and why.

    name: none (no document is needed), search (keywords: passages, no text is written), metadata
    (by `query`), full_context (all documents are shown to the model) or retrieval. by: rules or
    model.
    usage: what a model's choice cost. notes: why a model did not choose.
    """

    name: Literal["none", "search", "metadata", "full_context", "retrieval"]
    reason: str
    by: Literal["rules", "model"] = "rules"
    query: MetadataQuery | None = None
    usage: Usage = field(default_factory=lambda: Usage())
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TermMatch:
    """A term of a question. word: what stands in the question; df: chunks of the collection that
    contain the term, of chunk_count; found_in: the numbers, from 1, of the given texts that do."""

    word: str
    term: str
    df: int
    chunk_count: int
    found_in: Sequence[int]


# --- answers --------------------------------------------------------------------------------------


Finish = Literal["stop", "length", "blocked", "tool_calls"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Tokens as the provider counts them; usages add up."""

    prompt_tokens: int = 0
    answer_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            answer_tokens=self.answer_tokens + other.answer_tokens,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A function that a language model may call. parameters: a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A call that a language model asks for. signature:
    opaque, to be sent back with the call (Gemini)."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    signature: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A passage that is shown to a language model, which cites it as [key]."""

    key: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A turn of a conversation with a language model.

    role: system (the rules), user (the question), assistant (the model's own, with the tool_calls
    it asked for) or tool (the result of the call `tool_call_id`).
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: Sequence[ToolCall] = ()
    tool_call_id: str | None = None
    sources: Sequence[Source] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """What a language model returned.

    parsed: the value of a text that was asked for by a JSON schema; None where it is none that
    fits. finish: stop (it came to its end), length (max_tokens cut it short; the text may be
    empty), blocked (the provider withheld the rest;
    `reason` is its word for it) or tool_calls (it waits for their results).
    """

    text: str
    parsed: Any = None
    tool_calls: Sequence[ToolCall] = ()
    finish: Finish = "stop"
    usage: Usage = field(default_factory=Usage)
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Capabilities:
    """What a language model can do by itself: answer by a JSON schema, call tools, cite the sources
    of a message (its provider says which, and [key] stands in the text). context_tokens: the most
    that prompt and answer may have together; None: not known."""

    schema: bool = False
    tools: bool = False
    context_tokens: int | None = None
    citations: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """Source [number] of an answer: where it is, and the passage that was shown to the model."""

    number: int
    chunk_id: int
    uri: str
    title: str
    heading: str
    quote: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What was done for an answer: kind is search, llm, tool, or what a strategy calls it.
    `detail` is
    JSON: the query and the hits of a search, the purpose and the end of a model's call.
    `seconds`: how long it took."""

    kind: str
    detail: Mapping[str, Any]
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """An answer with its sources.

    found: False when the documents do not answer. sufficient: whether what was found was judged
    enough for a whole answer; None where nobody judged. reason: why it is not found, or not whole.
    strategy: what made it, after fallbacks. model: what wrote the text. notes: what was degraded (a
    leg that was skipped, a citation that was dropped, a fallback). steps: what was done, in order.
    usage: tokens of all calls.
    cost: US dollars; None where a model's price is not known. seconds: all of it. trace_id: 32
    hexadecimal digits, as in W3C trace contexts.
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

    def markdown(self) -> str:
        """Return the text, and a section that names its sources by their numbers."""
        if not self.citations:
            return self.text
        lines = [f"- [{c.number}] {_source_line(c)}" for c in self.citations]
        return "\n".join([self.text, "", "## Sources", "", *lines])


def _source_line(citation: Citation) -> str:
    """Return title, heading and uri of a source as a line of Markdown."""
    title = "" if citation.heading.startswith(citation.title) else citation.title
    names = [title, citation.heading, citation.uri]
    shown = [_MARKUP.sub(r"\\\g<0>", " ".join(name.split())) for name in names]
    return " · ".join(dict.fromkeys(filter(None, shown)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What happens while a question is answered.

    kind: search, tool_call, tool_result and step carry `step`; token a piece of the answer's
    `text`; citation the `citation` that the text before it has first; answer, the last, the whole
    `answer`, which replaces the tokens where its text is another: after a fallback or a check.
    """

    kind: Literal["search", "step", "tool_call", "tool_result", "token", "citation", "answer"]
    text: str = ""
    step: Step | None = None
    citation: Citation | None = None
    answer: Answer | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncReport:
    """What a sync did: counts of documents; `changed` are new or have a new text."""

    changed: int = 0
    unchanged: int = 0
    deleted: int = 0
    failures: Sequence[LoadFailure] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[str] = ()
    gone: Sequence[str] = ()  # the uris deleted


@dataclass(frozen=True, kw_only=True, slots=True)
class AdoptReport:
    """What was found in the table, and what became of it.

    skipped: how many rows were left out, by reason. vectors: chunks that came with their vector;
    without_vector: those that did not; queued: documents that wait for a worker to embed such
    chunks. overlap: of the ten nearest rows of `sampled` stored vectors, the part that is among the
    ten nearest chunks too; None when nothing was compared.
    """

    layout: str
    table: str
    collection: str
    dimensions: int
    rows: int
    skipped: Mapping[str, int]
    documents: int
    chunks: int
    vectors: int
    without_vector: int
    queued: int
    sampled: int = 0
    overlap: float | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class JobCounts:
    """Jobs of a collection; lag: seconds since the oldest unfinished one was due; delayed: waiting
    and not due yet; reason: why none is taken; rate: jobs a second of late;
    eta: seconds to the end."""

    collection_name: str
    waiting: int
    running: int
    dead: int
    lag: float
    delayed: int
    reason: str | None
    rate: float
    eta: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """A row of rag.doctor: status is ok, warn or fail;
    remedy says what to do where it is not ok."""

    check_name: str
    status: str
    detail: str
    remedy: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusLine:
    """A line of rag.status: topic is release, collection, queue, worker or finding; name says of
    what; state is a word, detail the numbers."""

    topic: str
    name: str | None
    state: str
    detail: str
