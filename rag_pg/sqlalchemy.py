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
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

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

from rag_pg.config import schema_name
from rag_pg.search import check_names
from rag_pg.types import SHORT, StatementOptions

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


# The type of a parameter by that of an option.
TYPES: dict[Any, Any] = {
    int: Integer(),
    float: Double(),
    str: Text(),
    bool: Boolean(),
    Mapping: QualifiedJsonb(),
    Sequence: QualifiedJsonb(),
}


def _type_of(annotation: Any) -> Any:
    """Return the type of an option, which may also be None."""
    kind = next((k for k in get_args(annotation) if NoneType in get_args(annotation)), annotation)
    return TYPES[get_origin(kind) or kind]


OPTIONS = {name: _type_of(kind) for name, kind in get_type_hints(StatementOptions).items()}
PARAMETERS: dict[str, Any] = {
    **OPTIONS,
    "query_text": Text(),
    "query_embedding": HALFVEC(),
    "expected_space": Integer(),
    "exact_below": Integer(),
    "scan_limit": Integer(),
    "match": Text(),
    "collection": Text(),
    "uri": Text(),
    "content": Text(),
    "title": Text(),
    "metadata": QualifiedJsonb(),
    "media_type": Text(),
}
QUESTION = ("query_text", "query_embedding")
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "search": (*QUESTION, *OPTIONS, "expected_space"),
    "search_keyword": ("query_text", "limit", "filter", "match", "offset", "typo_tolerance"),
    "search_vector": (
        "query_embedding", "limit", "filter", "ef_search", "exact_below", "scan_limit", "offset",
    ),
}  # fmt: skip


def search(collection: str | Expression, **arguments: Any) -> TableValuedAlias:
    """Return rag.search(…) as a table with the columns of a hit.

    What is None is left to the function's default. Rows of a join have no order of their own: sort
    by score, then chunk_id. `alias("name")` names the table, `lateral()` lets it see the tables
    before it.

    Args:
        arguments: values or expressions: query_text; query_embedding, a vector by the collection's
            model; the options of Collection.search that the database reads (OPTIONS);
            expected_space, the space that the vector belongs to: an error when another is active by
            now.
    Raises: InvalidInput for an argument that there is none of.
    """
    return _table("search", collection, arguments)


def search_keyword(
    collection: str | Expression, query_text: str | Expression, **arguments: Any
) -> TableValuedAlias:
    """Return rag.search_keyword(…) as a table, see `search`. match: any (the default), all, phrase
    or web."""
    return _table("search_keyword", collection, {"query_text": query_text, **arguments})


def search_vector(
    collection: str | Expression, query_embedding: Sequence[float] | Expression, **arguments: Any
) -> TableValuedAlias:
    """Return rag.search_vector(…) as a table, see `search`. exact_below, scan_limit: see
    rag.search_vector."""
    return _table("search_vector", collection, {"query_embedding": query_embedding, **arguments})


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
    """Keep schema rag, or the one that RAG_PG_SCHEMA names, out of an application's Alembic
    revisions: context.configure(include_name=…)."""
    schema = name if type_ == "schema" else parent_names.get("schema_name")
    return schema != schema_name()


def _table(
    function: str, collection: str | Expression, arguments: Mapping[str, Any]
) -> TableValuedAlias:
    """Return the function's rows."""
    check_names(arguments, known=ARGUMENTS[function], call=function)
    call = _call(function, None, collection=collection, **arguments)
    table: TableValuedAlias = call.table_valued(*_hit_columns())
    return table


def _call(function: str, returns: Any, /, **arguments: object) -> Function[Any]:
    """Return the function's call in named notation, without the arguments that are None."""
    named = [
        literal_column(SHORT.get(name, name)).op("=>")(_value(name, value))
        for name, value in arguments.items()
        if value is not None
    ]
    typed = {} if returns is None else {"type_": returns}
    call: Function[Any] = getattr(getattr(func, schema_name()), function)(*named, **typed)
    return call


def _value(name: str, value: object) -> Any:
    if isinstance(value, SQLCoreOperations):
        return value
    if isinstance(value, Mapping):
        value = dict(value)
    elif isinstance(value, tuple):
        value = list(value)
    return bindparam(SHORT.get(name, name), value, type_=PARAMETERS[name], unique=True)


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
