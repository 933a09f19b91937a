"""What a sync notes of the documents that it wrote."""

from __future__ import annotations

from typing import Any

import psycopg

NOTED = "SELECT uri, sync_state FROM rag._synced_documents('docs', 'a/')"


def test_a_note_stays_until_somebody_writes_something_else(
    connection: psycopg.Connection[Any],
) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    for uri in ("a/1", "a/2", "b/1"):
        connection.execute("SELECT rag.put_document('docs', %s, 'text')", [uri])
    connection.execute("""SELECT rag._note_synced('docs', '{"a/1": {"tag": "x"}, "gone": {}}')""")
    assert connection.execute(NOTED).fetchall() == [("a/1", {"tag": "x"}), ("a/2", None)]
    connection.execute("SELECT rag.put_document('docs', 'a/1', 'text')")
    assert connection.execute(NOTED).fetchall()[0] == ("a/1", {"tag": "x"})
    connection.execute("SELECT rag.put_document('docs', 'a/1', 'another text')")
    assert connection.execute(NOTED).fetchall()[0] == ("a/1", None)
