"""Every name in schema rag is found in pg_catalog, rag or pgvector's schema,
whatever others create elsewhere."""

import re
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from shadows import make_shadows
from sql_calls import CALLS, fill
from words import is_own

from rag_pg.db import schema
from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]

TEMPORARY = """
    CREATE TEMP TABLE collections (name text, collection_id integer);
        CREATE TEMP TABLE chunks (chunk_id bigint);
    CREATE TEMP TABLE documents (uri text); CREATE TEMP TABLE embeddings (chunk_id bigint);
    CREATE TEMP TABLE jobs (job_id bigint); CREATE TEMP TABLE sources (source_id integer);
    CREATE TEMP TABLE pg_class (oid oid); CREATE TEMP TABLE pg_trigger (oid oid);
        CREATE TEMP TABLE pg_locks (pid int);
    CREATE TEMP TABLE pg_attribute (attname name); CREATE TEMP TABLE pg_namespace (nspname name);
    CREATE DOMAIN pg_temp.jsonb AS pg_catalog.int4;
        CREATE DOMAIN pg_temp.text AS pg_catalog.int4 CHECK (value > 10);
    CREATE DOMAIN pg_temp.halfvec AS pg_catalog.int4;
        CREATE DOMAIN pg_temp.regconfig AS pg_catalog.int4;
"""


@pytest.mark.parametrize(
    "hostile_first",
    [
        pytest.param(True, id="before"),
        pytest.param(False, id="after", marks=pytest.mark.minutes),
    ],
)
def test_nothing_of_others_is_called_in_a_whole_life(
    new_database: Callable[..., str], template: str, hostile_first: bool
) -> None:
    """In `make test` the installation and the life beside the objects of others; in turn the life
    alone."""
    dsn = new_database() if hostile_first else new_database(template)
    with psycopg.connect(dsn, autocommit=True) as connection:
        if hostile_first:
            connection.execute("CREATE EXTENSION vector")
        make_shadows(connection)
    if hostile_first:
        schema.upgrade(dsn)
    with psycopg.connect(dsn, autocommit=True) as connection:
        # The path of the statements below; the functions have their own.
        connection.execute("SET search_path TO pg_catalog, pg_temp")
        fill(connection)
        connection.execute(TEMPORARY.encode())
        for name, (_, call) in CALLS.items():
            if not call.startswith("CALL"):
                with connection.transaction(force_rollback=True):
                    assert connection.execute(call.encode()), name
        # Those that can have none run under this one. Their arguments are plain literals.
        connection.execute("SET search_path TO public, pg_catalog")
        for _, call in CALLS.values():
            if call.startswith(("CALL rag.sync_source", "CALL rag.maintain")):
                connection.execute(call.encode())
            elif call.startswith("CALL"):
                with pytest.raises(psycopg.DatabaseError, match="no worker answered"):
                    connection.execute(call.encode())
        for day in ("2024-02-29", "2024-02-29T12:30", "2024-02-29 12:30:05.25+02:00", "no day"):
            connection.execute(f"SELECT rag._as_timestamptz('\"{day}\"')".encode())
        (statement,) = connection.execute(
            "SELECT rag.field_index_statement('docs', 'tag', 'text')"
        ).fetchone() or ("",)
        connection.execute(statement.encode())
    database = Database(dsn)
    database.open()
    try:
        database.load_chunks("docs", [{"uri": "z", "content": "z", "embedding": [1, 2, 3]}], 3)
        database.maintain()
        assert database.build_indexes(None) >= 0
        assert database.take_jobs(limit=1, lease_seconds=60, collections=["docs"], worker="w")
        assert database.doctor()
    finally:
        database.close()
    assert schema.upgrade(dsn) and schema.check(dsn) == []
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT is_called FROM public.hijacked").fetchone() == (False,)
        made = connection.execute(
            """SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
               AND prosrc ~ 'hijack'"""
        ).fetchone()
        assert made is not None and made[0] > 2000


def test_functions_look_names_up_in_two_schemas(connection: Connection) -> None:
    paths = connection.execute(
        """SELECT DISTINCT c FROM pg_proc, unnest(proconfig) AS c
           WHERE pronamespace = 'rag'::regnamespace AND c LIKE 'search_path=%'"""
    ).fetchall()
    assert paths == [("search_path=pg_catalog, rag, pg_temp",)]


def test_what_is_bound_at_creation_is_ours_or_pgvectors(connection: Connection) -> None:
    rows = connection.execute(
        """
        WITH ours AS (
            SELECT 'pg_proc'::regclass AS class, oid FROM pg_proc
            WHERE pronamespace = 'rag'::regnamespace
            UNION ALL SELECT 'pg_class'::regclass, oid FROM pg_class
            WHERE relnamespace = 'rag'::regnamespace
            UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint
            WHERE connamespace = 'rag'::regnamespace
            UNION ALL SELECT 'pg_attrdef'::regclass, d.oid FROM pg_attrdef AS d
                JOIN pg_class AS c ON c.oid = d.adrelid
            WHERE c.relnamespace = 'rag'::regnamespace
        )
        SELECT pg_describe_object(d.classid, d.objid, 0), pg_describe_object(d.refclassid,
            d.refobjid, 0)
        FROM ours AS o JOIN pg_depend AS d ON d.classid = o.class AND d.objid = o.oid,
        LATERAL pg_identify_object(d.refclassid, d.refobjid, 0) AS i
        WHERE d.refclassid NOT IN ('pg_namespace'::regclass, 'pg_extension'::regclass,
            'pg_language'::regclass,
                                   'pg_am'::regclass, 'pg_trigger'::regclass)
            AND i.schema IS DISTINCT FROM 'rag' AND i.schema IS DISTINCT FROM 'pg_catalog'
            -- PostgreSQL 16 does not count the array of a type to the type's extension.
            AND NOT EXISTS (SELECT FROM pg_depend AS x WHERE x.classid = d.refclassid
                            AND x.objid IN (d.refobjid, (SELECT t.typelem FROM pg_type AS t
                                            WHERE d.refclassid = 'pg_type'::regclass
                                                AND t.oid = d.refobjid))
                            AND x.refclassid = 'pg_extension'::regclass AND x.deptype = 'e')
        """
    ).fetchall()
    assert rows == []


def test_functions_without_a_path_write_every_name_in_full(connection: Connection) -> None:
    rows = connection.execute(
        """SELECT proname, prosrc FROM pg_proc JOIN pg_language AS l ON l.oid = prolang
           WHERE pronamespace = 'rag'::regnamespace AND lanname = 'plpgsql'
               AND NOT EXISTS (SELECT FROM unnest(proconfig) AS c WHERE c LIKE 'search_path=%')"""
    ).fetchall()
    assert len(rows) == 8
    for name, source in rows:
        code = re.sub(r"--[^\n]*|'(?:[^']|'')*'", "", source)
        code = re.sub(r"OPERATOR\(pg_catalog\.[^)]+\)", "", code)
        code = re.sub(r":=|=>|::pg_catalog|\b(?:ERRCODE|HINT) =", "", code)
        assert (
            re.findall(r"(?<![\w.])(?!AND\b|OR\b|ANY\b|LEAST\b|CALL\b|IN\b)\w+\s*\(", code) == []
        ), name
        assert re.findall(r"[-+*/<>=~!@#%^&|?]+|\b(?:LIKE|BETWEEN|SIMILAR)\b", code) == [], name
        assert re.findall(r"\bIN\s*\((?!SELECT)", code) == [], name
        types = re.findall(r"^    _\w+ ([\w .]+);|::([\w.]+)", code, re.MULTILINE)
        assert all(
            (one or other).startswith(
                ("pg_catalog.", "bigint", "integer", "double precision", "record")
            )
            for one, other in types
        ), name


def test_columns_and_arguments_are_named_in_the_words_of_the_field(connection: Connection) -> None:
    rows = connection.execute(
        """SELECT c.relname || '.' || a.attname, a.attname::text
           FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
           WHERE c.relnamespace = 'rag'::regnamespace AND a.attnum > 0
           UNION
           SELECT p.proname || '.' || n.name, n.name
           FROM pg_proc AS p, unnest(p.proargnames) AS n (name)
           WHERE p.pronamespace = 'rag'::regnamespace"""
    ).fetchall()
    assert len(rows) > 500
    assert [where for where, name in rows if is_own(name)] == []
