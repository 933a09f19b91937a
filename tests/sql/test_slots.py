"""Numbers that could run out: slots of the keyword index are used again;
what each other integer counts is known."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from keyword_sizes import keyword_sizes

Connection = psycopg.Connection[Any]


@pytest.fixture
def churn(connection: Connection) -> Iterator[Connection]:
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    yield connection


def put(connection: Connection, revision: int, documents: int = 5, chunks: int = 60) -> None:
    for document in range(documents):
        connection.execute(
            "SELECT rag.put_chunks('c', %s, %s)",
            [
                f"feed{document}",
                json.dumps(
                    [
                        {
                            "content": f"price list revision {revision} item{i} of {document}",
                            "metadata": {"k": i % 2},
                        }
                        for i in range(chunks)
                    ]
                ),
            ],
        )


def found(connection: Connection, query: str) -> list[Any]:
    return connection.execute(
        "SELECT uri, score FROM rag.search_keyword('c', %s, 7)", [query]
    ).fetchall()


def next_slot(connection: Connection) -> int:
    row = connection.execute("SELECT next_slot FROM rag.keyword_totals").fetchone()
    assert row is not None
    return int(row[0])


def test_a_feed_that_is_replaced_for_ever_uses_the_same_slots(churn: Connection) -> None:
    for revision in range(6):
        put(churn, revision)
        before = found(churn, "item7 revision")
        churn.execute("CALL rag.maintain()")
        assert found(churn, "item7 revision") == before
        assert len(before) == 7
    assert next_slot(churn) < 2 * 16_000


@pytest.mark.parametrize("free", [0, 100, 5_000])
@pytest.mark.few(1)
def test_slots_that_were_used_up_are_used_again(churn: Connection, free: int) -> None:
    put(churn, 0)
    churn.execute("CALL rag.maintain()")
    churn.execute("UPDATE rag.keyword_totals SET next_slot = 2147483647 - %s", [free])
    for revision in range(1, 4):
        put(churn, revision)
        before = found(churn, "item7 revision")
        churn.execute("CALL rag.maintain()")
        assert found(churn, "item7 revision") == before
        waiting = churn.execute("SELECT count(*) FROM rag.keyword_changes").fetchone()
        assert waiting == (0,)
    assert next_slot(churn) < 2 * 16_000


def test_a_last_block_that_had_been_begun_is_folded_and_taken_apart(churn: Connection) -> None:
    """Its last slot would be above 2^31."""
    first = 2147483647 // 16000 * 16000
    put(churn, 0)
    churn.execute("SELECT rag._merge_keyword(collection_id) FROM rag.collections")
    for statement in (
        "UPDATE rag.keyword_slots SET slot = slot + %(first)s",
        "UPDATE rag.keyword_segments SET segment = segment + %(first)s",
        """UPDATE rag.keyword_postings SET segment = segment + %(first)s,
           posting_or_count = CASE WHEN posting_or_count < 0 THEN posting_or_count
               ELSE posting_or_count + (%(first)s::bigint << 32) END,
           postings = (SELECT array_agg(p + (%(first)s::bigint << 32))
               FROM unnest(postings) AS p)""",
        "UPDATE rag.keyword_totals SET next_slot = next_slot + %(first)s",
    ):
        churn.execute(statement.encode(), {"first": first})
    before = found(churn, "item7 list")
    assert len(before) == 7
    put(churn, 1, documents=1)
    churn.execute("SELECT rag._merge_keyword(collection_id) FROM rag.collections")
    segments = churn.execute(
        "SELECT segment, sealed FROM rag.keyword_segments ORDER BY 1"
    ).fetchall()
    assert segments == [(0, False), (first, True)]
    assert len(found(churn, "item7 list")) == 7
    churn.execute("SELECT rag._compact_keyword(collection_id, -1) FROM rag.collections")
    assert next_slot(churn) == 300
    assert len(found(churn, "item7 list")) == 7


def test_blocks_taken_apart_are_filled_again(new_database: Any, template: str) -> None:
    dsn = new_database(template)
    with (
        keyword_sizes(dsn, block=40, seal=20, merge=10_000, frequent=5),
        psycopg.connect(dsn, autocommit=True) as connection,
    ):
        connection.execute("SELECT rag.create_collection('c', 'none', 2)")
        put(connection, 0)
        for revision in range(1, 12):
            put(connection, revision, documents=2)
            before = found(connection, "item7 revision")
            connection.execute("SELECT rag._compact_keyword(collection_id) FROM rag.collections")
            assert found(connection, "item7 revision") == before
        highest = connection.execute("SELECT max(slot) FROM rag.keyword_slots").fetchone()
        assert highest is not None
        assert highest[0] < 700  # 300 chunks, and what waits for compaction


def test_the_share_that_passes_a_filter_is_that_of_the_chunks_there_are(churn: Connection) -> None:
    share = "SELECT rag._filter_share(collection_id, %s) FROM rag.collections"
    put(churn, 0)
    churn.execute("CALL rag.maintain()")
    for document in range(4):  # four in five deleted, and not compacted
        churn.execute("SELECT rag.delete_document('c', %s)", [f"feed{document}"])
    churn.execute("SELECT rag._merge_keyword(collection_id) FROM rag.collections")
    for condition, low, high in (
        ("true", 1, 1.01),
        ("false", 0, 0.05),
        ("c.metadata @> '{\"k\": 1}'", 0.25, 0.75),
    ):
        row = churn.execute(share, [condition]).fetchone()
        assert row is not None
        assert low <= row[0] <= high


# Every integer of the tables, and why it does not run out (rates: docs/guides/operations.md).
INTEGERS = {
    "collections.collection_id": "identity",
    "spaces.space_id": "identity",
    "sources.source_id": "identity",
    "locations.location_id": "identity",
    "backlogs.backlog_id": "identity",
    "spaces.dimensions": "checked: to 16,000",
    "documents.version": "changes of one document",
    "enrichments.version": "changes of one collection's settings",
    "documents.indexed_version": "a version",
    "chunks.ordinal": "chunks of one document",
    "chunks.start_offset": "characters of one document",
    "chunks.stop_offset": "characters of one document",
    "chunks.lexeme_count": "positions in one tsvector",
    "jobs.priority": "given by the caller, only compared",
    "jobs.attempts": "up to max_attempts",
    "jobs.max_attempts": "a constant",
    "budgets.requests_per_minute": "given by the caller, only compared",
    "workers.concurrency": "given by the caller",
    "workers.leased_jobs": "jobs of one worker",
    "keyword_changes.change": "+1 or -1",
    "keyword_changes.lexeme_count": "positions in one tsvector",
    "keyword_slots.slot": "used again",
    "keyword_postings.segment": "a slot",
    "keyword_segments.segment": "a slot",
    "keyword_totals.next_slot": "a slot",
    "keyword_totals.relexed_by": "changes of the lexer, one a release at most",
    "maintenance_failures.target": "a collection or source",
    "keyword_removed.chunk_count": "at most as many as slots",
    "answer_feedback.citation": "citations of one answer",
    "answer_feedback.rating": "-1 or 1",
    "document_versions.version": "changes of one document",
    "eval_sets.set_id": "identity",
    "eval_judgements.judgement_number": "judgements of one question",
    "eval_judgements.start_offset": "characters of one document",
    "eval_judgements.stop_offset": "characters of one document",
    "eval_judges.samples": "given by the caller, only compared",
    "eval_results.citations": "citations of one answer",
    "eval_results.statements": "statements of one answer",
    "eval_results.supported_statements": "statements of one answer",
    "eval_results.supporting_citations": "citations of one answer",
    "eval_results.unresolved": "judgements of one question",
    "exposed_views.max_rows": "given by the caller, only compared",
    "gates.k": "given by the caller, only compared",
    "originals.size": "bytes of one file, at most 1 GB",
    "spaces.recall_searches": "given by the caller, only compared",
    "usage.slot": "one of a constant number",
    "collections.max_queries": "given by the caller, only compared",
    "collections.copy_of": "the id of a collection",
    "collections.lexer_version": "changes of the lexer, one a release at most",
    "collections.index_format": "changes of a format, one a release at most",
    "spaces.ef_search": "given by the caller, to 1,000",
    "live_queries.result_limit": "given by the caller, only compared",
    "recall_measures.query_count": "at most max_queries",
    "recall_measures.walked_count": "at most max_queries",
    "recall_measures.k": "given by the caller, to 1,000",
    "recall_measures.ef_search": "to 1,000",
    "recall_measures.set_ef_search": "to 1,000",
    "recall_measures.advised_ef_search": "to 1,000",
}
KEYS = {"collection_id", "space_id", "source_id", "set_id"}  # of rows elsewhere


def test_of_every_integer_in_the_tables_it_is_known_why_it_does_not_run_out(
    connection: Connection,
) -> None:
    columns = connection.execute(
        """SELECT c.relname || '.' || a.attname, a.attname FROM pg_attribute AS a
           JOIN pg_class AS c ON c.oid = a.attrelid
           WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p')
               AND NOT c.relispartition
               AND a.attnum > 0 AND NOT a.attisdropped
                   AND a.atttypid IN ('int4'::regtype, 'int2'::regtype)"""
    ).fetchall()
    unknown = {column for column, name in columns if column not in INTEGERS and name not in KEYS}
    assert unknown == set()
    small = connection.execute(
        """SELECT s.seqrelid::regclass::text FROM pg_sequence AS s
           JOIN pg_class AS c ON c.oid = s.seqrelid
           WHERE c.relnamespace = 'rag'::regnamespace AND s.seqtypid <> 'int8'::regtype
           ORDER BY 1"""
    ).fetchall()
    assert [name for (name,) in small] == [
        "rag.backlogs_backlog_id_seq",
        "rag.collections_collection_id_seq",
        "rag.eval_sets_set_id_seq",
        "rag.locations_location_id_seq",
        "rag.sources_source_id_seq",
        "rag.spaces_space_id_seq",
    ]


def test_the_last_ids_work_as_the_first_ones_do(connection: Connection) -> None:
    connection.execute(
        """SELECT setval('rag.collections_collection_id_seq', 2147483646),
                  setval('rag.spaces_space_id_seq', 2147483645), setval('rag.chunk_ids',
                      9223372036854775000),
                  setval('rag.jobs_job_id_seq', 9223372036854775000)"""
    )
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    put(connection, 0, documents=1, chunks=300)
    connection.execute("SELECT rag.create_space('c', 'other', 3)")
    connection.execute("CALL rag.maintain()")
    assert len(found(connection, "item7 price")) == 7
    hits = connection.execute(
        "SELECT count(*) FROM rag.search('c', 'item7 price', '[1, 0]', metadata_filter => '{\"k\":"
        " 1}')"
    ).fetchone()
    assert hits == (10,)
    connection.execute("UPDATE rag.documents SET version = 2147483646")
    put(connection, 1, documents=1, chunks=2)
    assert connection.execute("SELECT version FROM rag.documents").fetchone() == (2147483647,)
    assert connection.execute("SELECT rag.put_document('c', 'x', 'text')").fetchone() is not None
    assert (
        connection.execute("SELECT status FROM rag.doctor() WHERE status = 'error'").fetchall()
        == []
    )
