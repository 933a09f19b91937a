"""A tenant's role uses its own collections by the functions of the door, and nothing else."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from psycopg.conninfo import make_conninfo
from tenancy import as_role, canary, collection, make_tenants, role, tenants_of

from rag_pg import PermissionDenied, Rag, Settings
from rag_pg.db import name_of, schema

Connection = psycopg.Connection[Any]
TENANTS = ["a", "b"]
APPLICATION, STRANGER = "app", "stranger"


def fill(connection: Connection) -> None:
    make_tenants(connection, TENANTS)
    connection.execute(f"CREATE ROLE {role(APPLICATION)} LOGIN".encode())
    connection.execute("SELECT rag.grant_tenant(%s, '*', 'writer')", [role(APPLICATION)])
    connection.execute(f"CREATE ROLE {role(STRANGER)} LOGIN".encode())
    connection.execute("SELECT rag.create_collection('nobodys', 'none', 3)")


@pytest.fixture(scope="module")
def template(new_database: Callable[..., str], rag_template: str) -> Iterator[str]:
    made = new_database(name_of(rag_template))
    with tenants_of(made, [*TENANTS, APPLICATION, STRANGER], fill) as dsn:
        yield name_of(dsn)


@pytest.fixture
def tenant(dsn: str) -> Iterator[Connection]:
    with as_role(dsn, role("a")) as opened:
        yield opened


def error(connection: Connection, statement: str, *values: object) -> tuple[Any, ...]:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(statement.encode(), values)
    diagnosis = caught.value.diag
    return caught.value.sqlstate, diagnosis.message_primary, diagnosis.message_hint


def test_who_takes_the_role_of_a_tenant_sees_no_more_than_it(dsn: str) -> None:
    """As the owner, who sees all, and as a tenant that is a member of another's role."""
    seen = "SELECT rag.visible_tenants(), array(SELECT name FROM rag.list_collections())"
    with psycopg.connect(dsn) as connection:
        assert connection.execute("SELECT rag.visible_tenants()").fetchone() == (["*"],)
        connection.execute(f"SET LOCAL ROLE {role('b')}".encode())
        assert connection.execute(seen).fetchone() == (["b"], ["docs-b"])
        with pytest.raises(psycopg.Error) as caught:
            connection.execute("SELECT uri FROM rag.search('docs-a', 'alpha')")
        assert caught.value.sqlstate == "RG002"
        connection.rollback()
        connection.execute(f"SET LOCAL ROLE {role(APPLICATION)}".encode())
        assert connection.execute(seen).fetchone() == ([], [])
        connection.execute("SELECT set_config('rag.tenant', 'a', true)")
        assert connection.execute(seen).fetchone() == (["a"], ["docs-a"])
        connection.rollback()
        connection.execute(f"GRANT {role('b')} TO {role('a')}".encode())
        connection.commit()
    with as_role(dsn, role("a")) as connection, connection.transaction():
        connection.execute(f"SET LOCAL ROLE {role('b')}".encode())
        assert connection.execute(seen).fetchone() == ([], [])
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"REVOKE {role('b')} FROM {role('a')}".encode())


def test_a_tenant_finds_its_own_and_hears_the_same_of_others_and_of_none(
    tenant: Connection,
) -> None:
    search = "SELECT uri FROM rag.search(%s, 'alpha', '[1, 0, 0]')"
    found = tenant.execute(search, [collection("a")]).fetchall()
    assert found and all(uri.startswith((canary("a"), "replaced")) for (uri,) in found)
    assert tenant.execute("SELECT name FROM rag.list_collections()").fetchall() == [("docs-a",)]
    others = [error(tenant, search, name) for name in ("docs-b", "docs-n", "nobodys")]
    assert {(code, hint) for code, _, hint in others} == {("RG002", "collections here: docs-a")}
    assert [message for _, message, _ in others] == [
        f"there is no collection '{name}'" for name in ("docs-b", "docs-n", "nobodys")
    ]


@pytest.mark.parametrize(("mode", "calls"), [("auto", 1), ("auto", 9), ("force_generic_plan", 2)])
def test_anothers_collection_costs_what_none_costs(dsn: str, mode: str, calls: int) -> None:
    """Nothing more is run: functions are counted, not timed. A plan is kept from the sixth call
    on, or where the session says so from the first."""
    counted = []
    with psycopg.connect(dsn, autocommit=True) as connection:
        if connection.info.server_version < 180000:
            pytest.skip("no engine: before PostgreSQL 18 another's row is read and left out")
        database = name_of(dsn)
        connection.execute(f"ALTER DATABASE \"{database}\" SET track_functions TO 'all'".encode())
    for name in ("docs-b", "docs-n"):
        with as_role(dsn, role("a")) as tenant, tenant.transaction():
            tenant.execute(f"SET plan_cache_mode TO {mode}".encode())
            for _ in range(calls):
                with pytest.raises(psycopg.Error), tenant.transaction():
                    tenant.execute("SELECT * FROM rag.search(%s, 'alpha')", [name])
            rows = tenant.execute(
                """SELECT sum(seq_tup_read), sum(idx_tup_fetch) FROM pg_stat_xact_all_tables
                   WHERE schemaname = 'rag' AND relname = 'collections'"""
            ).fetchone()
            calls_of = tenant.execute(
                "SELECT funcname, calls FROM pg_stat_xact_user_functions ORDER BY 1"
            ).fetchall()
            counted.append((rows, calls_of))
    assert counted[0] == counted[1] and dict(counted[0][1])["visible_tenants"] >= 2


def test_a_tenant_writes_its_own_and_nothing_else(dsn: str, tenant: Connection) -> None:
    run = tenant.execute
    run("SELECT rag.put_chunks('docs-a', 'new', '[{\"content\": \"omega\","
        " \"embedding\": [0, 1, 0]}]')")  # fmt: skip
    assert run("SELECT uri FROM rag.search('docs-a', 'omega')").fetchall() == [("new",)]
    run("SELECT rag.put_document('docs-a', 'later', 'psi')")
    assert run("SELECT collection_name FROM rag.list_jobs()").fetchall()[-1] == ("docs-a",)
    assert run("SELECT rag.delete_document('docs-a', 'new')").fetchone() == (True,)
    for call in (
        "rag.put_document('docs-b', 'x', 'text')",
        'rag.put_documents(\'docs-b\', \'[{"uri": "e", "content": "text"}]\')',
        "rag.delete_document('docs-b', 'replaced')",
        "rag.delete_where('docs-b', '{\"n\": 1}')",
        "rag.merge_metadata('docs-b', '{\"n\": 1}', '{\"m\": 1}')",
    ):
        assert error(tenant, f"SELECT {call}") == (
            "RG002", "there is no collection 'docs-b'", "collections here: docs-a",
        ), call  # fmt: skip
    with psycopg.connect(dsn) as owner:
        owner.execute("SELECT rag.grant_tenant(%s, 'a', 'reader')", [role("a")])
    assert error(tenant, "SELECT rag.put_document('docs-a', 'x', 'y')")[0] == "42501"


def test_answers_of_a_tenant_are_kept_and_judged_in_its_own_collections_alone(
    dsn: str, connection: Connection, tenant: Connection
) -> None:
    """One that has the id of another tenant's answer is kept as any other; what one's role may only
    read is judged, too."""
    (theirs,) = connection.execute(
        "SELECT answer_id FROM rag.list_answers('docs-b')"
    ).fetchone() or ("",)
    log = "SELECT rag.log_answer(%s, %s, 'Why?', '{\"text\": \"So.\"}')"
    none = error(tenant, "SELECT rag.feedback(%s, 1)", "6a1c1c1e-0000-4000-8000-000000000000")
    assert none[0] == "RG002"
    connection.execute("SELECT rag.grant_tenant(%s, 'a', 'reader')", [role("a")])
    told = error(tenant, "SELECT rag.feedback(%s, 1)", theirs)
    assert told == ("RG002", f"there is no answer {theirs}", none[2])
    assert error(tenant, log, "docs-b", theirs)[0] == "RG002"
    assert tenant.execute(log, ["docs-a", theirs]).fetchone() == (True,)
    assert tenant.execute(log, ["docs-a", theirs]).fetchone() == (False,)
    tenant.execute("SELECT rag.feedback(%s, -1, 'no')", [theirs])
    judged = "SELECT question, likes, dislikes FROM rag.list_answers(%s) WHERE answer_id = %s"
    assert tenant.execute(judged, ["docs-a", theirs]).fetchall() == [("Why?", 0, 1)]
    assert connection.execute(judged, ["docs-b", theirs]).fetchall() == [
        (f"why {canary('b')}?", 0, 0)
    ]
    assert connection.execute(log, ["docs-b", theirs]).fetchone() == (False,)
    connection.execute(
        "SELECT rag.alter_collection('docs-a', sample_queries => 1, keep_query_text => true,"
        " keep_queries => '1 day')"
    )
    sample = "SELECT rag.log_query('docs-a', 'alpha', sampled => true)"
    assert tenant.execute(sample).fetchone() == (True,)
    assert error(tenant, "SELECT rag.log_query('docs-b', 'alpha')")[0] == "RG002"
    # in a shared collection nothing is kept, and the policies stand beneath
    connection.execute("SELECT rag.create_collection('both', 'none', 3)")
    connection.execute("SELECT rag.alter_collection('both', keep_answers => '1 day')")
    connection.execute("SELECT rag.set_tenant('both', '*')")
    assert tenant.execute(log, ["both", theirs]).fetchone() == (False,)
    tenant.execute("SELECT rag.feedback(%s, 1)", [theirs])
    assert tenant.execute(judged, ["docs-a", theirs]).fetchall() == [("Why?", 1, 1)]
    other = "6a1c1c1e-0000-4000-8000-000000000001"
    assert tenant.execute(log, ["docs-a", other]).fetchone() == (True,)
    assert tenant.execute(sample).fetchone() == (False,)
    connection.execute(
        "CREATE OR REPLACE FUNCTION rag._scope(collection_id integer) RETURNS text"
        " LANGUAGE sql IMMUTABLE AS $$ SELECT NULL::text $$"
    )
    assert error(tenant, log, "both", other.replace("1", "2"))[0] == "42501"


@pytest.mark.parametrize(
    "forged",
    [
        "SET rag.tenant = 'b'",
        "SELECT set_config('rag.tenant', '*', false)",
        "SET row_security = off",
        "SET ROLE NONE",
        "SET rag.visible_tenants = '{*}'",
        "SET search_path TO pg_temp, public; CREATE DOMAIN pg_temp.text AS pg_catalog.text;"
        " CREATE TEMP TABLE tenant_roles AS SELECT session_user::pg_catalog.text AS role_name,"
        " '*'::pg_catalog.text AS tenant; CREATE TEMP TABLE collections (tenant int)",
    ],
)
def test_no_setting_of_a_tenant_lets_it_see_more(tenant: Connection, forged: str) -> None:
    tenant.execute(forged.encode())
    for name in ("docs-b", "nobodys"):
        with pytest.raises(psycopg.Error):
            tenant.execute("SELECT * FROM rag.search(%s, 'alpha')", [name])
    tenant.execute("RESET row_security")
    listed = tenant.execute("SELECT name FROM rag.list_collections()").fetchall()
    assert listed == [("docs-a",)]
    assert tenant.execute("SELECT rag.visible_tenants()").fetchone() == (["a"],)


def test_a_trusted_application_chooses_for_a_transaction_and_sees_nothing_without(
    dsn: str,
) -> None:
    names = "SELECT array_agg(name) FROM rag.list_collections()"
    with as_role(dsn, role(APPLICATION)) as application:
        for chosen, seen in (
            (None, None), ("a", ["docs-a"]), ("", None), ("*", None), ("b", ["docs-b"]),
            ("a,b", None), ("{a}", None), ("nobody", None),
        ):  # fmt: skip
            with application.transaction():
                if chosen is not None:
                    application.execute("SELECT set_config('rag.tenant', %s, true)", [chosen])
                assert application.execute(names).fetchone() == (seen,), chosen
        # What a pooler leaves behind is no tenant.
        assert application.execute("SELECT current_setting('rag.tenant', true)").fetchone() == ("",)
        assert application.execute(names).fetchone() == (None,)


def test_no_table_and_no_other_function_is_open_to_a_tenant(dsn: str, tenant: Connection) -> None:
    with psycopg.connect(dsn) as owner:
        tables = owner.execute(
            "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'rag'::regnamespace"
            " AND c.relkind IN ('r', 'p', 'v', 'm')"
        ).fetchall()
        functions = owner.execute(
            """SELECT p.oid::regprocedure::text,
                   has_function_privilege(%s, p.oid, 'EXECUTE'), p.prosecdef, p.proname
               FROM pg_proc AS p WHERE p.pronamespace = 'rag'::regnamespace""",
            [role("a")],
        ).fetchall()
        door = owner.execute("SELECT function_name, runs_as FROM rag._door_functions()")
        listed = {str(name): str(runs_as) for name, runs_as in door}
    assert any(name == "chunks_1" for (name,) in tables) and len(tables) > 60
    for (name,) in tables:
        if name != "ordinary_words":
            assert error(tenant, f'SELECT FROM rag."{name}"')[0] == "42501", name
    assert {name for _, may, _, name in functions if may} == listed.keys()
    assert {name for *_, definer, name in functions if definer} == {
        "use_service_key",
        *(name for name, runs_as in listed.items() if runs_as != "caller"),
    }
    for procedure in ("ask('docs-a', 'x')", "search_text('docs-a', 'x')", "maintain()"):
        assert error(tenant, f"CALL rag.{procedure}")[0] == "42501"


def test_roles_beside_tenants_see_what_they_did(dsn: str) -> None:
    reader = f"plain_reader_{os.getpid()}"
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {reader} LOGIN".encode())
        try:
            owner.execute("SELECT rag.grant_access(%s, 'reader')", [reader])
            names = "SELECT count(*) FROM rag.list_collections()"
            search = "SELECT count(*) FROM rag.search('docs-b', 'alpha')"
            with as_role(dsn, reader) as reading:
                assert reading.execute(names).fetchone() == (3,)
                assert reading.execute(search).fetchone() == owner.execute(search).fetchone()
                assert reading.execute("SELECT count(*) FROM rag.collections").fetchone() == (3,)
            owner.execute("SELECT rag.revoke_access(%s)", [reader])
            with as_role(dsn, reader) as reading:
                assert error(reading, names)[0] == "42501"
        finally:
            owner.execute(f"DROP OWNED BY {reader}; DROP ROLE {reader}".encode())
    # EXECUTE by a hand's mistake lets nobody see anything.
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute("GRANT USAGE ON SCHEMA rag TO PUBLIC;"
                      "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rag TO PUBLIC")  # fmt: skip
    with as_role(dsn, role(STRANGER)) as stranger:
        assert stranger.execute("SELECT count(*) FROM rag.list_collections()").fetchone() == (0,)
        assert error(stranger, "SELECT rag.put_document('docs-a', 'x', 'y')")[0] == "RG002"


@pytest.mark.parametrize("access", ["source_owner", "source_writer"])
def test_who_attaches_sources_or_writes_their_tables_reads_no_text(dsn: str, access: str) -> None:
    attacher = f"attacher_{os.getpid()}"
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {attacher} LOGIN".encode())
        try:
            owner.execute("SELECT rag.grant_access(%s, %s)", [attacher, access])
            calls = (
                "rag.search('docs-b', 'alpha')",
                "rag.search_keyword('docs-b', 'alpha')",
                "rag.list_documents('docs-b')",
                f"rag.list_chunks('docs-b', '{{{canary('b')}-0}}')",
                "rag.list_collections()",
            )
            with as_role(dsn, attacher) as connection:
                for call in calls:
                    assert error(connection, f"SELECT * FROM {call}")[0] == "42501", call
                if access == "source_owner":
                    owner.execute(f"GRANT CREATE ON SCHEMA public TO {attacher}".encode())
                    connection.execute(
                        """CREATE TABLE public.theirs (id integer PRIMARY KEY, body text);
                           SELECT rag.attach_source('public.theirs', 'docs-b', '{body}')"""
                    )
                    listed = "SELECT collection_name FROM rag.list_sources('docs-b')"
                    assert connection.execute(listed.encode()).fetchall() == [("docs-b",)]
                    connection.execute("SELECT rag.detach_source('public.theirs', 'docs-b', true)")
                # by a hand's mistake
                owner.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rag TO " + attacher)
                (told,) = owner.execute(
                    """SELECT count(*) FROM rag.check_tenants()
                       WHERE detail ~ %s AND detail ~ 'has no such access'""",
                    [attacher],
                ).fetchone() or (0,)
                assert told == 1
                for call in calls[:-1]:
                    assert error(connection, f"SELECT * FROM {call}")[0] == "RG002", call
                assert connection.execute(f"SELECT * FROM {calls[-1]}".encode()).fetchall() == []
            owner.execute("SELECT rag.grant_access(%s, 'reader')", [attacher])
            with as_role(dsn, attacher) as connection:
                for call in calls:
                    assert connection.execute(f"SELECT * FROM {call}".encode()).fetchall(), call
        finally:
            owner.execute("SELECT rag.revoke_access(%s)", [attacher])
            owner.execute(f"DROP OWNED BY {attacher}; DROP ROLE {attacher}".encode())


def test_a_transaction_left_open_holds_up_no_search_behind_a_grant(dsn: str) -> None:
    """A new role changes a policy, which needs a lock that waits for every reader."""
    reader = f"plain_reader_{os.getpid()}"
    grant = "SELECT rag.grant_access(%s, 'reader')"
    with (
        psycopg.connect(dsn, autocommit=True) as owner,
        as_role(dsn, role("a")) as left,
        as_role(dsn, role("b")) as searching,
    ):
        owner.execute(f"SET statement_timeout = '1min'; CREATE ROLE {reader}".encode())
        try:
            searching.execute("SET statement_timeout = '1min'")
            left.execute("BEGIN; SELECT rag.list_collections()")
            with ThreadPoolExecutor(1) as beside:
                granting = beside.submit(error, owner, grant, reader)
                while not granting.done():
                    assert searching.execute(
                        "SELECT uri FROM rag.search('docs-b', 'alpha')"
                    ).fetchall()
            state, message, hint = granting.result()
            assert state == "RG007" and f"session {left.info.backend_pid} (" in message
            assert f"pg_terminate_backend({left.info.backend_pid})" in hint
            left.execute("COMMIT")
            with owner.transaction():
                owner.execute("SET LOCAL lock_timeout = '7s'")
                owner.execute(grant, [reader])
                assert owner.execute("SHOW lock_timeout").fetchone() == ("7s",)
        finally:
            owner.execute("SELECT rag.revoke_access(%s)", [reader])
            owner.execute(f"DROP OWNED BY {reader}; DROP ROLE {reader}".encode())


def test_listening_tells_nothing_of_tenants(dsn: str) -> None:
    with as_role(dsn, role(STRANGER)) as stranger:
        stranger.execute("LISTEN rag_ready")
        with psycopg.connect(dsn, autocommit=True) as worker:
            for name in ("docs-a", "nobodys"):
                worker.execute(
                    "SELECT rag._notify_ready(d.collection_id, d.document_id) FROM rag.documents"
                    " AS d WHERE d.collection_id = (SELECT c.collection_id FROM rag.collections"
                    " AS c WHERE c.name = %s)",
                    [name],
                )
            worker.execute("NOTIFY rag_ready, 'last'")
        heard = [notice.payload for notice in stranger.notifies(timeout=60, stop_after=1)]
    assert heard == ["last"]


def test_an_upgrade_keeps_the_door_and_the_last_revoke_closes_it(dsn: str) -> None:
    state = """SELECT p.proname, p.prosecdef, p.proowner::regrole::text FROM pg_proc AS p
               WHERE p.pronamespace = 'rag'::regnamespace ORDER BY 1"""
    assert schema.check(dsn) == [] == schema.check(dsn, tenants=True)
    with psycopg.connect(dsn, autocommit=True) as owner:
        before = owner.execute(state).fetchall()
        schema.upgrade(dsn)
        assert owner.execute(state).fetchall() == before
        owner.execute("ALTER FUNCTION rag.search SECURITY INVOKER")
        assert any("does not run with the rights" in line for line in schema.check(dsn))
        schema.upgrade(dsn)
        assert schema.check(dsn, tenants=True) == []
        assert owner.execute(state).fetchall() == before
        owner.execute("SELECT rag.revoke_tenant(t.role_name) FROM rag.tenant_roles AS t")
        after = {name: rest for name, *rest in owner.execute(state)}
        assert after.pop("use_service_key") == [True, before_owner(owner)]
        assert all(rest == [False, before_owner(owner)] for rest in after.values())
        assert owner.execute(
            "SELECT relrowsecurity FROM pg_class WHERE oid = 'rag.collections'::regclass"
        ).fetchone() == (False,)
        assert schema.check(dsn) == []
        assert schema.check(dsn, tenants=True) == [
            "no role is of a tenant: SELECT rag.grant_tenant(role_name, tenant)"
        ]
        owner.execute("ALTER FUNCTION rag.search SECURITY DEFINER")
        assert any("SECURITY INVOKER" in line for line in schema.check(dsn))
    with as_role(dsn, role("a")) as tenant:
        assert error(tenant, "SELECT * FROM rag.list_collections()")[0] == "42501"


def before_owner(connection: Connection) -> str:
    row = connection.execute(
        "SELECT relowner::regrole::text FROM pg_class WHERE oid = 'rag.collections'::regclass"
    ).fetchone()
    assert row is not None
    return str(row[0])


def test_a_name_that_fills_its_bytes_makes_two_roles(connection: Connection) -> None:
    name = "ü" * 28 + str(os.getpid())
    with connection.transaction(force_rollback=True):
        connection.execute(
            f'CREATE ROLE "{name}"; ALTER POLICY tenant ON rag.collections TO "{name}"'.encode()
        )
        (_, reader, writer), *_ = connection.execute(
            "SELECT d.* FROM rag._door_roles() AS d"
        ).fetchall()
    assert reader == name and writer.endswith("ü_writer")


def test_tenants_are_made_listed_and_dropped(connection: Connection) -> None:
    run = connection.execute
    assert run("SELECT * FROM rag.list_tenants()").fetchall() == [
        ("*", [], [], [role(APPLICATION)], {}),
        ("a", ["docs-a"], [], [role("a")], {}),
        ("b", ["docs-b"], [], [role("b")], {}),
    ]
    assert error(connection, "SELECT rag.drop_tenant('a')")[:2] == (
        "RG007", "tenant 'a' has collections, or documents in them: docs-a",
    )  # fmt: skip
    run("SELECT rag.set_tenant('docs-a', 'b'), rag.drop_tenant('a')")
    assert run("SELECT tenant, collections FROM rag.list_tenants()").fetchall()[1:] == [
        ("b", ["docs-a", "docs-b"])
    ]
    for name in ("", "*", "a b", "a,b", None, "x" * 101):
        assert error(connection, "SELECT rag.create_tenant(%s)", name)[0] == "RG001"
    for call in ("set_tenant('docs-b', 'nope')", "drop_tenant('nope')", "drop_tenant(NULL)",
                 f"grant_tenant('{role('a')}', 'nope')", f"grant_tenant('{role('a')}', NULL)",
                 "grant_tenant('no_such_role', 'b')"):  # fmt: skip
        assert error(connection, f"SELECT rag.{call}")[0] == "RG002", call


def test_an_owner_who_is_no_superuser_opens_the_door(
    new_database: Callable[..., str],
) -> None:
    dsn, owner, tenant = new_database(), f"plain_{os.getpid()}", f"plain_of_{os.getpid()}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(f"CREATE ROLE {owner} LOGIN; CREATE ROLE {tenant} LOGIN".encode())
        connection.execute(f'ALTER DATABASE "{name_of(dsn)}" OWNER TO {owner}'.encode())
    owned = make_conninfo(dsn, user=owner)
    schema.upgrade(owned)
    with psycopg.connect(owned, autocommit=True) as connection:
        run = connection.execute
        run("SELECT rag.create_collection('docs-t', 'none', 3), rag.create_tenant('t'),"
            " rag.set_tenant('docs-t', 't')")  # fmt: skip
        grant = f"SELECT rag.grant_tenant('{tenant}', 't', 'writer')"
        code, message, hint = error(connection, grant)
        assert code == "42501" and "makes no roles" in message and "CREATE ROLE" in hint
        with psycopg.connect(dsn, autocommit=True) as administrator:
            administrator.execute(f"ALTER ROLE {owner} CREATEROLE".encode())
        run(grant.encode())
        schema.upgrade(owned)
        assert schema.check(owned, tenants=True) == []
        with as_role(dsn, tenant) as reading:
            reading.execute("SELECT rag.put_chunks('docs-t', 'u', '[{\"content\": \"fish\","
                            " \"embedding\": [1, 0, 0]}]')")  # fmt: skip
            found = reading.execute("SELECT uri FROM rag.search('docs-t', 'fish')").fetchall()
        assert found == [("u",)]
        door = run("SELECT (d).reader FROM rag._door_roles() AS d").fetchone() or ("",)
        run(f"SELECT rag.revoke_tenant('{tenant}')".encode())
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name_of(dsn)}" OWNER TO CURRENT_USER'.encode())
        for name in (tenant, owner, door[0]):
            connection.execute(f'DROP OWNED BY "{name}" CASCADE; DROP ROLE "{name}"'.encode())


def test_a_tenant_more_or_less_changes_no_rights_of_others(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as owner:

        def rows_changed(call: str) -> int:
            """How many rows of pg_proc it has changed."""
            changed = "SELECT pg_stat_get_xact_tuples_updated('pg_catalog.pg_proc'::regclass)"
            with owner.transaction():
                (before,) = owner.execute(changed).fetchone() or (0,)
                owner.execute(f"SELECT rag.{call}".encode(), [role("a")])
                (after,) = owner.execute(changed).fetchone() or (0,)
            return int(after - before)

        def both() -> list[int]:
            calls = ("revoke_tenant(%s)", "grant_tenant(%s, 'a', 'reader')")
            return [rows_changed(call) for call in calls]

        both()  # it was a writer
        beside_others = both()
        assert min(beside_others) > 0
        owner.execute("SELECT rag.revoke_tenant(%s)", [role("b")])
        assert both() == beside_others


def test_the_client_is_of_one_tenant(dsn: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "settings": Settings(home=tmp_path),
        "embedders": {"hash": lambda name: HashEmbedder("hash:32")},
    }
    with Rag(dsn, **options) as owner:
        owner.collection("shelf-a", model="hash:32").add({"uri": "g", "content": "green grass"})
        owner.database.call("set_tenant", collection="shelf-a", tenant="a")
    trusted = make_conninfo(dsn, user=role(APPLICATION))
    for user, tenant in ((role(APPLICATION), "a"), (role("a"), "a"), (role("a"), None)):
        with Rag(make_conninfo(dsn, user=user), tenant=tenant, **options) as rag:
            docs = rag.get_collection("shelf-a")
            assert [hit.uri for hit in docs.search("grass")] == ["g"]
            assert [info.name for info in rag.collections()] == ["docs-a", "shelf-a"]
            assert docs.get("g").content == "green grass"
            assert docs.ask("What is green?").text
    with Rag(trusted, tenant="b", **options) as rag:
        assert [info.name for info in rag.collections()] == ["docs-b"]
    for refused, tenant in ((dsn, "a"), (make_conninfo(dsn, user=role("a")), "b")):
        with pytest.raises(PermissionDenied, match="this role sees"), Rag(refused, tenant=tenant):
            pass


@pytest.mark.parametrize("access", ["reader", "evaluator", "source_owner", "source_writer"])
def test_who_may_not_write_writes_nothing_through_the_door(dsn: str, access: str) -> None:
    """What puts and deletes runs with a writer's rights: a reader must not come by it."""
    reader = f"no_writer_{os.getpid()}"
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {reader} LOGIN".encode())
        try:
            owner.execute(f"GRANT EXECUTE ON FUNCTION rag.delete_where TO {reader}".encode())
            owner.execute("SELECT rag.grant_access(%s, %s)", [reader, access])
            calls = (
                "rag.delete_document('docs-b', 'replaced')",
                "rag.delete_where('docs-b', '{\"n\": 1}')",
                "rag.put_document('docs-b', 'x', 'text')",
            )
            with as_role(dsn, reader) as connection:
                for call in calls:
                    assert error(connection, f"SELECT {call}")[0] == "42501", call
            owner.execute("SELECT rag.grant_access(%s, 'writer')", [reader])
            owner.execute("SELECT rag.grant_access(%s, %s)", [reader, access])
            with as_role(dsn, reader) as connection:
                connection.execute("SELECT rag.put_document('docs-b', 'x', 'text')")
        finally:
            owner.execute("SELECT rag.revoke_access(%s)", [reader])
            owner.execute(f"DROP OWNED BY {reader}; DROP ROLE {reader}".encode())
