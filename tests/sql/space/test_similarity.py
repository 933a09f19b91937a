"""The spread of a space's cosines: measured as numpy measures it, and what a search makes of it."""

from __future__ import annotations

import json
from typing import Any

import fusion_oracle
import numpy as np
import psycopg
import pytest
from fakes import HashEmbedder
from numpy.typing import NDArray

from rag_pg import Rag
from rag_pg.types import CosineSpread

Connection = psycopg.Connection[Any]
Vectors = NDArray[np.float64]
WORDS = ["river", "mountain", "valley", "harbour", "bridge", "castle", "forest", "meadow"]


def unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def made(count: int, dimensions: int = 12, seed: int = 4) -> Vectors:
    return unit(np.random.default_rng(seed).normal(size=(count, dimensions)) + 0.2)


def squeezed(vectors: Vectors, share: float) -> Vectors:
    """Vectors whose cosines are share + (1 - share) * cosine."""
    first = np.full((len(vectors), 1), np.sqrt(share))
    return np.concatenate([first, np.sqrt(1 - share) * vectors], axis=1)


def fill(connection: Connection, name: str, vectors: Vectors, model: str = "own") -> list[str]:
    """Put a chunk a vector, as a document of some words each."""
    chance = np.random.default_rng(9)
    connection.execute(
        "SELECT rag.create_collection(%s, %s, %s, language => 'simple')",
        [name, model, vectors.shape[1]],
    )
    texts = [" ".join(chance.choice(WORDS, size=5)) for _ in vectors]
    for number, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        chunk = {"content": f"{text} {number}", "embedding": [float(x) for x in vector]}
        connection.execute(
            "SELECT rag.put_chunks(%s, %s, %s)", [name, f"d{number}", json.dumps([chunk])]
        )
    return texts


def measured(connection: Connection, name: str) -> tuple[float, float] | None:
    row = connection.execute(
        "SELECT similarity_mean, similarity_spread FROM rag.list_spaces(%s)", [name]
    ).fetchone()
    assert row is not None
    return None if row[0] is None else (row[0], row[1])


def ranked(connection: Connection, name: str, text: str, query: Vectors, **options: Any) -> Any:
    named = "".join(f", {key} => %({key})s" for key in options)
    return connection.execute(
        f"""SELECT uri, score, vector_distance, keyword_score
            FROM rag.search(%(name)s, %(text)s, %(query)s, result_limit => 20{named})""".encode(),
        {"name": name, "text": text, "query": str([float(x) for x in query]), **options},
    ).fetchall()


def test_mean_and_spread_are_those_of_all_pairs(connection: Connection) -> None:
    vectors = made(60)
    fill(connection, "c", vectors)
    assert connection.execute("SELECT rag.measure_spaces(ARRAY['c'])").fetchone() == (1,)
    pairs = (vectors @ vectors.T)[np.triu_indices(60, 1)]
    assert measured(connection, "c") == pytest.approx((pairs.mean(), pairs.std(ddof=1)), abs=1e-3)


@pytest.mark.minutes
def test_a_large_space_is_measured_by_a_sample(connection: Connection) -> None:
    vectors = made(700)
    fill(connection, "c", vectors)
    connection.execute("SELECT rag.measure_spaces()")
    pairs = (vectors @ vectors.T)[np.triu_indices(700, 1)]
    assert measured(connection, "c") == pytest.approx((pairs.mean(), pairs.std(ddof=1)), abs=0.03)
    (sampled,) = connection.execute(
        "SELECT count(*) FROM rag._sample_vectors((SELECT space_id FROM rag.list_spaces('c')), 200)"
    ).fetchone() or (None,)
    assert sampled == 200


def test_it_is_measured_when_the_chunks_have_doubled(connection: Connection) -> None:
    fill(connection, "c", made(30))
    due = "SELECT rag.measure_spaces()"
    assert [connection.execute(due).fetchone() for _ in range(2)] == [(1,), (0,)]
    for number in range(29):
        chunk = {"content": f"later {number}", "embedding": [1.0] * 12}
        connection.execute(
            "SELECT rag.put_chunks('c', %s, %s)", [f"l{number}", json.dumps([chunk])]
        )
    assert connection.execute(due).fetchone() == (0,)
    connection.execute("SELECT rag.put_chunks('c', 'last', '[{\"content\": \"x\"}]')")
    before = measured(connection, "c")
    assert connection.execute("CALL rag.maintain()")
    assert measured(connection, "c") != before


@pytest.mark.parametrize(("model", "count"), [("minilm", 40), ("own", 9)])
def test_what_is_not_measured_keeps_its_cosines(
    connection: Connection, model: str, count: int
) -> None:
    vectors = made(count)
    fill(connection, "c", vectors, model)
    assert connection.execute("SELECT rag.measure_spaces()").fetchone() == (0,)
    assert measured(connection, "c") is None
    found = ranked(connection, "c", "", vectors[0])
    assert found[0][:2] == ("d0", pytest.approx(1.0, abs=1e-3))


def test_vectors_that_are_all_alike_or_zero_stop_nothing(connection: Connection) -> None:
    fill(connection, "alike", np.ones((12, 3)))
    fill(connection, "zero", np.zeros((12, 3)))
    assert connection.execute("SELECT rag.measure_spaces()").fetchone() == (2,)
    assert measured(connection, "alike") == pytest.approx((1.0, 0.008))
    assert measured(connection, "zero") is None
    assert len(ranked(connection, "alike", "river", np.ones(3))) == 12
    assert len(ranked(connection, "zero", "river", np.ones(3))) > 0


@pytest.mark.parametrize("fusion", ["auto", "weighted"])
@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.few(1)
def test_cosines_that_are_squeezed_and_shifted_give_the_same_ranking(
    connection: Connection, fusion: str, share: float
) -> None:
    vectors = made(80)
    texts = fill(connection, "plain", vectors)
    fill(connection, "squeezed", squeezed(vectors, share))
    assert connection.execute("SELECT rag.measure_spaces()").fetchone() == (2,)
    queries = made(12, seed=5)
    for number, query in enumerate(queries):
        text = " ".join(texts[number].split()[:2])
        plain = ranked(connection, "plain", text, query, fusion=fusion)
        narrow = ranked(
            connection, "squeezed", text, squeezed(query[None], share)[0], fusion=fusion
        )
        # halfvec keeps three digits: neighbours that near may change places
        scores = {uri: score for uri, score, *_ in plain}
        for (_, score, *_), (uri, other, *_) in zip(plain, narrow, strict=True):
            assert other == pytest.approx(score, abs=0.02)
            assert scores.get(uri, score) == pytest.approx(score, abs=0.02)


@pytest.mark.parametrize("distance", ["cosine", "l2", "ip"])
@pytest.mark.few(1)
def test_a_search_equals_the_formula(connection: Connection, distance: str) -> None:
    vectors = made(50)
    texts = fill(connection, "c", vectors)
    connection.execute("UPDATE rag.spaces SET distance = %s", [distance])
    connection.execute("SELECT rag.measure_spaces()")
    mean, spread = measured(connection, "c") or (0.0, 0.133)
    query = made(1, seed=6)[0]
    found = ranked(connection, "c", texts[3], query, candidate_limit=1000)
    keyword = connection.execute(
        "SELECT uri, score FROM rag.search_keyword('c', %s, result_limit => 100)", [texts[3]]
    ).fetchall()
    cosines = {n: (float(v @ query) - mean) * 0.133 / spread for n, v in enumerate(vectors)}
    keywords = {int(uri[1:]): score for uri, score in keyword}
    expected = fusion_oracle.auto(cosines, keywords)[:20]
    assert [row[1] for row in found] == pytest.approx([score for _, score in expected], abs=0.01)


def test_boosts_and_diversity_see_scores_of_one_scale(connection: Connection) -> None:
    vectors = made(60)
    fill(connection, "plain", vectors)
    fill(connection, "squeezed", squeezed(vectors, 0.8))
    connection.execute("SELECT rag.measure_spaces()")
    boosts = json.dumps([{"filter": {"$uri": "d7"}, "add": 0.2}])
    query = made(1, seed=8)[0]
    narrow = squeezed(query[None], 0.8)[0]
    for options in ({"boosts": boosts}, {"diversity": 0.5}):
        plain = ranked(connection, "plain", "", query, **options)
        other = ranked(connection, "squeezed", "", narrow, **options)
        shared = {row[0] for row in plain} & {row[0] for row in other}
        assert len(shared) >= 17  # of 20: halfvec keeps three digits
        assert plain[0][0] == other[0][0]


def test_a_role_that_may_not_measure_is_not_stopped(connection: Connection) -> None:
    fill(connection, "c", made(20))
    connection.execute("CREATE ROLE reader_of_spaces")
    connection.execute("GRANT USAGE ON SCHEMA rag TO reader_of_spaces")
    connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA rag TO reader_of_spaces")
    connection.execute("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rag TO reader_of_spaces")
    connection.execute("SET ROLE reader_of_spaces")
    assert connection.execute("SELECT rag.measure_spaces()").fetchone() == (0,)
    connection.execute("RESET ROLE")
    assert connection.execute("SELECT rag.measure_spaces()").fetchone() == (1,)


def test_documents_that_are_added_measure_their_space(dsn: str) -> None:
    with Rag(dsn, embedders={"hash": HashEmbedder}) as rag:
        docs = rag.collection("docs", model="hash:32")
        docs.add(
            *({"uri": f"d{n}", "content": f"The {w} is old."} for n, w in enumerate(WORDS * 3))
        )
        (space,) = docs.spaces.list()
        assert space.similarity_mean is not None and space.similarity_spread is not None
        found = rag.database.cosine_spread(docs.info.name)
        assert found == CosineSpread(mean=space.similarity_mean, spread=space.similarity_spread)
        few = rag.collection("few", model="hash:32")
        assert rag.database.cosine_spread(few.info.name) is None
