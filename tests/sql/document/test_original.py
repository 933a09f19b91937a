"""The files that documents were made from: kept, read, and gone with them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner, Result

from rag_pg import Rag
from rag_pg.cli.app import app
from rag_pg.errors import NotFound

Connection = psycopg.Connection[Any]
DATA = b"# Zoo\n\nThe bear eats honey.\r\n"


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    path = tmp_path / "zoo.md"
    path.write_bytes(DATA)
    return path


def rows(connection: Connection) -> int:
    (row,) = connection.execute("SELECT count(*) FROM rag.originals").fetchall()
    return int(row[0])


def test_a_file_is_kept_as_it_was_and_goes_with_its_document(
    rag: Rag, zoo: Path, connection: Connection
) -> None:
    docs = rag.collection("docs", model="hash:32")
    (uri,) = docs.add(zoo, keep_original=True).uris
    found = docs.original(uri)
    assert (found.data, found.size, found.file_name) == (DATA, len(DATA), "zoo.md")
    assert found.sha256 == sha256(DATA).hexdigest()
    docs.add(zoo, keep_original=True)
    assert rows(connection) == 1
    zoo.write_bytes(DATA + b"More.\n")
    docs.add(zoo)  # the text is another one now
    with pytest.raises(NotFound, match="no file of document"):
        docs.original(uri)
    docs.add(zoo, keep_original=True)
    docs.delete(uri)
    assert rows(connection) == 0


def test_nothing_is_kept_unless_it_is_asked_for(
    rag: Rag, zoo: Path, connection: Connection
) -> None:
    rag.collection("docs", model="hash:32").add(zoo)
    assert rows(connection) == 0


def test_a_file_goes_with_its_collection(rag: Rag, zoo: Path, connection: Connection) -> None:
    rag.collection("docs", model="hash:32").add(zoo, keep_original=True)
    rag.drop_collection("docs")
    connection.execute("SELECT rag.remove_dropped()")
    assert rows(connection) == 0


def test_who_may_not_see_a_document_sees_no_file_of_it(
    rag: Rag, zoo: Path, connection: Connection, dsn: str
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(zoo, keep_original=True)
    connection.autocommit = True
    connection.execute(
        """CREATE ROLE stranger; GRANT USAGE ON SCHEMA rag TO stranger;
           GRANT EXECUTE ON ALL ROUTINES IN SCHEMA rag TO stranger;
           GRANT SELECT ON ALL TABLES IN SCHEMA rag TO stranger;
           ALTER TABLE rag.documents ENABLE ROW LEVEL SECURITY"""
    )
    try:
        connection.execute("SET ROLE stranger")
        assert rows(connection) == 0
        (uri,) = [document.uri for document in docs.list()]
        statement = "SELECT count(*) FROM rag.get_original('docs', %s)"
        assert connection.execute(statement, [uri]).fetchone() == (0,)
    finally:
        connection.execute("RESET ROLE; DROP OWNED BY stranger; DROP ROLE stranger")


@pytest.mark.parametrize("size", [0, 100_000_001])
@pytest.mark.few(1)
def test_a_file_has_a_size_that_can_be_kept(
    rag: Rag, zoo: Path, connection: Connection, size: int
) -> None:
    (uri,) = rag.collection("docs", model="hash:32").add(zoo).uris
    with pytest.raises(psycopg.DatabaseError, match=f"has {size} bytes") as caught:
        connection.execute(
            "SELECT rag.keep_original('docs', %s, 'a', convert_to(repeat('x', %s), 'UTF8'))",
            [uri, size],
        )
    assert caught.value.sqlstate == "RG001"


def test_the_command_line_gives_the_file_back(
    rag: Rag, dsn: str, zoo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RAG_PG_DSN", dsn)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments))

    monkeypatch.chdir(tmp_path)
    rag.collection("docs", model="hash:32").add("zoo.md", keep_original=True)
    out = tmp_path / "again.md"
    assert run("show", "zoo.md", "--original", "-o", str(out)).exit_code == 0
    assert out.read_bytes() == DATA
    assert run("show", "zoo.md", "--original", "-o", "-").stdout_bytes == DATA
    refused = run("show", "zoo.md", "--original")
    assert refused.exit_code != 0 and zoo.read_bytes() == DATA


def test_a_collection_says_whether_files_are_kept(rag: Rag, zoo: Path) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.alter(keep_original=True)
    assert docs.info.keep_original and rag.collections()[0].keep_original
    (uri,) = docs.add(zoo).uris
    assert docs.original(uri).data == DATA
    zoo.write_bytes(DATA + b"It sleeps in winter.")
    docs.sync(zoo.parent)
    assert docs.original(uri).data == zoo.read_bytes()
    (other,) = docs.add(
        {"uri": "text", "content": "No file."}, zoo.rename(zoo.with_name("b.md")),
        keep_original=False,
    ).uris[1:]  # fmt: skip
    with pytest.raises(NotFound):
        docs.original(other)
    docs.alter(keep_original=False)
    assert docs.original(uri).data  # what is kept stays
    docs.erase(uri)
    with pytest.raises(NotFound):
        docs.original(uri)
