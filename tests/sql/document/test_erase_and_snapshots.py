"""What was erased stays away from writers whose snapshots still see it, and from all statistics."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from rag_pg import Rag

Connection = psycopg.Connection[Any]
WORD = "zqxcanary"
LEVELS = ("repeatable read", "serializable")
KEPT = "'1 day'"


def begin(rag: Rag) -> None:
    """Collection docs, which keeps everything, with a document that is to be erased."""
    with psycopg.connect(str(rag.dsn), autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
        connection.execute(
            f"""SELECT rag.alter_collection('docs', keep_versions => {KEPT}, keep_answers => {KEPT},
                   sample_queries => 1, keep_query_text => true, keep_queries => {KEPT})"""
        )
        connection.execute(
            """SELECT rag.put_eval_queries('set', '[{"id": "q", "question": "Which?"}]')"""
        )
        put(connection, "plain", "a plain text")
        put(connection, "doomed", f"the {WORD} text")


@pytest.fixture
def docs(connection: Connection) -> Connection:
    return connection


def put(connection: Connection, uri: str, text: str) -> None:
    connection.execute(
        "SELECT rag.put_chunks('docs', %s, %s)",
        [uri, Jsonb([{"content": text, "embedding": [1, 2, 3]}])],
    )


@pytest.fixture
def other(dsn: str, docs: Connection) -> Iterator[Connection]:
    with psycopg.connect(dsn) as opened:
        yield opened


def answer(connection: Connection) -> str:
    row = connection.execute(
        "SELECT chunk_id, content FROM rag.search_keyword('docs', %s)", [WORD]
    ).fetchone()
    assert row is not None
    return str(row[1])


def results(connection: Connection) -> Callable[[], object]:
    row = connection.execute("SELECT rag.start_eval_run('set', 'docs', 'ask')").fetchone()
    assert row is not None
    found = [{"query_id": "q", "answer": answer(connection), "hits": [{"uri": "doomed"}]}]
    return lambda: connection.execute("SELECT rag.put_eval_results(%s, %s)", [row[0], Jsonb(found)])


def logged(connection: Connection) -> Callable[[], object]:
    told = {"text": answer(connection), "found": True, "retrieved": ["doomed"], "seconds": 1}
    return lambda: connection.execute(
        "SELECT rag.log_answer('docs', %s, 'Which?', %s)", [uuid.UUID(int=7), Jsonb(told)]
    )


def sampled(connection: Connection) -> Callable[[], object]:
    text = answer(connection)
    return lambda: connection.execute("SELECT rag.log_query('docs', %s, seconds => 1)", [text])


def cached(connection: Connection) -> Callable[[], object]:
    (version,) = connection.execute(
        "SELECT version FROM rag._read_cache('answer', ARRAY['x'::bytea], 'docs')"
    ).fetchone() or (0,)
    value = answer(connection).encode()
    return lambda: connection.execute(
        "SELECT rag._write_cache('answer', ARRAY['x'::bytea], %s, '1 day', 1000000, 'docs', %s)",
        [[value], version],
    )


def completed(connection: Connection) -> Callable[[], object]:
    value = answer(connection).encode()
    return lambda: connection.execute(
        "SELECT rag._write_cache('completion', ARRAY['x'::bytea], %s, '1 day', 1000000)", [[value]]
    )


def judged(connection: Connection) -> Callable[[], object]:
    verdict = Jsonb({"reason": answer(connection)})
    return lambda: connection.execute("SELECT rag._keep_verdict('x', 'v', %s, 1)", [verdict])


def questions(connection: Connection) -> Callable[[], object]:
    entry = [{"question": answer(connection), "relevant": ["doomed"], "source": "synthetic"}]
    return lambda: connection.execute("SELECT rag.put_eval_queries('set', %s)", [Jsonb(entry)])


def written_anew(connection: Connection) -> Callable[[], object]:
    answer(connection)
    return lambda: connection.execute("SELECT rag.put_document('docs', 'doomed', 'another text')")


WRITERS = (results, logged, sampled, cached, completed, judged, questions, written_anew)


def left(connection: Connection) -> list[str]:
    tables = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'rag'::regnamespace AND relkind = 'r'"
    ).fetchall()
    found = []
    for (table,) in tables:
        row = connection.execute(
            f"SELECT count(*) FROM rag.{table} AS t WHERE t::text LIKE %s OR t::text LIKE %s",
            [f"%{WORD}%", f"%{WORD.encode().hex()}%"],
        ).fetchone()
        if row is not None and row[0]:
            found.append(table)
    return found


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.few(4)
def test_an_older_snapshot_writes_nothing_back(
    docs: Connection,
    other: Connection,
    writer: Callable[[Connection], Callable[[], object]],
    level: str,
) -> None:
    other.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
    write = writer(other)
    docs.execute("SELECT rag.erase('docs', 'doomed')")
    try:
        write()
        other.commit()
    except psycopg.errors.SerializationFailure:
        other.rollback()
    assert left(docs) == []


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.few(4)
def test_without_an_erasure_every_level_writes(
    docs: Connection,
    other: Connection,
    writer: Callable[[Connection], Callable[[], object]],
    level: str,
) -> None:
    """One that was rolled back, before this transaction began, and a number of another server."""
    with docs.transaction(force_rollback=True):
        docs.execute("SELECT rag.erase('docs', 'doomed')")
    other.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
    write = writer(other)
    docs.execute("SELECT setval('rag.last_erasure', 9000000000000000)")
    before = set(left(docs))
    write()
    other.commit()
    assert writer is written_anew or set(left(docs)) > before


@pytest.mark.parametrize("level", LEVELS)
def test_text_is_not_mixed_with_that_of_a_deleted_document(
    docs: Connection, other: Connection, level: str
) -> None:
    """A snapshot that still sees the old row and chunks would take them for those of the new."""
    other.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
    answer(other)
    docs.execute("SELECT rag.delete_document('docs', 'doomed')")
    with pytest.raises(psycopg.errors.SerializationFailure, match="deleted since"):
        put(other, "doomed", "another text")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("stored_by", ["a worker", "a put", "a file"])
def test_what_a_document_was_given_since_a_snapshot_is_not_left_behind(
    docs: Connection, other: Connection, stored_by: str, level: str
) -> None:
    """Its vector or its file, while its row stays as it was: that of another text, or of none."""
    docs.execute("""SELECT rag.put_chunks('docs', 'bare', '[{"content": "no vector"}]')""")
    other.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
    answer(other)
    if stored_by == "a worker":
        docs.execute(
            """SELECT rag.store_embeddings(j.job_id, j.lease, ARRAY[c.chunk_id], '{"[1, 2, 3]"}')
               FROM rag.take_jobs(kinds => '{embed}') AS j,
                   rag.chunks_to_embed(j.job_id, j.lease) AS c"""
        )
    elif stored_by == "a put":
        put(docs, "bare", "no vector")
    else:
        docs.execute("SELECT rag.keep_original('docs', 'bare', 'bare.txt', 'no vector')")
    with pytest.raises(psycopg.errors.SerializationFailure):
        put(other, "bare", "another text")


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.few(1)
def test_no_statistics_hold_what_was_erased(docs: Connection, alone: bool) -> None:
    """Of columns, of indexes of fields, and of vectors in every space; another collection has rows
    of its own, so that no table is empty that is shared."""
    version = docs.info.server_version
    if alone and version < 180000:
        pytest.skip("no engine: before PostgreSQL 18 statistics of an empty table stay")
    docs.execute("SELECT rag.create_collection('other', 'none', 3)")
    docs.execute(
        """SELECT rag.put_chunks('other', 'o' || n,
               '[{"content": "other", "embedding": [1, 1, 1]}]')
           FROM generate_series(1, 30) AS n"""
    )
    docs.execute("SELECT rag.index_field('docs', 'patient', 'text')")
    docs.execute("SELECT rag.create_space('docs', 'second', 3)")
    for n in range(0 if alone else 30):
        put(docs, f"plain-{n}", f"a plain text {n}")
    docs.execute("SELECT rag.delete_document('docs', 'plain')")
    chunks = [{"content": f"{WORD} {n}", "embedding": [0.123, 0.5, 0.75]} for n in range(9)]
    docs.execute(
        "SELECT rag.put_chunks('docs', 'doomed', %s, metadata => %s)",
        [Jsonb(chunks), Jsonb({"patient": WORD})],
    )
    docs.execute(
        """INSERT INTO rag.embeddings SELECT s.space_id, e.chunk_id, e.embedding
           FROM rag.embeddings AS e, rag.spaces AS s, rag.spaces AS a
           WHERE s.model = 'second' AND a.space_id = e.space_id
               AND a.collection_id = s.collection_id"""
    )
    docs.execute("ANALYZE")
    held = statistics(docs)
    assert {"chunks", "embeddings"} <= {name.rsplit("_", 1)[0] for name in held}
    assert any("field" in name for name in held), held
    docs.execute("SELECT rag.erase('docs', 'doomed')")
    assert statistics(docs) == []


def statistics(connection: Connection) -> list[str]:
    rows = connection.execute(
        """SELECT DISTINCT s.tablename FROM pg_stats AS s
           WHERE s.schemaname = 'rag' AND concat(s.most_common_vals::text,
               s.histogram_bounds::text, s.most_common_elems::text) ~ %s""",
        [f"{WORD}|[^0-9]0\\.(123|12298)"],  # seconds of a time may end in 0.123
    ).fetchall()
    return sorted(name for (name,) in rows)
