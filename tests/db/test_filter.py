"""The filter language against its oracle, hostile input, errors, plans, and declared fields."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import psycopg
import pytest
from filter_oracle import date, matches
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import sql

from rag_pg.db import Database

Connection = psycopg.Connection[Any]
Json = dict[str, Any]

SLOW = bool(os.environ.get("RAG_PG_TEST_SLOW"))  # 10,000 filters instead of 600
DECLARED = {"num": "numeric", "txt": "text", "day": "timestamptz", "flag": "boolean", "n.x": "numeric"}  # fmt: skip


# --- random metadata and filters over the same few keys and values, so that many of them meet

DATES = ["2024-02-28", "2024-02-29", "2024-02-29T00:00:00Z", "2024-02-29T01:30:00+01:30", "2023-02-29",
         "2024-02-29 23:59:59.999999", "2024-03-01T00:30+0100", "0001-01-02", "9999-12-31"]  # fmt: skip
TEXTS = ["", "a", "ab", "abc", "a%", "a_c", "b'", 'c"', "d\\", "$1", "\t\n\x01", "é", "日本", "a" * 501, "a" * 500 + "b"]  # fmt: skip
numbers = st.sampled_from([0, 1, -1, 2, 1.0, 1.5, -0.25, 2024, 10**30, 1e-30, 1e300])
texts = st.sampled_from(TEXTS + DATES)
scalars = st.one_of(numbers, texts, st.booleans(), st.none())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["x", "y", "q.r"]), inner, max_size=2),
    ),
    max_leaves=5,
)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "num": st.one_of(numbers, values), "txt": st.one_of(texts, values),
        "day": st.one_of(st.sampled_from(DATES), values), "flag": st.one_of(st.booleans(), values),
        "n": st.one_of(values, st.fixed_dictionaries({"x": values})), "a": values, "q.r": values, "$x": values,
        "it's \"k\\": values, "": values,
    },
)  # fmt: skip
patterns = st.text("abc%_é\\", max_size=5).filter(
    lambda p: (len(p) - len(p.rstrip("\\"))) % 2 == 0
)
ordered = {
    "num": numbers,
    "txt": texts,
    "day": st.sampled_from([d for d in DATES if date(d)]),
    "flag": st.booleans(),
    "n.x": numbers,
}
fields = st.sampled_from(
    [*ordered, "a", "n", "n.y", "n.x.y", "n.q\\.r", "q\\.r", "\\$x", "it's \"k\\\\", ""]
)


def operators(field: str) -> st.SearchStrategy[Json]:
    comparable = ordered.get(field, st.one_of(numbers, texts, st.booleans()))
    plain = st.fixed_dictionaries(
        {},
        optional={
            "$eq": values, "$ne": values, "$in": st.lists(values, max_size=3),
            "$nin": st.lists(values, max_size=3), "$exists": st.booleans(), "$contains": values,
            "$like": patterns, "$gt": comparable, "$gte": comparable, "$lt": comparable, "$lte": comparable,
        },
    ).filter(bool).map(lambda d: dict(list(d.items())[:2]))  # fmt: skip
    return st.one_of(plain, plain, st.fixed_dictionaries({"$not": st.one_of(plain, scalars)}))


leaves = fields.flatmap(
    lambda field: st.one_of(operators(field), values).map(lambda wanted: {field: wanted})
)
filters = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"$and": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"$or": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"$not": inner}),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
    ),
    max_leaves=4,
)


# --- evaluation: many filters in two round trips

REQUIRED = """ALTER TABLE rag.chunks ALTER document_id SET DEFAULT gen_random_uuid(), ALTER ordinal SET DEFAULT 0,
    ALTER heading SET DEFAULT '', ALTER content SET DEFAULT '', ALTER content_hash SET DEFAULT '',
    ALTER lexemes SET DEFAULT '', ALTER lexeme_count SET DEFAULT 0"""


def fill(connection: Connection, collection: int, rows: Sequence[Json]) -> None:
    """Make these the metadata of the collection's chunks, numbered from 0."""
    connection.execute(
        "DELETE FROM rag.chunks WHERE collection_id = %s", [collection]
    )
    connection.execute(
        """INSERT INTO rag.chunks (collection_id, chunk_id, metadata)
           SELECT %s, place - 1, value FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS m (value, place)""",
        [collection, json.dumps(rows)],
    )  # fmt: skip


def evaluate(
    connection: Connection, collection: int, wanted: Sequence[Json]
) -> list[list[int]]:
    """The numbers of the chunks that pass each filter."""
    conditions = connection.execute(
        """SELECT coalesce(f.condition, 'true')
           FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS w (filter, place),
           LATERAL rag.compile_filter(%s, w.filter) AS f ORDER BY w.place""",
        [json.dumps(wanted), collection],
    ).fetchall()
    parts = [
        f"SELECT {i}, ARRAY(SELECT c.chunk_id FROM rag.chunks AS c WHERE c.collection_id = {collection} "
        f"AND {condition} ORDER BY c.chunk_id)"
        for i, (condition,) in enumerate(conditions)
    ]
    rows = connection.execute(" UNION ALL ".join(parts).encode()).fetchall()
    return [found for _, found in sorted(rows)]


def expected(rows: Sequence[Json], wanted: Json) -> list[int]:
    return [i for i, row in enumerate(rows) if matches(row, wanted)]


@pytest.fixture(scope="module")
def prepared(new_database: Any, template: str) -> Iterator[Connection]:
    """Collections 1 (nothing declared) and 2 (DECLARED); a session in another time zone and date style."""
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        for name in ("plain", "declared"):
            connection.execute("SELECT rag.create_collection(%s, 'none', 3)", [name])
        for field, kind in DECLARED.items():
            connection.execute("SELECT rag.index_field('declared', %s, %s)", [field, kind])
        connection.execute(REQUIRED)
        connection.execute("SET timezone = 'Asia/Kolkata'")
        connection.execute("SET datestyle = 'SQL, DMY'")
        yield connection


@settings(
    deadline=None,
    max_examples=400 if SLOW else 24,
    phases=[Phase.explicit, Phase.generate],  # the message names one filter: nothing to shrink
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)  # fmt: skip
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
        for one, got, true in wrong:
            i = min(set(got) ^ set(true))
            raise AssertionError(
                f"collection {collection}: {one!r} {'finds' if i in got else 'misses'} {rows[i]!r}"
            )
