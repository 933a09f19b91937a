"""What must be true when the storm is over, asked of the database by plain SQL."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
from bm25_oracle import Oracle
from chaos.corpus import Version, version_word
from fake_gemini import vector as fake_vector

from rag_pg.chunk.splitter import Splitter
from rag_pg.protocols import Embedder
from rag_pg.text.embedded import embedded_text

Connection = psycopg.Connection[Any]


def violations(
    connection: Connection,
    collection: str,
    last: Mapping[str, Version | None],
    chunking: Mapping[str, Any],
    embedder: Embedder,
) -> dict[str, list[str]]:
    """Return by kind the documents (or rows) at fault; empty lists when all is well."""
    healthy = {u: v for u, v in last.items() if v and not v.poison}
    poisoned = {u: v for u, v in last.items() if v and v.poison}
    splitter = Splitter.from_settings(chunking, embedder.count_tokens, longest=embedder.max_tokens)
    found: dict[str, list[str]] = {}

    stored = {
        uri: (content, state)
        for uri, content, state in connection.execute(
            """SELECT d.uri, d.content, l.state FROM rag.documents AS d
               JOIN rag.list_documents(%s, result_limit => NULL) AS l USING (document_id)""",
            [collection],
        )
    }
    found["lost: not in its last version"] = [
        uri for uri, v in (healthy | poisoned).items() if stored.get(uri, ("", ""))[0] != v.content
    ]
    found["deleted and still there"] = [uri for uri, v in last.items() if not v and uri in stored]

    chunks: dict[str, list[tuple[int, str, str, Any]]] = {}
    for uri, ordinal, heading, content, vector in connection.execute(
        """SELECT d.uri, c.ordinal, c.heading, c.content, e.embedding::text
           FROM rag.chunks AS c
           JOIN rag.documents AS d USING (collection_id, document_id)
           LEFT JOIN rag.embeddings AS e USING (chunk_id)
           ORDER BY d.uri, c.ordinal, c.chunk_id"""
    ):
        chunks.setdefault(uri, []).append((ordinal, heading, content, vector))
    found["not searchable by its words"] = []
    found["searchable by the words of an older version"] = []
    found["chunks are not those of its text"] = []
    found["without a vector, or with a wrong one"] = []
    for uri, version in healthy.items():
        wanted = [s.text for s in splitter.split(version.content, media_type="text/plain")]
        if [content for _, _, content, _ in chunks.get(uri, [])] != wanted:
            found["chunks are not those of its text"].append(uri)
        if not all(_fits(heading, content, v) for _, heading, content, v in chunks.get(uri, [])):
            found["without a vector, or with a wrong one"].append(uri)
        if _search(connection, collection, version.word) != [uri]:
            found["not searchable by its words"].append(uri)
        if version.number > 1 and _search(
            connection, collection, version_word(uri, version.number - 1)
        ):
            found["searchable by the words of an older version"].append(uri)
    found["chunk twice"] = [
        uri for uri, rows in chunks.items() if len({o for o, *_ in rows}) < len(rows)
    ]

    dead = {
        u
        for (u,) in connection.execute(
            "SELECT uri FROM rag.list_jobs(%s, 'dead', 1000)", [collection]
        )
    }
    found["dead and not poison"] = sorted(dead - poisoned.keys())
    found["poison and not dead"] = sorted(poisoned.keys() - dead)
    found["stuck jobs"] = _column(
        connection, "SELECT job_id::text FROM rag.jobs WHERE state <> 'dead'"
    )
    found["orphans"] = _column(
        connection,
        """SELECT 'chunk ' || chunk_id FROM rag.chunks
           WHERE (collection_id, document_id) NOT IN (SELECT collection_id, document_id
               FROM rag.documents)
           UNION ALL SELECT 'vector ' || chunk_id FROM rag.embeddings
           WHERE chunk_id NOT IN (SELECT chunk_id FROM rag.chunks)
           UNION ALL SELECT 'job ' || job_id FROM rag.jobs
           WHERE (collection_id, document_id) NOT IN (SELECT collection_id, document_id
               FROM rag.documents)""",
    )
    found["keyword search is not exact"] = _inexact(connection)
    found["doctor() is not content"] = _column(
        connection,
        """SELECT d.check_name || ': ' || d.detail FROM rag.doctor() AS d
           WHERE d.status <> 'ok' AND d.check_name <> 'dead jobs'""",
    )
    return found


def _inexact(connection: Connection) -> list[str]:
    """Queries whose ranking differs from BM25 as the paper has it,
    over the lexemes of the chunks."""
    rows = connection.execute(
        """SELECT c.chunk_id, ARRAY(SELECT u.lexeme
           FROM unnest(c.lexemes) AS u, unnest(u.positions))
           FROM rag.chunks AS c"""
    ).fetchall()
    oracle = Oracle()
    for chunk_id, words in rows:
        oracle.add(chunk_id, words)
    wordy = [words for _, words in rows if len(set(words)) >= 3]
    chance = random.Random(3)
    wrong = []
    for _ in range(20):
        query = " ".join(chance.sample(sorted(set(chance.choice(wordy))), 3))
        terms = connection.execute(
            "SELECT word, qtf FROM rag._query_terms(1, %s)", [query]
        ).fetchall()
        wanted = oracle.search(dict(terms), 20)
        found = connection.execute(
            "SELECT * FROM rag._rank_keyword(1, %s, 20, typo_tolerance => false)", [query]
        ).fetchall()
        same = len(found) == len(wanted) and all(
            i == j and abs(a - b) < 1e-6 for (i, a), (j, b) in zip(found, wanted, strict=True)
        )
        if not same:
            wrong.append(query)
    return wrong


def _fits(heading: str, content: str, vector: str | None) -> bool:
    """Whether the stored vector is the fake provider's for this chunk, as halfvec keeps it."""
    if vector is None:
        return False
    stored = np.array(vector.strip("[]").split(","), np.float32)
    parts = [{"text": embedded_text("", heading, content)}]
    raw = np.array(fake_vector({"content": {"parts": parts}, "outputDimensionality": len(stored)}))
    return bool(np.abs(stored - raw / np.linalg.norm(raw)).max() < 1e-3)


def _search(connection: Connection, collection: str, word: str) -> list[str]:
    rows = connection.execute(
        "SELECT DISTINCT uri FROM rag.search_keyword(%s, %s)", [collection, word]
    )
    return [uri for (uri,) in rows]


def _column(connection: Connection, statement: str, arguments: Sequence[Any] = ()) -> list[str]:
    return [value for (value,) in connection.execute(statement, arguments)]
