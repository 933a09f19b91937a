"""Lists of options that several calls take: each is written here, and described where the first
of them is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, TypedDict

# Arguments with a longer name in SQL, where the short one is a word of SQL or ambiguous.
SHORT = {
    "limit": "result_limit",
    "offset": "result_offset",
    "filter": "metadata_filter",
    "having": "having_filter",
    "query": "query_text",
    "embedding": "query_embedding",
}


def without_none(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are given."""
    return {name: value for name, value in options.items() if value is not None}


class StatementOptions(TypedDict, total=False):
    """What rag.search is given, under its names; limit, offset and filter are short for
    result_limit, result_offset and metadata_filter. None is the function's default."""

    limit: int
    offset: int
    filter: Mapping[str, Any] | None
    vector_weight: float | None
    keyword_weight: float | None
    fusion: str | None
    rrf_k: int | None
    candidate_limit: int | None
    diversity: float | None
    per_document: int | None
    boosts: Sequence[Mapping[str, Any]] | None
    duplicates: bool | None
    ef_search: int | None
    typo_tolerance: bool | None


class Grouping(TypedDict, total=False):
    """How rows are grouped, filtered and ordered; see `Collection.aggregate_documents`."""

    filter: Mapping[str, Any] | None
    group_by: Sequence[str] | None
    having: Mapping[str, Any] | None
    order_by: Sequence[str] | None
    limit: int | None


class ViewQuery(Grouping, total=False):
    """What a view is asked; see `Rag.query_view`."""

    columns: Sequence[str] | None
    aggregates: Mapping[str, Mapping[str, str]] | None


class CollectionOptions(TypedDict, total=False):
    """What a collection is made with; see `Rag.collection`."""

    model: str | None
    language: str | None
    distance: str | None
    dimensions: int | None
    chunking: Mapping[str, Any] | None
    index_options: Mapping[str, Any] | None
    preset: str | None


class Alteration(TypedDict, total=False):
    """Settings of a collection that change; see `Collection.alter`."""

    description: str | None
    keep_versions: timedelta | None
    keep_answers: timedelta | None
    sample_queries: float | None
    keep_query_text: bool | None
    keep_queries: timedelta | None
    max_queries: int | None
    recall_target: float | None
    ef_search: int | None
    keep_original: bool | None
    force: bool


class Adoption(TypedDict, total=False):
    """How another program's table is taken over; see `Rag.adopt`."""

    model: str | None
    distance: str | None
    language: str | None
    langchain_collection: str | None
    uri_key: str | None
    sample: int
