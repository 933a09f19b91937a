"""`rag-pg db check` after dumps and restores, and beside tables that somebody damaged."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sql_calls import FOLLOW

from rag_pg import Rag, RagError, SchemaMismatch
from rag_pg.db import schema
from rag_pg.db.connect import connect
from rag_pg.db.database import Database
from rag_pg.db.embedded import EmbeddedServer
from rag_pg.db.schema.requirements import ensure_vector
from rag_pg.db.schema.revisions import run_revisions
from rag_pg.db.schema.transaction import transaction

NewDatabase = Callable[..., str]
Program = Callable[..., None]


def run(dsn: str, *statements: str) -> list[Any]:
    with connect(dsn, autocommit=True) as connection:
        rows: list[Any] = []
        for statement in statements:
            cursor = connection.execute(statement.encode())
            rows = cursor.fetchall() if cursor.description else []
        return rows


FILL = (
    "SELECT rag.create_collection('docs', 'none', 3)",
    """SELECT rag.put_chunks('docs', 'a' || g,
           format('[{"content": "red fish %s", "embedding": [1, %s, 0]}]', g, g)::jsonb,
           metadata => jsonb_build_object('year', 2000 + g)) FROM generate_series(1, 9) AS g""",
    "SELECT rag.index_field('docs', 'year', 'numeric')",
    "SELECT rag.create_collection('gone', 'none', 3)",
    "SELECT rag.drop_collection('gone')",
    "SELECT rag.create_space('docs', 'second', 5000)",
    "CREATE TABLE pages (id int PRIMARY KEY, body text)",
    "INSERT INTO pages VALUES (1, 'blue bird')",
    "SELECT rag.attach_source('pages', 'docs', content => '{body}')",
    FOLLOW,
)
SEARCH = """SELECT uri, round(score::numeric, 6) FROM rag.search('docs', 'fish 7', '[1, 7, 0]', 5,
            metadata_filter => '{"year": {"$gte": 2003}}')"""


@pytest.fixture
def program(server_dsn: str) -> Program:
    """Run one of the server's own programs: program("pg_dump", …)."""
    version = int(run(server_dsn, "SHOW server_version_num")[0][0]) // 10000
    server = EmbeddedServer(Path(), postgres_version=version)

    def call(name: str, *arguments: str | Path, fails: bool = False) -> None:
        done = subprocess.run(
            [server.program(name), *map(str, arguments)], capture_output=True, text=True
        )
        assert bool(done.returncode) == fails, done.stderr[:2000]

    return call


def begin(rag: Rag) -> None:
    run(str(rag.dsn), *FILL)


@pytest.fixture
def filled(dsn: str) -> str:
    return dsn


def used(dsn: str) -> None:
    """A restored database is what it was, and goes on."""
    assert schema.check(dsn) == []
    run(
        dsn,
        "UPDATE pages SET body = 'green bird'",
        FOLLOW,
        "SELECT rag.create_collection('next', 'none', 3)",
        """SELECT rag.put_chunks('docs', 'new',
           '[{"content": "brand new", "embedding": [1, 1, 1]}]')""",
    )
    assert run(dsn, "SELECT content FROM rag.documents WHERE uri LIKE '%/1'") == [("green bird",)]
    assert run(dsn, "SELECT uri FROM rag.search_keyword('docs', 'brand')") == [("new",)]
    schema.upgrade(dsn)
    assert schema.check(dsn) == []


@pytest.mark.parametrize(
    "kind",
    [
        "other owner",
        *(pytest.param(kind, marks=pytest.mark.minutes) for kind in ("custom", "plain", "clean")),
    ],
)
def test_a_restored_database_checks_clean(
    filled: str, new_database: NewDatabase, program: Program, tmp_path: Path, kind: str
) -> None:
    """In `make test` by who owns least; a plain dump is read by the copies of the schema below, a
    dump over an installation by the one over itself."""
    before = run(filled, SEARCH)
    assert len(before) == 5
    dsn = new_database()
    dump = tmp_path / "dump"
    if kind == "plain":
        program("pg_dump", "-f", dump, filled)
        program("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-f", dump, "-d", dsn)
    elif kind == "other owner":
        name = sql.Identifier(str(conninfo_to_dict(dsn)["dbname"])).as_string()
        run(dsn, "CREATE EXTENSION vector", "CREATE ROLE restorer LOGIN",
            f"ALTER DATABASE {name} OWNER TO restorer")  # fmt: skip
        dsn = make_conninfo(dsn, user="restorer")
        program("pg_dump", "-Fc", "-f", dump, filled)
        program("pg_restore", "-j2", "--no-owner", "--no-acl", "--no-comments", "-d", dsn, dump)
    elif kind == "clean":  # over another installation
        schema.upgrade(dsn)
        program("pg_dump", "-Fc", "-f", dump, filled)
        program("pg_restore", "--clean", "--if-exists", "-d", dsn, dump)
    else:
        program("pg_dump", "-Fc", "-f", dump, filled)
        program("pg_restore", "-d", dsn, dump)
    assert run(dsn, SEARCH) == before
    used(dsn)


@pytest.mark.minutes
def test_schema_rag_alone_restored_checks_clean(
    filled: str, new_database: NewDatabase, program: Program, tmp_path: Path
) -> None:
    run(filled, "SELECT rag.detach_source('pages')")
    before = run(filled, SEARCH)
    dsn = new_database()
    run(dsn, "CREATE EXTENSION vector")
    program("pg_dump", "-Fc", "--schema=rag", "-f", tmp_path / "dump", filled)
    program("pg_restore", "-d", dsn, tmp_path / "dump")
    assert run(dsn, SEARCH) == before
    assert schema.check(dsn) == []


def copied(filled: str, dsn: str, program: Program, tmp_path: Path) -> None:
    program("pg_dump", "--schema-only", "-f", tmp_path / "dump", filled)
    program("psql", "-qX", "-v", "ON_ERROR_STOP=1", "-f", tmp_path / "dump", "-d", dsn)


def test_a_copy_of_the_schema_alone_is_made_usable_by_an_upgrade(
    filled: str, new_database: NewDatabase, program: Program, tmp_path: Path
) -> None:
    run(filled, "CREATE VIEW seen AS SELECT uri FROM rag.search_keyword('docs', 'fish')")
    dsn = new_database()
    copied(filled, dsn, program, tmp_path)
    assert schema.check(dsn) == ['schema rag is a copy without its rows: run "rag-pg db upgrade"']
    database = Database(dsn)
    database.open()
    try:
        with pytest.raises(
            SchemaMismatch, match='a copy without its rows; run "rag-pg db upgrade"'
        ):
            database.create_collection(
                "docs", model="none", dimensions=3, distance="cosine", language="english",
                chunking={}, index_options={},
            )  # fmt: skip
    finally:
        database.close()
    schema.upgrade(dsn)
    assert schema.check(dsn) == []
    run(dsn, *FILL[:2])
    assert len(run(dsn, "SELECT * FROM seen")) == 9
    run(dsn, "INSERT INTO pages VALUES (1, 'x')")  # its trigger went with the source
    assert run(dsn, "SELECT count(*) FROM rag.source_changes") == [(0,)]
    run(dsn, "SELECT rag.attach_source('pages', 'docs', content => '{body}')")
    used(dsn)


@pytest.mark.minutes
def test_a_copy_of_the_tables_alone_is_upgraded(new_database: NewDatabase) -> None:
    dsn = new_database()
    with transaction(dsn, "rag") as connection:
        vector = ensure_vector(connection, "rag")
        connection.exec_driver_sql("CREATE SCHEMA rag")
        run_revisions(connection, "rag", vector)
        connection.exec_driver_sql("DELETE FROM rag.alembic_version")
    schema.upgrade(dsn)
    assert schema.check(dsn) == []
    run(dsn, *FILL)


def test_a_copy_with_rows_of_no_collection_is_refused(
    filled: str, new_database: NewDatabase, program: Program, tmp_path: Path
) -> None:
    dsn = new_database()
    copied(filled, dsn, program, tmp_path)
    run(dsn, "INSERT INTO rag.keyword_changes VALUES (1, 1, 1, 1, NULL)")
    with pytest.raises(RagError, match=r"keyword_changes_1 holds rows .*DROP SCHEMA rag CASCADE"):
        schema.upgrade(dsn)
    assert run(dsn, "SELECT count(*) FROM rag.keyword_changes_1") == [(1,)]


def test_tables_of_no_version_are_refused(dsn: str) -> None:
    run(dsn, "DELETE FROM rag.alembic_version", "ALTER TABLE rag.jobs DROP COLUMN priority")
    with pytest.raises(
        RagError, match=r"tables of another program version.*DROP SCHEMA rag CASCADE"
    ):
        schema.upgrade(dsn)
    assert run(dsn, "SELECT count(*) FROM rag.installed")[0][0] > 100


@pytest.mark.minutes
def test_a_restore_over_the_installation_itself_is_told_in_one_line(
    filled: str, program: Program, tmp_path: Path
) -> None:
    """pg_restore --clean cannot drop what a partition inherits, and goes on."""
    program("pg_dump", "-Fc", "--schema=rag", "-f", tmp_path / "dump", filled)
    run(filled, "CREATE VIEW seen AS SELECT * FROM rag.search_keyword('docs', 'fish')",
        "CREATE VIEW jobs_seen AS SELECT * FROM rag.jobs")  # fmt: skip
    program("pg_restore", "--clean", "--if-exists", "-d", filled, tmp_path / "dump", fails=True)
    first, *others = schema.check(filled)
    assert re.match(r"schema rag is damaged, \d+ differences: DROP SCHEMA rag CASCADE", first)
    assert "constraint rag.jobs.jobs_pkey is missing" in others
    run(filled, "DROP SCHEMA rag CASCADE")
    program("pg_restore", "-d", filled, tmp_path / "dump")
    assert schema.check(filled) == []


def test_what_dropping_pgvector_took_away_is_told_before_and_after_an_upgrade(filled: str) -> None:
    run(filled, "DROP EXTENSION vector CASCADE")
    assert "column rag.embeddings.embedding is missing" in "\n".join(schema.check(filled))
    with pytest.raises(
        SchemaMismatch, match=r"embeddings\.embedding is missing.*nothing was changed"
    ):
        schema.upgrade(filled)
    problems = "\n".join(schema.check(filled))
    assert "column rag.embeddings.embedding is missing" in problems
    assert "column rag.keyword_postings.weights is missing" in problems


@pytest.mark.parametrize(
    "damage, problem",
    [
        ("ALTER TABLE rag.jobs DROP COLUMN priority", "column rag.jobs.priority is missing"),
        (
            "ALTER TABLE rag.jobs DROP CONSTRAINT jobs_kind",
            "constraint rag.jobs.jobs_kind is missing",
        ),
        ("ALTER TABLE rag.jobs ADD hand int", "column rag.jobs.hand is not rag_pg's"),
        (
            "ALTER TABLE rag.jobs ALTER attempts TYPE bigint",
            "column rag.jobs.attempts is bigint NOT NULL",
        ),
        (
            "ALTER TABLE rag.jobs ALTER attempts DROP NOT NULL",
            "column rag.jobs.attempts is integer DEFAULT 0, not",
        ),
        ("ALTER TABLE rag.jobs REPLICA IDENTITY NOTHING", "table rag.jobs is .*REPLICA IDENTITY n"),
        ("DROP INDEX rag.jobs_claim", "index rag.jobs_claim is missing"),
        ("CREATE UNIQUE INDEX hand ON rag.jobs (priority)", "index rag.hand is not rag_pg's"),
        ("DROP TABLE rag.budgets CASCADE", "table rag.budgets is missing"),
        ("CREATE TABLE rag.mine ()", "table rag.mine is not rag_pg's"),
        (
            "CREATE RULE hand AS ON DELETE TO rag.jobs DO INSTEAD NOTHING",
            "rule rag.jobs.hand is not rag_pg's",
        ),
        (
            "ALTER TYPE rag.candidate DROP ATTRIBUTE score CASCADE",
            "column rag.candidate.score is missing",
        ),
        ("DROP TABLE rag.chunks_1", "table rag.chunks_1 of collection 'docs' is missing"),
        (
            "ALTER TABLE rag.embeddings DETACH PARTITION rag.embeddings_1",
            "rag.embeddings_1 .*is missing|rag.embeddings_1 is not",
        ),
        (
            "UPDATE rag.collections SET collection_id = 77 WHERE name = 'docs'",
            "documents_77 .* is missing",
        ),
        (
            (
                "UPDATE pg_index SET indisvalid = false WHERE indexrelid ="
                " 'rag.embeddings_1_hnsw'::regclass"
            ),
            "index rag.embeddings_1_hnsw is invalid: REINDEX",
        ),
        (
            "DROP INDEX rag.embeddings_1_hnsw",
            r"embeddings_1_hnsw .*is missing: SELECT rag.build_vector_index\('docs'\)",
        ),
        (
            (
                "DO $$ BEGIN EXECUTE format('DROP INDEX rag.%I', rag._field_index('documents', 1,"
                " 'year')); END $$"
            ),
            (
                r"index rag.documents_1_field_\w+ of collection 'docs' is missing: SELECT"
                r" rag.index_field\('docs', 'year', 'numeric'\)"
            ),
        ),
    ],
)
@pytest.mark.few(5)
def test_damaged_tables_are_found(filled: str, damage: str, problem: str) -> None:
    assert schema.check(filled) == []
    run(filled, damage)
    problems = schema.check(filled)
    assert any(re.search(problem, line) for line in problems), problems


def test_an_index_of_the_administrators_own_is_no_problem(filled: str) -> None:
    run(filled, "CREATE INDEX ON rag.documents (title)")
    assert schema.check(filled) == []


def test_an_upgrade_mends_no_missing_columns(filled: str) -> None:
    dsn = filled
    run(dsn, "DROP EXTENSION vector CASCADE")
    with pytest.raises(
        SchemaMismatch, match="rag.embeddings.embedding is missing: schema rag is"
    ) as caught:
        schema.upgrade(dsn)
    assert "\n" not in str(caught.value) and "restore it from a backup" in str(caught.value)
    with pytest.raises(SchemaMismatch, match="this database has no pgvector"):
        Database(dsn).open()
    with (
        psycopg.connect(dsn, autocommit=True) as looking,
        pytest.raises(SchemaMismatch, match="is missing: schema rag is damaged"),
    ):
        schema.ensure(dsn, looking)
    assert run(dsn, "SELECT count(*) FROM pg_extension WHERE extname = 'vector'") == [(0,)]


def test_a_collection_without_its_space_is_told_in_one_line(filled: str) -> None:
    dsn = filled
    run(dsn, "DELETE FROM rag.spaces")
    for statement in (
        "SELECT rag.search('docs', 'fish', '[1, 7, 0]')",
        "SELECT rag.search_vector('docs', '[1, 7, 0]')",
        "SELECT rag.more_like('docs', 1)",
        "SELECT rag.get_collection('docs')",
        "SELECT rag.explain_search('docs', 'fish')",
    ):
        with pytest.raises(psycopg.Error, match="'docs' has no active embedding space") as caught:
            run(dsn, statement)
        assert caught.value.sqlstate == "RG006" and caught.value.diag.message_hint
    found = run(dsn, "SELECT detail FROM rag.doctor() WHERE status = 'fail'")
    assert ("collection 'docs' has no active embedding space",) in found
    run(dsn, "SELECT rag.drop_collection('docs')")
