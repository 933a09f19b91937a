import json
import threading
from typing import Any

import psycopg
import pytest

from rag_pg import InvalidInput, Rag
from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]
GOOD = {"uri": "a", "content": "the first text", "title": "A", "metadata": {"n": 1}}


def begin(rag: Rag) -> None:
    with psycopg.connect(str(rag.dsn), autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('c', 'none', 3)")


def one(connection: Connection, query: str, *values: object) -> Any:
    row = connection.execute(query.encode(), values).fetchone()
    return row[0] if row and len(row) == 1 else row


def jobs(connection: Connection) -> int:
    return int(one(connection, "SELECT count(*) FROM rag.list_jobs('c')"))


def ingest(connection: Connection, *contents: str) -> str:
    """Work the one waiting ingest job as a worker in any language would."""
    job_id, lease = one(connection, "SELECT job_id, lease FROM rag.take_jobs()")
    version = one(connection, "SELECT document_version FROM rag.job_input(%s, %s)", job_id, lease)
    chunks = [{"content": c, "embedding": [len(c), 1, 0]} for c in contents]
    return str(
        one(
            connection,
            "SELECT rag.store_chunks(%s, %s, %s, %s)",
            job_id,
            lease,
            version,
            json.dumps(chunks),
        )
    )


def test_a_put_queues_one_job_and_a_repeated_put_none(
    database: Database, connection: Connection
) -> None:
    first = database.put_documents("c", [GOOD])
    assert jobs(connection) == 1
    assert database.put_documents("c", [GOOD]) == first
    assert jobs(connection) == 1
    assert ingest(connection, "the first text") == "stored"
    database.put_documents("c", [GOOD])
    assert jobs(connection) == 0


@pytest.mark.parametrize(
    "changed",
    [{"content": "other"}, {"title": "B"}, {"media_type": "text/markdown"}, {"language": "french"}],
)
def test_changed_text_title_type_or_language_queues_a_job(
    database: Database, connection: Connection, changed: dict[str, Any]
) -> None:
    database.put_documents("c", [GOOD])
    ingest(connection, "the first text")
    database.put_documents("c", [GOOD | changed])
    assert jobs(connection) == 1


def test_changed_metadata_takes_effect_at_once_without_a_job(
    database: Database, connection: Connection
) -> None:
    database.put_documents("c", [GOOD])
    ingest(connection, "the first text")
    database.put_documents("c", [GOOD | {"metadata": {"n": 2}}])
    assert jobs(connection) == 0
    assert one(connection, "SELECT metadata FROM rag.search('c', 'first')") == {"n": 2}


def test_the_put_belongs_to_the_callers_transaction(dsn: str, connection: Connection) -> None:
    with psycopg.connect(dsn) as writer:
        writer.execute("SELECT rag.put_document('c', 'a', 'text')")
        writer.rollback()
    assert jobs(connection) == 0
    assert one(connection, "SELECT count(*) FROM rag.list_documents('c')") == 0


def test_old_chunks_stay_searchable_until_the_new_ones_are_stored(
    database: Database, connection: Connection
) -> None:
    database.put_documents("c", [GOOD])
    ingest(connection, "the first text")
    database.put_documents("c", [GOOD | {"content": "the second text"}])
    assert one(connection, "SELECT content FROM rag.search('c', 'first')") == "the first text"
    ingest(connection, "the second text")
    assert one(connection, "SELECT content FROM rag.search('c', 'first')") is None
    assert one(connection, "SELECT content FROM rag.search('c', 'second')") == "the second text"


def test_unchanged_chunks_keep_their_ids_and_vectors(
    database: Database, connection: Connection
) -> None:
    database.put_documents("c", [GOOD])
    ingest(connection, "alpha", "beta", "beta", "gamma")
    before = dict(connection.execute("SELECT ordinal, chunk_id FROM rag.chunks").fetchall())
    database.put_documents("c", [GOOD | {"content": "changed"}])
    job_id, lease = one(connection, "SELECT job_id, lease FROM rag.take_jobs()")
    known = one(connection, "SELECT embedded_hashes FROM rag.job_input(%s, %s)", job_id, lease)
    assert len(known) == 4
    # beta moves up, alpha goes, one beta more (whose vector is there already), delta is new
    chunks: list[dict[str, Any]] = [{"content": c} for c in ("beta", "gamma", "beta", "beta")]
    chunks.append({"content": "delta", "embedding": [1, 2, 3]})
    one(connection, "SELECT rag.store_chunks(%s, %s, 2, %s)", job_id, lease, json.dumps(chunks))
    after = dict(connection.execute("SELECT ordinal, chunk_id FROM rag.chunks").fetchall())
    assert (after[0], after[1], after[2]) == (before[1], before[3], before[2])
    assert before[0] not in after.values()
    stats = database.collection_stats("c")[0]
    assert (stats.chunks, stats.embedded, stats.pending) == (5, 5, 0)


def test_a_document_changed_while_it_was_embedded_is_done_again(
    database: Database, connection: Connection
) -> None:
    database.put_documents("c", [GOOD])
    job_id, lease = one(connection, "SELECT job_id, lease FROM rag.take_jobs()")
    database.put_documents("c", [GOOD | {"content": "newer"}])
    chunks = '[{"content": "older"}]'
    stored = one(connection, "SELECT rag.store_chunks(%s, %s, 1, %s)", job_id, lease, chunks)
    assert stored == "superseded"
    assert one(connection, "SELECT count(*) FROM rag.chunks") == 0
    assert jobs(connection) == 1
    assert ingest(connection, "newer") == "stored"
    assert jobs(connection) == 0


def test_deleting_removes_chunks_vectors_and_jobs(
    database: Database, connection: Connection
) -> None:
    database.put_documents("c", [GOOD, GOOD | {"uri": "b"}])
    ingest(connection, "one")
    assert database.value(bool, "delete_document", collection="c", uri="a")
    assert database.value(bool, "delete_document", collection="c", uri="b")
    assert not database.value(bool, "delete_document", collection="c", uri="b")
    stats = database.collection_stats("c")[0]
    assert (stats.documents, stats.chunks, stats.embedded, stats.pending) == (0, 0, 0, 0)


def test_many_are_deleted_as_each_would_be(database: Database, connection: Connection) -> None:
    database.put_documents("c", [GOOD | {"uri": uri} for uri in ("a", "b", "left")])
    ingest(connection, "one")
    assert database.delete_documents("c", ["a", "never", "b", "a"]) == 2
    assert database.delete_documents("c", ["a", "b"]) == 0
    assert database.delete_documents("c", []) == 0
    stats = database.collection_stats("c")[0]
    assert (stats.documents, stats.chunks, stats.embedded, stats.pending) == (1, 0, 0, 1)
    found = connection.execute("SELECT uri FROM rag.search_keyword('c', 'one')").fetchall()
    assert found == []


def test_two_that_delete_the_same_documents_wait_for_each_other(
    database: Database, connection: Connection, dsn: str
) -> None:
    """And never both: they lock by uri, whatever the order in which they name them."""
    database.put_documents("c", [GOOD | {"uri": f"u{i:02}"} for i in range(40)])
    uris = [f"u{i:02}" for i in range(40)]
    counts: list[int] = []

    def delete(named: list[str]) -> None:
        with psycopg.connect(dsn, autocommit=True) as own:
            counts.append(one(own, "SELECT rag.delete_documents('c', %s)", named))

    threads = [threading.Thread(target=delete, args=[part]) for part in (uris, uris[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counts) == [0, 40]


def test_a_prefix_is_taken_letter_by_letter(database: Database) -> None:
    uris = ["a", "a%b/1", "a%b/2", "aXb/1", "a_b/1", "A%b/1", "é/1", "z"]
    database.put_documents("c", [GOOD | {"uri": uri} for uri in uris])
    for prefix in ("a%b/", "a_", "A", "é", "", "a%b/2", "none"):
        found = [d.uri for d in database.each_document("c", uri_prefix=prefix)]
        assert found == [d.uri for d in database.each_document("c") if d.uri.startswith(prefix)]
    page = database.list_documents(
        "c", metadata_filter={}, limit=5, after_uri="a%b/1", uri_prefix="a%b/"
    )
    assert [d.uri for d in page] == ["a%b/2"]


def test_a_late_store_for_a_deleted_document_is_refused(
    database: Database, connection: Connection
) -> None:
    database.put_documents("c", [GOOD])
    job_id, lease = one(connection, "SELECT job_id, lease FROM rag.take_jobs()")
    database.value(bool, "delete_document", collection="c", uri="a")
    with pytest.raises(psycopg.Error, match="no longer held") as caught:
        one(connection, "SELECT rag.store_chunks(%s, %s, 1, '[]')", job_id, lease)
    assert caught.value.sqlstate == "RG005"


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"uri": ""}, "needs a uri"),
        ({"uri": "x" * 2001}, "2001"),
        ({"content": ""}, "'a' is empty"),
        ({"content": " \n\t"}, "'a' is empty"),
        ({"metadata": [1]}, "JSON array"),
        ({"media_type": "image/png"}, "'image/png'"),
        ({"language": "klingon"}, "klingon"),
    ],
)
def test_bad_documents_are_refused_by_name(
    database: Database, bad: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        database.put_documents("c", [GOOD | {"uri": "fine"}, GOOD | bad])
    assert database.collection_stats("c")[0].documents == 0


def test_lists_are_paged_and_filtered(database: Database) -> None:
    database.put_documents(
        "c", [GOOD | {"uri": f"u{i:02}", "metadata": {"even": i % 2 == 0}} for i in range(10)]
    )
    page = database.list_documents("c", metadata_filter={"even": True}, limit=3, after_uri="")
    assert [d.uri for d in page] == ["u00", "u02", "u04"]
    rest = database.list_documents("c", metadata_filter={"even": True}, limit=9, after_uri="u04")
    assert [d.uri for d in rest] == ["u06", "u08"]
    assert page[0].content is None
    whole = database.get_document("c", "u00")
    assert whole is not None and whole.content == "the first text" and whole.state == "pending"
    assert database.get_document("c", "nope") is None


def test_ready_made_chunks_are_searchable_at_once_and_those_without_a_vector_queued(
    database: Database, connection: Connection
) -> None:
    chunks: list[dict[str, Any]] = [
        {"content": "with", "embedding": [1, 0, 0]},
        {"content": "without", "heading": "H"},
    ]
    database.call(
        "put_chunks", collection="c", uri="a", chunks=chunks, title="T", metadata={"k": "v"}
    )
    assert one(connection, "SELECT heading FROM rag.search_keyword('c', 'h')") == "H"
    job_id, lease, kind = one(connection, "SELECT job_id, lease, kind FROM rag.take_jobs()")
    assert kind == "embed"
    ((chunk_id, text),) = connection.execute(
        "SELECT * FROM rag.chunks_to_embed(%s, %s)", [job_id, lease]
    ).fetchall()
    assert text == "T\nH\nwithout"
    store = "SELECT rag.store_embeddings(%s, %s, %s, %s::text[]::halfvec[])"
    assert one(connection, store, job_id, lease, [chunk_id, 999], ["[0,1,0]", "[0,1,1]"]) == 0
    assert jobs(connection) == 0
    assert one(connection, "SELECT content FROM rag.search_vector('c', '[0,1,0]')") == "without"


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ('{"content": "x"}', "not a JSON array"),
        ("[]", "is empty"),
        ('[{"content": " "}]', "is empty"),
        ('[{"content": "x", "embedding": [1, 2]}]', "2 dimensions, collection 'c' stores 3"),
        ('[{"content": "x", "embedding": ["a"]}]', "halfvec"),
        ('[{"content": "x", "embedding": ["NaN", 1, 2]}]', "NaN|halfvec"),
    ],
)
def test_bad_chunks_are_refused_and_leave_nothing(
    database: Database, connection: Connection, chunks: str, message: str
) -> None:
    with pytest.raises(psycopg.Error, match=message):
        connection.execute("SELECT rag.put_chunks('c', 'a', %s)", [chunks])
    assert database.collection_stats("c")[0].documents == 0


def test_bulk_loading_groups_by_uri_and_keeps_the_order(
    database: Database, connection: Connection
) -> None:
    records = [
        {
            "uri": f"d{i % 3}",
            "content": f"piece {i}",
            "embedding": [1, i, 0],
            "metadata": {"part": i, "set": "x"},
        }
        for i in range(9)
    ]
    counts = database.load_chunks("c", records, 3)
    assert (counts.loaded_documents, counts.loaded_chunks, counts.queued) == (3, 9, [])
    ordered = connection.execute(
        """SELECT c.content FROM rag.chunks AS c JOIN rag.documents AS d
           USING (collection_id, document_id)
           WHERE d.uri = 'd1' ORDER BY c.ordinal"""
    ).fetchall()
    assert ordered == [("piece 1",), ("piece 4",), ("piece 7",)]
    document = database.get_document("c", "d1")
    assert document is not None and document.metadata == {"set": "x"}
    ids = connection.execute("SELECT array_agg(chunk_id) FROM rag.chunks").fetchone()
    again = database.load_chunks("c", records, 3)
    assert again.loaded_chunks == 9
    assert connection.execute("SELECT array_agg(chunk_id) FROM rag.chunks").fetchone() == ids


@pytest.mark.minutes
def test_a_bulk_load_in_several_pieces_merges_its_keywords(
    database: Database, connection: Connection
) -> None:
    records = [
        {"uri": f"d{i // 100}", "content": f"word{i}", "embedding": [1, i, 0]} for i in range(5200)
    ]
    assert database.load_chunks("c", records, 3).loaded_chunks == 5200
    assert connection.execute("SELECT count(*) FROM rag.keyword_changes").fetchone() == (0,)
    for i in (0, 4999, 5199):
        found = connection.execute(
            "SELECT content FROM rag.search_keyword('c', %s)", [f"word{i}"]
        ).fetchall()
        assert found == [(f"word{i}",)]


def test_a_bad_record_in_a_bulk_load_names_it_and_loads_nothing(database: Database) -> None:
    good = {"uri": "a", "content": "x", "embedding": [1, 2, 3]}
    with pytest.raises(InvalidInput, match=r"chunk 1 \(b\).*\(2,\).*3 dimensions"):
        database.load_chunks("c", [good, {"uri": "b", "content": "y", "embedding": [1, 2]}], 3)
    with pytest.raises(InvalidInput, match="NaN"):
        database.load_chunks("c", [good | {"embedding": [1, 2, float("nan")]}], 3)
    assert database.collection_stats("c")[0].documents == 0


@pytest.mark.one_database
@pytest.mark.parametrize("metadata", ["[1, 2]", '"x"', "5"])
def test_metadata_of_a_chunk_is_an_object(connection: Connection, metadata: str) -> None:
    given = f'[{{"content": "good"}}, {{"content": "bad", "metadata": {metadata}}}]'
    with pytest.raises(psycopg.Error, match="metadata in document 'u' is a JSON") as caught:
        connection.execute("SELECT rag.put_chunks('c', 'u', %s)", [given])
    assert caught.value.sqlstate == "RG001"


@pytest.mark.parametrize("metadata", ["[1, 2]", "5"])
def test_metadata_of_a_loaded_chunk_is_an_object(database: Database, metadata: str) -> None:
    chunk = {"uri": "u", "content": "text", "metadata": json.loads(metadata)}
    with pytest.raises(InvalidInput, match="JSON"):
        database.load_chunks("c", [chunk, {"uri": "v", "content": "w", "metadata": {}}], 3)


def test_a_long_uri_is_refused_by_its_bytes(connection: Connection) -> None:
    put = "SELECT rag.put_document('c', %s, 'text')"
    noise = "".join(chr(0x4E00 + i * 7919 % 20000) for i in range(667))
    connection.execute(put, [noise[:666]])
    with pytest.raises(psycopg.Error, match="1 to 2000 bytes, this one has 2001") as caught:
        connection.execute(put, [noise])
    assert caught.value.sqlstate == "RG001"


def test_large_metadata_is_refused(connection: Connection) -> None:
    large = json.dumps({"text": "x" * 262_145})
    for call in (
        "SELECT rag.put_document('c', 'u', 'text', metadata => %s)",
        """SELECT rag.put_chunks('c', 'u', jsonb_build_array(
               jsonb_build_object('content', 'x', 'metadata', %s::jsonb)))""",
    ):
        with pytest.raises(psycopg.Error, match="at most 262144 are kept") as caught:
            connection.execute(call, [large])
        assert caught.value.sqlstate == "RG001"


@pytest.mark.one_database
@pytest.mark.parametrize(
    "call",
    [
        "rag.put_document('c', 'u', 'text', language => 4294967295::regconfig)",
        "rag.put_document('c', 'u', 'text', language => '-')",
        "rag.put_chunks('c', 'u', '[{\"content\": \"text\"}]', language => 5::regconfig)",
        "rag.create_collection('d', 'none', 3, language => 5::regconfig)",
        """rag.put_documents('c', '[{"uri": "u", "content": "text", "language": 5}]')""",
        """rag.put_documents('c', '[{"uri": "u", "content": "text", "language": "3748"}]')""",
        """rag.put_documents('c', '[{"uri": "u", "content": "text", "language": "-"}]')""",
    ],
)
def test_a_number_that_is_no_language_is_refused(connection: Connection, call: str) -> None:
    with pytest.raises(psycopg.Error, match="there is no text search configuration") as caught:
        connection.execute(f"SELECT {call}".encode())
    assert caught.value.sqlstate == "RG001"
    assert caught.value.diag.message_hint
    assert connection.execute("SELECT count(*) FROM rag.documents").fetchone() == (0,)


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (3, 2), (None, -1), (-5, None)])
def test_offsets_that_no_text_has_are_refused(
    connection: Connection, start: int | None, stop: int | None
) -> None:
    connection.execute("SELECT rag.put_document('c', 'u', 'a text')")
    job_id, lease = one(connection, "SELECT job_id, lease FROM rag.take_jobs()")
    chunk = {"content": "a text", "embedding": [1, 0, 0], "start": start, "stop": stop}
    statement = "SELECT rag.store_chunks(%s, %s, 1, %s)"
    with pytest.raises(psycopg.Error, match="chunk 1 reaches from") as caught:
        connection.execute(statement, [job_id, lease, json.dumps([chunk])])
    assert caught.value.sqlstate == "RG001"
    chunk |= {"start": 2, "stop": 2}
    stored = one(connection, statement, job_id, lease, json.dumps([chunk]))
    assert stored == "stored"
