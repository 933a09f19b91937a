"""rag.doctor: each check is ok on a sound database, and finds what is wrong."""

import os
from typing import Any

import psycopg
import pytest
from sql_calls import FOLLOW
from typer.testing import CliRunner

from rag_pg.cli.app import app

Connection = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def collection(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    connection.execute(
        """SELECT rag.put_chunks('c', 'a', '[{"content": "one", "embedding": [1, 0, 0]},
                                            {"content": "two", "embedding": [0, 1, 0]}]')"""
    )


def found(connection: Connection) -> dict[str, tuple[str, str, str]]:
    """What is not ok: status, detail and remedy by check."""
    rows = connection.execute("SELECT * FROM rag.doctor()").fetchall()
    assert all(remedy for _, status, _, remedy in rows if status != "ok")
    return {
        check: (status, detail, remedy) for check, status, detail, remedy in rows if status != "ok"
    }


def heal(connection: Connection, check: str) -> None:
    """Run the SQL of the remedy, word for word."""
    remedy = found(connection)[check][2]
    connection.execute(remedy.removeprefix("run ").removesuffix(" as the owner").encode())
    assert check not in found(connection)


def test_a_sound_database_has_nothing_wrong(connection: Connection, dsn: str) -> None:
    assert found(connection) == {}
    checks = connection.execute("SELECT * FROM rag.doctor()").fetchall()
    assert len(checks) == 30
    result = CliRunner().invoke(app, ["doctor", "--dsn", dsn])
    assert result.exit_code == 0
    assert "chunks without vectors" in result.output


def test_dead_jobs_fail_and_name_the_last_error(connection: Connection, dsn: str) -> None:
    connection.execute("SELECT rag.put_document('c', 'b', 'text')")
    connection.execute(
        "SELECT rag.fail_job(job_id, lease, 'broken by hand', permanent => true) FROM"
        " rag.take_jobs(1)"
    )
    status, detail, remedy = found(connection)["dead jobs"]
    assert (status, detail) == ("fail", "1 of collection 'c'; the last error: broken by hand")
    assert "rag.retry_jobs('c')" in remedy
    result = CliRunner().invoke(app, ["doctor", "--json", "--dsn", dsn])
    assert result.exit_code == 1
    assert '"status": "fail"' in result.output


def test_jobs_that_nobody_takes_are_a_warning(connection: Connection) -> None:
    connection.execute("SELECT rag.put_document('c', 'b', 'text')")
    assert found(connection) == {}
    connection.execute("UPDATE rag.jobs SET run_at = now() - interval '1 hour'")
    status, detail, remedy = found(connection)["waiting jobs"]
    assert status == "warn" and detail.startswith("1 of collection 'c' are due")
    assert "rag-pg worker" in remedy


def test_chunks_without_vectors_are_found_and_healed(connection: Connection) -> None:
    connection.execute(
        "DELETE FROM rag.embeddings WHERE chunk_id = (SELECT min(chunk_id) FROM rag.chunks)"
    )
    assert found(connection)["chunks without vectors"][:2] == (
        "fail",
        "1 in collection 'c', and no job will embed them",
    )
    heal(connection, "chunks without vectors")
    assert connection.execute("SELECT kind FROM rag.jobs").fetchall() == [("embed",)]


def test_a_collection_that_an_earlier_release_indexed_is_told(connection: Connection) -> None:
    connection.execute("UPDATE rag.collections SET index_format = 0")
    status, detail, remedy = found(connection)["stored formats"]
    assert status == "warn" and "new collection" in remedy
    assert detail == "collection 'c' was indexed in format 0, this release has 1"


def test_orphans_are_found_and_healed(connection: Connection) -> None:
    connection.execute("DELETE FROM rag.documents")
    assert found(connection)["chunks without documents"][:2] == ("fail", "2 in collection 'c'")
    heal(connection, "chunks without documents")
    assert connection.execute("SELECT count(*) FROM rag.embeddings").fetchone() == (0,)
    connection.execute(
        "INSERT INTO rag.embeddings SELECT space_id, 99, '[1, 0, 0]' FROM rag.spaces"
    )
    assert found(connection)["vectors without chunks"][:2] == ("fail", "1 in collection 'c'")
    heal(connection, "vectors without chunks")
    connection.execute(
        """SELECT rag.put_document('c', 'kept', 'text'),
                  rag.keep_original('c', 'kept', 'a.txt', 'xy');
           INSERT INTO rag.originals
               (collection_id, document_id, file_name, media_type, size, sha256, data)
           SELECT o.collection_id, gen_random_uuid(), 'b.txt', o.media_type, o.size, o.sha256,
               o.data FROM rag.originals AS o"""
    )
    assert found(connection)["files without documents"][:2] == ("fail", "1 in collection 'c'")
    heal(connection, "files without documents")
    assert connection.execute("SELECT file_name FROM rag.originals").fetchall() == [("a.txt",)]


def test_default_privileges_open_no_partition(connection: Connection) -> None:
    role = f"reads_{os.getpid()}"
    connection.execute(f"CREATE ROLE {role}".encode())
    try:
        connection.execute(
            f"""ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO {role}, PUBLIC;
                SELECT rag.create_collection('d', 'none', 3),
                       rag.create_space('d', 'other', 3)""".encode()
        )
        assert found(connection) == {}
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA rag TO {role}".encode())
        status, detail, remedy = found(connection)["schema rights"]
        assert (status, detail.partition(",")[0]) == ("warn", f"{role} has rights on partitions")
        connection.execute(remedy.partition(";")[0].encode())
        assert found(connection) == {}
    finally:
        connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


def test_a_missing_index_is_found_and_healed(connection: Connection) -> None:
    (space,) = connection.execute("SELECT space_id FROM rag.spaces").fetchone() or (0,)
    connection.execute(f"DROP INDEX rag.embeddings_{space}_hnsw".encode())
    assert found(connection)["vector index"][1] == "the index of collection 'c' is missing"
    heal(connection, "vector index")
    connection.execute(
        "SELECT rag.create_collection('e', 'none', 3, index_options => '{\"kind\": \"exact\"}')"
    )
    assert found(connection) == {}


def test_broken_sources_and_missing_triggers_are_found(connection: Connection) -> None:
    connection.execute(
        """CREATE TABLE notes (id integer PRIMARY KEY, body text, lang text) PARTITION BY RANGE
           (id);
           CREATE TABLE notes_1 PARTITION OF notes FOR VALUES FROM (0) TO (10);
           INSERT INTO notes VALUES (1, 'text', 'klingon');
           SELECT rag.attach_source('notes', 'c', '{body}', language => 'lang')"""
    )
    connection.execute("CALL rag.sync_source('notes')")
    status, detail, _ = found(connection)["rows of sources"]
    assert status == "warn" and detail.startswith("1 rows of public.notes failed; the last: row")
    connection.execute(
        "UPDATE notes SET lang = NULL; SELECT rag.attach_source('notes', 'c', '{body}')"
    )
    connection.execute("CALL rag.sync_source('notes')")
    assert "rows of sources" not in found(connection)
    connection.execute("CREATE TABLE notes_2 PARTITION OF notes FOR VALUES FROM (10) TO (20)")
    status, detail, _ = found(connection)["sources without triggers"]
    assert status == "warn" and "partition public.notes_2 of public.notes" in detail
    connection.execute("SELECT rag.attach_source('notes', 'c', '{body}')")
    assert "sources without triggers" not in found(connection)
    connection.execute(f"ALTER TABLE notes DROP body; {FOLLOW}")
    status, detail, _ = found(connection)["broken sources"]
    assert status == "fail" and "has no column body" in detail


def test_fields_to_declare_are_named_with_the_statement(connection: Connection) -> None:
    def advice() -> list[tuple[Any, ...]]:
        rows = connection.execute(
            """SELECT status, detail, remedy FROM rag.doctor()
               WHERE check_name = 'fields to declare'"""
        )
        return rows.fetchall()

    fields = """jsonb_build_object(
        'year', 2000 + mod(g, 25), 'day', '2024-01-01'::date + mod(g, 90)::integer,
        'lang', 'en', 'flag', mod(g, 2),
        'mixed', CASE WHEN mod(g, 2) = 0 THEN '"x"' ELSE to_jsonb(g) END,
        'tags', jsonb_build_array(g), 'author', jsonb_build_object('v1.0', g),
        'text', 'number ' || g, 'none', NULL)"""
    insert = f"""INSERT INTO rag.chunks SELECT 1, g, gen_random_uuid(), 0, NULL, NULL, '', 'c', '',
        {fields}, '', NULL, '', 0
        FROM generate_series(%s::bigint, %s) AS g"""
    connection.execute("DELETE FROM rag.chunks")
    connection.execute(insert.encode(), [1, 9_999])
    assert advice() == [("ok", "none found", None)]  # too few to matter
    connection.execute(insert.encode(), [10_000, 10_000])
    found = advice()
    assert [(status, remedy) for status, _, remedy in found] == [
        ("ok", "SELECT rag.index_field('c', E'author.v1\\\\.0', 'numeric')"),
        ("ok", "SELECT rag.index_field('c', 'day', 'timestamptz')"),
        ("ok", "SELECT rag.index_field('c', 'year', 'numeric')"),
    ]
    assert "'day' of collection 'c' holds dates, \"2024-01-" in found[1][1]
    assert "'year' of collection 'c' holds numbers, 2000 to 2024;" in found[2][1]
    for _, _, remedy in found:
        connection.execute(remedy.encode())
    assert advice() == [("ok", "none found", None)]


def test_a_spend_cap_that_is_reached_is_a_warning(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('g', 'gemini:one', 3)")
    connection.execute("SELECT rag.put_document('g', 'a', 'text')")
    connection.execute("SELECT rag.set_budget('gemini', 60, spend_cap => 1.5, token_price => 0.1)")
    assert found(connection) == {}
    connection.execute("SELECT rag.take_budget('gemini', 1, 15000000)")
    status, detail, remedy = found(connection)["spend caps"]
    assert status == "warn"
    assert (
        detail == "the spend cap of gemini is reached: 1.5000 of 1.5 units (day); waiting jobs: 1"
    )
    statement, _, otherwise = remedy.rpartition(", ")
    assert otherwise == "or wait until midnight UTC"
    connection.execute(statement.encode())
    assert found(connection) == {}
    budget = connection.execute(
        "SELECT requests_per_minute, tokens_per_minute, spend_cap FROM rag.list_budgets()"
    )
    assert budget.fetchall() == [(60, None, 3)]


def test_a_session_that_holds_up_merges_is_named(connection: Connection, dsn: str) -> None:
    with psycopg.connect(dsn) as other:
        other.execute("SELECT pg_advisory_lock(rag._keyword_lock(1))")
        assert "keyword merges" not in found(connection)  # nothing waits yet
        connection.execute(
            """SELECT rag.put_chunks('c', 'many',
               jsonb_agg(jsonb_build_object('content', 'word ' || g, 'embedding',
                   '[1, 0, 0]'::jsonb)))
               FROM generate_series(1, 1100) AS g"""
        )
        status, detail, remedy = found(connection)["keyword merges"]
        assert status == "warn"
        assert f"session {other.info.backend_pid} " in detail and "'c'" in detail
        assert f"pg_terminate_backend({other.info.backend_pid})" in remedy
    connection.execute("CALL rag.maintain()")
    assert "keyword merges" not in found(connection)


def test_functions_that_are_doubled_unknown_or_missing_are_named(connection: Connection) -> None:
    connection.execute("CREATE FUNCTION rag.version(text) RETURNS text LANGUAGE sql RETURN $1")
    assert found(connection)["functions"] == (
        "fail",
        "rag.version is there 2 times, so calls of it may fail or find the wrong one:"
        " rag.version(); rag.version(text)",
        'run "rag-pg db upgrade"',
    )
    connection.execute("DROP FUNCTION rag.version(text)")
    connection.execute("CREATE AGGREGATE rag.my_sum(int) (SFUNC = int4pl, STYPE = int)")
    status, detail, remedy = found(connection)["functions"]
    assert (status, detail) == ("fail", "rag.my_sum(integer) is not of rag_pg")
    assert "another schema" in remedy
    connection.execute("DROP AGGREGATE rag.my_sum(int)")
    connection.execute("DROP FUNCTION rag.snippet")
    assert found(connection)["functions"][1] == "rag.snippet is missing"


def test_dead_rows_and_stale_statistics_name_the_statement_that_mends_them(
    connection: Connection,
) -> None:
    counted = "SELECT pg_stat_force_next_flush()"
    connection.execute(
        """ALTER TABLE rag.keyword_languages SET (autovacuum_enabled = off);
           INSERT INTO rag.keyword_languages SELECT 0, 'english' FROM generate_series(1, 30000)"""
    )
    connection.execute(counted)
    wrong = found(connection)
    assert wrong.keys() == {"statistics", "vacuum"}
    assert "was never analyzed and has 30000 rows" in wrong["statistics"][1]
    assert wrong["vacuum"][1] == "autovacuum is off for rag.keyword_languages"
    heal(connection, "statistics")
    connection.execute(
        """WITH dead AS (SELECT k.ctid FROM rag.keyword_languages AS k LIMIT 20000)
           DELETE FROM rag.keyword_languages AS k USING dead AS s WHERE k.ctid = s.ctid"""
    )
    connection.execute(counted)
    wrong = found(connection)
    assert wrong.keys() == {"bloat", "statistics", "vacuum"}
    assert wrong["bloat"][1].startswith("rag.keyword_languages has 20000 dead rows beside 10000")
    heal(connection, "bloat")
    heal(connection, "vacuum")
    assert found(connection) == {}


def test_settings_that_do_not_fit_are_told_with_what_mends_them(connection: Connection) -> None:
    connection.execute("SET effective_cache_size = '8kB'")
    connection.execute(
        """SELECT rag.put_chunks('c', 'b', '[{"content": "three", "embedding": [0, 0, 1]}]')"""
    )
    status, detail, remedy = found(connection)["memory"]
    assert status == "warn" and "effective_cache_size says that 8192 bytes is cached" in detail
    assert "ALTER SYSTEM SET effective_cache_size = " in remedy
