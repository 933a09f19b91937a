"""Weighted and auto fusion against plain Python, and what is done to the fused list."""

import json
from typing import Any

import numpy as np
import psycopg
import pytest

Connection = psycopg.Connection[Any]
QUERY = "[1, 0, 0]"
TEXTS: dict[str, tuple[str, list[float]]] = {
    "a": ("red fish", [1, 0.1, 0]),
    "b": ("red red bird in a tree", [0, 1, 0]),
    "c": ("blue bird", [0.9, 0.5, 0]),
    "d": ("fish and fish", [0.2, 0.1, 1]),
    "e": ("nothing of it", [0.7, 0.7, 0.1]),
}


def put(connection: Connection, uri: str, *chunks: dict[str, Any], name: str = "c") -> list[int]:
    connection.execute("SELECT rag.put_chunks(%s, %s, %s)", [name, uri, json.dumps(chunks)])
    return [
        i
        for (i,) in connection.execute(
            """SELECT c.chunk_id FROM rag.chunks AS c JOIN rag.documents AS d
               USING (collection_id, document_id)
               WHERE d.uri = %s ORDER BY c.ordinal""",
            [uri],
        )
    ]


@pytest.fixture(params=["cosine", "l2", "ip"])
def filled(connection: Connection, request: pytest.FixtureRequest) -> str:
    connection.execute(
        "SELECT rag.create_collection('c', 'none', 3, %s, 'simple')", [request.param]
    )
    for uri, (text, vector) in TEXTS.items():
        put(connection, uri, {"content": text, "embedding": vector})
    return str(request.param)


def rows(connection: Connection, **options: Any) -> list[tuple[Any, ...]]:
    named = "".join(f", {key} => %({key})s" for key in options)
    return connection.execute(
        f"""SELECT uri, score, vector_rank, vector_distance, keyword_rank, keyword_score
            FROM rag.search('c', 'red fish', '{QUERY}'{named})""".encode(),
        {k: json.dumps(v) if isinstance(v, list | dict) else v for k, v in options.items()},
    ).fetchall()


def uris(connection: Connection, **options: Any) -> list[str]:
    return [row[0] for row in rows(connection, **options)]


def cosine(vector: list[float]) -> float:
    return vector[0] / float(np.linalg.norm(np.array(vector)))


@pytest.mark.parametrize("candidate_limit", [2, 40])
@pytest.mark.few(2)
def test_weighted_scores_are_cosine_and_keyword_share(
    connection: Connection, filled: str, candidate_limit: int
) -> None:
    keyword = dict(
        connection.execute("SELECT uri, score FROM rag.search_keyword('c', 'red fish')").fetchall()
    )
    found = rows(
        connection, fusion="weighted", candidate_limit=candidate_limit, result_limit=2,
        vector_weight=3, keyword_weight=1,
    )  # fmt: skip
    expected = {
        uri: 0.75 * cosine(vector) + 0.25 * keyword.get(uri, 0) / max(keyword.values())
        for uri, (_, vector) in TEXTS.items()
    }
    best = sorted(expected, key=lambda uri: -expected[uri])[:2]
    assert [row[0] for row in found] == best
    assert [row[1] for row in found] == pytest.approx([expected[u] for u in best], abs=1e-3)


def test_candidates_of_one_leg_get_their_exact_value_in_the_other(
    connection: Connection, filled: str
) -> None:
    found = {row[0]: row for row in rows(connection, result_limit=2, candidate_limit=2)}
    _, _, rank, distance, keyword_rank, score = found["a"]
    assert (rank, keyword_rank) != (None, None)
    assert distance is not None
    assert score is not None
    every = {row[0]: row for row in rows(connection)}
    assert every["a"][3] == pytest.approx(distance)
    assert every["a"][5] == pytest.approx(score)
    assert every["e"][5] is None  # no word of the query, whoever asks


def test_a_chunk_without_a_vector_counts_as_the_least_similar(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'simple')")
    put(connection, "fresh", {"content": "red fish red fish"})
    put(connection, "near", {"content": "stone", "embedding": [1, 0, 0]})
    put(connection, "far", {"content": "red", "embedding": [0.6, 0.8, 0]})
    found = {row[0]: row for row in rows(connection, fusion="weighted")}
    assert found["fresh"][1] == pytest.approx(0.7 * 0.6 + 0.3, abs=1e-3)
    assert found["fresh"][2:4] == (None, None)


def test_one_leg_alone_decides_when_the_other_finds_nothing(
    connection: Connection, filled: str
) -> None:
    alone = connection.execute(
        "SELECT uri, score FROM rag.search('c', 'unheard', %s)", [QUERY]
    ).fetchall()
    assert [uri for uri, _ in alone] == sorted(TEXTS, key=lambda u: -cosine(TEXTS[u][1]))
    assert alone[0][1] == pytest.approx(cosine(TEXTS["a"][1]), abs=1e-3)
    (best, *_) = connection.execute("SELECT uri, score FROM rag.search('c', 'fish')").fetchall()
    assert best == ("d", 1.0)


def test_boosts_add_multiply_and_fade_with_age(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'simple')")
    with connection.transaction():  # whose now() is one for the date and the search
        now = connection.execute("SELECT now() - interval '10 days'").fetchone()
        assert now is not None
        for uri, metadata in {
            "a": {"lang": "en", "at": now[0].isoformat()},
            "b": {"lang": "de"},
            "c": {"lang": "fr", "at": "not a date"},
        }.items():
            put(connection, uri, {"content": f"red fish {uri}", "metadata": metadata})
        plain = {row[0]: row[1] for row in rows(connection)}
        assert len(set(plain.values())) == 1
        boosts: list[dict[str, Any]] = [
            {"filter": {"lang": "de"}, "multiply": 2, "add": 0.5},
            {"recency": "at", "half_life": "10 days", "weight": 0.5},
        ]
        found = {row[0]: row[1] for row in rows(connection, boosts=boosts)}
        assert found["b"] == pytest.approx((plain["b"] * 2 + 0.5) * 0.5)
        assert found["a"] == pytest.approx(plain["a"] * 0.75)
        assert found["c"] == pytest.approx(plain["c"] * 0.5)
        assert uris(connection, boosts=boosts) == ["b", "a", "c"]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("boosts", "message"),
    [
        ({}, "boosts is a JSON object"),
        ([{"multiply": 2}], "neither or both"),
        ([{"filter": {}, "times": 2}], "unknown key 'times'"),
        ([{"filter": {}, "multiply": -1}], "multiply of boost"),
        ([{"filter": {}, "add": "1"}], "add of boost"),
        ([{"recency": "at"}], "needs a field and a half_life"),
        ([{"recency": "at", "half_life": "soon"}], "needs a field and a half_life"),
        ([{"recency": "at", "half_life": "-1 day"}], "needs a field and a half_life"),
    ],
)
def test_bad_boosts_are_named(connection: Connection, boosts: object, message: str) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    with pytest.raises(psycopg.Error, match=message) as caught:
        rows(connection, boosts=boosts)
    assert caught.value.sqlstate == "RG004"


def test_duplicates_go_and_a_document_has_its_share(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'simple')")
    for uri in ("a", "b"):
        put(connection, uri, *({"content": f"red fish {n % 3}"} for n in range(6)))
    assert len(uris(connection, result_limit=20)) == 3
    assert len(uris(connection, result_limit=20, duplicates=True)) == 12
    assert sorted(uris(connection, result_limit=20, duplicates=True, per_document=2)) == [
        "a", "a", "b", "b",
    ]  # fmt: skip


def test_what_was_taken_out_is_made_up_for_from_further_down(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'simple')")
    put(connection, "long", *({"content": f"red fish number {n}"} for n in range(60)))
    for n in range(5):
        put(connection, f"other{n}", {"content": f"red and many more words about nothing {n}"})
    assert len(uris(connection, per_document=1, result_limit=6)) == 6


def test_diversity_prefers_what_was_not_said(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'simple')")
    for uri, vector in {
        "a": [1, 0, 0], "twin": [1, 0.01, 0], "b": [0.8, 0.6, 0], "c": [0.1, 0, 1],
    }.items():  # fmt: skip
        put(connection, uri, {"content": f"text {uri}", "embedding": vector})
    ask = (
        f"SELECT uri, score FROM rag.search('c', query_embedding => '{QUERY}', result_limit => 3,"
        " diversity => %s)"
    )
    plain = connection.execute(ask.encode(), [0]).fetchall()
    assert [uri for uri, _ in plain] == ["a", "twin", "b"]
    diverse = connection.execute(ask.encode(), [0.7]).fetchall()
    assert [uri for uri, _ in diverse] == ["a", "c", "b"]
    assert dict(diverse)["a"] == dict(plain)["a"]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fusion": "best"}, "unknown fusion 'best'"),
        ({"diversity": 1.5}, "diversity 1.5"),
        ({"per_document": 0}, "per_document 0"),
        ({"ef_search": 0}, "ef_search 0"),
        ({"vector_weight": 0, "keyword_weight": 0}, "weights 0 and 0"),
        ({"vector_weight": float("nan")}, "weights"),
    ],
)
def test_bad_options_are_named(
    connection: Connection, options: dict[str, Any], message: str
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    with pytest.raises(psycopg.Error, match=message) as caught:
        rows(connection, **options)
    assert caught.value.sqlstate == "RG004"


def test_null_options_are_the_defaults(connection: Connection, filled: str) -> None:
    names = ["vector_weight", "keyword_weight", "fusion", "rrf_k", "candidate_limit", "diversity",
             "per_document", "boosts", "duplicates", "ef_search"]  # fmt: skip
    assert rows(connection, **dict.fromkeys(names)) == rows(connection)


@pytest.mark.parametrize("distance", ["l2", "ip"])
def test_a_vector_alone_is_scored_by_cosine_and_ranked_by_the_collections_own_distance(
    connection: Connection, distance: str
) -> None:
    """Vectors that are not of length 1: search_vector and rrf go by the distance,
    weighted and auto by the cosine."""
    connection.execute("SELECT rag.create_collection('c', 'none', 3, %s)", [distance])
    vectors: dict[str, list[float]] = {
        "same direction": [0.1, 0, 0],
        "long": [3, 2, 0],
        "near": [1, 0.3, 0],
    }
    for uri, vector in vectors.items():
        put(connection, uri, {"content": uri, "embedding": vector})
    own = [
        uri
        for (uri,) in connection.execute(
            f"SELECT uri FROM rag.search_vector('c', '{QUERY}')".encode()
        )
    ]
    assert own == (
        ["near", "same direction", "long"]
        if distance == "l2"
        else ["long", "near", "same direction"]
    )
    for fusion in ("auto", "weighted", "rrf"):
        for text in (None, "nowhere"):  # words that find nothing change nothing
            found = connection.execute(
                f"""SELECT uri, vector_rank
                    FROM rag.search('c', %s, '{QUERY}', fusion => %s)""".encode(),
                [text, fusion],
            ).fetchall()
            by_cosine = sorted(vectors, key=lambda uri: -cosine(vectors[uri]))
            assert [uri for uri, _ in found] == (own if fusion == "rrf" else by_cosine)
            assert sorted(found, key=lambda hit: hit[1]) == [
                (uri, own.index(uri) + 1) for uri in own
            ]
