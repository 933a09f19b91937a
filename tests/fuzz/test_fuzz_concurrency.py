"""Writers side by side: every snapshot is exact, no write is lost,
and no error but those that are documented.

No seed repeats a race between threads, so `make fuzz` runs this, and `make test` does not.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from fuzzing import SECONDS, fuzz
from world import World, same

pytestmark = pytest.mark.minutes
Connection = psycopg.Connection[Any]
WORDS = [f"w{n}q" for n in range(80)]
WEIGHTS = [1 / (n + 1) for n in range(80)]
RUN = 3.0 if not SECONDS else min(20.0, SECONDS)  # seconds of each round


def side_by_side(dsn: str, seed: int, *parts: Callable[[Connection, random.Random], None]) -> None:
    """Call every part again and again, each in a thread and on a connection of its own."""
    failures: list[BaseException] = []
    stop = time.monotonic() + RUN

    def repeat(number: int, part: Callable[[Connection, random.Random], None]) -> None:
        chance = random.Random(seed * 100 + number)
        try:
            with psycopg.connect(dsn, autocommit=True) as connection:
                while time.monotonic() < stop and not failures:
                    part(connection, chance)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=repeat, args=pair) for pair in enumerate(parts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def chunks(chance: random.Random, most: int) -> str:
    return json.dumps([
        {"content": " ".join(chance.choices(WORDS, WEIGHTS, k=chance.randint(1, 20))),
         "embedding": [1, chance.random()], "metadata": {"k": chance.randint(0, 4)}}
        for _ in range(chance.randint(1, most))
    ])  # fmt: skip


@pytest.fixture(scope="module")
def fuzz_dsn(new_database: Any, template: str) -> str:
    return str(new_database(template))


def test_every_snapshot_is_exact_beside_writers(fuzz_dsn: str) -> None:
    def snapshots(seed: int) -> None:
        name = f"snapshots{seed}"
        with psycopg.connect(fuzz_dsn, autocommit=True) as first:
            first.execute("SELECT rag.create_collection(%s, 'none', 2)", [name])
            for number in range(10):
                first.execute(
                    "SELECT rag.put_chunks(%s, %s, %s)",
                    [name, f"d{number}", chunks(random.Random(seed), 40)],
                )
            key = World(first, name).key

        def write(connection: Connection, chance: random.Random) -> None:
            uri, kind = f"d{chance.randint(0, 40)}", chance.random()
            if kind < 0.5:
                connection.execute(
                    "SELECT rag.put_chunks(%s, %s, %s)", [name, uri, chunks(chance, 60)]
                )
            elif kind < 0.65:
                connection.execute("SELECT rag.delete_document(%s, %s)", [name, uri])
            elif kind < 0.75:
                connection.execute("SELECT rag._merge_keyword(%s)", [key])
            elif kind < 0.82:
                connection.execute(
                    "SELECT rag._compact_keyword(%s, %s)", [key, chance.choice([-1.0, 0.1])]
                )
            elif kind < 0.86:
                connection.execute(
                    "UPDATE rag.collections SET k1 = %s, b = %s WHERE collection_id = %s",
                    [chance.choice([0.5, 1.2, 2.0]), chance.choice([0.0, 0.5, 1.0]), key],
                )
            else:
                with connection.transaction(force_rollback=chance.random() < 0.6):
                    connection.execute(
                        "SELECT rag.put_chunks(%s, %s, %s)", [name, uri, chunks(chance, 50)]
                    )
                    connection.execute("SELECT rag._merge_keyword(%s)", [key])

        def read(connection: Connection, chance: random.Random) -> None:
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                world = World(connection, name)
                for _ in range(4):
                    query = " ".join(chance.choices(WORDS, k=chance.randint(1, 8)))
                    limit, wanted = chance.choice([1, 5, 30, 200]), chance.choice([{}, {"k": 3}])
                    found = connection.execute(
                        "SELECT chunk_id, keyword_score FROM rag.search_keyword(%s, %s, %s, %s)",
                        [name, query, limit, json.dumps(wanted)],
                    ).fetchall()
                    truth = world.keyword(query, limit, wanted)
                    assert same(found, truth), (query, limit, wanted, found[:5], truth[:5])
                    point = [1.0, chance.random()]
                    near = connection.execute(
                        "SELECT chunk_id FROM rag.search_vector(%s, %s, %s, %s, exact_below => 0)",
                        [name, str(point), limit, json.dumps(wanted)],
                    ).fetchall()
                    assert len(near) == len(world.nearest(point, limit, wanted)), (point, limit)

        side_by_side(fuzz_dsn, seed, write, write, read, read)

    fuzz(snapshots, 1)


ALLOWED = {  # what a caller repeats: locks taken in another order, a lease that ran out
    "several in one transaction": {"40P01"},
    "take": {"RG005"},
}


def test_writes_of_the_same_documents_lose_nothing(fuzz_dsn: str) -> None:
    def races(seed: int) -> None:
        name = f"races{seed}"
        with psycopg.connect(fuzz_dsn, autocommit=True) as first:
            first.execute("SELECT rag.create_collection(%s, 'none', 2)", [name])

        def put(connection: Connection, chance: random.Random, uri: str) -> None:
            connection.execute(
                "SELECT rag.put_document(%s, %s, %s)", [name, uri, f"text {chance.random()}"]
            )

        def put_chunks(connection: Connection, chance: random.Random, uri: str) -> None:
            connection.execute("SELECT rag.put_chunks(%s, %s, %s)", [name, uri, chunks(chance, 4)])

        def delete(connection: Connection, chance: random.Random, uri: str) -> None:
            connection.execute("SELECT rag.delete_document(%s, %s)", [name, uri])

        def put_many(connection: Connection, chance: random.Random, uri: str) -> None:
            documents = [{"uri": f"u{n}", "content": f"text {chance.random()}"} for n in range(4)]
            chance.shuffle(documents)
            connection.execute(
                "SELECT count(*) FROM rag.put_documents(%s, %s)", [name, json.dumps(documents)]
            )

        def several(connection: Connection, chance: random.Random, uri: str) -> None:
            with connection.transaction():
                for n in chance.sample(range(4), 2):
                    put_chunks(connection, chance, f"u{n}")

        def maintain(connection: Connection, chance: random.Random, uri: str) -> None:
            connection.execute("CALL rag.maintain()")

        def take(connection: Connection, chance: random.Random, uri: str) -> None:
            for job, lease, kind in connection.execute(
                "SELECT job_id, lease, kind FROM rag.take_jobs(3, 5, ARRAY[%s])", [name]
            ).fetchall():
                if kind == "embed":
                    for chunk, _ in connection.execute(
                        "SELECT * FROM rag.chunks_to_embed(%s, %s)", [job, lease]
                    ).fetchall():
                        connection.execute(
                            "SELECT rag.store_embeddings(%s, %s, %s, '{\"[1,1]\"}')",
                            [job, lease, [chunk]],
                        )
                elif not connection.execute(
                    "SELECT document_version FROM rag.job_input(%s, %s)", [job, lease]
                ).fetchone():
                    connection.execute("SELECT rag.finish_job(%s, %s)", [job, lease])

        kinds = {
            "put": put, "chunks": put_chunks, "delete": delete, "many": put_many,
            "several in one transaction": several, "maintain": maintain, "take": take,
        }  # fmt: skip

        def step(connection: Connection, chance: random.Random) -> None:
            kind = chance.choice(list(kinds))
            try:
                kinds[kind](connection, chance, f"u{chance.randint(0, 3)}")
            except psycopg.Error as error:
                if error.sqlstate == "40P01" and kind in ("put", "chunks", "delete", "many"):
                    return  # chosen as the victim of a deadlock with several documents' writer
                if error.sqlstate not in ALLOWED.get(kind, ()):
                    error.add_note(f"in {kind}")
                    raise

        side_by_side(fuzz_dsn, seed, *[step] * 6)
        with psycopg.connect(fuzz_dsn, autocommit=True) as connection:
            connection.execute("CALL rag.maintain()")
            world = World(connection, name)
            for query in ("text", "w1q w2q", "w0q"):
                found = connection.execute(
                    "SELECT chunk_id, keyword_score FROM rag.search_keyword(%s, %s, 50)",
                    [name, query],
                ).fetchall()
                assert same(found, world.keyword(query, 50, {})), query
            orphans = connection.execute(
                """SELECT count(*) FROM rag.chunks AS c LEFT JOIN rag.documents AS d
                   USING (collection_id, document_id)
                   WHERE c.collection_id = %s AND d.document_id IS NULL""",
                [world.key],
            ).fetchone()
            assert orphans == (0,)
            # A put that follows a delete of the same document is there: no write is lost.
            uri = "u0"
            delete(connection, random.Random(1), uri)
            put(connection, random.Random(1), uri)
            assert connection.execute(
                "SELECT count(*) FROM rag.get_document(%s, %s)", [name, uri]
            ).fetchone() == (1,)

    fuzz(races, 1)
