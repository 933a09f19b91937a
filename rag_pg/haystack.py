"""Haystack on rag_pg: a document store, and retrievers by vector, by words and by both.

A Document of the store is a document of rag_pg with one chunk; its id is the uri. Install it with
`pip install "rag-pg[haystack]"`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar

from rag_pg import frameworks
from rag_pg.client import Collection, Rag
from rag_pg.errors import AlreadyExists, InvalidInput
from rag_pg.extras import extra
from rag_pg.frameworks import in_thread
from rag_pg.types import Facet, Hit

with extra("haystack", "rag_pg.haystack needs", InvalidInput):
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy, FilterPolicy
    from haystack.document_stores.types.filter_policy import apply_filter_policy
    from haystack.errors import FilterError
    from haystack.utils.filters import document_matches_filter

Filters = dict[str, Any] | None
Found = dict[str, list[Document]]
NOTHING = Document(id="\u2060")
OWN = "_haystack"  # the metadata that hold what is neither text, meta nor vector
ORDERED = {">": "$gt", ">=": "$gte", "<": "$lt", "<=": "$lte"}
EXISTING = {DuplicatePolicy.OVERWRITE: "replace", DuplicatePolicy.SKIP: "skip"}


def translate(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a filter as one of rag_pg. Raises: FilterError naming what there is none of."""
    if not isinstance(node, Mapping):
        raise FilterError(f"a filter is a dictionary, not {node!r:.100}")
    document_matches_filter({**node}, NOTHING)  # refuses keys, operators and lists that are wrong
    operator = node["operator"]
    if "field" not in node:
        return frameworks.combined(operator.lower(), map(translate, node["conditions"]))
    value, name = node["value"], _path(node["field"])
    if operator in ORDERED and isinstance(value, str | list) and not _is_date(value):
        raise FilterError(f"{operator!r} compares numbers and dates, not {value!r}")
    if operator in ORDERED:
        return {"$or": []} if value is None else {name: {ORDERED[operator]: value}}
    found = _one_of(name, value if operator.endswith("in") else [value])
    return {"$not": found} if operator in ("!=", "not in") else found


def _one_of(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """The filter of a field that is one of some values. A field that is not there is None."""
    if name == "$uri":
        return {name: {"$in": [value for value in values if isinstance(value, str)]}}
    found = frameworks.one_of(name, values)
    return {"$or": [found, {name: {"$exists": False}}]} if None in values else found


def _path(field: str) -> str:
    """The path of a field in a filter of rag_pg: id is the uri, all others are metadata."""
    if field in ("content", "embedding", "blob"):
        raise FilterError(f"rag_pg filters by id and meta, not by {field}; search for its words")
    path = field.removeprefix("meta.")
    return "$uri" if field == "id" else "\\" + path if path.startswith("$") else path


def _is_date(value: Any) -> bool:
    try:
        return bool(datetime.fromisoformat(value))
    except (TypeError, ValueError):
        return False


class RagPgDocumentStore:
    """A collection whose documents are Haystack's, with the vectors that they bring, which are read
    back in half precision.

    Args:
        collection: it is created where there is none, with `dimensions` and `model`, a name for
            what makes the vectors; with another model, rag_pg embeds what comes without a vector.
        rag: an open client; None, and after `from_dict`: that of RAG_PG_DSN.
    """

    def __init__(
        self,
        collection: str = "haystack",
        *,
        dimensions: int | None = 768,
        model: str = "haystack",
        rag: Rag | None = None,
    ) -> None:
        self.name, self.dimensions, self.model, self._rag = collection, dimensions, model, rag

    @cached_property
    def collection(self) -> Collection:
        rag = self._rag or frameworks.environment_client()
        return rag.collection(self.name, model=self.model, dimensions=self.dimensions)

    def to_dict(self) -> dict[str, Any]:
        fields = {"collection": self.name, "dimensions": self.dimensions, "model": self.model}
        return {**default_to_dict(self, **fields)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> RagPgDocumentStore:
        made: RagPgDocumentStore = default_from_dict(cls, data)
        return made

    def count_documents(self) -> int:
        return self.collection.count()

    def filter_documents(self, filters: Filters = None) -> list[Document]:
        """The documents that pass a filter, by id."""
        uris = [one.uri for one in self.collection.list(filter=_given(filters))]
        found = self.collection.get_many(uris, embeddings=True)
        return [_document(one, embedding=(one.embeddings or [None])[0]) for one in found]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Put documents in one transaction; NONE is FAIL. Returns: how many were written."""
        if not isinstance(documents, list) or any(not isinstance(d, Document) for d in documents):
            raise ValueError("write_documents takes a list of Document")
        # With the model haystack nobody embeds what has no vector.
        options: Any = {"existing": EXISTING.get(policy, "error"), "wait": self.model != "haystack"}
        try:
            return frameworks.put(self.collection, map(_row, documents), **options)
        except AlreadyExists as exc:
            raise DuplicateDocumentError(str(exc)) from exc

    def delete_documents(self, document_ids: list[str]) -> None:
        self.collection.delete(*frameworks.listed(document_ids))

    def delete_all_documents(self) -> None:
        self.collection.delete(everything=True)

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        return self.collection.delete(filter=translate(filters))

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        return self.collection.metadata.merge(translate(filters), meta)

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        return self.collection.count(filter=_given(filters))

    def count_unique_metadata_by_filter(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        found = {field: self._values(_path(field), filters) for field in metadata_fields}
        return {field: values[0].total_values if values else 0 for field, values in found.items()}

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        found = self.collection.metadata.describe(examples=0)
        return {f.field: {"type": f.type} for f in found if f.field.partition(".")[0] != OWN}

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        path = _path(metadata_field)
        ends = {"min": {"min": path}, "max": {"max": path}}
        return self.collection.metadata.aggregate(ends)[0]

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Filters = None,
    ) -> tuple[list[Any], int]:
        """A page of the values of a field, in order, and how many there are in all."""
        found = self._values(_path(metadata_field), filters, search_term)
        total = found[0].total_values if found else 0
        if total > len(found):
            raise InvalidInput(f"{metadata_field} has {total} values; name some by search_term")
        values = sorted((one.value for one in found), key=lambda v: (type(v).__name__, v))
        return values[from_ : from_ + size], total

    def _values(self, path: str, filters: Filters, search_term: str | None = None) -> list[Facet]:
        conditions = [{path: {"$ne": None}}, *([translate(filters)] if filters else [])]
        if search_term:
            conditions.append({path: {"$ilike": frameworks.substring_pattern(search_term)}})
        return self.collection.metadata.facets(path, filter={"$and": conditions}, limit=1000)

    count_documents_async = in_thread(count_documents)
    filter_documents_async = in_thread(filter_documents)
    write_documents_async = in_thread(write_documents)
    delete_documents_async = in_thread(delete_documents)
    delete_all_documents_async = in_thread(delete_all_documents)
    delete_by_filter_async = in_thread(delete_by_filter)
    update_by_filter_async = in_thread(update_by_filter)
    count_documents_by_filter_async = in_thread(count_documents_by_filter)
    count_unique_metadata_by_filter_async = in_thread(count_unique_metadata_by_filter)
    get_metadata_fields_info_async = in_thread(get_metadata_fields_info)
    get_metadata_field_min_max_async = in_thread(get_metadata_field_min_max)
    get_metadata_field_unique_values_async = in_thread(get_metadata_field_unique_values)


def _given(filters: Filters) -> Filters:
    return None if filters in (None, {}) else translate(filters)


def _row(one: Document) -> dict[str, Any]:
    own: dict[str, Any] = {"content": None} if one.content is None else {}
    if one.blob is not None:
        own["blob"] = {**vars(one.blob), "data": base64.b64encode(one.blob.data).decode()}
    if one.sparse_embedding is not None:
        own["sparse_embedding"] = one.sparse_embedding.to_dict()
    metadata = {**one.meta, **({OWN: own} if own else {})}
    row = {"uri": one.id, "content": one.content or "", "embedding": one.embedding}
    return {**row, "metadata": metadata}


def _document(found: frameworks.Found, **more: Any) -> Document:
    meta = dict(found.metadata)
    own = {"id": found.uri, "content": frameworks.text_of(found), **meta.pop(OWN, {})}
    if "blob" in own:
        own["blob"] = {**own["blob"], "data": base64.b64decode(own["blob"]["data"])}
    return Document.from_dict({**own, "meta": meta, **more})


@dataclass(eq=False)
class _Retriever:
    """What the retrievers share: a store, filters and the options of `Collection.search`."""

    document_store: RagPgDocumentStore
    filters: Filters = None
    top_k: int = 10
    filter_policy: str | FilterPolicy = "replace"
    options: dict[str, Any] | None = None
    kind: ClassVar[dict[str, Any]] = {"duplicates": True}

    def __post_init__(self) -> None:
        self.filter_policy = str(FilterPolicy(self.filter_policy))  # as it is serialised
        component.set_output_types(self, documents=list[Document])

    def _made(self, hit: Hit) -> Document:
        return _document(hit, score=hit.score)

    def _found(self, filters: Filters, top_k: int | None, **asked: Any) -> Found:
        chosen = apply_filter_policy(FilterPolicy(self.filter_policy), self.filters, filters)
        asked |= {"limit": self.top_k if top_k is None else top_k, "filter": _given(chosen)}
        hits = self.document_store.collection.search(**self.kind, **asked, **self.options or {})
        return {"documents": [self._made(hit) for hit in hits]}


class _WordsRetriever(_Retriever):
    def run(self, query: str, filters: Filters = None, top_k: int | None = None) -> Found:
        return self._found(filters, top_k, query=query)

    run_async = in_thread(run)


@component
class RagPgEmbeddingRetriever(_Retriever):
    """Documents of a store by vector; scores are similarities of -1 to 1, larger is better."""

    def run(
        self, query_embedding: list[float], filters: Filters = None, top_k: int | None = None
    ) -> Found:
        return self._found(filters, top_k, embedding=query_embedding)

    run_async = in_thread(run)


@component
class RagPgKeywordRetriever(_WordsRetriever):
    """Documents of a store by words (BM25); the best has score 1."""

    kind: ClassVar = {"duplicates": True, "vector_weight": 0}


@component
class RagPgHybridRetriever(_Retriever):
    """Documents of a store by words and vector, fused in one statement; without a vector the
    collection's model embeds the query. Scores are -1 to 1, larger is better."""

    def run(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        filters: Filters = None,
        top_k: int | None = None,
    ) -> Found:
        return self._found(filters, top_k, query=query, embedding=query_embedding)

    run_async = in_thread(run)


@component
class RagPgPassageRetriever(_WordsRetriever):
    """Passages of a collection, however it was filled: a Document is a chunk, its id the chunk's;
    its meta have what a citation needs (`hit_metadata`)."""

    kind: ClassVar = {}

    def _made(self, hit: Hit) -> Document:
        [(key, text, meta, score)] = frameworks.passages([hit])
        return Document(id=key, content=text, meta=meta, score=score)
