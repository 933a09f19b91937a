"""Other sizes for the keyword index, so that small tests pass through blocks, merges and seals."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg


def empty_collection(db: psycopg.Connection, key: int) -> None:
    """Take every chunk and its index away."""
    tables = ("chunks", "keyword_changes", "keyword_slots", "keyword_postings", "keyword_removed")
    for table in tables:
        db.execute(f"TRUNCATE rag.{table}_{key}")
    db.execute("SELECT rag._clear_keyword(%s)", (key,))


@contextmanager
def keyword_sizes(dsn: str, *, block: int, seal: int, merge: int, frequent: int) -> Iterator[None]:
    wanted = {
        "block_size": block,
        "seal_size": seal,
        "merge_size": merge,
        "frequent_from": frequent,
    }
    with psycopg.connect(dsn, autocommit=True) as db:
        statement = "SELECT pg_get_functiondef(%s::regproc)"
        saved = [
            definition
            for name in wanted
            for (definition,) in db.execute(statement, (f"rag._keyword_{name}",))
        ]
        for name, value in wanted.items():
            db.execute(
                f"CREATE OR REPLACE FUNCTION rag._keyword_{name}() RETURNS integer"
                f" LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN {value}"
            )
    try:
        yield
    finally:
        with psycopg.connect(dsn, autocommit=True) as db:
            for definition in saved:
                db.execute(definition)
