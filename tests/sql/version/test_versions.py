"""Earlier versions: kept as long as is said, read by time, compared line by line, and removed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rota import tries

from rag_pg import NotFound, Rag

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def shared_connection(
    new_database: Callable[..., str], template: str
) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(new_database(template), autocommit=True) as opened:
        yield opened


@pytest.fixture
def docs(connection: Connection) -> Connection:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'simple')")
    connection.execute("SELECT rag.alter_collection('c', keep_versions => '30 days')")
    return connection


def put(connection: Connection, uri: str, content: str, **more: Any) -> None:
    connection.execute(
        "SELECT rag.put_document('c', %s, %s, metadata => %s)", [uri, content, json.dumps(more)]
    )


def versions(connection: Connection, uri: str) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT version, state, characters FROM rag.list_versions('c', %s)", [uri]
    ).fetchall()


def moment(connection: Connection) -> Any:
    (now,) = connection.execute("SELECT clock_timestamp()").fetchone() or (None,)
    return now


def at(connection: Connection, uri: str, when: Any) -> str | None:
    row = connection.execute(
        "SELECT content FROM rag.document_at('c', %s, %s)", [uri, when]
    ).fetchone()
    return None if row is None else row[0]


def test_a_document_says_at_each_moment_what_it_said_then(docs: Connection) -> None:
    moments = [moment(docs)]
    texts = [None, "first text", "second text", None, "third text"]
    for text in texts[1:]:
        if text is None:
            docs.execute("SELECT rag.delete_document('c', 'a')")
        else:
            put(docs, "a", text)
        moments.append(moment(docs))
    assert [at(docs, "a", when) for when in moments] == texts
    assert versions(docs, "a") == [
        (3, "current", 10),
        (2, "deleted", 11),
        (1, "replaced", 10),
    ]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(["put", "put again", "delete"]), max_size=8))
def test_a_version_begins_where_the_one_before_it_ends(docs: Connection, steps: list[str]) -> None:
    docs.execute("DELETE FROM rag.document_versions")
    docs.execute("SELECT rag.delete_document('c', 'b')")
    for number, step in enumerate(["put", *steps]):
        if step == "delete":
            docs.execute("SELECT rag.delete_document('c', 'b')")
        else:
            put(docs, "b", f"text {number}")
    rows = docs.execute(
        """SELECT v.version, v.state, v.valid_from, v.valid_until, a.version
           FROM rag.list_versions('c', 'b') AS v
           LEFT JOIN LATERAL rag.document_at('c', 'b', v.valid_until) AS a ON true
           ORDER BY v.version"""
    ).fetchall()
    for (_, state, start, stop, then), (version, _, following, until, _) in pairwise(rows):
        assert start <= stop
        assert state == "deleted" or stop == following
        assert state == "deleted" or then >= version
        assert state == "deleted" or then == version or until == following


def test_a_clock_that_was_set_back_makes_no_version_that_ends_before_it_begins(
    docs: Connection,
) -> None:
    put(docs, "a", "one")
    docs.execute("UPDATE rag.documents SET text_since = CURRENT_TIMESTAMP + '1h'::interval")
    docs.execute("UPDATE rag.version_commits SET committed_at = CURRENT_TIMESTAMP + '1h'::interval")
    put(docs, "a", "two")
    docs.execute("SELECT rag.delete_document('c', 'a')")
    rows = docs.execute(
        "SELECT valid_from, valid_until FROM rag.list_versions('c', 'a') ORDER BY version"
    ).fetchall()
    assert len({moment for row in rows for moment in row}) == 1


def test_an_equal_text_or_other_metadata_is_no_version(docs: Connection) -> None:
    put(docs, "a", "a text")
    put(docs, "a", "a text")
    put(docs, "a", "a text", n=1)
    assert versions(docs, "a") == [(1, "current", 6)]


def test_chunks_that_come_ready_made_keep_versions_too(docs: Connection) -> None:
    for text in ("one", "two", "three"):
        docs.execute(
            "SELECT rag.put_chunks('c', 'a', %s)", [json.dumps([{"content": f"the {text} text"}])]
        )
    assert [(v, state) for v, state, _ in versions(docs, "a")] == [
        (3, "current"), (2, "replaced"), (1, "replaced"),
    ]  # fmt: skip
    found = docs.execute("SELECT content FROM rag.search_keyword('c', 'text')").fetchall()
    assert found == [("the three text",)]


def test_nothing_is_kept_where_nobody_said_so(docs: Connection) -> None:
    docs.execute("SELECT rag.alter_collection('c', keep_versions => '0')")
    put(docs, "a", "first")
    put(docs, "a", "second")
    docs.execute("SELECT rag.delete_document('c', 'a')")
    assert versions(docs, "a") == []
    assert docs.execute("SELECT count(*) FROM rag.document_versions").fetchone() == (0,)


def test_maintenance_removes_what_is_older_than_it_may_be(docs: Connection) -> None:
    for text in ("one", "two", "three"):
        put(docs, "a", text)
    docs.execute(
        "UPDATE rag.document_versions SET valid_until = now() - interval '31 days'"
        " WHERE version = 1"
    )
    docs.execute("CALL rag.maintain()")
    assert [v for v, *_ in versions(docs, "a")] == [3, 2]
    docs.execute("SELECT rag.alter_collection('c', keep_versions => '0')")
    docs.execute("CALL rag.maintain()")
    assert [v for v, *_ in versions(docs, "a")] == [3]


def test_a_dropped_collection_leaves_no_version(docs: Connection) -> None:
    put(docs, "a", "one")
    put(docs, "a", "two")
    docs.execute("SELECT rag.drop_collection('c')")
    assert docs.execute("SELECT count(*) FROM rag.document_versions").fetchone() == (0,)


def test_a_difference_is_shown_line_by_line(docs: Connection) -> None:
    put(docs, "a", "title\n\none\ntwo\nthree\nfour\nfive\nsix")
    put(docs, "a", "title\n\none\n2\nthree\nfour\nfive\nsix\nseven")
    found = docs.execute(
        "SELECT * FROM rag.diff_versions('c', 'a', 1, 2, context_lines => 1)"
    ).fetchall()
    assert found == [
        ("=", 3, 3, "one"),
        ("-", 4, None, "two"),
        ("+", None, 4, "2"),
        ("=", 5, 5, "three"),
        ("=", 8, 8, "six"),
        ("+", None, 9, "seven"),
    ]
    assert docs.execute("SELECT count(*) FROM rag.diff_versions('c', 'a', 1, 1)").fetchone() == (0,)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("rag.diff_versions('c', 'a', 1, 7)", "document 'a' has no version 7"),
        ("rag.diff_versions('c', 'none', 1, 2)", "document 'none' has no version 1"),
        ("rag.diff_versions('c', 'a', 1, 1, -1)", "context_lines is -1"),
        ("rag.alter_collection('c', keep_versions => '-1 day')", "is out of range"),
        ("rag.alter_collection('c', keep_versions => '100000000 years')", "is out of range"),
        ("rag.list_versions('no', 'a')", "no"),
    ],
)
def test_what_is_wrong_is_said(docs: Connection, call: str, message: str) -> None:
    put(docs, "a", "one")
    with pytest.raises(psycopg.Error, match=message) as caught:
        docs.execute(f"SELECT * FROM {call}".encode())
    assert (caught.value.sqlstate or "").startswith("RG")
    assert caught.value.diag.message_hint


LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "", "e f"]), max_size=14)


@settings(max_examples=tries(60, 24), deadline=None)
@given(old=LINES, new=LINES)
def test_a_difference_holds_both_texts_and_what_is_equal(
    shared_connection: Connection, old: list[str], new: list[str]
) -> None:
    rows = shared_connection.execute(
        "SELECT * FROM rag._different_lines(%s, %s)", ["\n".join(old), "\n".join(new)]
    ).fetchall()
    before = "\n".join(old).split("\n") if "\n".join(old) else []
    after = "\n".join(new).split("\n") if "\n".join(new) else []
    assert [line for change, _, _, line in rows if change != "+"] == before
    assert [line for change, _, _, line in rows if change != "-"] == after
    assert [n for _, n, _, _ in rows if n is not None] == list(range(1, len(before) + 1))
    assert [n for _, _, n, _ in rows if n is not None] == list(range(1, len(after) + 1))
    if before == after:
        assert {change for change, *_ in rows} <= {"="}


def test_a_long_text_with_few_changes_has_as_few_as_the_library_finds(
    shared_connection: Connection,
) -> None:
    old = [f"line {n} of the manual" for n in range(3000)]
    new = [*old[:100], "another", *old[100:1500], *old[1504:2900], "last but one", *old[2900:]]
    rows = shared_connection.execute(
        "SELECT change FROM rag._different_lines(%s, %s)", ["\n".join(old), "\n".join(new)]
    ).fetchall()
    expected = [line[0] for line in difflib.ndiff(old, new) if line[0] in "+-"]
    assert sorted(c for (c,) in rows if c != "=") == sorted(expected)


def test_the_client_reads_versions(dsn: str) -> None:
    with Rag(dsn, embedders={"hash": HashEmbedder}) as rag:
        docs = rag.collection("docs", model="hash:16")
        docs.alter(keep_versions=timedelta(days=7))
        assert docs.info.keep_versions == 7 * 86400
        docs.add({"uri": "a", "content": "It opens at eight."})
        docs.add({"uri": "a", "content": "It opens at nine."})
        newest, oldest = docs.versions.list("a")
        assert (newest.version, oldest.version, oldest.state) == (2, 1, "replaced")
        assert oldest.valid_until is not None
        before = docs.versions.at("a", oldest.valid_until - timedelta(microseconds=1))
        assert before is not None
        assert before.content == "It opens at eight."
        assert [c.line for c in docs.versions.diff("a", 1, 2)] == [
            "It opens at eight.",
            "It opens at nine.",
        ]
        with pytest.raises(NotFound, match="there are 1, 2"):
            docs.versions.diff("a", 1, 3)


def test_a_quote_of_an_earlier_version_is_superseded(docs: Connection) -> None:
    for hour in ("eight", "nine"):
        docs.execute(
            "SELECT rag.put_chunks('c', 'a', %s)",
            [json.dumps([{"content": f"The office opens at {hour} in the morning."}])],
        )
    (chunk,) = docs.execute(
        "SELECT chunk_id FROM rag.search_keyword('c', 'office')"
    ).fetchone() or (None,)
    check = "SELECT status FROM rag.check_citation('c', %s, %s)"
    old, new, never = (f"The office opens at {h} in" for h in ("eight", "nine", "seven"))
    assert docs.execute(check, [chunk, new]).fetchone() == ("exact",)
    assert docs.execute(check, [chunk, old]).fetchone() == ("superseded",)
    (status,) = docs.execute(check, [chunk, never]).fetchone() or (None,)
    assert status in ("partial", "fabricated")


def test_long_texts_that_share_nothing_are_compared_by_hashes(
    shared_connection: Connection,
) -> None:
    """A nested loop over 30,000 lines each would take minutes."""
    with shared_connection.transaction():
        shared_connection.execute("SET LOCAL statement_timeout = '60s'")
        row = shared_connection.execute(
            """SELECT count(*) FILTER (WHERE change = '-'), count(*) FILTER (WHERE change = '+')
               FROM rag._different_lines(
                   (SELECT string_agg('old ' || n, E'\n') FROM generate_series(1, 30000) AS n),
                   (SELECT string_agg('new ' || n, E'\n') FROM generate_series(1, 30000) AS n))"""
        ).fetchone()
    assert row == (30000, 30000)
