import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from rag_pg import CollectionMismatch, InvalidInput, NotFound
from rag_pg.chunk.settings import METHODS, Chunking
from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]


def create(database: Database, name: str = "c", **changed: Any) -> int:
    settings: dict[str, Any] = {
        "model": "none",
        "dimensions": 3,
        "distance": "cosine",
        "language": "english",
        "chunking": {},
        "index_options": {},
    }
    return database.create_collection(name, **(settings | changed))


def test_creating_again_with_equal_settings_gives_the_same_collection(database: Database) -> None:
    assert create(database) == create(database)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"model": "other"}, "model is none, not other"),
        ({"dimensions": 4}, "dimensions are 3, not 4"),
        ({"distance": "l2"}, "distance is cosine, not l2"),
        ({"language": "french"}, "language is english, not french"),
        ({"chunking": {"max_tokens": 99}}, "chunking is"),
        ({"index_options": {"m": 8}}, "index_options are"),
    ],
)
def test_other_settings_are_an_error_that_names_the_difference(
    database: Database, changed: dict[str, Any], named: str
) -> None:
    create(database)
    with pytest.raises(CollectionMismatch, match=named):
        create(database, **changed)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "changed",
    [
        {"dimensions": 0},
        {"dimensions": 16001},
        {"distance": "hamming"},
        {"model": ""},
        {"index_options": {"n": 1}},
        {"index_options": {"m": 1}},
        {"index_options": {"m": "16"}},
        {"index_options": {"m": 16.5}},
        {"index_options": {"ef_construction": 64.5}},
        {"index_options": {"m": None}},
        {"index_options": {"ef_construction": 20}},
        {"index_options": {"b": 1.5}},
        {"language": "klingon"},
    ],
)
def test_bad_settings_are_refused_and_leave_nothing(
    database: Database, changed: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput):
        create(database, **changed)
    assert database.list_collections() == []


@pytest.mark.one_database
@pytest.mark.parametrize("name", ["", " ", "a b", "a/b", "x" * 101])
def test_bad_names_are_refused(database: Database, name: str) -> None:
    with pytest.raises(InvalidInput, match="not usable"):
        create(database, name)


def test_names_with_quotes_and_capitals_work(database: Database) -> None:
    for name in ("O'Brien", 'say"so"', "Ünïcode", "DROP;--"):
        create(database, name)
    assert len(database.list_collections()) == 4


@pytest.mark.parametrize(("distance", "nearest"), [("cosine", "b"), ("l2", "a"), ("ip", "c")])
def test_each_distance_orders_as_it_is_defined(
    database: Database, connection: Connection, distance: str, nearest: str
) -> None:
    create(database, distance=distance)
    for uri, vector in {"a": [1, 0.4, 0], "b": [2, 1, 0], "c": [9, 0, 0]}.items():
        database.call(
            "put_chunks",
            collection="c",
            uri=uri,
            chunks=[{"content": uri, "embedding": vector}],
            title="",
            metadata={},
        )
    row = connection.execute("SELECT uri FROM rag.search_vector('c', '[1, 0.5, 0]', 1)").fetchone()
    assert row == (nearest,)


@pytest.mark.parametrize("dimensions", [1, 384, 3901, 4000, 4001])
def test_any_dimensions_are_indexed_by_halves_or_by_bits(
    database: Database, connection: Connection, dimensions: int
) -> None:
    create(database, dimensions=dimensions)
    vector = [0.5] * dimensions
    database.call(
        "put_chunks",
        collection="c",
        uri="a",
        chunks=[{"content": "x", "embedding": vector}],
        title="",
        metadata={},
    )
    found = connection.execute(
        "SELECT uri FROM rag.search_vector('c', %s::text::halfvec)", [str(vector)]
    ).fetchall()
    assert found == [("a",)]
    (index,) = connection.execute(
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'rag' AND indexdef LIKE '%USING hnsw%'"
    ).fetchone() or ("",)
    assert ("bit_hamming_ops" in index) == (dimensions > 4000)
    assert ("halfvec_cosine_ops" in index) == (dimensions <= 4000)


def test_dropping_frees_the_name_at_once_and_maintenance_removes_the_rest(
    database: Database, connection: Connection
) -> None:
    create(database)
    create(database, "kept")
    for name in ("c", "kept"):
        database.call(
            "put_chunks", collection=name, uri="a", chunks=[{"content": "x"}], title="", metadata={}
        )
    database.drop_collection("c")
    create(database)
    assert [s.documents for s in database.collection_stats()] == [0, 1]
    assert database.remove_dropped() > 0
    assert database.remove_dropped() == 0
    left = connection.execute(
        "SELECT count(*) FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relispartition"
        " AND relkind = 'r'"
    ).fetchone()
    assert left == (14,)  # seven of each collection that is left
    assert connection.execute("SELECT collection_name FROM rag.list_jobs()").fetchall() == [
        ("kept",)
    ]


def test_dropping_and_creating_do_not_wait_for_readers_of_other_collections(
    database: Database, dsn: str
) -> None:
    def parts() -> list[str]:
        with psycopg.connect(dsn) as looking:
            rows = looking.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '_2$'"
            ).fetchall()
        return [name for (name,) in rows]

    create(database, "busy")
    create(database, "gone")
    with psycopg.connect(dsn) as reader:
        reader.execute("SELECT count(*) FROM rag.chunks WHERE collection_id = 1").fetchone()
        with psycopg.connect(dsn, options="-c lock_timeout=60s") as other:
            other.execute("SELECT rag.create_collection('new', 'none', 3)")
            other.execute("SELECT rag.drop_collection('gone')")
        database.remove_dropped()
        assert parts() == ["chunks_2"]  # the reader holds the parent: left for later
    database.remove_dropped()
    assert parts() == []


def test_an_unknown_collection_is_named_with_those_that_exist(database: Database) -> None:
    create(database, "real")
    calls: list[Callable[[], object]] = [
        lambda: database.drop_collection("nope"),
        lambda: database.get_collection("nope"),
        lambda: database.delete_documents("nope", ["a"]),
        lambda: database.collection_stats("nope"),
        lambda: database.value(bool, "delete_document", collection="nope", uri="a"),
        lambda: database.job_stats("nope"),
    ]
    for call in calls:
        with pytest.raises(NotFound, match="'nope'; collections here: real"):
            call()


def test_one_collection_is_read_as_it_is_listed(database: Database) -> None:
    create(database)
    create(database, "other", dimensions=4)
    assert [database.get_collection(one.name) for one in database.list_collections()] == (
        database.list_collections()
    )
    database.drop_collection("c")
    assert database.find_collection("c") is None


def test_a_fingerprint_is_pinned_by_the_first_embedder(database: Database) -> None:
    create(database)
    database.set_fingerprint("c", "weights-1")
    database.set_fingerprint("c", "weights-1")
    with pytest.raises(CollectionMismatch, match="weights-1.*weights-2"):
        database.set_fingerprint("c", "weights-2")


CHUNKINGS: list[object] = [
    {}, {"max_tokens": 16}, {"max_tokens": 8192}, {"max_tokens": 15}, {"max_tokens": 8193},
    {"max_tokens": 64.5}, {"max_tokens": 64.0}, {"max_tokens": "64"}, {"max_tokens": True},
    {"max_tokens": None}, {"overlap": 0}, {"overlap": 0.5}, {"overlap": 0.51}, {"overlap": -1},
    {"overlap": "0.1"}, {"method": "magic"}, {"method": None}, {"method": 5}, {"method": ["auto"]},
    {"methd": "auto"}, {"parent_tokens": 512}, {"method": "small-to-big", "parent_tokens": 512},
    {"method": "small-to-big", "parent_tokens": 64},
    {"method": "small-to-big", "parent_tokens": 65}, {"method": "small-to-big", "max_tokens": 512},
    {"method": "small-to-big", "parent_tokens": 70000}, {"method": "small-to-big", "overlap": 0.1},
    {"method": "small-to-big", "overlap": 0}, {"breakpoint": 0.5},
    {"method": "semantic", "breakpoint": 0.5}, {"method": "semantic", "breakpoint": 1.5},
    {"method": "sentence", "overlap": 0.2}, *({"method": method} for method in METHODS),
    *({"method": m, "overlap": 0.2} for m in METHODS),
]  # fmt: skip


@pytest.mark.parametrize("settings", CHUNKINGS, ids=json.dumps)
def test_a_chunking_is_refused_in_sql_as_in_python(
    keyword_dsn: str, settings: dict[str, Any]
) -> None:
    try:
        Chunking.read(settings, longest=256)
        refused = None
    except InvalidInput as exc:
        refused = str(exc)
    with psycopg.connect(keyword_dsn) as connection:
        try:
            connection.execute("SELECT rag._check_chunking(%s)", [json.dumps(settings)])
            assert refused is None
        except psycopg.Error as exc:
            assert refused is not None, exc
            assert exc.sqlstate == "RG001"


def test_a_chunking_that_cuts_nothing_is_refused_where_it_is_set(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('cut', 'none', 3)")
    for call in (
        "SELECT rag.set_chunking('cut', %s)",
        "SELECT rag.create_collection('other', 'none', 3, chunking => %s)",
    ):
        for chunking in ('{"method": "magic"}', '{"max_tokens": 5}', "[1]"):
            with pytest.raises(psycopg.Error, match="chunking") as caught:
                connection.execute(call, [chunking])
            assert caught.value.sqlstate == "RG001"


def test_every_table_with_rows_of_a_collection_is_emptied_with_it(connection: Connection) -> None:
    """But for those that a function of their own empties, and partitions, which are removed."""
    rows = connection.execute(
        """SELECT c.relname FROM pg_class AS c
           JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'collection_id'
           WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind = 'r' AND NOT c.relispartition
           ORDER BY c.relname"""
    ).fetchall()
    others = {"collections", "spaces", "sources", "jobs",
              "keyword_segments", "keyword_totals", "keyword_languages"}  # fmt: skip
    ((source,),) = connection.execute(
        "SELECT p.prosrc FROM pg_proc AS p WHERE p.oid = 'rag._forget_collection'::regproc"
    ).fetchall()
    owned = source.partition("'{")[2].partition("}'")[0]
    assert "".join(owned.split()).split(",") == [name for (name,) in rows if name not in others]
