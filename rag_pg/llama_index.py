"""LlamaIndex on rag_pg: a vector store, and a retriever for collections however they were filled.

A node of the store is a document of rag_pg with one chunk; its id is the uri. Install it with
`pip install "rag-pg[llama-index]"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from rag_pg import frameworks
from rag_pg.client import Collection, Rag
from rag_pg.errors import InvalidInput
from rag_pg.extras import extra

with extra("llama-index", "rag_pg.llama_index needs", InvalidInput):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle, TextNode
    from llama_index.core.vector_stores import types
    from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

Ids = list[str] | None
Filters: TypeAlias = "types.MetadataFilters | None"
Op, Mode = types.FilterOperator, types.VectorStoreQueryMode
SAME = (Op.GT, Op.GTE, Op.LT, Op.LTE, Op.CONTAINS)
WHOLE = (Op.EQ, Op.NE, Op.IN, Op.NIN)
OPERATORS = {Op.ANY: "$in", **{one: f"${one.name.lower()}" for one in SAME}}
PATTERNS = {Op.TEXT_MATCH: "$like", Op.TEXT_MATCH_INSENSITIVE: "$ilike"}
WORDS, VECTORS = {Mode.SPARSE, Mode.TEXT_SEARCH}, {Mode.DEFAULT, Mode.MMR}
BOTH = {Mode.HYBRID, Mode.SEMANTIC_HYBRID}


def translate(filters: types.MetadataFilters | types.MetadataFilter) -> dict[str, Any]:
    """Return a filter as one of rag_pg. Raises: InvalidInput (an operator that it has not)."""
    if isinstance(filters, types.MetadataFilters):
        how = filters.condition.value if filters.condition else "and"
        if how == "not":  # none of them holds
            return {"$not": frameworks.combined("or", map(translate, filters.filters))}
        return frameworks.combined(how, map(translate, filters.filters))
    key, operator, value = frameworks.field_path(filters.key), filters.operator, filters.value
    if operator in (Op.ALL, Op.IN, Op.NIN) and not isinstance(value, list):
        raise InvalidInput(f"{operator.value} of {filters.key!r} takes a list, not {value!r:.100}")
    if operator == Op.ALL:  # of no elements: any value
        return {key: {"$contains": value} if value else {"$exists": True, "$ne": None}}
    if operator in WHOLE:
        found = frameworks.one_of(key, value if isinstance(value, list) else [value])
        return {"$not": found} if operator in (Op.NE, Op.NIN) else found
    if operator == Op.IS_EMPTY:
        # an array equals what one of its elements does, and contains []
        empty: dict[str, Any] = {"$in": [None, ""], "$not": {"$contains": []}}
        return {"$or": [{key: {"$exists": False}}, {key: []}, {key: empty}]}
    if operator in PATTERNS:
        return {key: {PATTERNS[operator]: frameworks.substring_pattern(str(value))}}
    if operator not in OPERATORS:
        raise InvalidInput(f"rag_pg has no filter operator for {operator}")
    return {key: {OPERATORS[operator]: value}}


class RagPgVectorStore(types.BasePydanticVectorStore):  # type: ignore[misc]
    """A collection whose documents are LlamaIndex's nodes, with the vectors that they bring.

    Args:
        collection_name: it is created where there is none, with `dimensions` and `model`, a name
            for what makes the vectors.
        rag: an open client; None, and after `from_dict`: that of RAG_PG_DSN.
    Modes DEFAULT and MMR search by vector, SPARSE and TEXT_SEARCH by words, HYBRID by both, with
    alpha 1 by the vector alone and 0 by words alone; similarities are -1 to 1, larger is better.
    """

    stores_text: bool = True
    collection_name: str
    dimensions: int = 1536
    model: str = "llamaindex"
    _docs: Collection = PrivateAttr()

    def __init__(
        self, collection_name: str = "llamaindex", *, rag: Rag | None = None, **fields: Any
    ) -> None:
        super().__init__(collection_name=collection_name, **fields)
        rag = rag or frameworks.environment_client()
        self._docs = rag.collection(collection_name, dimensions=self.dimensions, model=self.model)

    @classmethod
    def class_name(cls) -> str:
        return "RagPgVectorStore"

    @property
    def client(self) -> Collection:
        return self._docs

    def add(self, nodes: Sequence[BaseNode], **options: Any) -> list[str]:
        """Put nodes with their embeddings; one that is there is replaced. options: of
        `Collection.add_chunks`."""
        frameworks.put(self._docs, map(_row, nodes), **options)
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **_: Any) -> None:
        self._docs.delete(filter={"ref_doc_id": ref_doc_id})

    def delete_nodes(self, node_ids: Ids = None, filters: Filters = None, **_: Any) -> None:
        """Delete the nodes that are among the ids and pass the filters; without both, none."""
        if wanted := _filter(node_ids, filters):
            self._docs.delete(filter=wanted)

    def get_nodes(self, node_ids: Ids = None, filters: Filters = None) -> list[BaseNode]:
        return [*map(_node, self._docs.list(filter=_filter(node_ids, filters), content=True))]

    def clear(self) -> None:
        self._docs.delete(everything=True)

    def query(self, query: types.VectorStoreQuery, **options: Any) -> types.VectorStoreQueryResult:
        """Search; options are those of `Collection.search`.
        Raises: InvalidInput (a mode of other stores), InvalidQuery."""
        mode = query.mode
        if mode not in WORDS | VECTORS | BOTH:
            raise InvalidInput(f"rag_pg has no query mode {mode.value}")
        if mode in BOTH and query.query_str is None:
            raise InvalidInput(f"mode {mode.value} needs query_str")
        given: dict[str, Any] = {"vector_weight": 0} if mode in WORDS else {}
        if mode == Mode.MMR:
            threshold = options.pop("mmr_threshold", query.mmr_threshold)
            given["diversity"] = 0.5 if threshold is None else 1 - threshold
        if mode == Mode.HYBRID and (alpha := query.alpha) is not None:
            given = {"fusion": "weighted", "vector_weight": alpha, "keyword_weight": 1 - alpha}
        limits = {Mode.SPARSE: query.sparse_top_k, Mode.HYBRID: query.hybrid_top_k}
        hits = self._docs.search(
            None if mode in VECTORS else query.query_str,
            embedding=None if mode in WORDS else query.query_embedding,
            limit=limits.get(mode) or query.similarity_top_k,
            filter=_filter(query.node_ids or None, query.filters, query.doc_ids),
            **{"duplicates": True, **given, **options},
        )
        scores, ids = [hit.score for hit in hits], [hit.uri for hit in hits]
        return types.VectorStoreQueryResult([*map(_node, hits)], scores, ids)

    async_add = frameworks.in_thread(add)
    adelete = frameworks.in_thread(delete)
    adelete_nodes = frameworks.in_thread(delete_nodes)
    aget_nodes = frameworks.in_thread(get_nodes)
    aclear = frameworks.in_thread(clear)
    aquery = frameworks.in_thread(query)


def _filter(node_ids: Ids, filters: Filters, doc_ids: Ids = None) -> dict[str, Any] | None:
    parts: list[dict[str, Any]] = []
    parts += [{"$uri": {"$in": frameworks.listed(node_ids)}}] if node_ids is not None else []
    parts += [{"ref_doc_id": {"$in": frameworks.listed(doc_ids)}}] if doc_ids else []
    parts += [translate(filters)] if filters and filters.filters else []
    return {"$and": parts} if parts else None


def _row(node: BaseNode) -> dict[str, Any]:
    metadata = node_to_metadata_dict(node, remove_text=True)
    row = {"uri": node.node_id, "content": node.get_content(), "metadata": metadata}
    return {**row, "embedding": node.get_embedding()}


def _node(found: frameworks.Found) -> BaseNode:
    metadata, text = dict(found.metadata), frameworks.text_of(found)
    if "_node_content" in metadata:
        return metadata_dict_to_node(metadata, text=text)
    return TextNode(id_=found.uri, text=text, metadata=metadata)  # adopted


class RagPgRetriever(BaseRetriever):  # type: ignore[misc]
    """Passages of a collection, however it was filled: a node is a chunk, its id the chunk's; its
    metadata have what a citation needs (`hit_metadata`).

    options: of `Collection.search`, e.g. rerank="…".
    """

    def __init__(self, collection: Collection, similarity_top_k: int = 10, **options: Any) -> None:
        self.collection, self.similarity_top_k, self.options = collection, similarity_top_k, options
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        quiet = ["chunk_id", "document_id", "score", "uri"]  # no model needs to read them
        keys = {"excluded_llm_metadata_keys": quiet, "excluded_embed_metadata_keys": quiet}
        text, limit = query_bundle.query_str, self.similarity_top_k
        found = frameworks.passages(self.collection.search(text, limit=limit, **self.options))
        return [
            NodeWithScore(node=TextNode(id_=key, text=text, metadata=meta, **keys), score=score)
            for key, text, meta, score in found
        ]

    _aretrieve = frameworks.in_thread(_retrieve)
