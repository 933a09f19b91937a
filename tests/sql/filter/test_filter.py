"""The filter language against its oracle, hostile input, errors, plans, and declared fields."""

import datetime
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unicodedata import normalize

import psycopg
import pytest
from filter_oracle import folded, matches
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from random_filters import DECLARED, Json, filters, metadata
from rota import tries

from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]


# --- evaluation: many filters in two round trips

REQUIRED = """ALTER TABLE rag.chunks ALTER document_id SET DEFAULT gen_random_uuid(), ALTER ordinal
    SET DEFAULT 0,
    ALTER heading SET DEFAULT '', ALTER content SET DEFAULT '', ALTER content_hash SET DEFAULT '',
    ALTER lexemes SET DEFAULT '', ALTER lexeme_count SET DEFAULT 0"""


def fill(connection: Connection, collection: int, rows: Sequence[Json]) -> None:
    """Make these the metadata of the collection's chunks, numbered from 0."""
    connection.execute("DELETE FROM rag.chunks WHERE collection_id = %s", [collection])
    connection.execute(
        """INSERT INTO rag.chunks (collection_id, chunk_id, metadata)
           SELECT %s, place - 1, value
           FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS m (value, place)""",
        [collection, json.dumps(rows)],
    )  # fmt: skip


def evaluate(connection: Connection, collection: int, wanted: Sequence[Json]) -> list[list[int]]:
    """The numbers of the chunks that pass each filter."""
    conditions = connection.execute(
        """SELECT coalesce(f.condition, 'true')
           FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS w (filter, place),
           LATERAL rag._compile_filter(%s, w.filter) AS f ORDER BY w.place""",
        [json.dumps(wanted), collection],
    ).fetchall()
    parts = [
        f"SELECT {i}, ARRAY(SELECT c.chunk_id FROM rag.chunks AS c WHERE c.collection_id ="
        f" {collection} AND {condition} ORDER BY c.chunk_id)"
        for i, (condition,) in enumerate(conditions)
    ]
    rows = connection.execute(" UNION ALL ".join(parts).encode()).fetchall()
    return [found for _, found in sorted(rows)]


def expected(rows: Sequence[Json], wanted: Json) -> list[int]:
    return [i for i, row in enumerate(rows) if matches(row, wanted)]


@pytest.fixture(scope="module")
def prepared(new_database: Any, template: str) -> Iterator[Connection]:
    """Collections 1 (nothing declared) and 2 (DECLARED);
    a session in another time zone and date style."""
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        for name in ("plain", "declared"):
            connection.execute("SELECT rag.create_collection(%s, 'none', 3)", [name])
        for field, kind in DECLARED.items():
            connection.execute("SELECT rag.index_field('declared', %s, %s)", [field, kind])
        connection.execute(REQUIRED)
        connection.execute("SET timezone = 'Asia/Kolkata'")
        connection.execute("SET datestyle = 'SQL, DMY'")
        yield connection


def disagreement(rows: list[Json], wanted: Json, found: list[int], truth: list[int]) -> str:
    i = min(set(found) ^ set(truth))
    return f"{wanted!r} {'finds' if i in found else 'misses'} {rows[i]!r}"


@pytest.mark.longer
@settings(
    deadline=None,
    max_examples=tries(400, 12),  # of 25 filters
    phases=[Phase.explicit, Phase.generate],  # the message names one filter: nothing to shrink
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)
@given(
    rows=st.lists(metadata, min_size=1, max_size=12),
    wanted=st.lists(filters, min_size=25, max_size=25),
)
def test_filters_agree_with_the_oracle_whether_declared_or_not(
    prepared: Connection, rows: list[Json], wanted: list[Json]
) -> None:
    truth = [expected(rows, one) for one in wanted]
    for collection, seqscan in ((1, "on"), (2, "on"), (2, "off")):
        fill(prepared, collection, rows)
        with prepared.transaction():
            prepared.execute(f"SET LOCAL enable_seqscan = {seqscan}".encode())
            found = evaluate(prepared, collection, wanted)
        wrong = [(w, f, t) for w, f, t in zip(wanted, found, truth, strict=True) if f != t]
        assert not wrong, f"collection {collection}: {disagreement(rows, *wrong[0])}"


def test_every_letter_of_the_scripts_that_ilike_knows_is_folded(prepared: Connection) -> None:
    """Each code point below U+0590 and of the blocks of composed Latin and Greek letters, but for a
    mark that Unicode calls a letter."""
    points = [*range(1, 0x590), *range(0x1E00, 0x2000)]
    given = [chr(point) for point in points if point != 0x345]
    given += [normalize("NFD", one) for one in given if one != "\u0344"]
    found = prepared.execute(
        "SELECT rag._fold_case(g) FROM unnest(%s::text[]) WITH ORDINALITY AS u (g, i) ORDER BY i",
        [given],
    ).fetchall()
    assert [fold for (fold,) in found] == [folded(one) for one in given]
    assert len({fold for (fold,) in found}) < len(given) - 600


# --- input that wants to break out, and limits

HOSTILE = [
    "'", "''; DROP TABLE rag.chunks; --", '"', '"; x', "\\", "\\\\", "\\'", "$", "$1", "$$",
    "$[*]", "@.a", "%s", "%L", "%1$s", "\x01\x1f\x7f", "\n\r\t\b\f", "\u2028", "é", "🐟",
    "? (@ == 1)", "||", "a.b", "E'\\x'", "::text", "CREATE INDEX CONCURRENTLY",
]  # fmt: skip


def escaped(key: str) -> str:
    return key.replace("\\", "\\\\").replace(".", "\\.").replace("$", "\\$")


def test_hostile_keys_and_values_are_only_keys_and_values(prepared: Connection) -> None:
    rows: list[Json] = [{one: other} for one in HOSTILE for other in ("'", one)] + [{}]
    wanted = [
        {escaped(one): condition}
        for one in HOSTILE
        for condition in (
            one,
            {"$gte": one},
            {"$in": ["x", one]},
            {"$contains": [one]},
            {"$exists": True},
            {"$eq": {one: one}},
            {"$like": one.replace("\\", "\\\\").replace("%", "\\%") + "%"},
            {"$ilike": one.upper().replace("\\", "\\\\").replace("%", "\\%") + "%"},
        )
    ]
    fill(prepared, 1, rows)
    assert evaluate(prepared, 1, wanted) == [expected(rows, one) for one in wanted]
    assert prepared.execute(
        "SELECT count(*) FROM rag.chunks WHERE collection_id = 1"
    ).fetchone() == (len(rows),)


def test_large_and_deep_filters_work(prepared: Connection) -> None:
    long = "x'\\\"" * 100_000
    deep: Any = 1
    for _ in range(10):
        deep = {"k": [deep]}
    rows: list[Json] = [{"a": long}, {"a": deep}, {"a": 7, "tags": ["b", 7]}, {}]
    numbers = list(range(5, 4_900))
    nested: Json = {"a": 7}
    for _ in range(14):
        nested = (
            {"$or": [{"$not": {"$not": nested}}, {"none": 1}]} if _ % 7 == 0 else {"$and": [nested]}
        )
    wanted: list[Json] = [
        {"a": long}, {"a": {"$gte": long}}, {"a": {"$gt": long[:-1]}}, {"a": {"$like": "x%"}},
        {"a": deep}, {"a": {"$contains": deep}}, {"a": {"$in": numbers}},
        {"tags": {"$in": numbers}}, {"a": {"$nin": numbers}}, {escaped(long): {"$exists": False}},
        nested,
    ]  # fmt: skip
    fill(prepared, 1, rows)
    truth = [[0], [0], [0], [0], [1], [1], [2], [2], [0, 1, 3], [0, 1, 2, 3], [2]]
    assert evaluate(prepared, 1, wanted) == truth


def nest(depth: int) -> Json:
    return {"$not": nest(depth - 1)} if depth else {"a": 1}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"a": {"$regex": "x"}}, r"unknown operator '\$regex' at field 'a'"),
        ({"a": {"$or": [1]}}, r"unknown operator '\$or' at field 'a'.*above fields"),
        ({"$nor": []}, r"unknown operator or column '\$nor'"),
        ({"$eq": 1}, r"unknown operator or column '\$eq'"),
        ({"a": {"$gt": 1, "b": 2}}, "unknown operator 'b' at field 'a'"),
        ({"a": {"$in": "x"}}, r"\$in of field 'a' takes a list, not \"x\""),
        (
            {"a": {"$gte": None}},
            r"\$gte of field 'a' takes a number, a date, a text or a boolean, not null",
        ),
        ({"a": {"$lt": [1]}}, r"\$lt of field 'a' takes a number.*not \[1\]"),
        ({"a": {"$exists": 1}}, r"\$exists of field 'a' takes true or false, not 1"),
        ({"a": {"$like": 5}}, r"\$like of field 'a' takes a pattern, not 5"),
        ({"a": {"$like": "x\\"}}, r"\$like of field 'a' takes a pattern"),
        ({"a": {"$ilike": ["x"]}}, r"\$ilike of field 'a' takes a pattern, not \["),
        ({"$and": {"a": 1}}, r"\$and takes a list of filters"),
        ({"$or": [1]}, "a filter is a JSON object, not 1"),
        ({"$not": []}, r"a filter is a JSON object, not \[\]"),
        ({"a\\b": 1}, "has a backslash that escapes nothing"),
        ({"a" + ".a" * 32: 1}, "has 33 steps"),
        (nest(32), "nested more than 32 deep"),
        ({"a": "x" * 8_000_001}, "the filter has 80000.. bytes"),
        (
            {"num": {"$gte": "2024"}},
            r"field 'num' is declared numeric, \$gte cannot compare it with \"2024\"",
        ),
        (
            {"day": {"$gte": "2024-02-30"}},
            r"field 'day' is declared timestamptz.*dates are written like",
        ),
        ({"txt": {"$gte": 5}}, "field 'txt' is declared text"),
    ],
)
def test_a_wrong_filter_gets_one_line_that_names_what_is_wrong(
    prepared: Connection, wanted: Json, message: str
) -> None:
    with pytest.raises(psycopg.Error) as caught:
        prepared.execute(
            "SELECT * FROM rag.search_keyword('declared', 'x', metadata_filter => %s)",
            [json.dumps(wanted)],
        )
    assert caught.value.sqlstate == "RG004"
    found = caught.value.diag
    assert found.message_hint and "\n" not in str(found.message_primary)
    assert re.search(message, f"{found.message_primary}; {found.message_hint}"), (
        found.message_primary
    )


# --- what compiles, and the plans it runs by


def compiled(connection: Connection, collection: int, wanted: Json) -> tuple[Any, ...]:
    row = connection.execute(
        "SELECT * FROM rag._compile_filter(%s, %s)", [collection, json.dumps(wanted)]
    ).fetchone()
    assert row is not None
    return tuple(row)


@pytest.mark.parametrize(
    ("wanted", "plain", "declared", "undeclared"),
    [
        ({"a": 1}, True, True, []),
        ({"a": {"$ne": 1}}, False, False, []),
        ({"a": {"$exists": True}}, False, False, []),
        ({"a": []}, False, False, []),
        ({"a": {"$contains": {"x": 1}}}, True, True, []),
        ({"num": {"$gte": 1}}, False, True, ["num"]),
        ({"n.x": {"$lt": 1}}, False, True, ["n.x"]),
        ({"day": {"$lt": "2024-01-01"}}, False, True, ["day"]),
        ({"txt": {"$like": "ab%"}}, False, True, ["txt"]),
        ({"txt": {"$like": "%ab"}}, False, False, []),
        ({"txt": {"$ilike": "ab%"}}, False, False, []),
        ({"num": {"$gte": 1}, "a": 1}, True, True, ["num"]),
        ({"$or": [{"num": {"$gte": 1}}, {"a": 1}]}, False, True, ["num"]),
        ({"num": {"$not": {"$gte": 1}}}, False, False, []),
        ({"a": {"$in": list(range(65))}}, False, False, []),
    ],
)  # fmt: skip
def test_compile_filter_says_what_an_index_serves_and_what_to_declare(
    prepared: Connection, wanted: Json, plain: bool, declared: bool, undeclared: list[str]
) -> None:
    assert compiled(prepared, 1, wanted)[1:] == (plain, undeclared)
    assert compiled(prepared, 2, wanted)[1:] == (declared, [])


def test_the_empty_filter_has_no_condition(prepared: Connection) -> None:
    assert compiled(prepared, 1, {}) == (None, False, [])


@pytest.fixture(scope="module")
def large(new_database: Any, template: str) -> Iterator[Connection]:
    """20,000 chunks, their fields declared, without statistics of the table."""
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('l', 'none', 3)")
        connection.execute(REQUIRED)
        connection.execute("ALTER TABLE rag.chunks_1 SET (autovacuum_enabled = off)")
        connection.execute(
            """INSERT INTO rag.chunks (collection_id, chunk_id, content, metadata)
               SELECT 1, g, repeat(md5(g::text), 50), jsonb_build_object('n', g, 'tag',
                   't' || g % 5000,
                   'day', '2024-01-01'::date + g, 'path', md5(g::text), 'owner',
                   jsonb_build_object('id', g % 997))
               FROM generate_series(1, 20000) AS g"""
        )
        yield connection


def index_scans(connection: Connection, condition: str) -> tuple[set[str], int]:
    """The indexes of a query's plan, and how many rows it expects."""
    (plan,) = connection.execute(
        "EXPLAIN (FORMAT JSON) SELECT c.chunk_id FROM rag.chunks AS c WHERE c.collection_id = 1"
        f" AND {condition}".encode()
    ).fetchone() or ([],)

    def nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        yield node
        for child in node.get("Plans", []):
            yield from nodes(child)

    found = {str(n["Index Name"]) for n in nodes(plan[0]["Plan"]) if "Index Name" in n}
    return found, int(plan[0]["Plan"]["Plan Rows"])


RANGES: list[tuple[str, str, Json, int]] = [
    ("n", "numeric", {"n": {"$gte": 100, "$lt": 300}}, 200),
    ("day", "timestamptz", {"day": {"$gte": "2024-02-01", "$lt": "2024-03-01"}}, 29),
    ("path", "text", {"path": {"$like": "ab%"}}, 78),
    ("path", "text", {"path": {"$gte": "ab", "$lt": "ac"}}, 78),
]


@pytest.mark.parametrize("analyzed", [True, False])
def test_equality_uses_gin_and_ranges_use_the_fields_index(
    large: Connection, analyzed: bool
) -> None:
    for field, kind, *_ in RANGES:
        large.execute("SELECT rag.index_field('l', %s, %s)", [field, kind])
    if not analyzed:
        large.execute(
            "DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE relname"
            " LIKE 'chunks_1%')"
        )
        large.execute("SET enable_seqscan = off")  # as rag.few_matches has it
    for equality in ({"tag": "t7"}, {"owner.id": {"$in": [5, 6]}}, {"tag": {"$contains": "t7"}}):
        used, _ = index_scans(large, compiled(large, 1, equality)[0])
        assert "chunks_1_metadata_idx" in used or not analyzed, equality
    for field, kind, wanted, rows in RANGES:
        used, estimate = index_scans(large, compiled(large, 1, wanted)[0])
        assert any(name.startswith("chunks_1_field") for name in used), (field, used)
        if analyzed and kind != "text":  # a prefix is estimated roughly
            assert rows / 4 < estimate < rows * 4, (wanted, estimate)


# --- declaring fields


def test_a_collection_has_at_most_fifty_declared_fields(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    connection.execute(
        "SELECT rag.index_field('c', 'f' || g, 'numeric') FROM generate_series(1, 50) AS g"
    )
    connection.execute("SELECT rag.index_field('c', 'f7', 'numeric')")
    with pytest.raises(psycopg.Error, match="collection 'c' has 50 declared fields") as caught:
        connection.execute("SELECT rag.index_field('c', 'f51', 'numeric')")
    assert caught.value.sqlstate == "RG001"
    connection.execute("SELECT rag.unindex_field('c', 'f7')")
    connection.execute("SELECT rag.index_field('c', 'f51', 'numeric')")


def test_declaring_is_idempotent_and_another_type_is_an_error(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    for _ in range(2):
        connection.execute("SELECT rag.index_field('c', 'a\\.b.c', 'numeric')")
    connection.execute("SELECT rag.index_field('c', 'day', 'timestamptz')")
    listed = connection.execute("SELECT * FROM rag.list_fields('c')").fetchall()
    assert listed == [("a\\.b.c", "numeric"), ("day", "timestamptz")]
    for statement, code, message in (
        (
            "SELECT rag.index_field('c', 'day', 'text')",
            "RG003",
            "'day' of collection 'c' is declared timestamptz, not text",
        ),
        ("SELECT rag.index_field('c', 'x', 'integer')", "RG001", "unknown field type 'integer'"),
        ("SELECT rag.index_field('c', '', 'text')", "RG001", "name has 0 bytes"),
        ("SELECT rag.index_field('nowhere', 'x', 'text')", "RG002", "no collection 'nowhere'"),
    ):
        with pytest.raises(psycopg.Error, match=message) as caught:
            connection.execute(statement.encode())
        assert caught.value.sqlstate == code
    assert connection.execute("SELECT rag.unindex_field('c', 'day')").fetchone() == (True,)
    assert connection.execute("SELECT rag.unindex_field('c', 'day')").fetchone() == (False,)
    connection.execute("SELECT rag.index_field('c', 'day', 'text')")


def test_an_index_may_be_made_while_others_write(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    (statement,) = connection.execute(
        "SELECT rag.field_index_statement('c', 'n', 'numeric')"
    ).fetchone() or ("",)
    connection.execute(statement.encode())
    connection.execute("SELECT rag.index_field('c', 'n', 'numeric')")
    made = connection.execute(
        "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'chunks_1_field_%'"
    ).fetchone()
    assert made == (1,)


def test_values_that_no_index_could_hold_do_not_stop_a_writer(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    for field, kind in (("n", "numeric"), ("t", "text"), ("d", "timestamptz"), ("b", "boolean")):
        connection.execute("SELECT rag.index_field('c', %s, %s)", [field, kind])
    for value in ("x" * 60_000, 10**4200, "2024-99-99", None, [1], {"a": 1}, "NaN"):
        chunk = {"content": "fish", "metadata": dict.fromkeys("ntdb", value)}
        connection.execute("SELECT rag.put_chunks('c', 'u', %s)", [json.dumps([chunk])])
    found = connection.execute(
        """SELECT uri FROM rag.search_keyword('c', 'fish',
           metadata_filter => '{"d": {"$gte": "2024-01-01"}}')"""
    ).fetchall()
    assert found == []


def test_a_dropped_collection_takes_its_fields_along(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    connection.execute("SELECT rag.index_field('c', 'n', 'numeric')")
    connection.execute("SELECT rag.drop_collection('c')")
    assert connection.execute("SELECT count(*) FROM rag.fields").fetchone() == (0,)
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    assert connection.execute("SELECT * FROM rag.list_fields('c')").fetchall() == []
    assert connection.execute("SELECT rag.remove_dropped()").fetchone() == (1,)


def test_every_search_takes_the_same_filters(database: Database, connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    for year in range(2020, 2026):
        chunk = {"content": f"red fish {year}", "embedding": [1, 0, 0], "metadata": {"year": year}}
        connection.execute("SELECT rag.put_chunks('c', %s, %s)", [str(year), json.dumps([chunk])])
    wanted = '{"year": {"$gte": 2022, "$lt": 2025}, "$not": {"year": 2023}}'
    for declared in (False, True):
        if declared:
            connection.execute("SELECT rag.index_field('c', 'year', 'numeric')")
        for call in (
            "rag.search('c', 'fish', '[1, 0, 0]', metadata_filter => %s)",
            "rag.search('c', 'fish', metadata_filter => %s)",
            "rag.search_vector('c', '[1, 0, 0]', 10, %s)",
            "rag.search_keyword('c', 'fish', 10, %s, 'all')",
            (
                "rag._explain_keyword('c', 'fish', 10, %s) AS e JOIN rag.chunks AS k USING"
                " (chunk_id) JOIN rag.documents USING (document_id)"
            ),
        ):
            rows = connection.execute(f"SELECT DISTINCT uri FROM {call}".encode(), [wanted])
            assert sorted(uri for (uri,) in rows) == ["2022", "2024"], call


def test_python_declares_fields_and_passes_dates(rag: Any) -> None:
    docs = rag.collection("c", model="hash:32")
    docs.add_chunks(
        {"uri": day, "content": "red fish", "metadata": {"day": day}}
        for day in ("2024-02-28", "2024-02-29T08:00:00Z", "2024-03-01")
    )
    wanted = {"day": {"$gte": datetime.date(2024, 2, 29), "$lt": datetime.date(2024, 3, 1)}}
    for _ in range(2):
        assert [hit.uri for hit in docs.search("fish", filter=wanted)] == ["2024-02-29T08:00:00Z"]
        docs.metadata.index("day", "timestamptz")
    assert docs.metadata.fields() == {"day": "timestamptz"}
    assert docs.metadata.unindex("day") and not docs.metadata.unindex("day")
