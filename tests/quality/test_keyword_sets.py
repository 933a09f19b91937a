"""Real collections: every query's first hundred equal the oracle's,
before and after heavy editing."""

import json
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
from keyword_sizes import empty_collection

Connection = psycopg.Connection[Any]

DATA = os.environ.get("RAG_PG_EVAL_DATA")
LANGUAGES = {"piaf-fr": "french", "xquad-de": "german", "xquad-ru": "russian"}
SETS = ["scifact", "anthropic-docs", "squad2-dev", "piaf-fr", "xquad-de", "xquad-ru", "xquad-zh"]

QUICK = ("anthropic-docs", "xquad-zh")
SLOW = bool(os.environ.get("RAG_PG_TEST_SLOW"))  # all sets and all queries

pytestmark = [
    pytest.mark.quality,
    pytest.mark.skipif(DATA is None, reason="no data: RAG_PG_EVAL_DATA is not set"),
]


@pytest.fixture
def db(keyword_dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(keyword_dsn, autocommit=True) as opened:
        yield opened


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


class FastOracle:
    """The oracle of bm25_oracle.py with numpy, for thousands of chunks and queries."""

    def __init__(self, chunks: list[tuple[int, list[str], list[int]]]) -> None:
        self.ids = np.array([i for i, _, _ in chunks])
        self.length = np.array([sum(f) for _, _, f in chunks], float)
        places, counts = defaultdict(list), defaultdict(list)
        for place, (_, words, frequencies) in enumerate(chunks):
            for word, frequency in zip(words, frequencies, strict=True):
                places[word].append(place)
                counts[word].append(frequency)
        self.norm = 1.2 * (0.25 + 0.75 * self.length / self.length.mean())
        self.postings = {w: (np.array(p), np.array(counts[w], float)) for w, p in places.items()}

    def search(self, query: dict[str, int], limit: int) -> list[tuple[int, float]]:
        score = np.zeros(len(self.ids))
        for word, said in query.items():
            if word in self.postings:
                at, tf = self.postings[word]
                n = len(self.ids)
                idf = log(1 + (n - len(at) + 0.5) / (len(at) + 0.5))
                score[at] += said * idf * tf / (tf + self.norm[at])
        order = np.lexsort((self.ids, -score.round(9)))[:limit]
        return [(int(self.ids[i]), float(score[i])) for i in order if score[i] > 0]


def insert(db: psycopg.Connection, language: str, texts: dict[int, str]) -> None:
    db.execute("CREATE TEMP TABLE incoming (id bigint, text text)")
    with db.cursor().copy("COPY incoming FROM STDIN") as copy:
        for row in texts.items():
            copy.write_row(row)
    db.execute(
        """
        INSERT INTO rag.chunks (collection_id, chunk_id, content, lexemes, lexeme_count)
        SELECT 2, i.id, i.text, l, (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(l))
        FROM incoming AS i, rag._lexemes(%s, i.text) AS l
        """,
        (language,),
    )
    db.execute("DROP TABLE incoming")
    for start in range(0, len(texts), 700):
        db.execute("SELECT rag._index_chunks(2, %s)", (list(texts)[start : start + 700],))


def delete(db: psycopg.Connection, ids: list[int]) -> None:
    db.execute("SELECT rag._unindex_chunks(2, %s)", (ids,))
    db.execute("DELETE FROM rag.chunks WHERE collection_id = 2 AND chunk_id = ANY (%s)", (ids,))


def differences(db: psycopg.Connection, queries: list[str]) -> list[tuple[Any, ...]]:
    """The queries for which the search does not find what the oracle says it should."""
    oracle = FastOracle(
        db.execute(
            """
            SELECT c.chunk_id, coalesce(array_agg(u.lexeme) FILTER (WHERE u.lexeme IS NOT NULL),
                '{}'),
                   coalesce(array_agg(cardinality(u.positions)) FILTER (WHERE u.lexeme IS NOT NULL),
                       '{}')
            FROM rag.chunks AS c LEFT JOIN LATERAL unnest(c.lexemes) AS u ON true
            WHERE c.collection_id = 2 GROUP BY c.chunk_id
            """
        ).fetchall()
    )
    differ = []
    for text in queries:
        words: dict[str, int] = dict(
            db.execute("SELECT word, qtf FROM rag._query_terms(2, %s)", (text,)).fetchall()
        )
        found = db.execute(
            "SELECT * FROM rag._rank_keyword(2, %s, 100, typo_tolerance => false)", (text,)
        ).fetchall()
        wanted = oracle.search(words, 100)
        if found != [(i, pytest.approx(score, abs=1e-6)) for i, score in wanted]:
            differ.append((text, found, wanted))
    return differ


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.minutes) for n in SETS]
)
def test_first_hundred_equal_the_oracle_before_and_after_editing(db: Connection, name: str) -> None:
    folder = Path(DATA or "") / name
    corpus = lines(folder / "corpus.jsonl")
    queries = [query["text"] for query in lines(folder / "queries.jsonl")]
    queries = queries[:: 1 if SLOW else 20]
    language = LANGUAGES.get(name, "english")
    empty_collection(db, 2)
    db.execute("UPDATE rag.collections SET language = %s WHERE collection_id = 2", (language,))

    texts = {i: f"{d.get('title') or ''}\n{d['text']}" for i, d in enumerate(corpus, 1)}
    insert(db, language, texts)
    assert differences(db, queries) == []

    chance = random.Random(1)
    shuffled = chance.sample(sorted(texts), len(texts))
    updated, deleted = shuffled[: len(texts) // 2], shuffled[len(texts) // 2 : len(texts) * 6 // 10]
    delete(db, updated + deleted)
    insert(
        db, language, {1_000_000 + i: texts[chance.choice(updated)] + " changed" for i in updated}
    )
    assert differences(db, queries) == []
    db.execute("SELECT rag._compact_keyword(2)")
    assert differences(db, queries[::5]) == []
