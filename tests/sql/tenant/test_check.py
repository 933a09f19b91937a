"""Where policies would be inert, rag.check_tenants, db check and the next grant say so."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from rota import LONG
from tenancy import as_role, make_tenants, role, tenants_of

from rag_pg.db import name_of, schema

Connection = psycopg.Connection[Any]
OTHER = f"other_{os.getpid()}"
TENANT = role("a")

# How a database is mis-set, what of it is said, and what takes it back for the server's roles.
MIS_SET = {
    "a tenant that owns the tables": (
        f"ALTER TABLE rag.collections OWNER TO {TENANT}",
        "is a superuser or has BYPASSRLS or rights of rag.grant_access, or is the owner",
        "",
    ),
    "a tenant that is a member of the owner": (
        f"ALTER TABLE rag.collections OWNER TO {OTHER}; GRANT {OTHER} TO {TENANT}",
        f"a member of {OTHER}",
        f"REVOKE {OTHER} FROM {TENANT}",
    ),
    "a tenant with BYPASSRLS": (
        f"ALTER ROLE {TENANT} BYPASSRLS", "policies do not hold it",
        f"ALTER ROLE {TENANT} NOBYPASSRLS",
    ),
    "a tenant that is a superuser": (
        f"ALTER ROLE {TENANT} SUPERUSER", "policies do not hold it",
        f"ALTER ROLE {TENANT} NOSUPERUSER",
    ),
    "a tenant in a group with BYPASSRLS": (
        f"ALTER ROLE {OTHER} BYPASSRLS; GRANT {OTHER} TO {TENANT}", f"a member of {OTHER}",
        f"ALTER ROLE {OTHER} NOBYPASSRLS; REVOKE {OTHER} FROM {TENANT}",
    ),
    "a tenant that reads all data": (
        f"GRANT pg_read_all_data TO {TENANT}", "a member of pg_read_all_data",
        f"REVOKE pg_read_all_data FROM {TENANT}",
    ),
    "a tenant in the door": ("GRANT {door} TO " + TENANT, "a member of",
                             "REVOKE {door} FROM " + TENANT),
    "a tenant that is a reader, too": (
        f"SELECT rag.grant_access('{TENANT}', 'reader')", "policies do not hold it", ""),
    "no row-level security": (
        "ALTER TABLE rag.collections DISABLE ROW LEVEL SECURITY", "row-level security is off", ""),
    "no policy": ("DROP POLICY tenant ON rag.collections", "policy tenant", ""),
    "another policy": (
        "ALTER POLICY tenant ON rag.collections USING (true)", "policy tenant", ""),
    "a policy for all beside it": (
        "CREATE POLICY more ON rag.collections USING (true)", "policy more", ""),
    "a policy by hand on documents": (
        f"CREATE POLICY hand ON rag.documents TO {OTHER} USING (true)", "policy hand", ""),
    "a door with BYPASSRLS": ("ALTER ROLE {door} BYPASSRLS", "has BYPASSRLS",
                              "ALTER ROLE {door} NOBYPASSRLS"),
    "a door that logs in": ("ALTER ROLE {door} LOGIN", "can log in", "ALTER ROLE {door} NOLOGIN"),
    "a function with a superuser's rights": (
        "ALTER FUNCTION rag.search OWNER TO CURRENT_USER", "does not run with the rights of", ""),
    "a function with its caller's rights": (
        "ALTER FUNCTION rag.search SECURITY INVOKER", "does not run with the rights of", ""),
    "an internal function with its owner's rights": (
        "ALTER FUNCTION rag._read_postings SECURITY DEFINER", "runs with the rights of", ""),
    "tables for all": (
        "GRANT SELECT ON rag.chunks, rag.keyword_postings TO PUBLIC",
        "has rights on chunks, keyword_postings", ""),
    "a column of a table": (
        f"GRANT SELECT (lexeme) ON rag.keyword_postings TO {TENANT}", "has rights on", ""),
    "a partition": (f"GRANT SELECT ON rag.chunks_1 TO {TENANT}", "has rights on chunks_1", ""),
    "functions for all": (
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rag TO PUBLIC", "may call", ""),
    "a reading tenant that may write": (
        f"GRANT EXECUTE ON FUNCTION rag.put_document TO {TENANT}", "may call put_document", ""),
    "who is no writer and may write": (
        f"GRANT EXECUTE ON FUNCTION rag.delete_where TO {OTHER}", "may call delete_where and", ""),
    "a tenant that was renamed, and another of that name": (
        f"ALTER ROLE {TENANT} RENAME TO {TENANT}_old; CREATE ROLE {TENANT} LOGIN",
        f"{TENANT}_old may call", f"DROP ROLE {TENANT}; ALTER ROLE {TENANT}_old RENAME TO {TENANT}",
    ),
    "roles that others write": (
        f"GRANT INSERT ON rag.tenant_roles TO {OTHER}", "may write tenant_roles", ""),
    "a tenant of a collection that others set": (
        f"GRANT UPDATE (tenant) ON rag.collections TO {OTHER}", "may write collections", ""),
    "a view of its owner's rights": (
        "CREATE VIEW public.all_chunks AS SELECT * FROM rag.chunks;"
        " GRANT SELECT ON public.all_chunks TO PUBLIC", "view public.all_chunks reads", ""),
    "a view of such a view": (
        "CREATE VIEW public.all_chunks AS SELECT * FROM rag.chunks;"
        " CREATE VIEW public.above WITH (security_invoker) AS SELECT * FROM public.all_chunks;"
        f" GRANT SELECT ON public.above TO {TENANT}", "view public.above reads", ""),
    "a function of another with its owner's rights": (
        "CREATE FUNCTION public.peek() RETURNS bigint LANGUAGE sql SECURITY DEFINER"
        " AS 'SELECT count(*) FROM rag.chunks'", "peek() runs with the rights of", ""),
    "who may create in the schema": (
        f"GRANT CREATE ON SCHEMA rag TO {TENANT}", "may create in schema rag", ""),
}  # fmt: skip
# It reads rag.check_tenants: of a role, a table, a door, a function and a view in `make test`.
CHECKED = [*MIS_SET][::7]


def fill(connection: Connection) -> None:
    make_tenants(connection, ["a", "b"], access="reader", documents=1)
    connection.execute(f"CREATE ROLE {OTHER}".encode())


@pytest.fixture(scope="module")
def template(new_database: Callable[..., str], rag_template: str) -> Iterator[str]:
    with tenants_of(new_database(name_of(rag_template)), ["a", "b"], fill) as dsn:
        yield name_of(dsn)
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(f"DROP ROLE {OTHER}".encode())


@pytest.fixture
def door(connection: Connection) -> str:
    row = connection.execute("SELECT quote_ident((d).reader) FROM rag._door_roles() AS d")
    return str((row.fetchone() or ("",))[0])


def failures(connection: Connection) -> list[str]:
    return [
        detail
        for _, status, detail, remedy in connection.execute("SELECT * FROM rag.check_tenants()")
        if status == "fail" and remedy
    ]


@pytest.mark.longer
@pytest.mark.parametrize("name", MIS_SET)
def test_a_mis_set_database_is_refused(
    dsn: str, connection: Connection, door: str, name: str
) -> None:
    mistake, expected, back = MIS_SET[name]
    assert failures(connection) == []
    try:
        connection.execute(mistake.replace("{door}", door).encode())
        found = failures(connection)
        assert any(expected in detail for detail in found), found
        if LONG or name in CHECKED:
            checked = schema.check(dsn)
            assert any(expected in problem for problem in checked), checked
        with psycopg.connect(dsn) as granting:
            try:
                granting.execute("SELECT rag.grant_tenant(%s, 'b')", [role("b")])
            except psycopg.Error as exc:
                assert exc.sqlstate in ("RG007", "42501") and exc.diag.message_hint, str(exc)
            else:  # it is what a grant sets right
                assert failures(granting) == []
    finally:
        connection.execute(back.replace("{door}", door).encode())


def test_an_upgrade_mends_what_is_its_own_and_tells_the_rest(
    dsn: str, connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    apart = {"a view of such a view", "another policy", "who may create in the schema"}
    for name, (mistake, _, back) in MIS_SET.items():
        if not (back or "{door}" in mistake or "OWNER TO" in mistake or name in apart):
            connection.execute(mistake.encode())
    connection.execute("DROP VIEW public.all_chunks")
    schema.upgrade(dsn)
    left = "\n".join(failures(connection))
    for mended in ("row-level security is off", "policy tenant", 'with the rights of "rag'):
        assert mended not in left, left
    for told in ("policy more", "policy hand", "peek()", "may write tenant_roles", "has rights on"):
        assert told in left and told in caplog.text, told


def test_writing_roles_that_policies_hold_are_named(dsn: str, connection: Connection) -> None:
    connection.execute("SELECT rag.grant_access(%s, 'worker')", [OTHER])
    warned = connection.execute("SELECT status, remedy FROM rag.check_tenants()").fetchall()
    assert warned == [("warn", f"ALTER ROLE {OTHER} BYPASSRLS")]
    assert schema.check(dsn) == [] and len(schema.check(dsn, tenants=True)) == 1
    connection.execute(f"ALTER ROLE {OTHER} BYPASSRLS".encode())
    try:
        assert schema.check(dsn, tenants=True) == []
        connection.execute(f"SET ROLE {OTHER}".encode())
        assert connection.execute("SELECT count(*) FROM rag.take_jobs(9)").fetchone() == (2,)
    finally:
        connection.execute(f"RESET ROLE; ALTER ROLE {OTHER} NOBYPASSRLS".encode())
        connection.execute("SELECT rag.revoke_access(%s)", [OTHER])


def test_a_role_that_is_gone_is_named(dsn: str, connection: Connection) -> None:
    connection.execute("INSERT INTO rag.tenant_roles VALUES ('gone', 'a', 'reader')")
    schema.upgrade(dsn)
    found = connection.execute("SELECT status, detail FROM rag.check_tenants()").fetchall()
    assert [status for status, _ in found] == ["warn"] and "'gone'" in found[0][1]
    with as_role(dsn, TENANT) as tenant:
        assert tenant.execute("SELECT rag.visible_tenants()").fetchone() == (["a"],)
