"""Searches as tables of a SQLAlchemy statement, to join with an application's own models.

    hits = search("docs", query_text="reset my password", limit=20)
    statement = (
        select(Page, hits.c.score)
        .join(hits, hits.c.uri == Page.slug)
        .order_by(hits.c.score.desc())
    )

They take texts and ready vectors; nothing is embedded here. A statement is the application's: it
runs on its own engine, synchronous or asynchronous, in its own transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnClause,
    Double,
    Function,
    Integer,
    TableValuedAlias,
    Text,
    Uuid,
    bindparam,
    column,
    func,
    literal_column,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.sql.elements import SQLCoreOperations
from sqlalchemy.types import UserDefinedType

SCHEMA = "rag"
Expression = SQLCoreOperations[
    Any
]  # any argument may also come from another table of the statement


class QualifiedJsonb(UserDefinedType[Any]):
    """JSONB whose cast names its schema: a session's search_path may have another type's first.

    The casts of the other parameters are words of SQL itself, such as INTEGER.
    """

    cache_ok = True
    render_bind_cast = True

    def get_col_spec(self, **options: Any) -> str:
        return "pg_catalog.jsonb"

    def bind_processor(self, dialect: Any) -> Callable[[Any], str]:
        return json.dumps


PARAMETERS: dict[str, Any] = {
    "collection": Text(),
    "query_text": Text(),
    "query_embedding": HALFVEC(),
    "result_limit": Integer(),
    "result_offset": Integer(),
    "metadata_filter": QualifiedJsonb(),
    "vector_weight": Double(),
    "keyword_weight": Double(),
    "fusion": Text(),
    "rrf_k": Integer(),
    "candidate_limit": Integer(),
    "diversity": Double(),
    "per_document": Integer(),
    "boosts": QualifiedJsonb(),
    "duplicates": Boolean(),
    "ef_search": Integer(),
    "typo_tolerance": Boolean(),
    "expected_space": Integer(),
    "exact_below": Integer(),
    "scan_limit": Integer(),
    "match": Text(),
    "uri": Text(),
    "content": Text(),
    "title": Text(),
    "metadata": QualifiedJsonb(),
    "media_type": Text(),
}


def search(
    collection: str | Expression,
    *,
    query_text: str | Expression | None = None,
    query_embedding: Sequence[float] | Expression | None = None,
    limit: int | Expression | None = None,
    filter: Mapping[str, Any] | Expression | None = None,
    vector_weight: float | Expression | None = None,
    keyword_weight: float | Expression | None = None,
    fusion: str | Expression | None = None,
    rrf_k: int | Expression | None = None,
    candidate_limit: int | Expression | None = None,
    diversity: float | Expression | None = None,
    per_document: int | Expression | None = None,
    boosts: Sequence[Mapping[str, Any]] | Expression | None = None,
    duplicates: bool | Expression | None = None,
    ef_search: int | Expression | None = None,
    offset: int | Expression | None = None,
    typo_tolerance: bool | Expression | None = None,
    expected_space: int | Expression | None = None,
) -> TableValuedAlias:
    """Return rag.search(…) as a table with the columns of a hit.

    What is None is left to the function's default. Rows of a join have no order of their own: sort
    by score, then chunk_id. `alias("name")` names the table,
    `lateral()` lets it see the tables before it.

    Args:
        query_embedding: a vector by the collection's model.
        limit, filter, offset: see Collection.search.
        expected_space: the space it belongs to; an error when another is active by now.
    """
    return _table(
        "search",
        collection=collection,
        query_text=query_text,
        query_embedding=query_embedding,
        result_limit=limit,
        metadata_filter=filter,
        vector_weight=vector_weight,
        keyword_weight=keyword_weight,
        fusion=fusion,
        rrf_k=rrf_k,
        candidate_limit=candidate_limit,
        diversity=diversity,
        per_document=per_document,
        boosts=boosts,
        duplicates=duplicates,
        ef_search=ef_search,
        result_offset=offset,
        typo_tolerance=typo_tolerance,
        expected_space=expected_space,
    )


def search_keyword(
    collection: str | Expression,
    query_text: str | Expression,
    *,
    limit: int | Expression | None = None,
    filter: Mapping[str, Any] | Expression | None = None,
    match: str | Expression | None = None,
    offset: int | Expression | None = None,
    typo_tolerance: bool | Expression | None = None,
) -> TableValuedAlias:
    """Return rag.search_keyword(…) as a table. match: any (the default), all, phrase or web."""
    return _table(
        "search_keyword",
        collection=collection,
        query_text=query_text,
        result_limit=limit,
        metadata_filter=filter,
        match=match,
        result_offset=offset,
        typo_tolerance=typo_tolerance,
    )


def search_vector(
    collection: str | Expression,
    query_embedding: Sequence[float] | Expression,
    *,
    limit: int | Expression | None = None,
    filter: Mapping[str, Any] | Expression | None = None,
    ef_search: int | Expression | None = None,
    exact_below: int | Expression | None = None,
    scan_limit: int | Expression | None = None,
    offset: int | Expression | None = None,
) -> TableValuedAlias:
    """Return rag.search_vector(…) as a table."""
    return _table(
        "search_vector",
        collection=collection,
        query_embedding=query_embedding,
        result_limit=limit,
        metadata_filter=filter,
        ef_search=ef_search,
        exact_below=exact_below,
        scan_limit=scan_limit,
        result_offset=offset,
    )


def put_document(
    collection: str | Expression,
    uri: str | Expression,
    content: str | Expression,
    *,
    title: str | Expression | None = None,
    metadata: Mapping[str, Any] | Expression | None = None,
    media_type: str | Expression | None = None,
) -> Function[Any]:
    """Return rag.put_document(…), in the application's own transaction:
    `session.scalar(put_document(…))`."""
    return _call(
        "put_document",
        Uuid(),
        collection=collection,
        uri=uri,
        content=content,
        title=title,
        metadata=metadata,
        media_type=media_type,
    )


def delete_document(collection: str | Expression, uri: str | Expression) -> Function[Any]:
    """Return rag.delete_document(…): whether there was one."""
    return _call("delete_document", Boolean(), collection=collection, uri=uri)


def include_name(name: str | None, type_: str, parent_names: Mapping[str, str | None]) -> bool:
    """Keep schema rag out of an application's Alembic revisions:
    context.configure(include_name=…)."""
    schema = name if type_ == "schema" else parent_names.get("schema_name")
    return schema != SCHEMA


def _table(function: str, /, **arguments: object) -> TableValuedAlias:
    """Return the function's rows."""
    table: TableValuedAlias = _call(function, None, **arguments).table_valued(*_hit_columns())
    return table


def _call(function: str, returns: Any, /, **arguments: object) -> Function[Any]:
    """Return the function's call in named notation, without the arguments that are None."""
    named = [
        literal_column(name).op("=>")(_value(name, value))
        for name, value in arguments.items()
        if value is not None
    ]
    typed = {} if returns is None else {"type_": returns}
    call: Function[Any] = getattr(getattr(func, SCHEMA), function)(*named, **typed)
    return call


def _value(name: str, value: object) -> Any:
    if isinstance(value, SQLCoreOperations):
        return value
    if isinstance(value, Mapping):
        value = dict(value)
    elif isinstance(value, tuple):
        value = list(value)
    return bindparam(name, value, type_=PARAMETERS[name], unique=True)


def _hit_columns() -> list[ColumnClause[Any]]:
    """Return the columns of type rag.hit."""
    return [
        column("chunk_id", BigInteger()),
        column("document_id", Uuid()),
        column("uri", Text()),
        column("title", Text()),
        column("heading", Text()),
        column("content", Text()),
        column("metadata", JSONB()),
        column("score", Double()),
        column("vector_rank", BigInteger()),
        column("vector_distance", Double()),
        column("keyword_rank", BigInteger()),
        column("keyword_score", Double()),
    ]
