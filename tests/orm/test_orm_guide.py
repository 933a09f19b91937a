"""docs/guides/orm.md is true for the tools that run here: make test-web installs them.

RAG_PG_TEST_NODE: a folder with node_modules.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from paths import ROOT, blocks
from psycopg.conninfo import conninfo_to_dict

from rag_pg.db import schema

PAGE = (ROOT / "docs" / "guides" / "orm.md").read_text(encoding="utf-8")
NODE = os.environ.get("RAG_PG_TEST_NODE", "")
with_node = pytest.mark.skipif(
    not NODE, reason="no engine: RAG_PG_TEST_NODE is not set; make test-web sets it"
)
MODEL = "CREATE TABLE public.pages (page_id integer PRIMARY KEY, body text)"


def run(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    return done


def rag_of(dsn: str) -> list[tuple[Any, ...]]:
    """What lies in schema rag."""
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            """SELECT relname::text FROM pg_class WHERE relnamespace = 'rag'::regnamespace
               UNION ALL
               SELECT proname::text FROM pg_proc WHERE pronamespace = 'rag'::regnamespace
               ORDER BY 1"""
        ).fetchall()


@pytest.fixture
def application(dsn: str) -> str:
    """A database with a table of its own beside a collection."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(MODEL.encode())
        connection.execute("SELECT rag.create_collection('handbook', 'none', 3)")
    return dsn


# --- Django --------------------------------------------------------------------------------------

SETTINGS = """
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "shop"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {{"default": {{"ENGINE": "django.db.backends.postgresql", "NAME": {dbname!r},
    "USER": {user!r}, "HOST": {host!r}, "PORT": {port!r}, "OPTIONS": {options!r}}}}}
"""
MODELS = """
from django.db import models

class Order(models.Model):
    note = models.TextField()
"""


@pytest.fixture
def django(application: str, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    pytest.importorskip("django", reason="no engine: make test-web installs it")
    where = conninfo_to_dict(application)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "models.py").write_text(MODELS)

    def call(*arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
        given = {"port": "", **where, "options": options}
        (tmp_path / "settings.py").write_text(SETTINGS.format(**given))
        path = os.pathsep.join([str(tmp_path), *sys.path])
        return run(
            tmp_path, sys.executable, "-m", "django", *arguments,
            DJANGO_SETTINGS_MODULE="settings", PYTHONPATH=path,
        )  # fmt: skip

    return call


def test_django_migrates_and_inspects_its_own_tables_alone(
    django: Callable[..., subprocess.CompletedProcess[str]], application: str
) -> None:
    before = rag_of(application)
    for command in (("makemigrations", "shop"), ("migrate", "--verbosity", "0")):
        done = django(*command)
        assert done.returncode == 0, done.stderr
    told = django("inspectdb").stdout
    assert "'pages'" in told and "'shop_order'" in told and "'documents'" not in told
    assert django("makemigrations", "--check").returncode == 0
    assert rag_of(application) == before
    # what the page warns of
    assert "'documents'" in django("inspectdb", options="-c search_path=rag,public").stdout


def test_django_calls_the_functions_in_its_transaction(
    django: Callable[..., subprocess.CompletedProcess[str]], application: str
) -> None:
    (program,) = blocks(PAGE, "python")
    done = django("shell", "--command", f"{program}\nprint(rows)")
    assert done.returncode == 0, done.stderr
    with psycopg.connect(application) as connection:
        found = connection.execute("SELECT uri FROM rag.list_documents('handbook')").fetchall()
    assert found == [("pages/7",)]  # a worker makes it searchable


# --- pg_dump -------------------------------------------------------------------------------------


@pytest.mark.minutes
def test_a_dump_of_the_application_holds_nothing_of_rag(
    application: str, tmp_path: Path, new_database: Callable[..., str]
) -> None:
    (pattern,) = re.findall(r"--exclude-schema='(rag\*)'", PAGE)
    schema.make_api(application)
    with psycopg.connect(application) as connection:
        (folder,) = connection.execute(
            "SELECT setting FROM pg_config WHERE name = 'BINDIR'"
        ).fetchone() or ("",)
    done = run(tmp_path, f"{folder}/pg_dump", f"--exclude-schema={pattern}", application)
    assert done.returncode == 0, done.stderr
    assert "public.pages" in done.stdout and not re.findall(r"\brag(_api)?\.", done.stdout)
    fresh = new_database()
    loaded = subprocess.run(
        [f"{folder}/psql", "-v", "ON_ERROR_STOP=1", "-q", fresh], input=done.stdout,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert loaded.returncode == 0, loaded.stderr
    schema.upgrade(fresh)
    assert schema.check(fresh) == []


# --- node ----------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "node_modules").symlink_to(Path(NODE).resolve() / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    options = {
        "strict": True, "noEmit": True, "module": "nodenext", "target": "es2022",
        "skipLibCheck": True, "types": [],
    }  # fmt: skip
    (tmp_path / "tsconfig.json").write_text(
        json.dumps({"compilerOptions": options, "include": ["*.ts"]})
    )
    return tmp_path


def compiled(package: Path) -> list[str]:
    """The errors of the compiler."""
    done = run(package, "node_modules/.bin/tsc", "--noEmit", "--project", ".")
    return [line for line in done.stdout.splitlines() if "error TS" in line]


@with_node
def test_right_names_compile_and_wrong_ones_are_refused(application: str, package: Path) -> None:
    schema.make_api(application)
    (package / "database.ts").write_text(schema.typescript(application))
    (program,) = [block for block in blocks(PAGE, "ts") if "postgrest-js" in block]
    program = program.replace('"./database"', '"./database.js"').replace(
        "console.log(hit.uri, hit.content)", "void hit.uri"
    )
    (package / "program.ts").write_text(program)
    assert compiled(package) == []
    wrong = {
        'rpc("search"': 'rpc("serch"',
        "collection:": "colection:",
        '"backup"': "7",
        "hit.uri": "hit.url",
        'collection: "handbook", ': "",
    }
    for right, other in wrong.items():
        assert right in program
        (package / "program.ts").write_text(program.replace(right, other))
        assert len(compiled(package)) >= 1, other


OVERLOADED = """
CREATE SCHEMA shop;
CREATE FUNCTION shop.pick(id int) RETURNS int LANGUAGE sql RETURN id;
CREATE FUNCTION shop.pick(name text, most int DEFAULT 1) RETURNS SETOF text
    LANGUAGE sql BEGIN ATOMIC SELECT name; END;
CREATE FUNCTION shop.twice(OUT told text, INOUT n int) LANGUAGE sql AS $$SELECT 'x', n$$;
"""


@with_node
def test_overloaded_functions_are_told_apart_by_their_arguments(
    application: str, package: Path
) -> None:
    with psycopg.connect(application, autocommit=True) as connection:
        connection.execute(OVERLOADED)
    (package / "database.ts").write_text(schema.typescript(application, schema="shop"))
    (package / "program.ts").write_text(
        """
import { PostgrestClient } from "@supabase/postgrest-js";
import type { Database } from "./database.js";
const client = new PostgrestClient<Database>("http://x", { schema: "shop" });
export const one: number | null = (await client.rpc("pick", { id: 1 })).data;
export const all: string[] | null = (await client.rpc("pick", { name: "a", most: 2 })).data;
export const told: string | null | undefined = (await client.rpc("twice", { n: 1 })).data?.told;
// @ts-expect-error
await client.rpc("pick", { id: "a" });
// @ts-expect-error
await client.rpc("pick", {});
// @ts-expect-error
await client.rpc("twice", { told: "x" });
"""
    )
    assert compiled(package) == []


@with_node
def test_the_types_of_schema_rag_compile(application: str, package: Path) -> None:
    (package / "rag.ts").write_text(
        schema.typescript(application, schema="rag", bigint="string")
        + """
const hit = {} as Database["rag"]["Functions"]["search_keyword"]["Returns"][number];
export const uri: string | null = hit.uri;
export const id: string | null = hit.chunk_id;
// @ts-expect-error
export const none = hit.url;
"""
    )
    assert compiled(package) == []


@with_node
@pytest.mark.parametrize("schemas", ['["public"]', '["public", "rag"]'])
def test_drizzle_kit_sees_rag_only_where_it_is_told_to(
    application: str, package: Path, schemas: str
) -> None:
    if schemas == '["public"]':
        assert f"schemaFilter: {schemas}" in PAGE
    where = conninfo_to_dict(application)
    credentials = {"host": where["host"], "user": where["user"], "database": where["dbname"]}
    (package / "drizzle.config.ts").write_text(
        f"""export default {{ dialect: "postgresql", out: "./made", schemaFilter: {schemas},
            dbCredentials: {json.dumps({**credentials, "password": "none", "ssl": False})} }};"""
    )
    before = rag_of(application)
    done = run(package, "node_modules/.bin/drizzle-kit", "pull")
    assert done.returncode == 0, done.stdout + done.stderr
    made = (package / "made" / "schema.ts").read_text()
    assert '"pages"' in made and ('"collections"' in made) is ("rag" in schemas)
    assert rag_of(application) == before
