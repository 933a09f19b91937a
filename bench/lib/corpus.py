"""A corpus of any size from the abstracts of arxiv-100k, and questions to it.

More than 100,000 chunks are synthesised: the first half of one abstract, the second half of
another, and two pseudo-words drawn from a Zipf-like tail. Queries are 2-3 words ("short") or 8-15
words ("long") of one sentence of the corpus, stop words left out.
"""

from __future__ import annotations

import random
import re
from typing import Any

import psycopg
from lib import data

from rag_pg.db import schema

Connection = psycopg.Connection[Any]

STOP = {
    "the", "a", "an", "of", "to", "in", "for", "and", "is", "are", "be", "or", "if", "this",
    "that", "it", "with", "as", "on", "by", "from", "at", "not", "can", "will", "which", "when",
    "has", "have", "was", "were", "but", "its", "use", "used", "we", "our", "these",
}  # fmt: skip


def abstracts() -> list[str]:
    return [line["text"] for line in data.lines(data.folder("arxiv-100k") / "corpus.jsonl")]


def fill(db: Connection, texts: list[str], size: int, dimensions: int = 3) -> None:
    """Make collection `bench` of `size` chunks with lexemes;
    neither documents, keyword index nor vectors.

    Metadata fields p10, p100 and p1000 are the chunk's number modulo that.
    """
    schema.upgrade(psycopg.conninfo.make_conninfo(db.info.dsn, dbname=db.info.dbname))
    db.execute("SELECT rag.create_collection('bench', 'none', %s)", [dimensions])
    # Chunks without documents, and without the look-up of a document's chunks:
    # this measures one index.
    db.execute(
        """ALTER TABLE rag.chunks ALTER document_id SET DEFAULT gen_random_uuid(), ALTER ordinal
           SET DEFAULT 0,
           ALTER heading SET DEFAULT '', ALTER content_hash SET DEFAULT '', ALTER metadata
           SET DEFAULT '{}'"""
    )
    db.execute("DROP INDEX rag.chunks_document")
    db.execute("CREATE TABLE half (i int PRIMARY KEY, a text, b text, la tsvector, lb tsvector)")
    with db.cursor().copy("COPY half (i, a, b) FROM STDIN") as copy:
        for i, text in enumerate(texts):
            middle = text.find(" ", len(text) // 2) + 1 or len(text)
            copy.write_row((i, text[:middle], text[middle:]))
    db.execute("UPDATE half SET la = to_tsvector('english', a), lb = to_tsvector('english', b)")
    db.execute("ANALYZE half")
    db.execute("SELECT setseed(0.42)")
    db.execute(
        """
        INSERT INTO rag.chunks (collection_id, chunk_id, content, content_hash, metadata, lexemes,
            lexeme_count)
        SELECT 1, g.id, x.a || y.b, int8send(g.id::bigint),
               jsonb_build_object('p10', g.id %% 10, 'p100', g.id %% 100, 'p1000', g.id %% 1000),
               l.l,
               (SELECT coalesce(sum(cardinality(positions)), 0) FROM unnest(l.l))
        FROM (
            SELECT id, (id * 7919::bigint) %% %(n)s AS i,
                   CASE WHEN id < %(n)s THEN (id * 7919::bigint) %% %(n)s
                   ELSE floor(random() * %(n)s) END::int AS j,
                   CASE WHEN id >= %(n)s THEN floor(exp(random() * 15))::int END AS w1,
                   CASE WHEN id >= %(n)s THEN floor(exp(random() * 15))::int END AS w2
            FROM generate_series(0, %(size)s - 1) AS id
        ) AS g
        JOIN half AS x ON x.i = g.i
        JOIN half AS y ON y.i = g.j
        CROSS JOIN LATERAL (
            SELECT x.la || y.lb || coalesce(('w' || g.w1 || ':1 w' || g.w2 || ':2')::tsvector,
                '') AS l OFFSET 0
        ) AS l
        """,
        {"n": len(texts), "size": size},
    )
    db.execute("DROP TABLE half")
    db.execute("VACUUM ANALYZE rag.chunks_1")


def queries(texts: list[str], count: int) -> dict[str, list[str]]:
    chance = random.Random(7)
    short: list[str] = []
    long: list[str] = []
    while len(short) < count or len(long) < count:
        for sentence in re.split(r"(?<=[.!?])\s+", chance.choice(texts)):
            words = list(
                dict.fromkeys(
                    w for w in re.findall(r"[A-Za-z]{3,}", sentence) if w.lower() not in STOP
                )
            )
            if len(words) >= 4:
                short.append(" ".join(chance.sample(words, chance.choice([2, 3]))))
            if 10 <= len(words) <= 40:
                long.append(" ".join(chance.sample(words, min(len(words), chance.randint(8, 15)))))
    return {"short": short[:count], "long": long[:count]}
