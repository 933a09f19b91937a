"""Live queries: a share of searches is kept where a collection says so, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder

from rag_pg import InvalidInput, Rag, Settings
from rag_pg.client.collection import Collection

Connection = psycopg.Connection[Any]
WORDS = ("anchor", "bridge", "candle", "dragon", "engine", "forest", "guitar", "hammer")


def begin(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:16")
    docs.add(*({"uri": word, "content": f"The {word} is here."} for word in WORDS))


@pytest.fixture
def docs(dsn: str, tmp_path: Path) -> Iterator[Collection]:
    with Rag(dsn, settings=Settings(home=tmp_path), embedders={"hash": HashEmbedder}) as rag:
        yield rag.get_collection("docs")


def client(docs: Collection) -> Rag:
    assert isinstance(docs.rag, Rag)
    return docs.rag


def kept(dsn: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(
            """SELECT query_text, embedding IS NOT NULL, result_limit, metadata_filter, options
               FROM rag.live_queries ORDER BY query_id"""
        ).fetchall()


def test_searches_are_kept_where_the_collection_says_so(docs: Collection, dsn: str) -> None:
    docs.search("anchor")
    assert kept(dsn) == []
    docs.alter(sample_queries=1)
    docs.search("anchor", limit=3, filter={"year": 2024}, fusion="rrf", offset=2)
    docs.search("bridge", vector_weight=0)  # no vector, and words are not kept
    assert kept(dsn) == [(None, True, 3, {"year": 2024}, {"fusion": "rrf"})]
    docs.alter(keep_query_text=True)
    docs.ask("Where is the candle?")
    docs.search("bridge", vector_weight=0)
    assert [row[:2] for row in kept(dsn)[1:]] == [
        ("Where is the candle?", True),
        ("bridge", False),
    ]
    docs.alter(keep_query_text=False)
    assert [row[:2] for row in kept(dsn)] == [(None, True), (None, True)]
    with psycopg.connect(dsn) as connection:  # one that read the setting before
        connection.execute("UPDATE rag.live_queries SET query_text = 'late' WHERE query_id = 1")
        connection.execute("SELECT rag.maintain_step('queries', 1)")
    assert [row[:2] for row in kept(dsn)] == [(None, True)]


def test_a_null_in_a_boost_is_kept(docs: Collection, dsn: str) -> None:
    docs.alter(sample_queries=1, keep_query_text=True)
    boosts = [{"filter": {"year": None}, "multiply": 2}]
    docs.search("anchor", boosts=boosts)
    ((_, _, _, _, options),) = kept(dsn)
    assert options["boosts"] == boosts
    assert None not in options.values()
    (replayed,) = docs.evaluation.replay(fusion=None).queries
    assert (replayed.error, replayed.overlap) == (None, 1)


def test_what_is_measured_is_no_live_query(docs: Collection, dsn: str) -> None:
    docs.alter(sample_queries=1)
    client(docs).evaluation.sets.put(
        "faq", [{"id": "q", "question": "anchor", "relevant": ["anchor"]}]
    )
    docs.evaluation.run("faq")
    docs.evaluation.run("faq", kind="ask")
    assert kept(dsn) == []


def test_the_sample_keeps_its_share(docs: Collection, dsn: str) -> None:
    docs.alter(sample_queries=0.3, max_queries=10_000)
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute(
            """SELECT count(*) FILTER (WHERE rag.log_query('docs', query_embedding => v.embedding))
               FROM generate_series(1, 1000) AS i, rag._sample_vectors(1, 2) AS v"""
        ).fetchone()
    assert row is not None
    assert 480 < row[0] < 720  # of 2,000: six standard deviations


def test_the_sample_is_bounded_by_number_and_by_age(docs: Collection, dsn: str) -> None:
    docs.alter(sample_queries=1, max_queries=5)
    for _ in range(12):
        docs.search("anchor")
    assert len(kept(dsn)) == 10  # twice as many at most, also without maintenance
    docs.rag.database.maintain()
    assert len(kept(dsn)) == 5
    docs.alter(keep_queries=timedelta(0))
    docs.search("anchor")
    docs.rag.database.maintain()
    assert kept(dsn) == []


def test_a_search_never_fails_for_the_sample(docs: Collection, dsn: str) -> None:
    docs.alter(sample_queries=1)
    reading = client(docs).with_settings({"transaction_read_only": "on"}).collection("docs")
    assert reading.search("anchor")
    with psycopg.connect(dsn) as connection:
        connection.execute("LOCK TABLE rag.live_queries")
        assert docs.search("anchor")  # it waits for no lock
        connection.execute("ALTER TABLE rag.live_queries RENAME TO elsewhere")
        connection.commit()
        docs.refresh()
        assert docs.search("anchor")
        connection.execute("ALTER TABLE rag.elsewhere RENAME TO live_queries")
    assert kept(dsn) == []


def test_readers_leave_queries_that_they_cannot_read_and_tenants_none(
    docs: Collection, dsn: str
) -> None:
    docs.alter(sample_queries=1, keep_query_text=True)
    log = """SELECT rag.log_query('docs', 'mine')"""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            """DO $$ BEGIN
                   CREATE ROLE reader_of_live;
               EXCEPTION WHEN duplicate_object THEN NULL; END $$;
               GRANT USAGE ON SCHEMA rag TO reader_of_live;
               GRANT EXECUTE ON ALL ROUTINES IN SCHEMA rag TO reader_of_live;
               GRANT SELECT ON rag.collections, rag.spaces, rag.documents, rag.chunks,
                   rag.erasures, rag.fields TO reader_of_live;"""
        )
        connection.execute("SET ROLE reader_of_live")
        assert connection.execute(log).fetchone() == (False,)  # no right to insert, and no error
        connection.execute("RESET ROLE")
        connection.execute(
            "GRANT INSERT, SELECT (collection_id) ON rag.live_queries TO reader_of_live"
        )
        connection.execute("SET ROLE reader_of_live")
        assert connection.execute(log).fetchone() == (True,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT query_text FROM rag.live_queries")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM rag.replay_queries('docs')")
        connection.execute("RESET ROLE")
        connection.execute(
            """ALTER TABLE rag.documents ENABLE ROW LEVEL SECURITY;
               CREATE POLICY own ON rag.documents USING (tenant = current_user);
               GRANT SELECT ON rag.live_queries TO reader_of_live"""
        )
        connection.execute("SET ROLE reader_of_live")
        assert connection.execute(log).fetchone() == (False,)
        assert connection.execute("SELECT count(*) FROM rag.live_queries").fetchone() == (0,)
        connection.execute("RESET ROLE")
        connection.execute("DROP OWNED BY reader_of_live")


def test_erasure_and_a_drop_take_the_sample_with_them(docs: Collection, dsn: str) -> None:
    docs.alter(sample_queries=1, keep_query_text=True)
    docs.search("anchor")
    receipt = docs.erase("anchor")
    assert receipt.removed["live_queries"] == 1
    docs.search("anchor")  # within a minute of it
    assert kept(dsn) == []
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DELETE FROM rag.erasures")
    docs.search("bridge")
    docs.evaluation.measure_recall(sample=1)
    assert len(kept(dsn)) == 1
    docs.rag.database.drop_collection("docs")
    with psycopg.connect(dsn) as connection:
        left = connection.execute(
            """SELECT (SELECT count(*) FROM rag.live_queries),
                   (SELECT count(*) FROM rag.recall_measures)"""
        ).fetchone()
    assert left == (0, 0)


def test_settings_out_of_range_are_refused(docs: Collection) -> None:
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"sample_queries": 1.5}, "sample_queries 1.5"),
        ({"max_queries": 0}, "max_queries 0"),
        ({"ef_search": 1001}, "ef_search 1001"),
        ({"recall_target": -0.1}, "recall_target -0.1"),
        ({"keep_query_text": 1}, "True or False"),
    )
    for setting, told in wrong:
        with pytest.raises(InvalidInput, match=told):
            docs.alter(**setting)


def test_what_is_no_search_is_no_live_query(docs: Collection, dsn: str) -> None:
    docs.alter(sample_queries=1)
    with psycopg.connect(dsn, autocommit=True) as connection:
        for arguments in (
            "'docs', 'x', metadata_filter => '{\"n\": {\"$near\": 1}}'",
            "'docs', 'x', options => '{\"fuson\": \"rrf\"}'",
            "'docs', 'x', options => '{\"vector_weight\": -1}'",
            "'docs', 'x', options => '{\"candidate_limit\": 1}'",
            "'docs', query_embedding => '[1, 2]'",
        ):
            with pytest.raises(psycopg.errors.DatabaseError) as caught:
                connection.execute(f"SELECT rag.log_query({arguments})")
            assert caught.value.sqlstate == "RG004"
        long = json.dumps({"n": {"$in": list(range(3000))}})
        row = connection.execute(
            "SELECT rag.log_query('docs', 'x', metadata_filter => %s)", [long]
        ).fetchone()
    assert row == (False,)
    assert kept(dsn) == []
