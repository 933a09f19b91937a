"""Numbers at the ends of their ranges: a result, or an error that says what is not allowed;
no other error."""

import json
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rota import tries

Connection = psycopg.Connection[Any]

ENDS = [
    "0", "5e-324", "1e-400", "1e-310", "1e-20", "1e-9", "0.5", "1", "999.99", "1000", "1e9",
    "1e308", "1e400", "-1e-400", "-1", "-1000", "-1e308",
]  # fmt: skip
HALF_LIVES = [
    "1 microsecond", "1 day", "1000 years", "0", "-1 day", "infinity", "-12 mons 361 days",
    "12 mons -360 days", "178000000 years", "a while", "NaN",
]  # fmt: skip
number = st.sampled_from(ENDS)
boost = st.one_of(
    st.builds(
        '{{"filter": {}, "multiply": {}}}'.format, st.sampled_from(["{}", '{"k": 1}']), number
    ),
    st.builds('{{"filter": {{}}, "add": {}, "multiply": {}}}'.format, number, number),
    st.builds(
        '{{"recency": "d", "half_life": "{}", "weight": {}}}'.format,
        st.sampled_from(HALF_LIVES),
        number,
    ),
    st.builds('{{"recency": "d", "half_life": "{}"}}'.format, st.sampled_from(HALF_LIVES)),
)
weight = st.one_of(st.none(), st.sampled_from([0.0, 5e-324, 1e-310, 1e-12, 1e-9, 1.0, 1e9, 1e308,
                                               float("inf"), float("nan"), -1.0]))  # fmt: skip


@pytest.fixture(scope="module")
def filled(new_database: Any, template: str) -> Any:
    """Documents of all times, vectors of all sizes."""
    with psycopg.connect(new_database(template), autocommit=True) as opened:
        for distance in ("cosine", "l2", "ip"):
            opened.execute("SELECT rag.create_collection(%s, 'none', 2, %s)", [distance] * 2)
            for i, (day, vector) in enumerate(
                [
                    ("2026-11-01", [1, 0]),
                    ("2000-01-01", [0, 0]),
                    ("0001-01-01", [65504, -65504]),
                    ("9999-12-31", [6e-8, 0]),
                    ("infinity", [6e-8, 65504]),
                    (None, [-1, 0]),
                ]
            ):
                opened.execute(
                    "SELECT rag.put_chunks(%s, %s, %s, metadata => %s)",
                    [
                        distance,
                        f"d{i}",
                        json.dumps([{"content": "backup " * (i + 1), "embedding": vector}]),
                        json.dumps({"d": day, "k": i % 2}),
                    ],
                )
        yield opened


@settings(max_examples=tries(80, 32), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(["cosine", "l2", "ip"]),
    fusion=st.sampled_from(["auto", "weighted", "rrf"]),
    vector=st.sampled_from(["[1,0]", "[0,0]", "[65504,65504]", "[6e-8,0]", None]),
    text=st.sampled_from(["backup", "nothing", None]),
    boosts=st.one_of(
        st.lists(boost, max_size=3),
        st.tuples(boost, st.integers(10, 40)).map(lambda pair: [pair[0]] * pair[1]),
    ),
    vector_weight=weight,
    keyword_weight=weight,
    diversity=st.sampled_from([0.0, 5e-324, 0.5, 1.0, float("nan")]),
)
def test_extreme_numbers_give_hits_or_say_what_is_not_allowed(
    filled: Connection, name: str, fusion: str, vector: str | None, text: str | None,
    boosts: list[str], vector_weight: float | None, keyword_weight: float | None, diversity: float,
) -> None:  # fmt: skip
    try:
        rows = filled.execute(
            """SELECT score, vector_distance
               FROM rag.search(%s, %s, %s::text::halfvec, fusion => %s,
               boosts => %s, vector_weight => %s, keyword_weight => %s, diversity => %s)""",
            [
                name, text, vector, fusion, f"[{','.join(boosts)}]", vector_weight, keyword_weight,
                diversity,
            ],
        ).fetchall()  # fmt: skip
    except psycopg.Error as error:
        assert (error.sqlstate or "").startswith("RG"), error
        return
    assert all(abs(score) < float("inf") for score, _ in rows)
    assert all(distance is None or abs(distance) < float("inf") for _, distance in rows)


def test_what_is_older_than_a_thousand_half_lives_is_worth_as_little_as_what_has_no_date(
    filled: Connection,
) -> None:
    rows = filled.execute(
        """SELECT uri FROM rag.search('cosine', 'backup', boosts =>
           '[{"recency": "d", "half_life": "1 day", "weight": 1}]') WHERE score = 0 ORDER BY 1"""
    ).fetchall()
    assert rows == [("d1",), ("d2",), ("d4",), ("d5",)]


@pytest.mark.parametrize(
    ("k1", "b"),
    [
        ("0", "5e-324"),
        ("5e-324", "0"),
        ("5e-324", "1"),
        ("1e-400", "1e-400"),
        ("1e-9", "1"),
        ("10", "1e-9"),
    ],
)
def test_extreme_k1_and_b_rank_all_the_same(filled: Connection, k1: str, b: str) -> None:
    name = f"k1-{k1}-b-{b}"
    for _ in range(2):  # the second time they are compared with those stored
        filled.execute(
            "SELECT rag.create_collection(%s, 'none', 2, index_options => %s)",
            [name, f'{{"k1": {k1}, "b": {b}}}'],
        )
    for count in (2, 4):
        filled.execute(
            "SELECT rag.put_chunks(%s, %s, %s)",
            [name, str(count), '[{"content": "backup"}, {"content": "backup backup of tapes"}]'],
        )
        found = filled.execute(
            "SELECT score FROM rag.search_keyword(%s, 'backup')", [name]
        ).fetchall()
        assert len(found) == count
        filled.execute("SELECT rag._merge_keyword(collection_id) FROM rag.collections")


def test_a_filter_beside_hundreds_of_words_that_every_chunk_holds(connection: Connection) -> None:
    words = " ".join(f"word{i}" for i in range(250))
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    connection.execute(
        "SELECT rag.put_chunks('c', 'd', %s, metadata => '{\"a\": 1}')",
        [json.dumps([{"content": words}] * 3)],
    )
    found = connection.execute(
        "SELECT count(*) FROM rag.search_keyword('c', %s, metadata_filter => '{\"a\": 1}')", [words]
    ).fetchone()
    assert found == (3,)
