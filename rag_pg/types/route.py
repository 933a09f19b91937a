"""Questions over the metadata, and how a question is best answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rag_pg.types.document import Document, Facet
from rag_pg.types.usage import Usage


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
