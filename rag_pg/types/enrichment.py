"""What documents are enriched with, beside the metadata that they were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Enrichment:
    """Settings of a collection: kind enrich (rules), extract (fields by a model) or context
    (contexts by a model); version counts their changes; queueing: documents are still being queued
    for them; waiting and failed: jobs."""

    kind: str
    settings: Any
    version: int
    queueing: bool
    waiting: int
    failed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RulePreview:
    """What a rule (numbered from 1) would find: in how many documents, and chunks where its scope
    is chunk; overridden: in how many the caller's metadata goes first; examples: the values found
    most often; of_documents: how many were looked at."""

    rule: int
    field: str
    scope: str
    documents: int
    chunks: int
    overridden: int
    examples: Sequence[Any]
    of_documents: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EnrichmentSize:
    """What a language model would have to read of a collection, in bytes: its documents, its
    chunks, and the documents again for every further chunk of theirs."""

    documents: int
    chunks: int
    document_bytes: int
    chunk_bytes: int
    repeated_bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EnrichmentEstimate:
    """What enriching a collection by a language model takes, about: calls, tokens, and US dollars
    by list prices (None: the model's are not known, or it costs nothing); repeated_tokens: those of
    the prompt that a provider which caches prompts takes less for."""

    kind: str
    model: str
    documents: int
    calls: int
    prompt_tokens: int
    repeated_tokens: int
    answer_tokens: int
    cost: float | None
