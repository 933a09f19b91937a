"""Searches after random histories, compared with a naive reader of the same tables."""

from __future__ import annotations

import json
import random
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import psycopg
import pytest
from fuzzing import fuzz
from keyword_sizes import keyword_sizes
from psycopg import sql
from world import PRECISION, World, same

Connection = psycopg.Connection[Any]
LANGUAGES = ("english", "simple", "german", "french")
UNSPACED = ("数据库", "索引", "の", "東京", "ข้อมูล", "ฐาน", "데이터")
FILTERS: tuple[dict[str, Any], ...] = (
    {}, {}, {"k": 3}, {"r": {"$lt": 20}}, {"k": {"$ne": 3}}, {"r": 5},
    {"$or": [{"k": 1}, {"r": {"$gte": 900}}]}, {"none": 1},
)  # fmt: skip
DIMENSIONS = 4


class History:
    """Puts, edits, deletes, rollbacks, merges, compactions, VACUUM and spaces,
    at random but for the seed."""

    def __init__(self, connection: Connection, seed: int) -> None:
        self.connection, self.chance = connection, random.Random(seed)
        self.points = np.random.default_rng(seed)
        self.name = f"fuzz{seed}"
        some = self.chance
        self.distance = some.choice(["cosine", "l2", "ip"])
        self.words = [
            f"{some.choice('bdfgklmnprst')}{some.choice('aeiou')}{some.choice('bdgklmnprtz')}"
            f"{some.choice(['', 's', 'ing'])}{n}q"
            for n in range(some.choice([6, 40, 200]))
        ] + list(UNSPACED if some.random() < 0.3 else ())
        self.weights = [1 / (n + 1) for n in range(len(self.words))]
        self.lengths = some.choice([(1, 2), (1, 3, 8, 20), (5,)])  # few lengths: many equal scores
        connection.execute(
            "SELECT rag.create_collection(%s, 'none', %s, %s, language => %s::regconfig)",
            [self.name, DIMENSIONS, self.distance, some.choice(LANGUAGES)],
        )

    def run(self, statement: str, *values: Any) -> None:
        self.connection.execute(statement.encode(), values)

    def text(self) -> str:
        if self.chance.random() < 0.01:  # said more often than a byte can count
            return "x1.2 " * self.chance.choice([200, 255, 256, 300])
        return " ".join(
            self.chance.choices(self.words, self.weights, k=self.chance.choice(self.lengths))
        )

    def vector(self) -> list[float]:
        return [float(x) for x in self.points.normal(size=DIMENSIONS).round(3)]

    def put(self, most: int = 30) -> None:
        # Now and then the vectors of a document lie close together:
        # deleted, they are in every search's way.
        near = self.vector() if self.chance.random() < 0.4 else None
        chunks: list[dict[str, Any]] = []
        for _ in range(self.chance.choice([1, 3, most])):
            chunk: dict[str, Any] = {
                "content": self.text(),
                "metadata": {"k": self.chance.randint(0, 9), "r": self.chance.randint(0, 999)},
            }
            if self.chance.random() < 0.97:
                chunk["embedding"] = (
                    [x + 0.01 * self.chance.random() for x in near] if near else self.vector()
                )
            if self.chance.random() < 0.01:
                chunk["embedding"] = [0] * DIMENSIONS
            chunks.append(chunk)
        language = self.chance.choice(LANGUAGES) if self.chance.random() < 0.1 else None
        self.run(
            "SELECT rag.put_chunks(%s, %s, %s, language => %s::regconfig)",
            self.name, f"d{self.chance.randint(0, 25)}", json.dumps(chunks), language,
        )  # fmt: skip

    def delete(self) -> None:
        self.run("SELECT rag.delete_document(%s, %s)", self.name, f"d{self.chance.randint(0, 25)}")

    def undone(self) -> None:
        with self.connection.transaction(force_rollback=self.chance.random() < 0.6):
            self.put(150)
            with self.connection.transaction(force_rollback=self.chance.random() < 0.6):
                self.delete()
            if self.chance.random() < 0.3:
                self.merge()

    def merge(self) -> None:
        self.run(
            "SELECT rag._merge_keyword(collection_id) FROM rag.collections WHERE name = %s",
            self.name,
        )

    def compact(self) -> None:
        self.run(
            "SELECT rag._compact_keyword(collection_id, %s) FROM rag.collections WHERE name = %s",
            self.chance.choice([-1.0, 0.1, 0.5]), self.name,
        )  # fmt: skip

    def vacuum(self) -> None:
        table = self.chance.choice(["chunks", "embeddings", "keyword_postings", "keyword_changes"])
        self.connection.execute(
            sql.SQL("VACUUM (INDEX_CLEANUP ON) rag.{}").format(sql.Identifier(table))
        )

    def parameters(self) -> None:
        self.run(
            "UPDATE rag.collections SET k1 = %s, b = %s WHERE name = %s",
            self.chance.choice([0.0, 0.5, 1.2, 3.0]),
            self.chance.choice([0.0, 0.5, 0.75, 1.0]),
            self.name,
        )

    def declare(self) -> None:
        self.run("SELECT rag.index_field(%s, 'r', 'numeric')", self.name)

    def step(self) -> None:
        steps = (
            (self.put, 30),
            (self.delete, 14),
            (self.undone, 8),
            (self.merge, 8),
            (self.compact, 3),
            (self.vacuum, 3),
            (self.parameters, 1),
            (self.declare, 1),
        )
        self.chance.choices([s for s, _ in steps], [w for _, w in steps])[0]()

    def query(self) -> str:
        said = self.chance.choices(self.words, k=self.chance.choice([1, 1, 2, 3, 6, 30]))
        if self.chance.random() < 0.05:
            said.append("x1.2")
        return " ".join(said)

    def limit(self) -> int:
        return self.chance.choice([1, 3, 10, 50, 300, 1000])


def check_keyword(history: History, world: World) -> int:
    """Return how many hits were compared, as the other checks do."""
    query, limit, wanted = history.query(), history.limit(), history.chance.choice(FILTERS)
    found = history.connection.execute(
        "SELECT chunk_id, keyword_score FROM rag.search_keyword(%s, %s, %s, %s)",
        [history.name, query, limit, json.dumps(wanted)],
    ).fetchall()
    truth = world.keyword(query, limit, wanted)
    assert same(found, truth), f"keyword {query!r} {limit} {wanted}: {found[:5]} is not {truth[:5]}"
    return len(truth)


def check_vector(history: History, world: World) -> int:
    vector, limit, wanted = history.vector(), history.limit(), history.chance.choice(FILTERS)
    statement = (
        "SELECT chunk_id, coalesce(vector_distance, 'NaN') FROM rag.search_vector(%s, %s, %s, %s,"
        " exact_below => %s)"
    )
    truth = world.nearest(vector, limit, wanted)
    distances = world.distances(vector)
    passing = world.passing(wanted)
    for exact_below in (1_000_000, None, 0):  # every vector; as it is; by the index
        found = history.connection.execute(
            statement, [history.name, str(vector), limit, json.dumps(wanted), exact_below]
        ).fetchall()
        told = f"vector {vector} {limit} {wanted} exact_below {exact_below}: "
        if exact_below:
            assert same(found, truth, PRECISION), told + f"{found[:5]} is not {truth[:5]}"
        assert len(found) == len(truth), told + f"{len(found)} of {len(truth)} rows"
        assert len({i for i, _ in found}) == len(found) and {i for i, _ in found} <= passing, told
        wrong = [(a, b) for a, b in pairwise(found) if b[1] < a[1] - 1e-5]
        assert not wrong, told + f"{wrong[:3]} are not in order"
        for i, distance in found:
            assert distance == pytest.approx(
                distances[i], rel=PRECISION, abs=PRECISION, nan_ok=True
            ), told
    return len(truth)


def check_hybrid(history: History, world: World) -> int:
    some = history.chance
    query, vector, wanted = history.query(), history.vector(), some.choice(FILTERS)
    limit = some.choice([1, 3, 10, 40])
    options: dict[str, Any] = {
        "fusion": some.choice(["auto", "weighted", "rrf"]),
        "per_document": some.choice([None, None, 1, 2]),
        "duplicates": some.random() < 0.3,
    }
    weights = some.choice([(0.5, 0.5), (0.9, 0.1), (0.2, 3.0)])
    candidates = some.choice([max(4 * limit, 40), limit, limit + 7])
    found = history.connection.execute(
        """SELECT chunk_id, score FROM rag.search(%s, %s, %s, %s, %s, %s, %s, fusion => %s,
                                                  candidate_limit => %s,
                                                  per_document => %s, duplicates => %s)""",
        [
            history.name, query, str(vector), limit, json.dumps(wanted), *weights,
            options["fusion"], candidates, options["per_document"], options["duplicates"],
        ],
    ).fetchall()  # fmt: skip
    truth = world.hybrid(
        query, vector, limit=limit, candidates=candidates, weights=weights, wanted=wanted, **options
    )
    told = f"hybrid {query!r} {vector} {limit} {wanted} {weights} {candidates} {options}: "
    assert len(found) == len(truth), told + f"{len(found)} of {len(truth)} rows"
    if options["fusion"] != "rrf":  # ranks of near distances may change places
        assert [s for _, s in found] == pytest.approx([s for _, s in truth], abs=5 * PRECISION), (
            told
        )
    return len(truth)


def check_pages(history: History, world: World) -> int:
    query, limit = history.query(), history.chance.choice([3, 10, 50])
    statement = (
        "SELECT chunk_id, keyword_score FROM rag.search_keyword(%s, %s, %s, result_offset => %s)"
    )
    found: list[tuple[int, float]] = []
    for offset in range(0, 3 * limit, limit):
        found += history.connection.execute(
            statement, [history.name, query, limit, offset]
        ).fetchall()
    truth = world.keyword(query, 3 * limit, {})
    assert same(found, truth), f"pages of {query!r} by {limit}"
    return len(truth)


@pytest.fixture(scope="module")
def fuzz_dsn(new_database: Any, template: str) -> str:
    return str(new_database(template))


def test_searches_agree_with_a_naive_reader_after_any_history(fuzz_dsn: str) -> None:
    compared: Counter[str] = Counter()  # hits, by the check

    def searches(seed: int) -> None:
        sizes = {"block": 256, "seal": 64, "merge": 32, "frequent": 4}
        with (
            keyword_sizes(fuzz_dsn, **sizes),
            psycopg.connect(fuzz_dsn, autocommit=True) as connection,
        ):
            history = History(connection, seed)
            for _ in range(4):
                for _ in range(25):
                    history.step()
                world = World(connection, history.name)
                for check in [check_keyword, check_vector, check_hybrid] * 6 + [check_pages]:
                    compared[check.__name__] += check(history, world)
            connection.execute("SELECT rag.drop_collection(%s)", [history.name])
            connection.execute("SELECT rag.remove_dropped()")

    fuzz(searches, 1)
    assert len(compared) == 4 and min(compared.values()) > 0, compared


@pytest.mark.parametrize(
    "queries", [("alpha", "beta", "alpha beta", "filler alpha"), ("x1.2", "x1.2 beta")]
)
def test_equal_scores_and_frequent_words_of_a_merged_collection(
    fuzz_dsn: str, queries: tuple[str, ...]
) -> None:
    """Blocks of their real size: what only shows in a thousand chunks and more."""

    def merged(seed: int) -> None:
        some = random.Random(seed)
        with psycopg.connect(fuzz_dsn, autocommit=True) as connection:
            name, every, filler = f"merged{seed}", some.choice([5, 9, 20]), some.randint(1, 12)
            (key,) = connection.execute(
                "SELECT rag.create_collection(%s, 'none', 2)", [name]
            ).fetchone() or (0,)
            often = "x1.2" in queries
            chunks = [
                {
                    "content": ("alpha " if n % every == 0 else "beta ")
                    + "filler " * filler
                    + (
                        "x1.2 " * some.choice([250, 255, 256, 300])
                        if often and n % 100 == 7
                        else "x1.2"
                        if often and n % 100 == 8
                        else ""
                    )
                }
                for n in range(1500)
            ]
            connection.execute("SELECT rag.put_chunks(%s, 'd', %s)", [name, json.dumps(chunks)])
            connection.execute("SELECT rag._merge_keyword(%s)", [key])
            world = World(connection, name)
            for query in queries:
                for limit in (1, 5, 50):
                    found = connection.execute(
                        "SELECT chunk_id, keyword_score FROM rag.search_keyword(%s, %s, %s)",
                        [name, query, limit],
                    ).fetchall()
                    assert same(found, world.keyword(query, limit, {})), (query, limit, found[:5])
            connection.execute("SELECT rag.drop_collection(%s)", [name])
            connection.execute("SELECT rag.remove_dropped()")

    fuzz(merged, 1)
