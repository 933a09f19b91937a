"""One compact life of a collection, each step compared with oracles:
what every case of the matrix goes through."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import filter_oracle
import fusion_oracle
import numpy as np
import psycopg
import pytest
from bm25_oracle import Oracle
from fakes import HashEmbedder
from keyword_sizes import keyword_sizes

from rag_pg import Rag, Settings
from rag_pg.client.collection import Collection
from rag_pg.db import schema
from rag_pg.db.connect import connect

Connection = psycopg.Connection[Any]

WORDS = [
    "red",
    "blue",
    "fish",
    "bird",
    "tree",
    "it's",
    "ERR_CONN_RESET",
    "c:\\temp\\new",
    "a%b",
    "€5",
    "Köln",
    "Ижевск",
    "naïve",
    "ISTANBUL",
    "istanbul",
    "10.5",
    "snake_case",
    "'quoted'",
    '"both"',
    "東京",
    "แมว",
]
QUERIES = (
    "red fish",
    "err_conn_reset",
    "c:\\temp\\new it's",
    "köln ижевск 東京",
    "bird bird 10.5 absent",
)
FILTERS: tuple[Mapping[str, Any], ...] = (
    {},
    {"year": {"$gte": 2003}},
    {"$or": [{"lang": "de"}, {"day": {"$lt": "2024-01-05"}}]},
    {"path": {"$like": "c:\\\\te%"}},
)  # fmt: skip
EVERYTHING = 500  # hits: more than a life has chunks


def live(dsn: str, home: Path, *, name: str = "life", keep: bool = False) -> int:
    """Create, fill, search, filter, follow a table, edit, delete, merge, compact, re-embed, drop.

    Return how many hits were compared with the oracles. keep: leave the collection there, filled,
    and the keyword index of the usual sizes.
    """
    sizes = keyword_sizes(dsn, block=64, seal=16, merge=16, frequent=4)
    settings = Settings(home=home)
    with (
        nullcontext() if keep else sizes,
        Rag(dsn, settings=settings, embedders={"hash": HashEmbedder}) as rag,
        connect(dsn, autocommit=True) as db,
    ):
        docs = rag.collection(name, model="hash:32", language="simple")
        chance = random.Random(name)
        _fill(docs, db, chance)
        compared = compare(db, name, HashEmbedder("hash:32"))
        _follow(rag, db, name)
        _edit(docs, db, chance)
        compared += compare(db, name, HashEmbedder("hash:32"))
        _reembed(docs)
        compared += compare(db, name, HashEmbedder("hash:16"))
        failed = db.execute("SELECT d.* FROM rag.doctor() AS d WHERE status = 'fail'").fetchall()
        assert failed == [], failed
        if not keep:
            rag.drop_collection(name)
            db.execute("SELECT rag.remove_dropped()")
            db.execute("DROP TABLE IF EXISTS public.life_pages")
    assert schema.check(dsn) == []
    return compared


def _document(chance: random.Random, uri: str) -> dict[str, Any]:
    return {
        "uri": uri,
        "content": " ".join(chance.choices(WORDS, k=chance.randint(3, 12))),
        "metadata": {
            "year": chance.randint(2000, 2006),
            "lang": chance.choice(["en", "de", "fr"]),
            "day": f"2024-01-{chance.randint(1, 9):02}",
            "path": chance.choice(["c:\\temp", "c:\\users", "/tmp"]),
        },
    }


def _fill(docs: Collection, db: Connection, chance: random.Random) -> None:
    embedder = HashEmbedder("hash:32")
    report = docs.add(*(_document(chance, f"a{i}") for i in range(30)))
    assert (report.added, report.failures) == (30, ())
    ready = [_document(chance, f"b'{i}\\") for i in range(20)]
    vectors = embedder.embed_documents([d["content"] for d in ready])
    docs.add_chunks(d | {"embedding": v} for d, v in zip(ready, vectors, strict=True))
    for i in range(10):
        one = _document(chance, f"c{i}")
        one["embedding"] = embedder.embed_documents([one["content"]])[0].tolist()
        db.execute(
            "SELECT rag.put_chunks(%s, %s, %s, metadata => %s)",
            [
                docs.name,
                one.pop("uri"),
                psycopg.types.json.Jsonb([one]),
                psycopg.types.json.Jsonb(one["metadata"]),
            ],
        )
    docs.metadata.index("year", "numeric")
    docs.metadata.index("day", "timestamptz")
    docs.metadata.index("path", "text")


def _follow(rag: Rag, db: Connection, name: str) -> None:
    """A table of the application and the collection stay in step."""
    db.execute(
        "CREATE TABLE IF NOT EXISTS public.life_pages (id int PRIMARY KEY, body text, year int)"
    )
    db.execute(
        "INSERT INTO public.life_pages SELECT i, 'page ' || i || E' c:\\\\temp\\\\new', 2000 + i"
        " FROM generate_series(1, 6) AS i"
    )
    db.execute(
        "SELECT rag.attach_source('public.life_pages', %s, content => '{body}', metadata =>"
        " '{year}', condition => 'year > 2001')",
        [name],
    )
    rag.worker([name]).drain()
    db.execute("UPDATE public.life_pages SET body = 'changed page' WHERE id = 3")
    db.execute("DELETE FROM public.life_pages WHERE id = 4")
    rag.worker([name]).drain()
    found = db.execute(
        """SELECT d.content FROM rag.documents AS d JOIN rag.collections AS c USING (collection_id)
           WHERE c.name = %s AND d.uri LIKE 'public.life_pages/%%' ORDER BY d.uri""",
        [name],  # one that was dropped may still be cleared away
    ).fetchall()
    assert [c for (c,) in found] == [
        "page 2 c:\\temp\\new", "changed page", "page 5 c:\\temp\\new", "page 6 c:\\temp\\new",
    ]  # fmt: skip


def _edit(docs: Collection, db: Connection, chance: random.Random) -> None:
    (key,) = _one(
        db,
        "SELECT collection_id FROM rag.collections WHERE name = %s AND dropped_at IS NULL",
        docs.name,
    )
    for i in range(20):
        assert docs.delete(f"a{i}")
    assert docs.delete("b'0\\")
    assert not docs.delete("never")
    docs.add(*(_document(chance, f"a{i}") for i in range(15, 35)))
    db.execute("SELECT rag._merge_keyword(%s)", [key])
    db.execute("SELECT rag._compact_keyword(%s, 0.05)", [key])
    db.execute("CALL rag.maintain()")
    assert docs.count(filter={"year": {"$gte": 2003}}) == sum(
        filter_oracle.matches(m, {"year": {"$gte": 2003}}) for (m,) in db.execute(
            "SELECT metadata FROM rag.documents WHERE collection_id = %s", [key])
    )  # fmt: skip


def _reembed(docs: Collection) -> None:
    space = docs.spaces.create("hash:16")
    docs.rag.database.build_indexes([docs.name])
    docs.spaces.activate(space.space_id)


def compare(db: Connection, name: str, embedder: HashEmbedder) -> int:
    """Compare each leg and the hybrid with the oracles, under each filter; return how many hits."""
    (key,) = _one(
        db, "SELECT collection_id FROM rag.collections WHERE name = %s AND dropped_at IS NULL", name
    )
    bm25 = Oracle()
    metadata: dict[int, Any] = {}
    vectors: dict[int, np.ndarray] = {}
    for chunk_id, about, lexemes, vector in db.execute(
        """SELECT c.chunk_id, c.metadata,
                  (SELECT array_agg(ARRAY[u.lexeme, cardinality(u.positions)::text])
                      FROM unnest(c.lexemes) AS u),
                  (SELECT e.embedding::text FROM rag.embeddings AS e WHERE e.chunk_id = c.chunk_id
                      AND e.space_id = (SELECT s.space_id FROM rag.spaces AS s
                          WHERE s.collection_id = c.collection_id AND s.state = 'active'))
           FROM rag.chunks AS c WHERE c.collection_id = %s""",
        [key],
    ):
        bm25.add(chunk_id, itertools.chain.from_iterable([w] * int(n) for w, n in lexemes))
        metadata[chunk_id] = about
        vectors[chunk_id] = np.array(vector[1:-1].split(","), np.float64)
    assert len(metadata) > 50
    measured = db.execute(
        """SELECT similarity_mean, 0.133 / similarity_spread FROM rag.list_spaces(%s)
           WHERE state = 'active' AND similarity_spread IS NOT NULL""",
        [name],
    ).fetchone()
    mean, factor = measured or (0.0, 1.0)
    compared = 0
    for query, wanted in itertools.product(QUERIES, FILTERS):
        words = Counter(
            w
            for (w, n) in db.execute(
                "SELECT u.lexeme, cardinality(u.positions) FROM unnest(rag._lexemes('simple', %s))"
                " AS u",
                [query],
            )
            for _ in range(n)
        )
        kept = {i for i, m in metadata.items() if filter_oracle.matches(m, wanted)}
        keyword = bm25.search(words, EVERYTHING, kept.__contains__)
        asked = embedder.embed_query(query).astype(np.float16).astype(np.float64)
        cosines = {
            i: float(v @ asked / (np.linalg.norm(v) * np.linalg.norm(asked)))
            for i, v in vectors.items() if i in kept
        }  # fmt: skip
        alike = {i: (cosine - mean) * factor for i, cosine in cosines.items()}
        search = partial(_found, db, name, query, str(embedder.embed_query(query).tolist()), wanted)
        compared += _same(search("keyword"), dict(keyword))
        compared += _same(search("vector"), cosines)
        weighted = fusion_oracle.weighted(alike, dict(keyword), 0.7)
        compared += _same(search("weighted"), dict(weighted))
    return compared


def _found(
    db: Connection, name: str, query: str, vector: str, wanted: Mapping[str, Any], kind: str
) -> list[tuple[int, float]]:
    values = {"name": name, "query": query, "vector": vector, "limit": EVERYTHING,
              "filter": psycopg.types.json.Jsonb(wanted)}  # fmt: skip
    statement = {
        "keyword": (
            "SELECT chunk_id, keyword_score FROM rag.search_keyword(%(name)s, %(query)s, %(limit)s,"
            " %(filter)s, typo_tolerance => false)"
        ),
        "vector": (
            """SELECT chunk_id, 1 - vector_distance
                     FROM rag.search_vector(%(name)s, %(vector)s, %(limit)s, %(filter)s)"""
        ),
        "weighted": (
            """SELECT chunk_id, score
                           FROM rag.search(%(name)s, %(query)s, %(vector)s, %(limit)s,
                           metadata_filter => %(filter)s, fusion => 'weighted',
                           vector_weight => 0.7, keyword_weight => 0.3,
                           duplicates => true, typo_tolerance => false)"""
        ),
    }[kind]
    return db.execute(statement.encode(), values).fetchall()


def _same(found: list[tuple[int, float]], expected: Mapping[int, float]) -> int:
    """The same chunks with the same scores, best first; return how many."""
    assert dict(found) == pytest.approx(dict(expected), abs=2e-6)
    assert len(found) == len(expected)
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    return len(found)


def _one(db: Connection, statement: str, *values: object) -> Any:
    row = db.execute(statement.encode(), values).fetchone()
    assert row is not None
    return row
