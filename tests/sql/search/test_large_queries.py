"""What a query or filter of allowed size may cost:
sizes are capped, and what is allowed grows linearly."""

import json
from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]
HAN = "".join(chr(0x4E00 + i * 7919 % 20_000) for i in range(250_000))


@pytest.fixture(scope="module")
def filled(new_database: Any, template: str) -> Any:
    """Enough time for all that is linear; what grows by the square of its size needs minutes."""
    with psycopg.connect(new_database(template), autocommit=True) as opened:
        opened.execute("SELECT rag.create_collection('c', 'none', 2)")
        opened.execute(
            "SELECT rag.put_chunks('c', 'd', %s, metadata => '{\"a\": 1}')",
            [json.dumps([{"content": f"alpha w{i}", "embedding": [1, i]} for i in range(200)])],
        )
        opened.execute("SET statement_timeout = '60s'")
        yield opened


def test_pairs_of_characters_are_made_in_linear_time(filled: Connection) -> None:
    row = filled.execute("SELECT rag._character_pairs(%s)", [HAN]).fetchone()
    assert row is not None
    assert row[0] == [HAN[i : i + 2] for i in range(len(HAN) - 1)]
    mixed = filled.execute("SELECT rag._character_pairs('漢 ab 漢字仮 x กข')").fetchone()
    assert mixed == (["漢", "漢字", "字仮", "กข"],)
    assert filled.execute("SELECT rag._character_pairs('plain')").fetchone() == (None,)


LONG = {
    "one word": "a" * 99_000,
    "different words": " ".join(f"w{i}" for i in range(14_000)),
    "han": HAN[:33_000],
    "han words": " ".join(HAN[:24_000]),
    "thai": "กขค" * 11_000,
    "punctuation": "._-:/@<&'\"()" * 8_000,
    "identifiers": "a_b.c/d::e " * 9_000,
    "quotes": '"a ' * 33_000,
    "combining": "e\u0301" * 33_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
@pytest.mark.few(4)
def test_long_queries_of_every_kind_are_answered(filled: Connection, text: str) -> None:
    for match in ("any", "all", "phrase", "web"):
        filled.execute(
            "SELECT count(*) FROM rag.search_keyword('c', %s, 5, match => %s)", [text, match]
        )
    looked_up = filled.execute(
        """SELECT count(*) FROM rag.collections AS c, LATERAL rag._query_terms(c.collection_id,
           %s)""",
        [text],
    ).fetchone()
    assert looked_up is not None
    assert looked_up[0] <= 2000


def test_of_very_many_words_the_first_are_looked_up(filled: Connection) -> None:
    terms = (
        "SELECT array_agg(t.word) FROM rag.collections AS c, LATERAL"
        " rag._query_terms(c.collection_id, %s) AS t"
    )
    words = [f"w{i}" for i in range(5000)]
    row = filled.execute(terms, [" ".join(words)]).fetchone()
    assert row is not None
    assert row[0] == words[:2000]


@pytest.mark.parametrize(
    "metadata_filter",
    [
        {"$and": [{f"f{i}": {"$gte": i}} for i in range(5_000)]},
        {"$or": [{"a": i} for i in range(5_000)]},
        {"$and": [{"$or": [{f"f{i}": j} for j in range(60)]} for i in range(60)]},
        {f"f{i}": i for i in range(20_000)},
        {"a": {"$in": [[i] for i in range(5_000)]}},
        {"a": {"$in": [{}] * 60_000}},
        {"$and": [{"$not": {f"f{i}": {"$exists": True}}} for i in range(2_000)]},
    ],
    ids=["ranges", "or", "nested", "fields", "lists", "empty objects", "not"],
)
@pytest.mark.few(3)
def test_a_filter_of_too_many_parts_is_refused(
    filled: Connection, metadata_filter: dict[str, Any]
) -> None:
    for call in (
        "rag.count_documents('c', %s)",
        "rag.search_keyword('c', 'alpha', 10, %s)",
        "rag.search_vector('c', '[1, 0]', 10, %s)",
        (
            "rag.search('c', 'alpha', boosts => jsonb_build_array(jsonb_build_object('filter',"
            " %s::jsonb)))"
        ),
    ):
        with pytest.raises(psycopg.Error, match=r"(filter has|boosts have) \d+ parts") as caught:
            filled.execute(f"SELECT * FROM {call}".encode(), [json.dumps(metadata_filter)])
        assert caught.value.sqlstate == "RG004"
        assert "at most 1000" in (caught.value.diag.message_hint or "")


def test_a_deep_filter_is_refused_before_its_parts_are_counted(filled: Connection) -> None:
    """Counting takes time by the square of the depth: 20 s at 6,000, of which 2 are 10,000 times
    what refusing takes."""
    depth = 6_000
    filled.execute("SET statement_timeout = '15s'")
    try:
        for metadata_filter in (
            '{"a": ' * depth + "1" + "}" * depth,
            '{"$not": ' * depth + '{"a": 1}' + "}" * depth,
            '{"a": ' + "[" * depth + "]" * depth + "}",
        ):
            with pytest.raises(psycopg.Error, match="nested more than 100 deep") as caught:
                filled.execute("SELECT rag.count_documents('c', %s)", [metadata_filter])
            assert caught.value.sqlstate == "RG004"
    finally:
        filled.execute("SET statement_timeout = '60s'")


@pytest.mark.parametrize(
    ("metadata_filter", "passing"),
    [
        ({"a": {"$in": list(range(5_000))}}, 200),
        ({"a": {"$in": [f"value{i}" for i in range(5_000)]}}, 0),
        ({"$or": [{"a": i} for i in range(490)]}, 200),
        ({"$and": [{f"f{i}": {"$gte": i}} for i in range(330)]}, 0),
    ],
    ids=["in", "in texts", "or", "ranges"],
)
def test_large_filters_within_the_cap_work(
    filled: Connection, metadata_filter: dict[str, Any], passing: int
) -> None:
    found = filled.execute(
        "SELECT count(*) FROM rag.search_keyword('c', 'alpha', 1000, %s)",
        [json.dumps(metadata_filter)],
    ).fetchone()
    assert found == (passing,)


def test_boosts_and_candidates_are_capped(filled: Connection) -> None:
    for option, message in (
        (
            "boosts => jsonb_path_query_array(to_jsonb(array_fill(1, ARRAY[33])), '$[*]')",
            "33 boosts",
        ),
        ("candidate_limit => 10001", "candidate_limit 10001"),
        ("candidate_limit => 2147483647", "candidate_limit 2147483647"),
        ("result_limit => 2147483647", "limit 2147483647"),
    ):
        with pytest.raises(psycopg.Error, match=message) as caught:
            filled.execute(f"SELECT * FROM rag.search('c', 'alpha', '[1, 0]', {option})".encode())
        assert caught.value.sqlstate == "RG004"
    found = filled.execute(
        "SELECT count(*) FROM rag.search('c', 'alpha', '[1, 0]', 1000, candidate_limit => 10000)"
    ).fetchone()
    assert found == (200,)


@pytest.mark.parametrize(
    ("metadata_filter", "message"),
    [
        ({"a": {"$in": list(range(5_001))}}, "has 5001 values in lists"),
        ({"a": {"$in": [list(range(700))] * 8}}, "has 5608 values in lists"),
        ({"a": "x" * 1_000_000}, "the filter has 10000"),
        (
            {"$and": [{"$title": {"$ne": f"t{i}"}} for i in range(11)]},
            "asks for columns 11 times",
        ),
    ],
    ids=["values", "nested values", "bytes", "columns"],
)
def test_a_filter_that_would_take_seconds_is_refused(
    filled: Connection, metadata_filter: dict[str, Any], message: str
) -> None:
    with pytest.raises(psycopg.Error, match=message) as caught:
        filled.execute("SELECT rag.count_documents('c', %s)", [json.dumps(metadata_filter)])
    assert caught.value.sqlstate == "RG004"
    assert caught.value.diag.message_hint


@pytest.mark.parametrize(
    "boost",
    [
        {"filter": {"a": {"$in": list(range(5_000))}}, "factor": 2},
        {"filter": {"a": {"$in": list(range(5_000))}}, "multiply": -1},
        {"filter": {"a": {"$in": list(range(5_000))}}, "recency": "a"},
        {"k" * 50_000: 1, "filter": {}},
        {"recency": "a" * 50_000},
    ],
    ids=["unknown key", "range", "both", "long key", "long field"],
)
def test_a_wrong_boost_is_told_in_a_short_message(filled: Connection, boost: Any) -> None:
    with pytest.raises(psycopg.Error) as caught:
        filled.execute(
            "SELECT * FROM rag.search('c', 'alpha', boosts => %s)", [json.dumps([boost])]
        )
    assert caught.value.sqlstate == "RG004"
    assert len(caught.value.diag.message_primary or "") < 400


@pytest.mark.parametrize(
    ("metadata_filter", "message"),
    [
        ({"a": {"$in": list(range(200))}}, "the boosts have 6432 values in lists"),
        ({"$or": [{"a": i} for i in range(20)]}, r"the boosts have 14\d\d parts"),
        ({"a": "x" * 40_000}, r"the boosts have 12\d{5} bytes"),
    ],
    ids=["values", "parts", "bytes"],
)
def test_all_boosts_together_are_as_large_as_a_filter(
    filled: Connection, metadata_filter: dict[str, Any], message: str
) -> None:
    boosts = [{"filter": metadata_filter, "multiply": 2}] * 32
    search = "SELECT count(*) FROM rag.search('c', 'alpha', boosts => %s)"
    with pytest.raises(psycopg.Error, match=message) as caught:
        filled.execute(search, [json.dumps(boosts)])
    assert caught.value.sqlstate == "RG004" and caught.value.diag.message_hint
    assert filled.execute(search, [json.dumps(boosts[:16])]).fetchone() == (10,)


def test_lists_in_long_lists_are_compared_in_linear_time(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    connection.execute("SET statement_timeout = '30s'")
    for name, values in (("long", [[i] for i in range(8_000)]), ("itself", [5]), ("not", [[-1]])):
        connection.execute(
            "SELECT rag.put_chunks('c', %s, %s, metadata => %s)",
            [name, json.dumps([{"content": "alpha"}]), json.dumps({"list": values})],
        )
    wanted = [[-2 - i] for i in range(900)]
    for operands, passing in (
        (wanted, 0),
        ([*wanted, [7_999]], 1),
        ([*wanted, [5]], 2),
        ([[5]], 2),
        ([[7_999], 5], 2),
        ([{}, [-1]], 1),
    ):
        found = connection.execute(
            "SELECT rag.count_documents('c', %s)", [json.dumps({"list": {"$in": operands}})]
        ).fetchone()
        assert found == (passing,), operands[-2:]


def test_the_language_of_a_filter_needs_no_table_but_the_chunks(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    for wanted in ("german", {"$ne": "german"}, {"$like": "g%"}, {"$not": {"$in": ["german"]}}):
        row = connection.execute(
            "SELECT condition FROM rag.collections, rag._compile_filter(collection_id, %s)",
            [json.dumps({"$language": wanted})],
        ).fetchone()
        assert row is not None and "rag.documents" not in row[0]
