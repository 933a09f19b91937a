"""The keyword search against the oracle, after every step of random lives of tiny collections."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from itertools import product
from typing import Any

import psycopg
import pytest
from bm25_oracle import Oracle
from fuzzy_oracle import WEIGHT, FuzzyTerms
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keyword_sizes import empty_collection, keyword_sizes
from rota import tries

Connection = psycopg.Connection[Any]

WORDS = ["apple", "bridge", "cloud", "dragon", "apples", "und", "the", "Äpfel", "ERR_X"]
MISTYPED = ["aplpe", "bridg", "clouds", "draggon", "Apfel", "thee", "applez"]
TEXT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
QUERY = st.lists(st.sampled_from(WORDS + MISTYPED), max_size=6).map(" ".join)
STEP = st.one_of(
    st.tuples(
        st.just("insert"), st.lists(TEXT, min_size=1, max_size=5), st.sampled_from([None, "german"])
    ),
    st.tuples(st.just("delete"), st.integers(0, 99), st.integers(1, 4)),
    st.tuples(st.just("update"), st.integers(0, 99), TEXT),
    st.tuples(st.just("merge")),
    st.tuples(st.just("compact"), st.sampled_from([0.0, 0.2, 0.5])),
    st.tuples(
        st.just("parameters"), st.sampled_from([0.0, 0.9, 1.2]), st.sampled_from([0.0, 0.4, 1.0])
    ),
)


class Life:
    """One collection and the oracle, taken through the same steps."""

    def __init__(self, db: psycopg.Connection, key: int) -> None:
        self.db, self.key, self.oracle, self.next_id = db, key, Oracle(), 1
        self.metadata: dict[int, int] = {}
        empty_collection(db, key)
        db.execute("UPDATE rag.collections SET k1 = 1.2, b = 0.75 WHERE collection_id = %s", (key,))

    def insert(self, texts: list[str], language: str | None) -> None:
        ids = range(self.next_id, self.next_id + len(texts))
        self.next_id += len(texts)
        for chunk_id, text in zip(ids, texts, strict=True):
            self.metadata[chunk_id] = chunk_id % 3
            (lexemes,) = self.db.execute(
                """
                INSERT INTO rag.chunks (collection_id, chunk_id, content, metadata, language,
                    lexemes, lexeme_count)
                SELECT %(key)s, %(id)s, %(text)s, %(metadata)s, %(language)s, l,
                       (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(l))
                FROM rag._lexemes(coalesce(%(language)s, 'english'), %(text)s) AS l
                RETURNING (SELECT array_agg(lexeme) FROM unnest(lexemes) AS u, unnest(u.positions))
                """,
                {
                    "key": self.key,
                    "id": chunk_id,
                    "text": text,
                    "language": language,
                    "metadata": json.dumps({"third": chunk_id % 3}),
                },
            ).fetchone() or (None,)
            self.oracle.add(chunk_id, lexemes or [])
        self.db.execute("SELECT rag._index_chunks(%s, %s)", (self.key, list(ids)))

    def delete(self, start: int, count: int) -> None:
        alive = sorted(self.oracle.chunks)
        doomed = alive[start % len(alive) :][:count] if alive else []
        self.db.execute("SELECT rag._unindex_chunks(%s, %s::bigint[])", (self.key, doomed))
        self.db.execute(
            "DELETE FROM rag.chunks WHERE collection_id = %s AND chunk_id = ANY (%s)",
            (self.key, doomed),
        )
        for chunk_id in doomed:
            self.oracle.remove(chunk_id)

    def update(self, which: int, text: str) -> None:
        self.delete(which, 1)
        self.insert([text], None)

    def merge(self) -> None:
        self.db.execute("SELECT rag._merge_keyword(%s)", (self.key,))

    def compact(self, dead_share: float) -> None:
        self.db.execute("SELECT rag._compact_keyword(%s, %s)", (self.key, dead_share))

    def parameters(self, k1: float, b: float) -> None:
        self.oracle.k1, self.oracle.b = k1, b
        self.db.execute(
            "UPDATE rag.collections SET k1 = %s, b = %s WHERE collection_id = %s", (k1, b, self.key)
        )

    def written(self) -> set[str]:
        """The words of the chunks as they stand there, in lower case."""
        rows = self.db.execute(
            "SELECT content FROM rag.chunks WHERE collection_id = %s", (self.key,)
        ).fetchall()
        return {word for (content,) in rows for word in content.lower().split()}

    def differences(self, query: str, limit: int, third: int | None = None) -> list[Any]:
        """Where a search, in each way that it can go,
        does not find what the oracle says it should."""
        terms = self.db.execute(
            "SELECT word, qtf, form_of FROM rag._query_terms(%s, %s)", (self.key, query)
        ).fetchall()
        counts = {word: qtf for word, qtf, _ in terms}
        words = {word: form_of for word, _, form_of in terms}
        languages = self.db.execute(
            "SELECT language FROM rag._query_languages(%s)", (self.key,)
        ).fetchall()
        frequencies = Counter(t for chunk in self.oracle.chunks.values() for t in chunk)
        fuzzy = fuzzy_terms(self.db, tuple(sorted(name for (name,) in languages))).find(
            query, words, frequencies, self.written()
        )
        for form, unknown in fuzzy.items():
            counts[form], words[form] = counts[unknown], words[unknown]
        wanted = self.oracle.search(
            counts,
            limit,
            lambda i: third is None or self.metadata[i] == third,
            words,
            dict.fromkeys(fuzzy, WEIGHT),
        )
        condition = None if third is None else f"""c.metadata @> '{{"third": {third}}}'"""
        ways = [("scanned", True)] if third is None else FILTERED_WAYS
        exact = [(i, pytest.approx(score, abs=1e-6)) for i, score in wanted]
        differ = []
        for way, indexed in ways:
            self.db.execute("SELECT set_config('test.way', %s, false)", (way,))
            found = self.db.execute(
                "SELECT chunk_id, score FROM rag._rank_keyword(%s, %s, %s, %s, 'any', %s)",
                (self.key, query, limit, condition, indexed),
            ).fetchall()
            if found != exact:
                differ.append((way, found, wanted))
        return differ


@lru_cache
def fuzzy_terms(db: Connection, languages: tuple[str, ...]) -> FuzzyTerms:
    return FuzzyTerms(db, languages)


FILTERED_WAYS = [("listed", True), ("listed", False), ("scanned", True)]


@contextmanager
def chosen_way(dsn: str) -> Iterator[None]:
    """rag._prefer_listing obeys the setting test.way: tiny collections would always be listed."""
    with psycopg.connect(dsn, autocommit=True) as db:
        (saved,) = db.execute(
            "SELECT pg_get_functiondef('rag._prefer_listing'::regproc)"
        ).fetchone() or ("",)
        db.execute(
            """
            CREATE OR REPLACE FUNCTION rag._prefer_listing(
                query rag.keyword_query, share double precision, result_limit integer,
                filter_indexed boolean
            )
            RETURNS boolean LANGUAGE sql STABLE RETURN current_setting('test.way') = 'listed'
            """
        )
        try:
            yield
        finally:
            db.execute(saved)


@pytest.fixture(scope="module")
def tiny(keyword_dsn: str) -> Iterator[psycopg.Connection]:
    """Blocks of 8 slots and merges of 3 changes,
    so that a handful of chunks passes through every stage."""
    with (
        keyword_sizes(keyword_dsn, block=8, seal=4, merge=3, frequent=2),
        chosen_way(keyword_dsn),
        psycopg.connect(keyword_dsn, autocommit=True) as db,
    ):
        yield db


@pytest.mark.longer
def test_every_step_of_a_collections_life_agrees_with_the_oracle(tiny: Connection) -> None:
    reached: set[tuple[str, bool, bool]] = set()

    @settings(max_examples=tries(150, 40), deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        steps=st.lists(STEP, min_size=1, max_size=25),
        query=QUERY,
        limit=st.integers(1, 12),
        third=st.sampled_from([None, None, 0, 1]),
        one_transaction=st.booleans(),
    )
    def live(
        steps: list[Any], query: str, limit: int, third: int | None, one_transaction: bool
    ) -> None:
        life = Life(tiny, 1)
        with tiny.transaction() if one_transaction else nullcontext():
            for name, *arguments in steps:
                getattr(life, name)(*arguments)
                assert life.differences(query, limit, third) == []
                reached.add((name, third is not None, one_transaction))

    live()
    names = {"insert", "delete", "update", "merge", "compact", "parameters"}
    assert reached == set(product(names, (False, True), (False, True)))


@pytest.mark.longer
@settings(max_examples=tries(40, 10), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    texts=st.lists(TEXT, min_size=20, max_size=60),
    query=QUERY,
    limit=st.integers(1, 100),
    third=st.sampled_from([None, 0]),
    merge=st.booleans(),
)
@pytest.mark.minutes
def test_several_blocks_agree_with_the_oracle(
    tiny: Connection, texts: list[str], query: str, limit: int, third: int | None, merge: bool
) -> None:
    life = Life(tiny, 1)
    life.insert(texts, None)
    assert life.differences(query, limit, third) == []
    life.delete(5, 12)
    assert life.differences(query, limit, third) == []
    life.insert(texts[:7], "german")
    life.merge()
    assert life.differences(query, limit, third) == []
    life.compact(0.1)
    assert life.differences(query, limit, third) == []
