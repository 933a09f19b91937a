"""Lists of options that several calls take: each is written here, and described where the first
of them is."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, TypedDict, TypeVar, get_type_hints

Described = TypeVar("Described", bound=Callable[..., Any])

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


class Ranking(TypedDict, total=False):
    """How a search ranks, each with what it does: the docstring of `Collection.search`, the guide
    and the command line say it from here."""

    vector_weight: Annotated[
        float | None, "0 leaves the vector leg out; the default is that of the fusion."
    ]
    keyword_weight: Annotated[
        float | None, "0 leaves the keyword leg out; the default is that of the fusion."
    ]
    fusion: Annotated[
        str | None,
        "auto (weights chosen for the query; the default), weighted or rrf (with rrf_k).",
    ]
    rrf_k: Annotated[int | None, "0 to 100000, default 60: larger makes ranks more alike."]
    candidate_limit: Annotated[
        int | None,
        "how many each leg contributes, and how many are reranked; default the larger of 4 * limit "
        "and 40.",
    ]
    diversity: Annotated[
        float | None, "0 to 1; prefer chunks unlike those before them (maximal marginal relevance)."
    ]
    per_document: Annotated[int | None, "at most so many chunks of a document."]
    boosts: Annotated[
        Sequence[Mapping[str, Any]] | None,
        'e.g. [{"filter": {"lang": "en"}, "multiply": 1.2}, {"recency": "date", "half_life": '
        '"90 days"}].',
    ]
    duplicates: Annotated[bool | None, "keep chunks whose text was found before."]
    ef_search: Annotated[
        int | None,
        "1 to 1000, how widely the vector index is searched; the default follows the limit.",
    ]
    typo_tolerance: Annotated[
        bool | None,
        "False: words that no chunk has are searched for neither in British or American spelling "
        "nor as the words that one typing error makes of them. `notes` say where hits have one of "
        "those.",
    ]


class StatementOptions(Ranking, total=False):
    """What rag.search is given, under its names; limit, offset and filter are short for
    result_limit, result_offset and metadata_filter. None is the function's default."""

    limit: int
    offset: int
    filter: Mapping[str, Any] | None


def describes(options: type) -> Callable[[Described], Described]:
    """Put what the options of a TypedDict do into a docstring, where its name stands in braces."""
    lines = [
        textwrap.fill(f"{name}: {kind.__metadata__[0]}", 92, initial_indent=" " * 4,
                      subsequent_indent=" " * 8)
        for name, kind in get_type_hints(options, include_extras=True).items()
    ]  # fmt: skip

    def fill(method: Described) -> Described:
        text = inspect.getdoc(method) or ""  # none under python -OO
        method.__doc__ = text.replace(f"    {{{options.__name__}}}", "\n".join(lines))
        return method

    return fill


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
