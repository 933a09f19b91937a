"""The catalogue says what each table and type of schema rag means, and columns that need it."""

from __future__ import annotations

from typing import Any

import psycopg

from rag_pg.db import schema

Connection = psycopg.Connection[Any]

# Partitions have their parent's.
COMMENTS = r"""
    WITH relations AS (
        SELECT c.oid, c.relname, c.relkind, c.reltype FROM pg_class AS c
        WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p', 'c', 'v')
            AND NOT c.relispartition
    )
    SELECT r.relname, CASE r.relkind WHEN 'c' THEN obj_description(r.reltype, 'pg_type')
                                     ELSE obj_description(r.oid, 'pg_class') END
    FROM relations AS r
    UNION ALL
    SELECT r.relname || '.' || a.attname, col_description(r.oid, a.attnum)
    FROM relations AS r
    JOIN pg_attribute AS a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT 'schema', obj_description('rag'::regnamespace, 'pg_namespace')
"""


def comments(connection: Connection) -> dict[str, str]:
    return dict(connection.execute(COMMENTS).fetchall())


def test_every_table_and_type_has_a_comment(connection: Connection) -> None:
    found = comments(connection)
    assert len(found) > 200
    assert [name for name, comment in found.items() if "." not in name and not comment] == []
    assert "rag.help()" in found["schema"]


def test_the_comments_name_nothing_that_is_not_there(connection: Connection) -> None:
    text = (schema.share("sql") / "admin" / "comments.sql").read_text()
    names = {name for name, comment in comments(connection).items() if comment}
    assert text.count("\n('") == sum("." not in name for name in names - {"schema"})
    columns = [block.split("$$")[1] for block in text.split("\n('")[1:] if "$$" in block]
    assert sum("." in name for name in names) == sum(c.count("\n") + 1 for c in columns)
    called = connection.execute(
        """SELECT f.name[1] FROM regexp_matches(%s, '\\mrag\\.(_?[a-z]\\w*)\\(?', 'g') AS f (name)
           WHERE NOT EXISTS (SELECT FROM pg_proc AS p WHERE p.pronamespace = 'rag'::regnamespace
                             AND p.proname = f.name[1])
               AND to_regclass('rag.' || quote_ident(f.name[1])) IS NULL""",
        ["\n".join(filter(None, comments(connection).values()))],
    ).fetchall()
    assert called == []


def test_an_upgrade_mends_comments_and_leaves_right_ones_alone(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        before = comments(connection)
        connection.execute(
            "COMMENT ON COLUMN rag.jobs.lease IS NULL; COMMENT ON TYPE rag.hit IS 'old'"
        )
    schema.upgrade(dsn)
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert comments(connection) == before
        # A lock of VACUUM on the tables does not stand in the way of those that are right.
        with connection.transaction(), psycopg.connect(dsn) as other:
            connection.execute("LOCK TABLE rag.chunks, rag.jobs IN SHARE UPDATE EXCLUSIVE MODE")
            other.execute("SET LOCAL lock_timeout = '60s'")
            text = (schema.share("sql") / "admin" / "comments.sql").read_text()
            other.execute(text.encode())
