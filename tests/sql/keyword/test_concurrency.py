"""Writers, readers, merges and crashes at the same time; every snapshot stays exact.

RAG_PG_TEST_SECONDS: how long; without it each of them does a fixed number of steps, each from a
seed of its own. RAG_PG_TEST_KILLS: how often a backend is killed with
SIGKILL, which restarts the whole server (default 0: only for a server of one's own).
"""

import contextlib
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from bm25_oracle import Oracle
from keyword_sizes import keyword_sizes

SECONDS = float(os.environ.get("RAG_PG_TEST_SECONDS", "0"))
STEPS = 20
KILLS = int(os.environ.get("RAG_PG_TEST_KILLS", "0"))
WORDS = [f"w{i}" for i in range(60)]
KEY = 3


class Stress:
    def __init__(self, dsn: str) -> None:
        self.dsn, self.stop = dsn, threading.Event()
        self.failures: list[str] = []
        self.done: dict[str, int] = {}

    def run(self, name: str, step: Callable[..., Any]) -> None:
        db = None
        while not self.stop.is_set() and (SECONDS or self.done.get(name, 0) < STEPS):
            chance = random.Random(f"{name} {self.done.get(name, 0)}")
            try:
                if db is None or db.closed:
                    db = psycopg.connect(self.dsn, autocommit=True)
                step(db, chance)
                self.done[name] = self.done.get(name, 0) + 1
            except (
                psycopg.OperationalError,
                psycopg.Rollback,
            ):  # killed, perhaps while rolling back
                db = None
            except Exception as error:
                self.failures.append(f"{name}: {error!r}"[:2000])
                self.stop.set()
        if db is not None:
            db.close()

    def write(self, db: psycopg.Connection, chance: random.Random) -> None:
        with db.transaction():
            if chance.random() < 0.3:
                ids = [
                    r[0]
                    for r in db.execute(
                        "SELECT chunk_id FROM rag.chunks WHERE collection_id = %s ORDER BY"
                        " md5(chunk_id || %s) LIMIT %s",
                        (KEY, str(chance.random()), chance.randint(1, 8)),
                    )
                ]
                db.execute("SELECT rag._unindex_chunks(%s, %s::bigint[])", (KEY, ids))
                db.execute(
                    "DELETE FROM rag.chunks WHERE collection_id = %s AND chunk_id = ANY (%s)",
                    (KEY, ids),
                )
            texts = [
                " ".join(chance.choices(WORDS, weights=range(60, 0, -1), k=chance.randint(1, 30)))
                for _ in range(chance.choice([1, 3, 20]))
            ]
            ids = [
                r[0]
                for r in db.execute(
                    """
                INSERT INTO rag.chunks (collection_id, chunk_id, content, lexemes, lexeme_count)
                SELECT %s, nextval('rag.chunk_ids'), t, l,
                       (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(l))
                FROM unnest(%s::text[]) AS t, rag._lexemes('simple', t) AS l
                RETURNING chunk_id
                """,
                    (KEY, texts),
                )
            ]
            db.execute("SELECT rag._index_chunks(%s, %s)", (KEY, ids))
            if chance.random() < 0.1:
                raise psycopg.Rollback

    def read(self, db: psycopg.Connection, chance: random.Random) -> None:
        with db.transaction():
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            query = " ".join(chance.choices(WORDS, k=chance.randint(1, 5)))
            found, wanted = answers(db, query, chance.choice([5, 50]))
            assert found == wanted, query

    def upkeep(self, db: psycopg.Connection, chance: random.Random) -> None:
        if chance.random() < 0.8:
            db.execute("SELECT rag._merge_keyword(%s)", (KEY,))
        else:
            db.execute("SELECT rag._compact_keyword(%s, 0.1)", (KEY,))

    def kill(self, chance: random.Random) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as db:
            pids = [
                r[0]
                for r in db.execute(
                    "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND pid <>"
                    " pg_backend_pid() AND datname = current_database()"
                )
            ]
        for pid in chance.sample(pids, len(pids)):
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(pid, signal.SIGKILL)
                return


def answers(db: psycopg.Connection, query: str, limit: int) -> tuple[list[Any], list[Any]]:
    """What the search finds and what the oracle says it should, in one snapshot."""
    oracle = Oracle()
    for chunk_id, text in db.execute(
        "SELECT chunk_id, content FROM rag.chunks WHERE collection_id = %s", (KEY,)
    ):
        oracle.add(chunk_id, text.split())
    words: dict[str, int] = {}
    for word in query.split():
        words[word] = words.get(word, 0) + 1
    found = db.execute(
        "SELECT * FROM rag._rank_keyword(%s, %s, %s)", (KEY, query, limit)
    ).fetchall()
    wanted = oracle.search(words, limit)
    return found, [(i, pytest.approx(score, abs=1e-6)) for i, score in wanted]


@pytest.fixture
def small_blocks(keyword_dsn: str) -> Iterator[str]:
    with keyword_sizes(keyword_dsn, block=256, seal=64, merge=32, frequent=4):
        yield keyword_dsn


@pytest.mark.minutes
def test_concurrent_writers_readers_merges_and_crashes_leave_every_snapshot_exact(
    small_blocks: str,
) -> None:
    stress = Stress(small_blocks)
    workers = [(f"writer {i}", stress.write) for i in range(8)]
    workers += [(f"reader {i}", stress.read) for i in range(4)] + [("upkeep", stress.upkeep)]
    threads = [threading.Thread(target=stress.run, args=w) for w in workers]
    for thread in threads:
        thread.start()
    if SECONDS:
        for number in range(KILLS + 1):
            stress.stop.wait(SECONDS / (KILLS + 1))
            if number < KILLS and not stress.stop.is_set():
                stress.kill(random.Random(number))
        stress.stop.set()
    for thread in threads:
        thread.join()
    assert not stress.failures, stress.failures
    assert all(stress.done.get(name) for name, _ in workers), stress.done

    with psycopg.connect(small_blocks, autocommit=True) as db:
        for query in ("w1", "w59 w3 w3", " ".join(WORDS)):
            found, wanted = answers(db, query, 1000)
            assert found == wanted, query
        db.execute("SELECT rag._merge_keyword(%s)", (KEY,))
        counted: dict[str, int] = dict(
            db.execute(
                "SELECT word, chunks FROM rag._chunk_counts(%s, %s)", (KEY, WORDS)
            ).fetchall()
        )
        actual: dict[str, int] = dict(
            db.execute(
                "SELECT u.lexeme, count(*) FROM rag.chunks, unnest(lexemes) AS u"
                " WHERE collection_id = %s GROUP BY 1",
                (KEY,),
            ).fetchall()
        )
        assert {w: n for w, n in counted.items() if n} == actual
        assert (
            db.execute(
                "SELECT t.chunk_count, t.length_sum FROM rag.keyword_totals AS t WHERE"
                " t.collection_id = %s",
                (KEY,),
            ).fetchone()
            == db.execute(
                "SELECT count(*), sum(lexeme_count) FROM rag.chunks WHERE collection_id = %s",
                (KEY,),
            ).fetchone()
        )
    print(sum(stress.done.values()), "transactions", stress.done)
