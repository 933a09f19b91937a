"""The documentation is true: its examples run, its commands exist, its links resolve."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer.main
from paths import ROOT, blocks, script
from psycopg.conninfo import make_conninfo
from typer import _click as click
from typer.testing import CliRunner

from rag_pg import Rag
from rag_pg.cli.app import app
from rag_pg.config import OTHERS, PREFIX, Settings

PAGES = [
    path.relative_to(ROOT).as_posix()
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
]
WRITTEN = [page for page in PAGES if page != "docs/reference/sql-api.md"]  # by hand

HANDBOOK = {
    "passwords.md": (
        "# Passwords\n\n## Reset my password\n\nTo reset your password, open the account page and"
        " choose Reset password. A link comes by mail.\n\n## Locked out\n\nSupport unlocks an"
        " account in office hours.\n"
    ),
    "backup.md": "# Backups\n\nBackups run every night at two and are kept for thirty days.\n",
    "vpn.md": (
        "# VPN\n\nError VPN-4711 says that the certificate has expired: ask support for a new"
        " one.\n"
    ),
}


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def statements(block: str) -> list[str]:
    return [part for part in re.split(r";\s*\n", block + "\n") if part.strip()]


# --- examples


@pytest.mark.parametrize("page", ["README.md", "docs/guides/python.md"])
def test_python_examples_run(page: str, dsn: str, home: Path, tmp_path: Path) -> None:
    found = blocks(read(page), "python")
    assert found
    (tmp_path / "handbook").mkdir()
    for name, text in HANDBOOK.items():
        (tmp_path / "handbook" / name).write_text(text)
    (tmp_path / "example.py").write_text("\n\n".join(found))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(PREFIX)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "example.py"],
        cwd=tmp_path,
        env=environment | {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert re.search("^3 (documents )?added, 0 unchanged$", done.stdout, re.MULTILINE)
    assert "passwords.md" in done.stdout
    assert re.search(r"reset password.*\[1\]", done.stdout, re.IGNORECASE)


def test_readme_sql_examples_run(connection: psycopg.Connection[Any]) -> None:
    found = blocks(read("README.md"), "sql")
    assert len(found) >= 2
    for statement in [s for block in found for s in statements(block)]:
        rows = connection.execute(statement.encode()).fetchall()
        assert rows, f"no row: {statement}"
        if "FROM rag.search" in statement:
            assert "backup" in str(rows[0]).lower()


@pytest.fixture
def roles(dsn: str) -> Iterator[dict[str, str]]:
    """Roles for the example, under names of their own: roles belong to the whole server."""
    kinds = ("rag_reader", "rag_evaluator", "rag_writer", "rag_worker")
    names = {name: f"{name}_{os.getpid()}" for name in kinds}
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name in names.values():
            connection.execute(f"CREATE ROLE {name} LOGIN".encode())
        yield names
        for name in names.values():
            connection.execute("SELECT rag.revoke_access(%s)", [name])
            connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}".encode())


def test_grants_of_the_operations_guide_suffice(
    dsn: str, connection: psycopg.Connection[Any], roles: dict[str, str]
) -> None:
    connection.execute("SELECT rag.create_collection('before', 'mine', 3)")
    for statement in statements(blocks(read("docs/guides/operations.md"), "sql")[0]):
        named = re.sub("|".join(roles), lambda match: roles[match[0]], statement)
        connection.execute(named.encode())
    connection.execute("SELECT rag.create_collection('after', 'mine', 3)")

    put = """SELECT rag.put_chunks(%s, 'a', '[{"content": "hello", "embedding": [1, 0, 0]}]')"""
    search = "SELECT uri FROM rag.search(%s, 'hello', '[1, 0, 0]')"
    with (
        psycopg.connect(make_conninfo(dsn, user=roles["rag_writer"]), autocommit=True) as writer,
        psycopg.connect(make_conninfo(dsn, user=roles["rag_reader"]), autocommit=True) as reader,
    ):
        for collection in ("before", "after"):
            writer.execute(put, (collection,))
            writer.execute("SELECT rag.put_document(%s, 'b', 'more')", (collection,))
            assert reader.execute(search, (collection,)).fetchall() == [("a",)]
            assert reader.execute("SELECT * FROM rag.collection_stats()").fetchall()
            assert writer.execute("SELECT * FROM rag.take_jobs(5)").fetchall()
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                reader.execute(put, (collection,))
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                writer.execute("SELECT rag.drop_collection(%s)", (collection,))


# --- commands


def commands() -> dict[str, click.Command]:
    """Every command by its full name: "add", "db upgrade", …"""
    root = typer.main.get_command(app)
    found: dict[str, click.Command] = {}
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        if inner is None:
            found[name] = command
        else:
            found |= {f"{name} {sub}": one for sub, one in inner.items()}
    return found


COMMANDS = commands()


def shown(page: str) -> Iterator[tuple[str, bool]]:
    """Each `rag-pg …` of a page, and whether it is a whole command line rather than a mention."""
    for block in blocks(read(page), "bash"):
        for line in block.replace("\\\n", "").splitlines():
            if line.startswith("rag-pg "):
                yield line.partition(" | ")[0], True
    prose = re.sub(r"^```.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)
    for mention in re.findall(r"`(rag-pg [^`]+)`", prose):
        yield " ".join(mention.split()), False


@pytest.mark.parametrize("page", WRITTEN)
def test_commands_shown_are_commands_that_exist(page: str) -> None:
    for line, whole in shown(page):
        words = shlex.split(line, comments=True)[1:]
        if words == ["--help"]:
            continue
        pair = " ".join(words[:2])
        name = pair if pair in COMMANDS else words[0]
        assert name in COMMANDS, line
        try:
            COMMANDS[name].make_context(name, words[len(name.split()) :])
        except click.exceptions.MissingParameter:
            assert not whole, line
        except click.exceptions.UsageError as error:
            raise AssertionError(f"{line}: {error.message}") from error


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented_and_has_help(name: str) -> None:
    assert any(f"rag-pg {name}" in read(page) for page in WRITTEN)
    result = CliRunner().invoke(app, [*name.split(), "--help"])
    assert result.exit_code == 0
    assert (COMMANDS[name].help or "").splitlines()[0][:30] in result.output


# --- tables of the guide to installing


INSTALL = "docs/guides/install.md"


def test_every_setting_is_listed() -> None:
    settings = {PREFIX + name.upper() for name in Settings.__dataclass_fields__}
    assert settings <= set(re.findall(r"RAG_PG_\w+", read(INSTALL)))
    mentioned = {n for page in WRITTEN for n in re.findall(r"RAG_PG_[A-Z][A-Z_]*[A-Z]", read(page))}
    runtime = {name for name in mentioned if not name.startswith("RAG_PG_TEST")}
    assert runtime <= settings | set(OTHERS)


def test_the_readme_is_short() -> None:
    assert read("README.md").count("\n") <= 200


def test_every_extra_is_listed() -> None:
    declared = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    table = read(INSTALL).split("## Extras")[1].split("##")[0]
    assert set(re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE)) == declared.keys() - {
        "dev",
        "unit",
        "bench",
        "frameworks",
    }


# --- pages


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_to_pages_resolve(page: str) -> None:
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", read(page), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert linked.is_file(), f"{page} links to {target}"
        if anchor:
            assert anchor in anchors(linked.relative_to(ROOT).as_posix()), target


def test_functions_named_in_prose_exist(connection: psycopg.Connection[Any]) -> None:
    known = {
        name
        for (name,) in connection.execute(
            """SELECT p.proname FROM pg_proc AS p WHERE p.pronamespace = 'rag'::regnamespace
               UNION SELECT c.relname FROM pg_class AS c
               WHERE c.relnamespace = 'rag'::regnamespace
               UNION SELECT t.cfgname FROM pg_ts_config AS t
               WHERE t.cfgnamespace = 'rag'::regnamespace
               UNION SELECT s.setting[1] FROM pg_proc AS p,
                   regexp_matches(p.prosrc, '(?:set_config|current_setting)[(]''rag[.]([a-z_]+)''',
                       'g') AS s (setting)
               WHERE p.pronamespace = 'rag'::regnamespace
               UNION SELECT s.setting[1] FROM pg_attrdef AS d,
                   regexp_matches(pg_get_expr(d.adbin, d.adrelid),
                       'current_setting[(]''rag[.]([a-z_]+)''', 'g') AS s (setting)"""
        )
    }
    client = {name for name in dir(Rag) if not name.startswith("_")}
    for page in WRITTEN:
        if page.startswith("docs/decisions/"):
            continue  # they keep the names of their day
        text = re.sub(r"^```python.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)
        named = set(re.findall(r"(?<![\w/.-])rag\.([a-z_]+)\b(?!\.)", text))
        assert named <= known | client, page


def test_sql_reference_is_as_the_catalogue_says(dsn: str) -> None:
    assert read("docs/reference/sql-api.md") == script("generate_sql_api").render(dsn), (
        "run: make docs"
    )
