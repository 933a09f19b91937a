"""Documents that pass a filter are deleted or given other metadata, and a put leaves or refuses
what is there: each against what a plain dictionary says."""

from __future__ import annotations

import json
import threading
from typing import Any

import psycopg
import pytest
from filter_oracle import matches
from patience import wait_until

Connection = psycopg.Connection[Any]
FILTERS: list[dict[str, Any]] = [
    {"n": {"$gte": 5}}, {"tag": "a"}, {"n": {"$lt": 3}, "tag": {"$in": ["b", "c"]}},
    {"$not": {"tag": {"$exists": True}}}, {"tag": {"$ilike": "A%"}}, {"n": 1000},
]  # fmt: skip
Rows = dict[str, dict[str, Any]]


@pytest.fixture
def rows(connection: Connection) -> Rows:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    made: Rows = {f"d{n}": {"n": n} for n in range(12)}
    for n in range(12):
        if n % 4:
            made[f"d{n}"]["tag"] = ("a", "b", "Ab")[n % 3]
    for uri, metadata in made.items():
        chunks: list[dict[str, Any]] = [
            {"content": f"common {uri} part {p}", "embedding": [1, p, 1]} for p in (0, 1)
        ]
        chunks[1]["metadata"] = {"part": 1, "n": 99}  # of its own
        connection.execute(
            "SELECT rag.put_chunks('c', %s, %s, metadata => %s)",
            [uri, json.dumps(chunks), json.dumps(metadata)],
        )
    return made


def stored(connection: Connection) -> Rows:
    return dict(connection.execute("SELECT uri, metadata FROM rag.documents").fetchall())


def value(connection: Connection, call: str, *arguments: Any) -> Any:
    given = [json.dumps(one) if isinstance(one, dict) else one for one in arguments]
    (found,) = connection.execute(f"SELECT rag.{call}".encode(), given).fetchone() or (None,)
    return found


@pytest.mark.parametrize("wanted", FILTERS, ids=json.dumps)
@pytest.mark.few(3)
def test_what_passes_is_deleted_with_its_chunks_and_vectors(
    connection: Connection, rows: Rows, wanted: dict[str, Any]
) -> None:
    kept = {uri: metadata for uri, metadata in rows.items() if not matches(metadata, wanted)}
    assert value(connection, "delete_where('c', %s)", wanted) == len(rows) - len(kept)
    assert stored(connection) == kept
    for table in ("chunks", "embeddings"):
        assert (
            value(connection, f"count_documents('c') * 2 - (SELECT count(*) FROM rag.{table})") == 0
        )
    found = connection.execute("SELECT uri FROM rag.search_keyword('c', 'common', 1000)").fetchall()
    assert {uri for (uri,) in found} == kept.keys()


def test_only_clearing_deletes_everything(connection: Connection, rows: Rows) -> None:
    for nothing in ("{}", None):
        with pytest.raises(psycopg.Error, match="passes every document") as caught:
            value(connection, "delete_where('c', %s)", nothing)
        assert caught.value.sqlstate == "RG001"
        assert "everything => true" in str(caught.value.diag.message_hint)
    assert value(connection, "delete_where('c', '{}', true)") == len(rows)
    assert value(connection, "delete_where('c', '{}', everything => true)") == 0
    assert connection.execute("SELECT chunks FROM rag.collection_stats('c')").fetchone() == (0,)


def test_a_deletion_by_filter_is_all_or_none(connection: Connection, rows: Rows) -> None:
    with connection.transaction(force_rollback=True):
        assert value(connection, "delete_where('c', %s)", {"n": {"$gte": 0}}) == len(rows)
    assert stored(connection) == rows


def test_a_document_that_stops_passing_before_it_is_locked_stays(
    connection: Connection, rows: Rows, dsn: str
) -> None:
    done: list[int] = []
    with psycopg.connect(dsn) as other:
        other.execute("""SELECT rag.merge_metadata('c', '{"$uri": "d5"}', '{"n": 0}')""")

        def delete() -> None:
            with psycopg.connect(dsn, autocommit=True) as third:
                done.append(value(third, "delete_where('c', %s)", {"n": {"$gte": 5}}))

        deleting = threading.Thread(target=delete)
        deleting.start()
        waits = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
        wait_until(
            lambda: connection.execute(waits, ["%delete_where%"]).rowcount > 0,
            "the deletion's wait",
        )
        other.commit()
        deleting.join()
    assert done == [6]
    assert stored(connection).keys() == {f"d{n}" for n in range(6)}


@pytest.mark.parametrize("wanted", [*FILTERS, {}], ids=json.dumps)
@pytest.mark.few(3)
def test_metadata_is_merged_without_the_text(
    connection: Connection, rows: Rows, wanted: dict[str, Any]
) -> None:
    texts = connection.execute("SELECT chunk_id, content, ctid FROM rag.chunks").fetchall()
    patch = {"tag": None, "more": {"a": [1]}}
    expected = {
        uri: {k: v for k, v in metadata.items() if k != "n"} | patch
        if matches(metadata, wanted)
        else metadata
        for uri, metadata in rows.items()
    }
    changed = sum(expected[uri] != rows[uri] for uri in rows)
    merged = value(connection, "merge_metadata('c', %s, %s, '{n}')", wanted, patch)
    assert merged == changed and stored(connection) == expected
    of_chunks = connection.execute(
        "SELECT d.uri, c.ordinal, c.metadata FROM rag.chunks AS c JOIN rag.documents AS d USING"
        " (collection_id, document_id)"
    ).fetchall()
    for uri, ordinal, metadata in of_chunks:
        assert metadata == expected[uri] | ({"part": 1, "n": 99} if ordinal else {})
    after = connection.execute("SELECT chunk_id, content FROM rag.chunks").fetchall()
    assert sorted(after) == sorted((key, text) for key, text, _ in texts)
    assert connection.execute("SELECT count(*) FROM rag.jobs").fetchone() == (0,)


@pytest.mark.parametrize("patch", ["[]", "1", "null", None])
def test_a_patch_is_an_object(connection: Connection, rows: Rows, patch: str | None) -> None:
    with pytest.raises(psycopg.Error, match="the patch is no JSON object"):
        value(connection, "merge_metadata('c', '{}', %s)", patch)
    with pytest.raises(psycopg.Error, match="at most 262144"):
        value(connection, "merge_metadata('c', '{}', %s)", {"long": list(range(100_000))})
    assert stored(connection) == rows


PUTS = {
    "put_document": "SELECT rag.put_document('e', 'old', '{}', existing => %s)",
    "put_documents": (
        """SELECT rag.put_documents('e', '[{{"uri": "old", "content": "{}"}},
            {{"uri": "new", "content": "new"}}]', %s)"""
    ),
    "put_chunks": """SELECT rag.put_chunks('e', 'old', '[{{"content": "{}"}}]', existing => %s)""",
    "load_chunks": (
        """SELECT queued FROM rag.load_chunks('e', '[{{"uri": "old", "content": "{}"}},
            {{"uri": "new", "content": "new"}}]', %s)"""
    ),
    "load_staged": (
        """SELECT queued FROM rag.load_staged('e', %s)"""
    ),
}  # fmt: skip


def put(connection: Connection, name: str, content: str, existing: str | None) -> None:
    with connection.transaction():
        if name == "load_staged":
            connection.execute(
                "CREATE TEMP TABLE staged_chunks (position bigint, uri text, title text, heading"
                " text, content text, metadata jsonb, embedding public.halfvec) ON COMMIT DROP"
            )
            connection.execute(
                "INSERT INTO staged_chunks VALUES (1, 'old', '', '', %s, '{}', NULL),"
                " (2, 'new', '', '', 'new', '{}', NULL)",
                [content],
            )
        connection.execute(PUTS[name].format(content).encode(), [existing]).fetchall()


@pytest.mark.parametrize("name", PUTS)
def test_a_put_replaces_leaves_or_refuses_what_is_there(connection: Connection, name: str) -> None:
    connection.execute("SELECT rag.create_collection('e', 'none', 3)")

    def texts() -> dict[str, str]:
        return dict(connection.execute("SELECT uri, content FROM rag.documents").fetchall())

    other = {} if name in ("put_document", "put_chunks") else {"new": "new"}
    put(connection, name, "first", "error")
    assert texts() == {"old": "first"} | other
    before = connection.execute("SELECT chunk_id, xmin FROM rag.chunks").fetchall()
    connection.execute("SELECT rag.delete_document('e', 'new')")
    with pytest.raises(psycopg.Error, match="collection 'e' has a document 'old'") as caught:
        put(connection, name, "second", "error")
    assert caught.value.sqlstate == "RG012" and caught.value.diag.message_hint
    assert texts() == {"old": "first"}  # all or none
    put(connection, name, "second", "skip")
    assert texts() == {"old": "first"} | other
    assert {*before} & {
        *connection.execute("SELECT chunk_id, xmin FROM rag.chunks").fetchall()
    } or (not before)
    put(connection, name, "third", "replace")
    assert texts() == {"old": "third"} | other
    for wrong in ("REPLACE", "", None):
        with pytest.raises(psycopg.Error, match="existing is") as caught:
            put(connection, name, "fourth", wrong)
        assert caught.value.sqlstate == "RG001"


def test_of_two_puts_at_once_that_refuse_one_is_refused(connection: Connection, dsn: str) -> None:
    connection.execute("SELECT rag.create_collection('e', 'none', 3)")
    told: list[str | None] = []
    with psycopg.connect(dsn) as first:
        first.execute("SELECT rag.put_document('e', 'old', 'first', existing => 'error')")

        def second() -> None:
            with psycopg.connect(dsn, autocommit=True) as other:
                try:
                    put(other, "put_document", "second", "error")
                except psycopg.Error as error:
                    told.append(error.sqlstate)

        putting = threading.Thread(target=second)
        putting.start()
        waits = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE %s"
        wait_until(
            lambda: connection.execute(waits, ["%put_document%"]).rowcount > 0, "the other's wait"
        )
        first.commit()
        putting.join()
    assert told == ["RG012"]


def test_many_are_read_by_uri_with_their_chunks_and_vectors(
    connection: Connection, rows: Rows
) -> None:
    uris = ["d7", "never", "d1", "d7"]
    found = connection.execute(
        "SELECT uri, content, metadata, chunks FROM rag.get_documents('c', %s)", [uris]
    ).fetchall()
    assert found == [
        (uri, f"common {uri} part 0\n\ncommon {uri} part 1", rows[uri], 2) for uri in ("d1", "d7")
    ]
    chunks = connection.execute(
        "SELECT chunk_id, uri, ordinal, content, metadata ->> 'part' FROM rag.list_chunks('c', %s)",
        [uris],
    ).fetchall()
    assert [row[1:] for row in chunks] == [
        (uri, part, f"common {uri} part {part}", (None, "1")[part])
        for uri in ("d1", "d7")
        for part in (0, 1)
    ]
    vectors = connection.execute(
        "SELECT chunk_id, embedding::text FROM rag.get_embeddings('c', %s)",
        [[-1, *(row[0] for row in chunks)]],
    ).fetchall()
    assert dict(vectors) == {row[0]: f"[1,{row[2]},1]" for row in chunks}
    listed = "SELECT content IS NULL FROM rag.list_documents('c', with_content => %s)"
    assert {*connection.execute(listed, [True])} == {(False,)}
    assert {*connection.execute(listed, [False])} == {(True,)}


def test_a_policy_hides_chunks_and_vectors_from_who_reads_them_by_id(
    connection: Connection, rows: Rows
) -> None:
    (ids,) = connection.execute("SELECT array_agg(chunk_id) FROM rag.chunks").fetchone() or ([],)
    with connection.transaction(force_rollback=True):
        connection.execute(
            "CREATE ROLE chunk_reader; SELECT rag.grant_access('chunk_reader', 'reader')"
        )
        for table in ("documents", "chunks"):
            connection.execute(
                f"ALTER TABLE rag.{table} ENABLE ROW LEVEL SECURITY;"
                f"CREATE POLICY own ON rag.{table} USING (metadata ->> 'tag' = 'a')".encode()
            )
        connection.execute("SET LOCAL ROLE chunk_reader")
        seen = 2 * sum(metadata.get("tag") == "a" for metadata in rows.values())
        for call in (
            f"rag.get_embeddings('c', '{{{','.join(map(str, ids))}}}')",
            f"rag.list_chunks('c', '{{{','.join(rows)}}}')",
        ):
            assert connection.execute(f"SELECT count(*) FROM {call}".encode()).fetchone() == (seen,)


def test_chunks_of_several_documents_are_loaded_by_one_statement(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    chunks = [
        {"uri": "a", "content": "one", "embedding": [1, 0, 0], "title": "A", "lang": "en"},
        {"uri": "b", "content": "two", "metadata": {"n": 1}},
        {"uri": "a", "content": "three", "heading": "H", "lang": "en", "n": 2},
    ]
    counts = connection.execute(
        "SELECT loaded_documents, loaded_chunks, cardinality(queued) FROM rag.load_chunks('c', %s)",
        [json.dumps(chunks)],
    ).fetchone()
    assert counts == (2, 3, 2)
    assert stored(connection) == {"a": {"lang": "en"}, "b": {"n": 1}}
    listed = "SELECT uri, content, heading, metadata FROM rag.list_chunks('c', '{a, b}')"
    assert connection.execute(listed).fetchall() == [
        ("a", "one", "", {"lang": "en"}),
        ("a", "three", "H", {"lang": "en", "n": 2}),
        ("b", "two", "", {"n": 1}),
    ]
    nothing = connection.execute("SELECT loaded_chunks FROM rag.load_chunks('c', '[]')").fetchone()
    assert nothing == (0,)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ({"uri": "a"}, "chunks is not a JSON array"),
        ([{"uri": "a", "content": "x"}, {"uri": "b"}], "chunk 1 of 'b' has no uri or no content"),
        ([{"content": "x"}], "chunk 0 has no uri"),
        ([{"uri": "a", "content": " \n"}], "chunk 0 of 'a' has no uri or no content"),
        ([5], "chunk 0 has no uri"),
        ([{"uri": "a", "content": "x", "embedding": "y"}], "embedding of a chunk cannot be read"),
        ([{"uri": "a", "content": "x", "embedding": [1]}], "has 1 dimensions, collection 'c'"),
    ],
)
def test_a_chunk_that_cannot_be_loaded_is_named_and_nothing_is_loaded(
    connection: Connection, chunks: Any, message: str
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    with pytest.raises(psycopg.Error, match=message) as caught:
        connection.execute("SELECT rag.load_chunks('c', %s)", [json.dumps(chunks)])
    assert caught.value.sqlstate == "RG001" and caught.value.diag.message_hint
    assert stored(connection) == {}
