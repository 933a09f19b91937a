"""Processes whose locale is not UTF-8: what they install is the same,
and what they cannot print they escape. Databases in Turkish."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from rag_pg.db import schema
from rag_pg.db.connect import connect

LOCALES = {
    "ASCII": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "ASCII output": {"PYTHONIOENCODING": "ascii"},
    "Latin-1 output": {"PYTHONIOENCODING": "latin-1:strict"},
}


@pytest.mark.parametrize(
    "locale",
    [pytest.param(n, marks=() if n == "ASCII" else pytest.mark.minutes) for n in LOCALES],
)
def test_another_locale_installs_the_same_and_prints_without_a_traceback(
    new_database: Callable[..., str], tmp_path: Path, locale: str
) -> None:
    """In `make test` with a locale that has neither input nor output beyond ASCII."""
    dsn = new_database()

    def rag_pg(*arguments: str) -> str:
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("RAG_PG_", "LC_", "LANG"))
        }
        done = subprocess.run(
            [sys.executable, "-m", "rag_pg", *arguments],
            env=environment | LOCALES[locale] | {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(tmp_path)},
            capture_output=True,
        )
        assert b"Traceback" not in done.stderr
        assert done.returncode == 0, done.stderr
        return done.stdout.decode("latin-1")

    rag_pg("db", "upgrade")
    assert schema.check(dsn) == []
    with connect(dsn, autocommit=True) as db:
        db.execute("SELECT rag.create_collection('docs', 'none', 3)")
        db.execute("SELECT rag.put_chunks('docs', 'Köln-Ижевск', '[{\"content\": \"Straße …\"}]')")
    printed = rag_pg("documents")
    assert "ln-\\u0418\\u0436" in printed
    assert ("Köln" in printed) == ("K\\xf6ln" not in printed) == (locale == "Latin-1 output")


def test_a_turkish_database_proves_finds_and_refuses_as_others_do(
    new_database: Callable[..., str],
) -> None:
    with connect(new_database(), autocommit=True) as db:
        try:
            db.execute("CREATE DATABASE turkish TEMPLATE template0 LOCALE 'tr_TR.UTF-8'")
        except psycopg.Error as exc:
            pytest.skip(f"no engine: this server has no Turkish locale: {exc}")
        dsn = make_conninfo(db.info.dsn, dbname="turkish")
        try:
            schema.upgrade(dsn)
            with connect(dsn) as turkish:
                assert turkish.execute("SELECT lower('I')").fetchone() == ("\u0131",)
                found = turkish.execute(
                    """SELECT rag._lower('KILOMETRES İIı'),
                              rag._is_unit_name(rag._lower('INCHES')),
                              rag._hidden_text('<p STYLE="VISIBILITY: HIDDEN">x</p>'),
                              rag._answer_words('It IS')"""
                ).fetchone()
                assert found == ("kilometres iiı", True, ["HTML that is not shown"], ["it", "is"])
                turkish.execute("SELECT rag.create_collection('docs', 'none', 3)")
                with pytest.raises(psycopg.Error, match="holds a credential"):
                    turkish.execute(
                        "SELECT rag.attach_location('docs', 'https://a.example/?SIG=1')"
                    )
        finally:
            db.execute("DROP DATABASE turkish WITH (FORCE)")
