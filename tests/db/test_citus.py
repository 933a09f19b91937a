"""A collection on Citus lives as on one server, and schema rag moves while it is used."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from citus import COORDINATOR, NO_ENGINE
from fakes import HashEmbedder
from patience import wait_until
from psycopg.conninfo import make_conninfo

from rag_pg import Rag, Settings
from rag_pg.client import Collection
from rag_pg.db import connect, name_of, schema
from rag_pg.db.connect import node_of
from rag_pg.testing import running_server
from rag_pg.types import Loaded

pytestmark = pytest.mark.skipif(not COORDINATOR, reason=NO_ENGINE)
WORDS = [f"word{number}" for number in range(40)]
JUDGED = """[{"query_id": "q1", "question": "word3 word7",
              "relevant": [{"uri": "d3"}, {"uri": "d7"}], "min_score": 0.01}]"""


def new_document(uri: str, content: str) -> Loaded:
    return Loaded(uri=uri, title="", content=content, media_type="text/plain")


def documents(first: int, count: int) -> list[Loaded]:
    rng = np.random.default_rng(first)
    return [
        Loaded(
            uri=f"d{number}",
            title=f"document {number}",
            content=" ".join(rng.choice(WORDS, 30 + number % 60)),
            media_type="text/plain",
            metadata={"year": 2000 + number % 20},
        )
        for number in range(first, first + count)
    ]


@pytest.fixture
def coordinator(dsn: str) -> str:
    return make_conninfo(COORDINATOR, dbname=name_of(dsn))


def client(dsn: str, home: Path) -> Rag:
    return Rag(dsn, settings=Settings(home=home), embedders={"hash": HashEmbedder})


def life(rag: Rag) -> list[Any]:
    """What a collection answers from its creation to its end."""
    docs = rag.collection("docs", model="hash:32")
    docs.add(*documents(0, 60))
    docs.add(*documents(0, 30), *documents(90, 5), wait=False)
    docs.delete("d50")
    rag.worker().drain()
    told: list[Any] = []

    def tell(hits: Any) -> None:
        told.append([(h.uri, round(h.score, 6), h.vector_rank, h.keyword_rank) for h in hits])

    for options in (
        {},
        {"filter": {"year": {"$gte": 2010}}},
        {"vector_weight": 0.0},
        {"keyword_weight": 0.0},
        {"limit": 3, "offset": 2},
    ):
        tell(docs.search("word3 word7", **options))
    with rag.database.connection() as connection:
        for statement in (
            "SELECT rag.count_documents('docs', '{\"year\": 2003}')",
            "SELECT uri FROM rag.list_documents('docs')",
            "SELECT value, documents FROM rag.facets('docs', 'year')",
            "SELECT rag.put_eval_set('faq')",
            f"SELECT rag.put_eval_queries('faq', '{JUDGED}')",
            "SELECT rag.evaluate_search('faq', 'docs') IS NOT NULL",
            "SELECT metric, value FROM rag.eval_metrics((SELECT max(run_id) FROM rag.eval_runs))"
            " WHERE metric LIKE 'ndcg%' ORDER BY 1",
            "SELECT removed ->> 'documents' FROM rag.erase('docs', 'd7')",
            "SELECT check_name FROM rag.doctor() WHERE status = 'fail'",
            "SELECT state, count(*) FROM rag.list_jobs() GROUP BY 1",
        ):
            told.append(connection.execute(statement.encode()).fetchall())
    docs.add(*documents(200, 5), wait=False)
    worker = rag.worker()
    worker.drain()
    rag.admin.maintain()
    told.append([line.detail for line in rag.admin.status() if line.topic == "maintenance"])
    tell(docs.search("word3 word7"))
    rag.drop_collection("docs")
    rag.admin.maintain()
    told.append(rag.collections())
    return told


def test_a_collection_lives_as_on_one_server(coordinator: str, tmp_path: Path) -> None:
    with client(coordinator, tmp_path) as rag:
        scaled = life(rag)
    with running_server() as dsn:
        schema.upgrade(dsn)
        with client(dsn, tmp_path) as rag:
            plain = life(rag)
    assert scaled == plain


def test_the_installation_checks_clean(coordinator: str) -> None:
    assert schema.check(coordinator) == []


def in_a_circle(work: Callable[[int], None], stop: threading.Event, errors: list[str]) -> int:
    """Work until told to stop; what failed once is done once more. Return how often."""
    number = 0
    while not stop.is_set():
        number += 1
        try:
            work(number)
        except Exception:
            try:
                work(number)
            except Exception as exc:
                errors.append(f"{work.__name__} {number}: {exc}")
    return number


def other_node(connection: psycopg.Connection[Any]) -> tuple[str, int]:
    """A node that has not schema rag and is not the coordinator."""
    found: tuple[str, int] | None = connection.execute(
        """SELECT n.nodename, n.nodeport FROM pg_dist_node AS n
           WHERE n.groupid <> 0 AND (n.nodename, n.nodeport) <> (%s, %s)""",
        node_of(connection, "rag"),
    ).fetchone()
    assert found is not None
    return found


def move(connection: psycopg.Connection[Any]) -> None:
    """Move schema rag to another node and wait for it."""
    other = other_node(connection)
    connection.execute("SELECT citus_schema_move('rag', %s, %s)", other)
    assert node_of(connection, "rag") == other


def rebalance(connection: psycopg.Connection[Any]) -> None:
    """Have Citus move schema rag or the one that lies beside it, and wait for it."""
    connection.execute("SELECT citus_rebalance_start()")
    connection.execute("SELECT citus_rebalance_wait()")
    assert node_of(connection, "rag") != node_of(connection, "beside")


def test_it_moves_while_searches_puts_and_workers_run(coordinator: str, tmp_path: Path) -> None:
    stop = threading.Event()
    errors: list[str] = []
    done: dict[int, int] = {}
    schema.upgrade(coordinator, schema="beside")
    schema.scale_out(coordinator, "beside")
    with (
        connect(coordinator, autocommit=True) as connection,
        client(coordinator, tmp_path) as rag,
        client(coordinator, tmp_path) as another,
    ):
        docs = rag.collection("docs", model="hash:32")
        docs.add(*documents(0, 20))

        def search(_: int) -> None:
            assert docs.search("word3 word7", limit=5)

        def put_into(collection: Collection, name: str) -> Callable[[int], None]:
            def put(number: int) -> None:
                text = f"{name}{number} word3"
                collection.add(new_document(f"{name}{number}", text), wait=False)

            return put

        tasks = (
            search,
            put_into(docs, "one"),
            put_into(another.collection("docs"), "two"),
        )

        def run(number: int) -> None:
            done[number] = in_a_circle(tasks[number], stop, errors)

        workers = [rag.worker(), another.worker()]
        threads = [threading.Thread(target=run, args=(number,)) for number in range(len(tasks))]
        threads += [threading.Thread(target=worker.run) for worker in workers]
        for thread in threads:
            thread.start()
        try:
            move(connection)
            if node_of(connection, "rag") != node_of(connection, "beside"):
                move(connection)
            rebalance(connection)
        finally:
            stop.set()
            for worker in workers:
                worker.stop.set()
            for thread in threads:
                thread.join()
        assert not errors

        def is_done() -> bool:  # a job whose claim a move cut off is leased for a while
            return not rag.worker().drain() and not rag.database.values(str, "list_jobs")

        wait_until(is_done)
        assert docs.count() == 20 + done[1] + done[2]
        found = connection.execute(
            """SELECT (SELECT count(*) FROM rag.chunks AS c), count(DISTINCT e.chunk_id), count(*)
               FROM rag.embeddings AS e"""
        ).fetchone()
        assert found == (docs.count(),) * 3
        for name, count in (("one", done[1]), ("two", done[2])):
            for number in (1, count // 2 + 1, count):
                hits = docs.search(f"{name}{number}", vector_weight=0.0)
                assert hits[0].uri == f"{name}{number}"
        # ids that the new node gives, and another collection there
        rag.collection("more", model="hash:32").add(*documents(0, 3))
        assert [one for one in rag.admin.doctor() if one.status == "fail"] == []


def test_a_client_leaves_the_node_that_had_the_schema(coordinator: str, tmp_path: Path) -> None:
    with connect(coordinator, autocommit=True) as connection, client(coordinator, tmp_path) as rag:
        move(connection)
        node = node_of(connection, "rag")

        def is_there() -> bool:
            with rag.database.connection() as used:
                return (used.info.host, used.info.port) == node

        wait_until(is_there)


def test_a_lock_holds_on_every_node(coordinator: str) -> None:
    with connect(coordinator) as asked, connect(coordinator) as locked:
        nodes = asked.execute("SELECT n.nodename, n.nodeport FROM pg_dist_node AS n").fetchall()
        assert locked.execute("SELECT rag._lock_keyword(1)").fetchone() == (True,)
        for host, port in nodes:
            with connect(make_conninfo(coordinator, host=host, port=port)) as node:
                assert node.execute("SELECT rag._lock_keyword(1)").fetchone() == (False,)
        locked.rollback()
        assert asked.execute("SELECT rag._lock_keyword(1)").fetchone() == (True,)


@pytest.mark.parametrize("on_the_node", [True, False])
def test_no_table_is_followed(dsn: str, coordinator: str, on_the_node: bool) -> None:
    with connect(dsn if on_the_node else coordinator, autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('c', 'none', 3)")
        connection.execute("CREATE TABLE public.followed (id int PRIMARY KEY, body text)")
        with pytest.raises(psycopg.Error, match="follows no table where Citus") as caught:
            connection.execute("SELECT rag.attach_source('public.followed', 'c', '{body}')")
        assert caught.value.sqlstate == "RG007"


@pytest.mark.parametrize(
    "call",
    [
        "erase('c', 'a')",
        "load_staged('c')",
        "put_eval_results(rag.start_eval_run('e', 'c'), '[]')",
    ],
)
def test_what_the_coordinator_cannot_do_says_where(coordinator: str, call: str) -> None:
    with connect(coordinator, autocommit=True) as connection:
        node = node_of(connection, "rag")
        assert node is not None
        connection.execute("SELECT rag.create_collection('c', 'none', 3)")
        connection.execute("SELECT rag.put_eval_set('e')")
        with pytest.raises(psycopg.Error, match="runs on the node that has") as caught:
            connection.execute(f"SELECT rag.{call}".encode())
        assert caught.value.diag.message_hint == f"connect to {node[0]}:{node[1]}"


def test_a_mistyped_word_is_found_by_the_coordinator(coordinator: str) -> None:
    with connect(coordinator, autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('c', 'none', 3)")
        connection.execute(
            """SELECT rag.put_chunks('c', 'a',
                   '[{"content": "the hydraulics of pumps", "embedding": [1, 1, 1]}]')"""
        )
        found = connection.execute("SELECT s.uri FROM rag.search('c', 'hydrualics') AS s")
        assert found.fetchall() == [("a",)]


def test_a_database_without_citus_is_refused(server_dsn: str) -> None:
    with running_server() as dsn:
        schema.upgrade(dsn)
        with pytest.raises(Exception, match="this database has no Citus"):
            schema.scale_out(dsn)


def test_scaling_out_again_changes_nothing(coordinator: str) -> None:
    with connect(coordinator, autocommit=True) as connection:
        node = node_of(connection, "rag")
    assert node is not None
    assert schema.scale_out(coordinator) == f"{node[0]}:{node[1]}"
