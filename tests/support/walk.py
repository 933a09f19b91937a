"""Vector searches of small collections by their index, as those of large ones."""

from typing import Any

import psycopg


def walk_above(connection: psycopg.Connection[Any], chunks: int = 2500) -> None:
    """Let searches of this database walk the index of collections with more chunks than that."""
    connection.execute(
        "CREATE OR REPLACE FUNCTION rag._exact_search_limit(ef_search integer) RETURNS integer"
        f" LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN {chunks}".encode()
    )
