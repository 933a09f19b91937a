"""Installing and upgrading: any database, any search_path, many at once, nothing by half."""

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rag_pg import DatabaseUnavailable, SchemaMismatch
from rag_pg.db import schema
from rag_pg.db.database import Database
from rag_pg.db.schema import requirements
from rag_pg.db.schema.functions import apply_functions
from rag_pg.db.schema.release import Installed, Release, newer_release
from rag_pg.db.schema.requirements import ensure_vector
from rag_pg.db.schema.revisions import newest_revision
from rag_pg.db.schema.transaction import transaction
from rag_pg.version import __version__


def run(dsn: str, *statements: str) -> list[Any]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows: list[Any] = []
        for statement in statements:
            cursor = connection.execute(statement.encode())
            rows = cursor.fetchall() if cursor.description else []
        return rows


def smoke(dsn: str) -> list[Any]:
    """A collection's life in SQL; returns the uris found."""
    return run(
        dsn,
        "SELECT rag.create_collection('s', 'none', 3)",
        """SELECT rag.put_chunks('s', 'a', '[{"content": "red fish", "embedding": [1, 0, 0]},
                                            {"content": "blue fish", "embedding": [0, 1, 0]}]')""",
        "SELECT content FROM rag.search('s', 'blue', '[0, 1, 0]')",
    )


def test_a_fresh_install_checks_clean_and_a_second_upgrade_changes_nothing(
    new_database: Callable[..., str],
) -> None:
    dsn = new_database()
    assert schema.check(dsn) == ['schema rag is not installed: run "rag-pg db upgrade"']
    assert schema.upgrade(dsn) == schema.upgrade(dsn)
    assert schema.check(dsn) == []
    assert smoke(dsn) == [("blue fish",), ("red fish",)]


def test_opening_an_installed_database_changes_nothing_in_it(
    new_database: Callable[..., str], template: str
) -> None:
    dsn = new_database(template)
    functions = (
        "SELECT oid, xmin::text FROM pg_proc WHERE pronamespace = 'rag'::regnamespace ORDER BY oid"
    )
    before = run(dsn, functions)
    with psycopg.connect(dsn, autocommit=True) as looking:
        schema.ensure(dsn, looking)
    assert run(dsn, functions) == before
    newest = newest_revision()
    assert run(dsn, "SELECT version_num FROM rag.alembic_version") == [(newest,)]
    for outdated in (
        "UPDATE rag.installed SET digest = 'x' WHERE kind = 'release'",
        "UPDATE rag.installed SET name = '0.0.9' WHERE kind = 'release'",
        "DELETE FROM rag.installed WHERE kind = 'release'",
        "ALTER EXTENSION vector SET SCHEMA pg_catalog",
    ):
        run(dsn, outdated)
        with psycopg.connect(dsn, autocommit=True) as looking:
            schema.ensure(dsn, looking)
        assert schema.check(dsn) == [], outdated
        assert run(dsn, functions) != before
        before = run(dsn, functions)


@pytest.mark.minutes
def test_four_installs_at_once_all_succeed(new_database: Callable[..., str]) -> None:
    dsn = new_database()
    errors: list[BaseException] = []

    def install() -> None:
        try:
            schema.upgrade(dsn)
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=install) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert schema.check(dsn) == []


def test_it_lives_beside_an_application_and_another_alembic(
    new_database: Callable[..., str],
) -> None:
    dsn = new_database()
    run(
        dsn,
        "CREATE TABLE alembic_version (version_num text)",
        "INSERT INTO alembic_version VALUES ('theirs')",
        "CREATE TABLE documents (id int)",
        "CREATE TABLE chunks (id int)",
    )
    schema.upgrade(dsn)
    assert run(dsn, "SELECT version_num FROM public.alembic_version") == [("theirs",)]
    assert smoke(dsn) == [("blue fish",), ("red fish",)]


def test_pgvector_in_another_schema_under_an_odd_search_path(
    new_database: Callable[..., str],
) -> None:
    dsn = new_database()
    home = sql.Identifier('it\'s my "ext" :y 100%s $$ {x} \\ % Größe').as_string()
    name = conninfo_to_dict(dsn)["dbname"]
    run(
        dsn,
        f"CREATE SCHEMA {home}",
        f"CREATE EXTENSION vector SCHEMA {home}",
        "CREATE SCHEMA app",
        f'ALTER DATABASE "{name}" SET search_path TO app, pg_catalog',
    )
    schema.upgrade(dsn)
    assert schema.check(dsn) == []
    assert smoke(dsn) == [("blue fish",), ("red fish",)]
    database = Database(dsn)
    database.open()
    try:
        counts = database.load_chunks(
            "s", [{"uri": "b", "content": "green fish", "embedding": [0, 0, 1]}], 3
        )
        assert counts.loaded_chunks == 1
        assert run(dsn, "SELECT rag.build_vector_index('s')") == [(False,)]
        found = run(dsn, "SELECT uri FROM rag.search_vector('s', '[0, 0, 1]', 1, exact_below => 0)")
        assert found == [("b",)]
    finally:
        database.close()


def test_moving_pgvector_is_noticed_and_mended(dsn: str) -> None:
    run(dsn, "CREATE SCHEMA elsewhere", "ALTER EXTENSION vector SET SCHEMA elsewhere")
    assert schema.check(dsn) == [
        'pgvector was moved from schema public to elsewhere: run "rag-pg db upgrade"'
    ]
    schema.upgrade(dsn)
    assert schema.check(dsn) == []
    assert smoke(dsn) == [("blue fish",), ("red fish",)]


def test_an_older_release_is_upgraded_where_pgvector_was_on_the_path(dsn: str) -> None:
    run(dsn, "ALTER FUNCTION rag.put_chunks SET search_path = pg_catalog, rag, public, pg_temp")
    schema.upgrade(dsn)
    (path,) = run(
        dsn, "SELECT DISTINCT unnest(proconfig) FROM pg_proc WHERE proname = 'put_chunks'"
    )
    assert path == ("search_path=pg_catalog, rag, pg_temp",)


def owner_of(dsn: str, role: str) -> str:
    """Make `role` the owner of the database and return its connection string."""
    name = conninfo_to_dict(dsn)["dbname"]
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        connection.execute(
            sql.SQL("ALTER DATABASE {} OWNER TO {}").format(
                sql.Identifier(str(name)), sql.Identifier(role)
            )
        )
    return make_conninfo(dsn, user=role)


def test_an_owner_who_is_no_superuser_can_install_and_work(
    new_database: Callable[..., str],
) -> None:
    dsn = new_database()
    run(dsn, "CREATE EXTENSION vector")
    owner = owner_of(dsn, "plain_owner")
    schema.upgrade(owner)
    assert schema.check(owner) == []
    assert smoke(owner) == [("blue fish",), ("red fish",)]
    run(owner, "SELECT rag.drop_collection('s')", "SELECT rag.remove_dropped()")


def test_a_role_without_rights_gets_one_clear_line(new_database: Callable[..., str]) -> None:
    dsn = new_database()
    run(dsn, "CREATE EXTENSION vector", "CREATE ROLE plain_guest LOGIN")
    with pytest.raises(DatabaseUnavailable, match="permission denied.*owner of the database"):
        schema.upgrade(make_conninfo(dsn, user="plain_guest"))


def test_a_database_without_the_schema_says_what_to_run(new_database: Callable[..., str]) -> None:
    with pytest.raises(SchemaMismatch, match="has no schema rag yet.*rag-pg db upgrade"):
        Database(new_database()).open()


def test_a_function_that_had_another_result_is_replaced(dsn: str) -> None:
    run(
        dsn,
        "DROP FUNCTION rag.doctor()",
        "CREATE FUNCTION rag.doctor() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "DROP FUNCTION rag.put_document",
        """CREATE FUNCTION rag.put_document(text, text, text, text, jsonb, text, regconfig)
           RETURNS void
           LANGUAGE sql AS 'SELECT'""",
    )
    schema.upgrade(dsn)
    assert schema.check(dsn) == []
    assert smoke(dsn) == [("blue fish",), ("red fish",)]


def test_functions_whose_bodies_name_each_other_are_replaced_and_removed(dsn: str) -> None:
    run(
        dsn,
        "CREATE FUNCTION rag.old_a() RETURNS integer LANGUAGE sql RETURN 1",
        "CREATE FUNCTION rag.old_b() RETURNS integer LANGUAGE sql RETURN rag.old_a()",
        "CREATE FUNCTION rag.old_c() RETURNS integer LANGUAGE sql RETURN rag.old_b()",
        # One with another result, which others of the release name in parsed bodies.
        "DROP FUNCTION rag._rrf(bigint, integer)",
        "CREATE FUNCTION rag._rrf(bigint, integer) RETURNS text LANGUAGE sql RETURN 'old'",
        "CREATE FUNCTION rag.old_d() RETURNS text LANGUAGE sql RETURN rag._rrf(1, 1)",
    )
    schema.upgrade(dsn)
    assert schema.check(dsn) == []
    assert smoke(dsn) == [("blue fish",), ("red fish",)]


@pytest.mark.parametrize(
    "made",
    [
        "CREATE FUNCTION rag.search_vector(text, text, text) RETURNS text LANGUAGE sql RETURN $1;"
        " CREATE FUNCTION rag.helper_of_a_revision() RETURNS text LANGUAGE sql RETURN 'a';"
        " CREATE PROCEDURE rag.version(text) LANGUAGE sql AS 'SELECT';"
        " CREATE AGGREGATE rag.version(int) (SFUNC = int4pl, STYPE = int);"
        " CREATE AGGREGATE rag.stranger(*) (SFUNC = int8inc, STYPE = bigint, INITCOND = 0);"
        " ALTER FUNCTION rag.doctor() RENAME TO search",
        "DROP FUNCTION rag.version(); CREATE PROCEDURE rag.version() LANGUAGE sql AS 'SELECT';"
        " DROP PROCEDURE rag.maintain();"
        " CREATE FUNCTION rag.maintain() RETURNS int LANGUAGE sql RETURN 1;"
        " CREATE OR REPLACE FUNCTION rag._rrf(rank_in_list bigint, k integer DEFAULT 60)"
        " RETURNS double precision LANGUAGE sql IMMUTABLE RETURN 1",
        # They make a call in a parsed body of the files ambiguous; the last fits one better.
        "CREATE FUNCTION rag._field_value(text, text[], text DEFAULT '') RETURNS text"
        " LANGUAGE sql RETURN $1; CREATE FUNCTION rag._rrf(integer, integer DEFAULT 60)"
        " RETURNS double precision LANGUAGE sql RETURN 2; CREATE FUNCTION rag._rrf(bigint, bigint)"
        " RETURNS double precision LANGUAGE sql RETURN 2",
    ],
)
def test_an_upgrade_leaves_what_the_files_make_whatever_its_transaction_made(
    new_database: Callable[..., str], template: str, made: str
) -> None:
    dsn = new_database(template)
    with transaction(
        dsn, "rag"
    ) as connection:  # as a revision does, in the transaction of the files
        vector_schema = ensure_vector(connection, "rag")
        for statement in made.split("; "):
            connection.exec_driver_sql(statement)
        apply_functions(connection, vector_schema)
    assert schema.check(dsn) == []
    run(dsn, *made.split("; "))  # and when a user made it before
    assert len(schema.check(dsn)) > 0
    schema.upgrade(dsn)
    assert schema.check(dsn) == []
    assert smoke(dsn) == [("blue fish",), ("red fish",)]


def test_what_of_others_depends_on_an_old_function_is_named(dsn: str) -> None:
    run(
        dsn,
        "CREATE FUNCTION rag.old() RETURNS integer LANGUAGE sql RETURN 1",
        "CREATE SCHEMA app",
        "CREATE VIEW app.numbers AS SELECT rag.old() AS number",
    )
    with pytest.raises(SchemaMismatch, match=r"app\.numbers depends on function old"):
        schema.upgrade(dsn)
    assert run(dsn, "SELECT number FROM app.numbers") == [(1,)]
    run(dsn, "DROP VIEW app.numbers")
    schema.upgrade(dsn)
    assert schema.check(dsn) == []


def test_default_privileges_open_no_table_to_everybody(new_database: Callable[..., str]) -> None:
    dsn = new_database()
    run(
        dsn,
        *(
            f"ALTER DEFAULT PRIVILEGES GRANT ALL ON {kind} TO PUBLIC"
            for kind in ("TABLES", "SEQUENCES", "FUNCTIONS")
        ),
    )
    open_to_all = """
        SELECT c.relname, a.privilege_type FROM pg_class AS c, aclexplode(c.relacl) AS a
        WHERE c.relnamespace = 'rag'::regnamespace AND a.grantee = 0 ORDER BY 1
    """
    wanted = [("last_erasure", "SELECT"), ("ordinary_words", "SELECT")]
    for _ in range(2):
        schema.upgrade(dsn)
        assert run(dsn, open_to_all) == wanted
        run(dsn, "GRANT ALL ON ALL TABLES IN SCHEMA rag TO PUBLIC")
    schema.upgrade(dsn)
    smoke(dsn)
    assert run(dsn, open_to_all) == wanted


def test_what_of_others_depends_on_a_function_that_a_revision_drops_is_named(dsn: str) -> None:
    run(
        dsn,
        "CREATE FUNCTION rag.old() RETURNS integer LANGUAGE sql RETURN 1",
        "CREATE VIEW public.numbers AS SELECT rag.old() AS number",
    )
    with (
        pytest.raises(DatabaseUnavailable) as raised,
        transaction(dsn, "rag") as connection,
    ):
        connection.exec_driver_sql("DROP FUNCTION rag.old()")
    assert str(raised.value) == (
        "view public.numbers depends on function old(); this release has another such function;"
        " drop what depends on the old one, upgrade, and create it again"
    )


def test_check_finds_hand_patched_missing_and_foreign_functions(dsn: str) -> None:
    run(
        dsn,
        "CREATE OR REPLACE FUNCTION rag.version() RETURNS text LANGUAGE sql IMMUTABLE RETURN"
        " 'mine'",
        "CREATE FUNCTION rag.stranger() RETURNS int LANGUAGE sql RETURN 1",
        "CREATE DOMAIN rag.narrow AS int",
        "DROP FUNCTION rag._rrf(bigint, integer)",
        "UPDATE rag.installed SET digest = 'old' WHERE name = 'search/search.sql'",
    )
    problems = "\n".join(schema.check(dsn))
    assert "rag.version() was changed by hand" in problems
    assert "rag.stranger() is not rag_pg's" in problems
    assert "type rag.narrow is not rag_pg's" in problems
    assert "rag._rrf(rank_in_list bigint, k integer) is missing" in problems
    assert "sql/search/search.sql differs" in problems
    assert len(problems.splitlines()) == 5
    run(dsn, "DROP DOMAIN rag.narrow")
    schema.upgrade(dsn)
    assert schema.check(dsn) == []
    assert run(dsn, "SELECT count(*) FROM pg_proc WHERE proname = 'stranger'") == [(0,)]


def test_check_names_what_is_doubled_though_an_upgrade_wrote_it_down(dsn: str) -> None:
    run(
        dsn,
        "CREATE FUNCTION rag.version(text) RETURNS text LANGUAGE sql RETURN $1",
        "INSERT INTO rag.installed (kind, name, digest)"
        " VALUES ('function', 'rag.version(text)', '')",
    )
    assert (
        "rag.version is there 2 times, so calls of it may fail or find the wrong one:"
        ' rag.version(); rag.version(text): run "rag-pg db upgrade"' in schema.check(dsn)
    )
    schema.upgrade(dsn)
    assert schema.check(dsn) == []


def test_a_database_of_another_revision_of_that_number_is_told_what_it_lacks(
    new_database: Callable[..., str], template: str
) -> None:
    dsn = new_database(template)
    run(
        dsn,  # as a program installed it whose revision did not make these
        "ALTER TABLE rag.erasures DROP COLUMN settled_at",
        "ALTER TYPE rag.keyword_query DROP ATTRIBUTE spellings",
        "DELETE FROM rag.installed WHERE kind = 'table' AND (name LIKE '%.settled_at'"
        " OR name LIKE '%keyword_query.spellings')",
        "UPDATE rag.installed SET digest = 'another' WHERE kind = 'release'",
    )
    state = "SELECT count(*), max(xmin::text::bigint) FROM pg_proc"
    before = run(dsn, state)
    with pytest.raises(SchemaMismatch, match="one of 2.*state of development.*upgrade") as caught:
        schema.upgrade(dsn)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("column rag.erasures.settled_at is missing")
    assert run(dsn, state) == before
    run(
        dsn,
        "ALTER TABLE rag.erasures ADD COLUMN settled_at timestamptz",
        "ALTER TYPE rag.keyword_query ADD ATTRIBUTE spellings text[]",
    )
    schema.upgrade(dsn)
    assert schema.check(dsn) == []
    assert smoke(dsn) == [("blue fish",), ("red fish",)]


def test_an_older_program_refuses_a_newer_schema_and_changes_nothing(dsn: str) -> None:
    run(
        dsn,
        "UPDATE rag.installed SET name = '9.10.0' WHERE kind = 'release'",
        "UPDATE rag.alembic_version SET version_num = '9999'",
    )
    state = "SELECT count(*), max(xmin::text::bigint) FROM pg_proc"
    before = run(dsn, state)
    with pytest.raises(SchemaMismatch, match=r"of release 9\.10\.0.*nothing was chan") as caught:
        schema.upgrade(dsn)
    assert "\n" not in str(caught.value)
    with psycopg.connect(dsn, autocommit=True) as looking:
        schema.ensure(dsn, looking)
    assert run(dsn, state) == before
    (problem,) = schema.check(dsn)
    assert "install rag-pg 9.10.0 or newer" in problem
    run(dsn, "UPDATE rag.installed SET name = '0.0.9' WHERE kind = 'release'")
    with pytest.raises(SchemaMismatch, match="at revision 9999.*install a newer rag_pg"):
        schema.upgrade(dsn)


@pytest.mark.parametrize("oldest, newest, remedy", [(1, 2, "db upgrade"), (9, 12, "upgrade rag-p")])
def test_a_schema_that_does_not_serve_this_program_is_refused(
    dsn: str, oldest: int, newest: int, remedy: str
) -> None:
    for name, number in (("api_version", newest), ("min_api_version", oldest)):
        run(
            dsn,
            f"CREATE OR REPLACE FUNCTION rag.{name}() RETURNS int LANGUAGE sql IMMUTABLE"
            f" RETURN {number}",
        )
    with pytest.raises(SchemaMismatch, match=f"{newest}.*{remedy}"):
        Database(dsn).open()


def test_versions_are_ordered_by_their_numbers() -> None:
    ordered = [
        "0.1.0.dev1",
        "0.1.0rc1",
        "0.1.0rc2",
        "0.1.0",
        "0.1.1",
        "0.2.0.dev0",
        "0.2.0",
        "0.10.0",
        "1.0.0",
    ]
    for version in ordered:
        found = Installed(Release(version, ""), frozenset(), False)
        newer = ordered.index(version) > ordered.index(__version__)
        assert (newer_release(found) is not None) is newer, version


@pytest.mark.parametrize("revision", ["0001", "0022"])
def test_a_database_of_the_development_is_told_to_begin_anew(dsn: str, revision: str) -> None:
    run(
        dsn,
        f"UPDATE rag.alembic_version SET version_num = '{revision}'",
        "ALTER TABLE rag.worker_calls RENAME TO requests",
        "DELETE FROM rag.installed WHERE kind = 'table' AND name LIKE '%worker_calls%'",
    )
    state = "SELECT count(*), max(xmin::text::bigint) FROM pg_proc"
    before = run(dsn, state)
    with pytest.raises(
        SchemaMismatch, match=f"{revision} of the development.*DROP SCHEMA rag"
    ) as caught:
        schema.upgrade(dsn)
    assert "\n" not in str(caught.value)
    assert run(dsn, state) == before
    (problem,) = schema.check(dsn)
    assert str(caught.value) == f"{problem}; nothing was changed"
    run(dsn, "DROP FUNCTION rag.min_api_version()")  # which that schema had not
    with pytest.raises(SchemaMismatch, match='schema rag is not what.*"rag-pg db check" to see'):
        Database(dsn).open()


def test_an_unreachable_server_is_one_line_without_the_password() -> None:
    dsn = "postgresql://someone:hunter2@127.0.0.1:1/nothing"
    for attempt in (lambda: schema.upgrade(dsn), lambda: Database(dsn).open()):
        with pytest.raises(DatabaseUnavailable, match="check RAG_PG_DSN") as caught:
            attempt()
        assert "hunter2" not in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_server_that_is_too_old_is_named(
    new_database: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "OLDEST_SERVER", 990000)
    with pytest.raises(DatabaseUnavailable, match=r"PostgreSQL 1\d\.\d+.* is too old"):
        schema.upgrade(new_database())


def test_a_server_without_pgvector_is_told_how_to_get_it(
    new_database: Callable[..., str],
) -> None:
    dsn = new_database()
    if run(dsn, "SHOW server_version_num")[0][0] < "180000":
        pytest.skip("no engine: only PostgreSQL 18 can hide an extension (extension_control_path)")
    hidden = make_conninfo(dsn, options="-c extension_control_path=/nowhere")
    with pytest.raises(DatabaseUnavailable, match="no pgvector; install it"):
        schema.upgrade(hidden)
    assert run(dsn, "SELECT to_regnamespace('rag')") == [(None,)]


def test_an_old_pgvector_is_named(
    new_database: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "OLDEST_PGVECTOR", (99, 0))
    with pytest.raises(DatabaseUnavailable, match="ALTER EXTENSION vector UPDATE"):
        schema.upgrade(new_database())


def test_a_schema_in_which_others_may_create_is_refused(new_database: Callable[..., str]) -> None:
    dsn = new_database()
    run(dsn, "CREATE EXTENSION vector", "CREATE ROLE other_hand")
    owner = owner_of(dsn, "rag_installer")
    schema.upgrade(owner)
    run(dsn, "GRANT CREATE ON SCHEMA rag TO other_hand")
    with pytest.raises(DatabaseUnavailable, match="REVOKE CREATE ON SCHEMA rag FROM other_hand"):
        schema.upgrade(owner)
    doctor = "SELECT status, remedy FROM rag.doctor() WHERE status <> 'ok'"
    (found,) = run(owner, doctor)
    assert found == ("fail", "REVOKE CREATE ON SCHEMA rag FROM other_hand")
    run(dsn, found[1], "ALTER SCHEMA rag OWNER TO other_hand")
    assert run(dsn, doctor) == [("fail", "ALTER SCHEMA rag OWNER TO rag_installer")]
    run(dsn, "ALTER SCHEMA rag OWNER TO rag_installer")
    schema.upgrade(owner)
    assert run(owner, doctor) == []


def test_a_schema_that_another_role_made_first_is_refused(
    new_database: Callable[..., str],
) -> None:
    dsn = new_database()
    run(dsn, "CREATE ROLE squatter", "CREATE SCHEMA rag AUTHORIZATION squatter")
    with pytest.raises(DatabaseUnavailable, match="role squatter may create in schema rag"):
        schema.upgrade(dsn)
    run(dsn, "ALTER SCHEMA rag OWNER TO CURRENT_USER")
    schema.upgrade(dsn)


@pytest.mark.parametrize(
    "change",
    [
        "distance = 'cosine_ops); SELECT 1; --'",
        "dimensions = 0",
        """index_options = index_options || '{"kind": "flat"}'""",
    ],
)
def test_what_reaches_a_statement_is_checked_in_the_table(
    new_database: Callable[..., str], template: str, change: str
) -> None:
    dsn = new_database(template)
    run(dsn, "SELECT rag.create_collection('c', 'none', 3)")
    with pytest.raises(psycopg.errors.CheckViolation):
        run(dsn, f"UPDATE rag.spaces SET {change}")
