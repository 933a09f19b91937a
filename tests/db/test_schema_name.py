"""An installation by a name of its own, beside others in one database."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner

from rag_pg import NotFound, PermissionDenied, Rag, Settings
from rag_pg.cli.app import app
from rag_pg.db import name_of, schema
from rag_pg.errors import InvalidInput

NAMES = ["legal", "rag", "hr_2"]
TABLE = "CREATE TABLE public.articles (id bigint PRIMARY KEY, body text)"


@pytest.fixture(scope="module")
def installed(new_database: Callable[..., str]) -> str:
    dsn = new_database()
    for name in NAMES:
        schema.upgrade(dsn, name)
    return dsn


@pytest.fixture
def several(installed: str, new_database: Callable[..., str]) -> str:
    return new_database(name_of(installed))


def opened(dsn: str, name: str, folder: Path, **options: Any) -> Rag:
    embedders = {"hash": lambda model: HashEmbedder("hash:32")}
    settings = Settings(home=folder, schema=name)
    return Rag(dsn, settings=settings, embedders=embedders, **options)


def test_each_is_as_installed_and_names_nothing_of_another(several: str) -> None:
    for name in NAMES:
        assert schema.check(several, name) == []
        assert schema.plan(several, name) == []
    with psycopg.connect(several) as connection:
        for name in NAMES:
            others = rf"\m({'|'.join(n for n in NAMES if n != name)})[._]"
            found = connection.execute(
                """SELECT p.proname FROM pg_proc AS p WHERE p.pronamespace = %s::regnamespace
                   AND regexp_replace(concat_ws(' ', p.prosrc, pg_get_function_sqlbody(p.oid),
                       obj_description(p.oid, 'pg_proc'), p.proconfig), 'rag_pg', '', 'g') ~ %s""",
                [name, others],
            ).fetchall()
            assert found == []
            (count,) = connection.execute(
                "SELECT count(*) FROM pg_proc AS p WHERE p.pronamespace = %s::regnamespace", [name]
            ).fetchone() or (0,)
            assert count > 600
        crossing = connection.execute(
            """SELECT c.conname FROM pg_constraint AS c JOIN pg_class AS r ON r.oid = c.confrelid
               WHERE c.connamespace <> r.relnamespace"""
        ).fetchall()
        assert crossing == []


@pytest.mark.minutes
def test_documents_sources_and_workers_are_apart(several: str, tmp_path: Path) -> None:
    with psycopg.connect(several, autocommit=True) as connection:
        connection.execute(TABLE.encode())
        for name in NAMES:
            with opened(several, name, tmp_path) as rag:
                docs = rag.collection("docs", model="hash:32")
                docs.add({"uri": "a", "content": f"whale {name}", "language": "auto"})
                rag.database.call(
                    "attach_source", source_table="public.articles", collection="docs",
                    content=["body"],
                )  # fmt: skip
        connection.execute("INSERT INTO public.articles VALUES (1, 'the shark')")
        for name in NAMES:
            with opened(several, name, tmp_path) as rag:
                rag.worker(["docs"]).drain()
                docs = rag.get_collection("docs")
                assert [hit.content for hit in docs.search("whale")][:1] == [f"whale {name}"]
                assert "the shark" in [hit.content for hit in docs.search("shark")]
                assert rag.admin.check() == []
        connection.execute("DROP SCHEMA legal CASCADE")
        connection.execute("INSERT INTO public.articles VALUES (2, 'the squid')")
        with opened(several, "rag", tmp_path) as rag:
            rag.worker(["docs"]).drain()
            found = rag.get_collection("docs").search("squid")
            assert "the squid" in [hit.content for hit in found]
        assert [schema.check(several, name) for name in NAMES[1:]] == [[], []]
        assert schema.check(several, "legal") == [
            'schema legal is not installed: run "rag-pg db upgrade --schema legal"'
        ]


@pytest.fixture
def tenant(several: str) -> Iterator[str]:
    """A login role that is a tenant's in schema legal alone."""
    name = f"of_legal_{os.getpid()}"
    with psycopg.connect(several, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN".encode())
        try:
            yield name
        finally:
            row = connection.execute("SELECT (d).reader FROM legal._door_roles() AS d").fetchone()
            door = row[0] if row else ""
            for role in (name, door, f"{door}_writer"):
                connection.execute(f'DROP OWNED BY "{role}" CASCADE; DROP ROLE "{role}"'.encode())


def test_a_role_has_its_rights_in_one_alone(several: str, tenant: str, tmp_path: Path) -> None:
    for name in NAMES:
        with opened(several, name, tmp_path) as rag:
            rag.collection("docs", model="hash:32").add({"uri": "a", "content": "whale"})
            if name == "legal":
                rag.database.call("create_tenant", tenant="t")
                rag.database.call("set_tenant", collection="docs", tenant="t")
                rag.database.call("grant_tenant", role_name=tenant, tenant="t")
                assert schema.check(several, name, tenants=True) == []
    as_tenant = make_conninfo(several, user=tenant)
    with opened(as_tenant, "legal", tmp_path, tenant="t") as rag:
        assert [hit.uri for hit in rag.get_collection("docs").search("whale")] == ["a"]
    with pytest.raises(PermissionDenied), opened(as_tenant, "rag", tmp_path):
        pass
    with opened(several, "hr_2", tmp_path) as rag:  # no door there: its owner sees all
        assert [info.name for info in rag.collections()] == ["docs"]


@pytest.mark.minutes
def test_pgvector_may_lie_in_another_of_them(new_database: Callable[..., str]) -> None:
    dsn = new_database()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public")
        for name in ("rag", "legal"):
            schema.upgrade(dsn, name)
        for name in ("rag", "legal"):
            schema.upgrade(dsn, name)
            assert schema.check(dsn, name) == []
        found = connection.execute(
            "SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n"
            " ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
        ).fetchall()
        assert found == [("rag",)]


@pytest.mark.one_database
@pytest.mark.parametrize(
    "name",
    ["", "public", "pg_rag", "information_schema", "Rag", "1a", "a-b", "rag_pg", "a" * 32,
     'x"; DROP SCHEMA rag', "über", "select", "user", "a.b"],
)  # fmt: skip
def test_a_name_that_cannot_be_one_is_refused(dsn: str, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be used|is another's"):
        schema.upgrade(dsn, name)


@pytest.mark.minutes
def test_the_command_line_and_the_environment_name_it(
    new_database: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    dsn = new_database()
    run = CliRunner().invoke
    done = run(app, ["db", "upgrade", "--schema", "legal", "--dsn", dsn])
    assert done.exit_code == 0 and "schema legal is at revision" in done.output
    assert run(app, ["db", "check", "--schema", "legal", "--dsn", dsn]).exit_code == 0
    monkeypatch.setenv("RAG_PG_HOME", str(tmp_path))
    with pytest.raises(Exception, match="no schema rag yet"), Rag(dsn):
        pass
    monkeypatch.setenv("RAG_PG_SCHEMA", "legal")
    with Rag(dsn) as rag, pytest.raises(NotFound):
        rag.get_collection("docs")


@pytest.mark.minutes
def test_its_functions_for_the_web_are_its_own(several: str) -> None:
    for name in ("legal", "rag"):
        assert "search" in schema.make_api(several, schema=name)
        schema.upgrade(several, name)
    with psycopg.connect(several) as connection:
        for name in ("legal", "rag"):
            connection.execute("SELECT legal.create_collection('only', 'none', 3)")
            (found,) = connection.execute(
                f"SELECT count(*) FROM {name}_api.list_collections()".encode()
            ).fetchone() or (0,)
            assert found == (1 if name == "legal" else 0)
            connection.rollback()
    types = schema.typescript(several, schema="legal_api", own="legal")
    assert "legal_api: {" in types and "list_collections" in types
