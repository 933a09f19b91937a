"""Fields of metadata, described, and values that a text may mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class MetadataField:
    """A metadata field of the documents of a collection.

    field: a dotted path as in filters. type: text, numeric, timestamptz (ISO dates), boolean,
    object, array, null or mixed; with [] behind it where some documents have an array. documents:
    that have it. distinct_values: without null, of an array each element. minimum, maximum: of
    numbers and dates. examples: the most frequent values. sampled_documents: how many documents
    were read, where there are more: then documents and distinct_values are estimates, and the rest
    is of those that were read; None: all were read.
    """

    field: str
    type: str
    declared: bool
    documents: int
    distinct_values: int
    minimum: Any
    maximum: Any
    examples: Sequence[Any]
    sampled_documents: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueMatch:
    """A value that a text may mean; similarity: 1 the same text, and less down to 0."""

    value: Any
    similarity: float
    documents: int
