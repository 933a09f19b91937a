"""Tables as other libraries make them (tests/support/recordings/*.sql) become collections,
with their vectors."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from paths import RECORDINGS

from rag_pg import CollectionMismatch, DatabaseUnavailable, InvalidInput, NotFound, Rag, RagError

Connection = psycopg.Connection[Any]
BACKUP = [
    "Backups run every night at two.",
    "They are kept for thirty days.",
    "Ask support to restore one.",
]
LEAVE = ["Everybody has thirty days of holiday.", "Holidays are booked online."]
BY_PATH = {"handbook/backup.md": BACKUP, "handbook/leave.md": LEAVE}


def record(connection: Connection, name: str) -> None:
    connection.execute((RECORDINGS / f"{name}.sql").read_text())


def documents(connection: Connection, collection: str = "c") -> dict[str, list[str]]:
    """The chunks of each document, in order."""
    rows = connection.execute(
        """SELECT d.uri, array_agg(c.content ORDER BY c.ordinal)
           FROM rag.documents AS d JOIN rag.chunks AS c USING (collection_id, document_id)
           JOIN rag.collections AS l USING (collection_id) WHERE l.name = %s GROUP BY d.uri""",
        [collection],
    )
    return dict(rows.fetchall())


def state(connection: Connection) -> list[Any]:
    """Every row, with the transaction that wrote it last."""
    tables = ("documents", "chunks", "embeddings", "jobs")
    return [
        connection.execute(f"SELECT t.xmin, t FROM rag.{table} AS t ORDER BY 2").fetchall()
        for table in tables
    ]


@pytest.mark.parametrize(
    ("recording", "layout", "table", "options", "expected"),
    [
        ("langchain", "langchain", '"Hand Book"', {}, BY_PATH),
        ("langchain", "langchain", "Hand Book", {}, BY_PATH),
        (
            "langchain_old",
            "langchain",
            "public.langchain_pg_embedding",
            {"langchain_collection": "handbook"},
            BY_PATH,
        ),
        ("llamaindex", "llamaindex", "data_handbook", {}, BY_PATH),
        ("llamaindex", "llamaindex", "DATA_HALF", {}, {"doc-backup": BACKUP, "doc-leave": LEAVE}),
        (
            "pgai",
            "pgai",
            "handbook_embedding_store",
            {},
            {"handbook/1": BACKUP, "handbook/2": LEAVE},
        ),
        ("pgai", "pgai", "handbook_embedding", {}, {"handbook/1": BACKUP, "handbook/2": LEAVE}),
        ("pgai", "pgai", "handbook_embedding", {"uri_key": "path"}, BY_PATH),
    ],
)
def test_a_table_becomes_a_collection_and_nothing_changes_the_second_time(
    rag: Rag,
    connection: Connection,
    recording: str,
    layout: str,
    table: str,
    options: dict[str, Any],
    expected: dict[str, list[str]],
) -> None:
    record(connection, recording)
    report = rag.adopt(table, "c", layout=layout, model="theirs", **options)
    assert documents(connection) == expected
    assert (report.rows, report.chunks, report.documents, report.vectors) == (5, 5, 2, 5)
    assert (report.dimensions, report.skipped, report.queued) == (8, {}, 0)
    assert (report.sampled, report.overlap, report.notes) == (5, 1.0, [])
    info = rag.collections()[0]
    assert (info.model, info.dimensions, info.distance) == ("theirs", 8, "cosine")
    before = state(connection)
    assert rag.adopt(table, "c", layout=layout, **options) == report
    assert state(connection) == before


def test_vectors_are_those_of_the_table(rag: Rag, connection: Connection) -> None:
    record(connection, "langchain")
    rag.adopt("Hand Book", "c", layout="langchain", model="theirs")
    pairs = connection.execute(
        """SELECT h.embedding::halfvec = e.embedding FROM "Hand Book" AS h
           JOIN rag.chunks AS c USING (content) JOIN rag.embeddings AS e USING (chunk_id)"""
    ).fetchall()
    assert pairs == [(True,)] * 5


def test_metadata_columns_and_objects_are_metadata_and_the_programs_own_are_not(
    rag: Rag, connection: Connection
) -> None:
    for name in ("langchain", "llamaindex", "pgai"):
        record(connection, name)
    rag.adopt("Hand Book", "langchain", layout="langchain", model="theirs")
    rag.adopt("data_handbook", "llamaindex", layout="llamaindex", model="theirs")
    rag.adopt("handbook_embedding", "pgai", layout="pgai", model="theirs")

    def metadata(collection: str, content: str) -> Any:
        row = connection.execute(
            """SELECT c.metadata FROM rag.chunks AS c JOIN rag.collections AS l
               USING (collection_id)
               WHERE l.name = %s AND c.content = %s""",
            [collection, content],
        ).fetchone()
        return row and row[0]

    assert metadata("langchain", BACKUP[1]) == {
        "source": "handbook/backup.md",
        "start_index": 32,
        "lang": "en",
    }
    found = metadata("llamaindex", BACKUP[1])
    assert found["file_path"] == "handbook/backup.md"
    assert found["lang"] == "en"
    assert not found.keys() & {"_node_content", "_node_type"}
    found = metadata("pgai", BACKUP[1])
    assert (found["id"], found["path"], found["lang"]) == (1, "handbook/backup.md", "en")


def test_the_text_that_pgai_cut_is_not_repeated_as_metadata(
    rag: Rag, connection: Connection
) -> None:
    record(connection, "pgai")
    connection.execute(
        """CREATE SCHEMA ai;
           CREATE TABLE ai.vectorizer (config jsonb);
           INSERT INTO ai.vectorizer VALUES ('{"loading": {"column_name": "body"}, "destination":
               {"view_schema": "public", "view_name": "handbook_embedding"}}')"""
    )
    rag.adopt("handbook_embedding", "c", layout="pgai", model="theirs")
    rows = connection.execute("SELECT DISTINCT metadata FROM rag.chunks ORDER BY 1").fetchall()
    assert rows == [
        ({"id": 1, "path": "handbook/backup.md", "lang": "en"},),
        ({"id": 2, "path": "handbook/leave.md", "lang": "en"},),
    ]


def test_rows_without_a_vector_are_queued_and_rows_without_text_are_skipped(
    rag: Rag, connection: Connection, embedder: HashEmbedder
) -> None:
    record(connection, "haystack")
    rag.adopt("haystack_documents", "theirs", layout="haystack", model="theirs")
    embedder.dimensions = 8
    report = rag.adopt("haystack_documents", "c", layout="haystack", model="hash:32")
    assert documents(connection) == {"source-backup": BACKUP, "source-leave": LEAVE}
    assert (report.rows, report.chunks, report.documents, report.vectors) == (6, 5, 2, 4)
    assert (report.skipped, report.without_vector, report.queued) == ({"without text": 1}, 1, 1)
    assert report.overlap == 1.0
    found = rag.collection("theirs").search("restore", vector_weight=0)
    assert [hit.uri for hit in found] == ["source-backup"]

    rag.worker(["c"]).drain()
    assert embedder.seen == [BACKUP[2]]
    assert rag.collection("c").stats().embedded == 5
    again = rag.adopt("haystack_documents", "c", layout="haystack")
    assert (again.without_vector, again.queued) == (1, 0)
    assert rag.collection("c").stats().embedded == 5


def test_changed_rows_are_taken_and_the_others_stay(rag: Rag, connection: Connection) -> None:
    record(connection, "llamaindex")
    rag.adopt("data_handbook", "c", layout="llamaindex", model="theirs")
    ids = dict(connection.execute("SELECT content, chunk_id FROM rag.chunks").fetchall())
    connection.execute("UPDATE data_handbook SET text = 'Nightly.' WHERE id = 1")
    rag.adopt("data_handbook", "c", layout="llamaindex")
    assert documents(connection)["handbook/backup.md"] == ["Nightly.", *BACKUP[1:]]
    after = dict(connection.execute("SELECT content, chunk_id FROM rag.chunks").fetchall())
    assert {k: v for k, v in after.items() if k != "Nightly."} == {
        k: v for k, v in ids.items() if k != BACKUP[0]
    }


def test_the_table_may_be_in_another_database_whose_pgvector_is_elsewhere(
    rag: Rag, connection: Connection, new_database: Callable[..., str]
) -> None:
    other = new_database()
    with psycopg.connect(other, autocommit=True) as opened:
        opened.execute("CREATE SCHEMA ext; CREATE EXTENSION vector SCHEMA ext; CREATE SCHEMA app")
        text = (RECORDINGS / "llamaindex.sql").read_text()
        for found, wanted in (
            ("public.vector", "ext.vector"),
            ("public.halfvec", "ext.halfvec"),
            ("public.", "app."),
        ):
            text = text.replace(found, wanted)
        opened.execute(text)
    for table in ("data_handbook", "data_half"):
        report = rag.adopt(
            f"app.{table}", table, layout="llamaindex", model="theirs", source_dsn=other
        )
        assert (report.chunks, report.overlap) == (5, 1.0)
    assert documents(connection, "data_handbook") == BY_PATH


def test_the_table_is_only_read(rag: Rag, connection: Connection) -> None:
    record(connection, "langchain")
    query = 'SELECT h.xmin, h FROM "Hand Book" AS h ORDER BY h.langchain_id'
    rows = connection.execute(query).fetchall()
    writes = """CREATE FUNCTION writes() RETURNS text LANGUAGE sql AS $$
                    INSERT INTO public."Hand Book" (langchain_id, content, embedding)
                    VALUES (gen_random_uuid(), 'x', array_fill(0, ARRAY[8])::public.vector)
                    RETURNING content $$;
                CREATE VIEW tricky AS SELECT langchain_id, writes() AS content, embedding,
                    langchain_metadata
                    FROM "Hand Book" """
    connection.execute(writes)
    rag.adopt("Hand Book", "c", layout="langchain", model="theirs")
    with pytest.raises(RagError, match="read-only transaction"):
        rag.adopt("tricky", "c", layout="langchain")
    assert connection.execute(query).fetchall() == rows


def test_the_first_layout_of_pgvector_in_langchain_is_known(
    rag: Rag, connection: Connection
) -> None:
    record(connection, "langchain_old")
    connection.execute(
        """ALTER TABLE langchain_pg_embedding RENAME id TO custom_id;
           ALTER TABLE langchain_pg_embedding ADD uuid uuid DEFAULT gen_random_uuid();
           DELETE FROM langchain_pg_embedding WHERE document = 'Another collection.'"""
    )
    rag.adopt("langchain_pg_embedding", "c", layout="langchain", model="theirs")
    assert documents(connection) == BY_PATH


def test_a_view_gives_a_table_the_names_of_a_layout(rag: Rag, connection: Connection) -> None:
    connection.execute(
        """CREATE TABLE mine (key int PRIMARY KEY, body text, about jsonb, v vector);
           INSERT INTO mine SELECT n, 'piece ' || n, jsonb_build_object('source', 'a',
               'start_index', 100 - n),
               CASE WHEN n <> 3 THEN ARRAY[n, 1, 0]::vector END FROM generate_series(1, 9) AS n;
           CREATE VIEW theirs AS SELECT key AS langchain_id, body AS content, v AS embedding,
               about AS langchain_metadata FROM mine"""
    )
    report = rag.adopt("theirs", "c", layout="langchain", model="mine", distance="l2", sample=4)
    assert documents(connection) == {"a": [f"piece {n}" for n in range(9, 0, -1)]}
    assert (report.dimensions, report.vectors, report.queued) == (3, 8, 1)
    assert (report.sampled, report.overlap) == (4, 1.0)
    assert rag.adopt("theirs", "c", layout="langchain", sample=0).overlap is None


def test_other_documents_of_the_collection_are_said_to_be_neighbours(
    rag: Rag, connection: Connection
) -> None:
    record(connection, "langchain")
    c = rag.collection("c", model="theirs", dimensions=8)
    c.add_chunks([{"uri": "x", "content": "x", "embedding": [1] * 8}])
    report = rag.adopt("Hand Book", "c", layout="langchain")
    assert report.notes == [
        "the collection holds 1 other documents, which are neighbours too in overlap"
    ]


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"layout": "weaviate"}, InvalidInput, "'weaviate'.*haystack, langchain, llamaindex, pgai"),
    ({"sample": -1}, InvalidInput, "sample is -1"),
    ({"table": "nothing"}, NotFound, "no table nothing in database 'rag_test"),
    ({"table": "a.b.c"}, InvalidInput, "'a.b.c' is not the name of a table"),
    ({"table": 'x"; --'}, InvalidInput, "not the name of a table"),
    (
        {"layout": "llamaindex"},
        InvalidInput,
        "no column node_id, text, metadata_, id; it looks like langchain",
    ),
    ({"table": "plain"}, InvalidInput, "no column langchain_metadata; for other names.* view"),
    ({"table": "numbers"}, InvalidInput, "column embedding of numbers is of type _float4"),
    ({"table": "mixed"}, InvalidInput, "2 rows of 3, 1 rows of 2 dimensions"),
    ({"table": "empty"}, InvalidInput, "empty holds no vector"),
    ({"table": "langchain_pg_embedding"}, InvalidInput, "several collections.*handbook, other"),
    (
        {"table": "langchain_pg_embedding", "langchain_collection": "x"},
        InvalidInput,
        "no collection 'x'.*handbook, other",
    ),
    ({"langchain_collection": "x"}, InvalidInput, "one store, not several"),
    ({"layout": "pgai", "langchain_collection": "x"}, InvalidInput, "does not go with layout"),
    ({"model": None}, InvalidInput, "no collection 'c' yet; name what made the vectors"),
    ({"model": "hash:32"}, CollectionMismatch, "vectors of 8 dimensions, model.*gives 32"),
    ({"into": "narrow"}, CollectionMismatch, "of 8 dimensions, collection 'narrow' stores 3"),
    ({"into": "wide", "model": "x"}, CollectionMismatch, "model is 'theirs', not 'x'"),
    ({"source_dsn": "host=/nowhere password=secret"}, DatabaseUnavailable, "host=/nowhere"),
]


def test_what_cannot_be_adopted_is_an_error_and_leaves_nothing(
    rag: Rag, connection: Connection, subtests: pytest.Subtests
) -> None:
    record(connection, "langchain")
    record(connection, "langchain_old")
    connection.execute(
        """CREATE TABLE plain (langchain_id uuid, content text, embedding vector(8));
           CREATE TABLE numbers (langchain_id uuid, content text, embedding real[],
               langchain_metadata json);
           CREATE TABLE empty (langchain_id uuid, content text, embedding vector,
               langchain_metadata json);
           CREATE TABLE mixed (LIKE empty);
           INSERT INTO mixed (content, embedding) VALUES ('a', '[1,2,3]'), ('b', '[1,2,3]'),
               ('c', '[1,2]')"""
    )
    rag.collection("narrow", model="theirs", dimensions=3)
    rag.collection("wide", model="theirs", dimensions=8)
    for arguments, error, message in REFUSED:
        with subtests.test(**arguments):
            given: dict[str, Any] = {
                "table": "Hand Book",
                "into": "c",
                "layout": "langchain",
                "model": None if arguments.get("into") else "theirs",
            }
            with pytest.raises(error, match=message) as raised:
                rag.adopt(**given | arguments)
            assert "secret" not in str(raised.value)
            assert sorted(info.name for info in rag.collections()) == ["narrow", "wide"]
            assert not any(documents(connection, name) for name in ("narrow", "wide"))


def test_rows_that_do_not_fit_are_counted_by_reason(rag: Rag, connection: Connection) -> None:
    connection.execute(
        """CREATE TABLE data_odd (id bigint, text text, metadata_ json, node_id text,
           embedding vector(2));
           INSERT INTO data_odd VALUES
               (1, 'good', '{"ref_doc_id": "None", "title": "Good"}', 'n1', '[1,0]'),
               (2, ' ', NULL, 'n2', '[1,0]'),
               (3, 'large', '[]', 'n3', '[70000,0]'),
               (4, 'far', json_build_object('url', repeat('x', 2001)), 'n4', '[0,1]')"""
    )
    report = rag.adopt("data_odd", "c", layout="llamaindex", model="theirs")
    assert documents(connection) == {"n1": ["good"]}
    assert report.rows == 4
    assert report.skipped == {
        "without text": 1,
        "with a vector beyond 65504, the largest number of halfvec": 1,
        "with a uri longer than 2000 bytes": 1,
    }
    document = rag.collection("c").get("n1")
    assert document.title == "Good"
    assert asdict(report)["table"] == "data_odd"
