"""Recall: what the index misses is measured, told, and mended by what is advised."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from walk import walk_above

from rag_pg import Rag

Connection = psycopg.Connection[Any]
COUNT, DIMENSIONS = 1000, 16


def scattered(count: int, seed: int) -> np.ndarray[Any, Any]:
    """Vectors without any order: every sparse graph leads to all of them, by many detours."""
    return np.random.default_rng(seed).normal(size=(count, DIMENSIONS))


def clustered(count: int, seed: int) -> np.ndarray[Any, Any]:
    """Vectors in 60 tight clusters: the sparsest graph does not lead from one to another."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(1).normal(size=(60, DIMENSIONS))
    own = generator.integers(0, 60, count)
    return centres[own] + 0.05 * generator.normal(size=(count, DIMENSIONS))


@pytest.fixture(scope="module")
def bad(new_database: Any, template: str) -> Iterator[str]:
    """A database with two collections: a short walk in the index of docs misses a third, a long
    one finds all; in that of worst no walk finds all. An index differs each time that it is built,
    for pgvector draws the layers of its rows: of 20 of docs the recall at 1 was .58 to .67 and at
    1000 .995 to 1, of 20 of worst .40 to .82 at 1000."""
    dsn = new_database(template)
    with psycopg.connect(dsn, autocommit=True) as connection:
        # An index is walked from here on, so that few chunks show how it is.
        walk_above(connection, 100)
        for name, options, vectors in (
            ("docs", {"m": 4, "ef_construction": 8}, scattered(COUNT, 2)),
            ("worst", {"m": 2, "ef_construction": 4}, clustered(COUNT, 2)),
        ):
            connection.execute(
                "SELECT rag.create_collection(%s, 'none', %s, index_options => %s)",
                [name, DIMENSIONS, json.dumps(options)],
            )
            connection.execute("SELECT rag.index_field(%s, 'half', 'numeric')", [name])
            chunks = [
                {"content": f"c{i}", "embedding": vector.tolist(), "metadata": {"half": i % 2}}
                for i, vector in enumerate(np.round(vectors, 4))
            ]
            connection.execute("SELECT rag.put_chunks(%s, 'd', %s)", [name, json.dumps(chunks)])
        connection.execute("SELECT rag._merge_keyword(1), rag._merge_keyword(2)")
    yield dsn


@pytest.fixture
def connection(bad: str) -> Iterator[Connection]:
    """Of the collection with the bad index; what a test does is undone."""
    with psycopg.connect(bad) as connection:
        yield connection
        connection.rollback()


def log_queries(connection: Connection, count: int = 40, filters: str = "{}") -> None:
    connection.execute("SELECT rag.alter_collection('docs', sample_queries => 1)")
    for vector in np.round(scattered(count, 7), 4):
        connection.execute(
            "SELECT rag.log_query('docs', query_embedding => %s::text::public.halfvec,"
            " metadata_filter => %s)",
            [str(vector.tolist()), filters],
        )


def measured(connection: Connection, arguments: str = "") -> dict[str, Any]:
    with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        row = cursor.execute(f"SELECT * FROM rag.measure_recall('docs'{arguments})").fetchone()
    assert row is not None
    return row


def finding(connection: Connection) -> tuple[str, str, str | None]:
    row = connection.execute(
        "SELECT status, detail, remedy FROM rag.doctor() WHERE check_name = 'vector recall'"
    ).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


def by_hand(connection: Connection, k: int = 10) -> float:
    """The mean share of the nearest that rag.search_vector finds, by distances that numpy has
    computed."""
    rows = connection.execute(
        """SELECT c.content, e.embedding::text FROM rag.embeddings AS e
           JOIN rag.chunks AS c ON c.collection_id = 1 AND c.chunk_id = e.chunk_id"""
    ).fetchall()
    names = [row[0] for row in rows]
    stored = np.array([json.loads(row[1]) for row in rows])
    stored /= np.linalg.norm(stored, axis=1)[:, None]
    shares = []
    for (text,) in connection.execute("SELECT embedding::text FROM rag.live_queries").fetchall():
        query = np.array(json.loads(text))
        nearest = np.argsort(-(stored @ (query / np.linalg.norm(query))), kind="stable")[:k]
        hits = connection.execute(
            "SELECT content FROM rag.search_vector('docs', %s::text::public.halfvec, %s)",
            [text, k],
        ).fetchall()
        shares.append(len({names[i] for i in nearest} & {hit[0] for hit in hits}) / k)
    return float(np.mean(shares))


def test_a_bad_index_is_told_and_the_advised_value_mends_it(connection: Connection) -> None:
    log_queries(connection)
    connection.execute("SELECT rag.alter_collection('docs', ef_search => 1000)")
    target = measured(connection)["recall"] - 0.03  # no two graphs are the same
    connection.execute("SELECT rag.alter_collection('docs', ef_search => 5)")
    measure = measured(connection, f", target => {target}")
    assert (measure["source"], measure["query_count"], measure["walked_count"]) == ("live", 40, 40)
    assert measure["recall"] == pytest.approx(by_hand(connection), abs=0.01)
    assert measure["recall"] < target
    assert measure["lower_bound"] < measure["recall"] < measure["upper_bound"]
    status, detail, remedy = finding(connection)
    assert status == "warn" and "docs: a vector search finds 0." in detail
    advised = measure["advised_ef_search"]
    statement = f"SELECT rag.alter_collection('docs', ef_search => {advised})"
    assert remedy is not None and remedy.startswith(f"{statement}, which finds 0.")
    connection.execute(statement)
    assert finding(connection)[0] == "ok"  # what was measured is of another setting
    again = measured(connection, f", target => {target}")
    assert again["recall"] == pytest.approx(measure["advised_recall"], abs=1e-6)
    assert again["recall"] >= target
    assert by_hand(connection) >= target - 0.01
    assert finding(connection)[0] == "ok"


def test_an_index_that_no_value_mends_wants_to_be_made_anew(connection: Connection) -> None:
    row = connection.execute("SELECT * FROM rag.measure_recall('worst', 20)").fetchone()
    assert row is not None
    status, _, remedy = finding(connection)
    assert status == "warn" and remedy is not None and "rag.create_space('worst'" in remedy
    (asked,) = connection.execute(
        "SELECT query_count FROM rag.measure_recall('worst', 1000, seconds => 0.01)"
    ).fetchone() or (0,)
    assert 1 <= asked < 1000
    # It may have asked one query that finds all, or tried one value: as where it tried none.
    connection.execute(
        "UPDATE rag.recall_measures SET recall = 0.5, advised_ef_search = NULL,"
        " advised_recall = NULL"
    )
    remedy = finding(connection)[2]
    assert remedy is not None and "seconds => 600" in remedy


def test_without_live_queries_vectors_of_chunks_are_the_questions(connection: Connection) -> None:
    log_queries(connection, 5)
    connection.execute("SELECT rag.alter_collection('docs', ef_search => 1)")
    measure = measured(connection, ", 30, target => 1")
    assert (measure["source"], measure["query_count"]) == ("stored", 30)
    assert measure["recall"] < 1
    assert "30 vectors of its own" in finding(connection)[1]


def test_queries_are_run_with_their_own_filters(connection: Connection) -> None:
    log_queries(connection, 20, '{"half": 1}')
    connection.execute("SELECT rag.alter_collection('docs', ef_search => 1)")
    measure = measured(connection, ", 20, seconds => 600")
    assert measure["query_count"] == 20
    assert measure["walked_count"] == 0  # so few pass the filter that they are compared
    assert (measure["recall"], measure["upper_bound"]) == (1, 1)
    assert 0.8 < measure["lower_bound"] < 0.9  # of 20 queries: Clopper and Pearson give 0.832


def test_filters_that_nothing_passes_or_that_are_invalid_are_measured_once(
    connection: Connection,
) -> None:
    log_queries(connection, 20, '{"half": {"$gt": 7}}')
    connection.execute("SELECT rag.alter_collection('docs', recall_target => 0.5)")
    measure = measured(connection, ", 20")
    assert (measure["source"], measure["query_count"], measure["recall"]) == ("live", 20, 1)
    connection.execute("""UPDATE rag.live_queries SET metadata_filter = '{"half": {"$no": 1}}'""")
    connection.execute("DELETE FROM rag.recall_measures")
    connection.execute("SELECT rag.maintain_step('recall', 1)")
    assert connection.execute(
        "SELECT source, query_count FROM rag.list_recall('docs')"
    ).fetchall() == [("stored", 50)]
    assert connection.execute(
        "SELECT count(*) FROM rag.maintenance_steps() WHERE step = 'recall'"
    ).fetchone() == (0,)


def test_maintenance_measures_daily_where_there_is_a_target(connection: Connection) -> None:
    due = "SELECT count(*) FROM rag.maintenance_steps() WHERE step = 'recall'"
    assert connection.execute(due).fetchone() == (0,)
    connection.execute("SELECT rag.alter_collection('docs', recall_target => 0.5)")
    assert connection.execute(due).fetchone() == (1,)
    connection.execute("SELECT rag.maintain_step('recall', 1)")
    found = connection.execute("SELECT target, source FROM rag.list_recall('docs')").fetchall()
    assert found == [(0.5, "stored")]
    assert connection.execute(due).fetchone() == (0,)
    connection.execute("SELECT rag.alter_collection('docs', ef_search => 77)")
    assert connection.execute(due).fetchone() == (1,)
    connection.execute("SELECT rag.alter_collection('docs', recall_target => 0)")
    assert connection.execute(due).fetchone() == (0,)


def test_a_set_ef_search_is_used_and_0_returns_to_the_choice_by_size(
    connection: Connection, bad: str
) -> None:
    connection.execute("SELECT rag.alter_collection('docs', ef_search => 77)")
    assert connection.execute("SELECT ef_search FROM rag.get_collection('docs')").fetchone() == (
        77,
    )
    assert measured(connection, ", 2")["ef_search"] == 77
    connection.execute("SELECT rag._create_copy('docs', 'docs.copy', 'none', 16, '{}')")
    assert connection.execute(
        "SELECT ef_search FROM rag.get_collection('docs.copy')"
    ).fetchone() == (77,)
    connection.execute("SELECT rag.alter_collection('docs', ef_search => 0)")
    assert measured(connection, ", 2")["ef_search"] == 120
    chosen = connection.execute(
        """SELECT rag._choose_ef_search(NULL, NULL, 1000, 10),
               rag._choose_ef_search(77, NULL, 1000, 10),
               rag._choose_ef_search(77, 0.2, 1000, 10),
               rag._choose_ef_search(777, 0.2, 1000, 10)"""
    ).fetchone()
    assert chosen == (120, 77, 500, 777)


def test_an_interval_counts_neighbours_of_a_query_as_far_as_they_vary(
    connection: Connection,
) -> None:
    def interval(recalls: list[float]) -> tuple[float, float]:
        row = connection.execute("SELECT * FROM rag._recall_interval(%s, 10)", [recalls]).fetchone()
        assert row is not None
        return row[0], row[1]

    together = interval([0.0, 1.0] * 50)  # as 100 trials
    apart = interval([0.5, 0.5] * 50)  # as 1000
    assert together == pytest.approx((0.398, 0.602), abs=0.003)
    assert apart == pytest.approx((0.469, 0.531), abs=0.003)
    assert interval([1.0] * 100) == pytest.approx((0.9638, 1.0), abs=0.001)


def test_the_client_measures(bad: str) -> None:
    with Rag(bad) as rag:
        quality = rag.get_collection("docs").evaluation
        measure = quality.measure_recall(sample=3, k=5, seconds=10.0)
        assert (measure.query_count, measure.k, measure.is_current) == (3, 5, True)
        assert quality.recall_measures(limit=1) == [measure]


def test_a_gate_refuses_an_ef_search_that_finds_less(connection: Connection) -> None:
    connection.execute("SELECT rag.set_fingerprint('docs', 'm/1')")
    numbers = range(100, 1000, 15)
    connection.execute(
        "SELECT rag.put_eval_queries('faq', %s)",
        [json.dumps([{"id": f"q{n}", "question": f"zz{n}",
                      "relevant": [{"uri": "d", "quote": f"c{n}"}]} for n in numbers])],
    )  # fmt: skip
    connection.execute(
        """SELECT rag.put_eval_embeddings('faq', 'm/1', array_agg('q' || substr(c.content, 2)),
               array_agg(e.embedding))
           FROM rag.embeddings AS e JOIN rag.chunks AS c USING (chunk_id)
           WHERE c.collection_id = 1 AND e.space_id = 1 AND c.content = ANY (%s)""",
        [[f"c{n}" for n in numbers]],
    )
    options = json.dumps({"candidate_limit": 1})
    connection.execute("SELECT rag.set_gate('docs', 'faq', 'recall', 0, 1, %s)", [options])
    connection.execute("SELECT rag.alter_collection('docs', ef_search => 1000, force => true)")
    call = "SELECT rag.alter_collection('docs', description => 'x', ef_search => {})"
    with (
        pytest.raises(psycopg.Error, match="ef_search 1 is refused") as error,
        connection.transaction(),
    ):
        connection.execute(call.format(1))
    assert error.value.sqlstate == "RG010"
    settings = "SELECT ef_search, description FROM rag.get_collection('docs')"
    assert connection.execute(settings).fetchone() == (1000, "")
    connection.execute(call.format("1, force => true"))
    connection.execute(call.format(1))  # as it is: not measured
    connection.execute(call.format(500))
    connection.execute("SELECT rag.alter_collection('docs', recall_target => 0.5)")
    checks = connection.execute("SELECT action, outcome FROM rag.list_gate_checks('docs')")
    assert checks.fetchall() == [
        ("alter_collection ef_search 500", "passed"),
        ("alter_collection ef_search 1", "forced"),
        ("alter_collection ef_search 1000", "forced"),
    ]
