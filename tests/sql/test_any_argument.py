"""Every public function with NULL, nothing and too much for each argument:
a result, or an error that helps.

The calls are made from the catalogue: a new function or argument takes part by itself.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg
import pytest
import rota
import sql_calls

# Values that work, as SQL, by the argument's name,
# or by function and argument where the name is not enough.
WORKS = {
    "role_name": "'pg_monitor'",
    "location_id": "1",
    "prefixes": "'{https://}'",
    "sync_result": "'{}'",
    "location": "'s3://box/docs/'",
    "tenant": "'acme'",
    "key_name": "'mine'",
    "digest": "sha256('mine')",
    "access": "'reader'",
    "aggregates": """'{"n": {"count": "*"}}'""",
    "answer": "NULL",
    "chunk_id": sql_calls.CHUNK,
    "chunk_ids": f"ARRAY[{sql_calls.CHUNK}]",
    "chunk_keys": f"ARRAY[{sql_calls.CHUNK}]",
    "chunks": """'[{"content": "a fish"}]'""",
    "collection": "'docs'",
    "collection_key": "1",
    "collection_name": "'docs'",
    "content": "'text of fish'",
    "dimensions": "3",
    "document_ids": f"ARRAY[{sql_calls.DOCUMENT}]",
    "document_uri": "'d1'",
    "document_version": "1",
    "documents": """'[{"uri": "e", "content": "text"}]'""",
    "error": "'no'",
    "field": "'tag'",
    "job_id": sql_calls.JOB,
    "job_ids": f"ARRAY[{sql_calls.JOB}]",
    "lease": sql_calls.LEASE,
    "leases": f"ARRAY[{sql_calls.LEASE}]",
    "model": "'none'",
    "name": "'docs'",
    "of_source": "1",
    "preset": "'code'",
    "provider": "'gemini'",
    "queries": """'[{"query": "fish", "embeddings": {"1": [1, 0, 0]}}]'""",
    "query": "'fish'",
    "query_embedding": sql_calls.VECTOR,
    "query_text": "'word7 fish'",
    "question": "'fish?'",
    "request_id": "1",
    "result": "'{}'",
    "results": """'[{"chunk_id": 1, "uri": "a"}]'""",
    "rules": sql_calls.RULES,
    "contexts": "'{about}'",
    "embedded_space": sql_calls.ACTIVE,
    "patch": """'{"tag": "z"}'""",
    "request": sql_calls.REQUEST,
    "delete_where.metadata_filter": sql_calls.FILTER,
    "merge_metadata.metadata_filter": sql_calls.FILTER,
    "load_chunks.chunks": """'[{"uri": "l", "content": "a fish"}]'""",
    "extracted": """'{"by": "Ada"}'""",
    "fields": """'{"by": {"type": "text"}}'""",
    "scores": "'{1}'",
    "strategy": "'single'",
    "calls": """'[{"kind": "answer", "model": "m"}]'""",
    "successes": "9",
    "trials": "10",
    "answer_id": sql_calls.ANSWER,
    "rating": "1",
    "old_version": "1",
    "new_version": "1",
    "baseline_run": "3",
    "candidate_run": "4",
    "calibration": sql_calls.CALIBRATION,
    "moment": "'2026-01-01'",
    "source_table": "'app.articles'",
    "space": "rag._active_space(1)",
    "space_id": sql_calls.SPACE,
    "subject": "1",
    "timeout": "0.01",
    "timeout_seconds": "0.01",
    "uri": "'d1'",
    "uris": "'{d1}'",
    "worker_name": "'w'",
    "alter_collection.description": "'notes'",
    "embeddings": "ARRAY['[1, 0, 0]']::public.halfvec[]",
    "judge": "'faithfulness'",
    "judge_version": "'1'",
    "run_a": "1",
    "run_b": "2",
    "run_id": "1",
    "set_name": "'faq'",
    "attach_source.content": "'{body}'",
    "put_eval_embeddings.fingerprint": "'f/1'",
    "put_eval_queries.queries": """'[{"question": "fish"}]'""",
    "put_eval_embeddings.query_ids": "'{q1}'",
    "delete_eval_queries.query_ids": "'{q1}'",
    "put_eval_results.results": """'[{"query_id": "q1"}]'""",
    "put_eval_scores.scores": """'[{"query_id": "q1", "score": 1}]'""",
    "answers": "'{fish}'",
    "score_answers.judge_function": "'rag._best_token_f1'",
    "audit_table.table_name": "'rag.chunks'",
    "block_provider.seconds": "1",
    "keep_original.data": "'a file'",
    "keep_original.file_name": "'d1.txt'",
    "keep_original.media_type": "'text/plain'",
    "check_citation.quote": "'a quotation of fish'",
    "create_collection.name": "'more'",
    "expose_view.view": "'app.titles'",
    "expose_view.description": "'An article'",
    "query_view.name": "'titles'",
    "hide_view.name": "'titles'",
    "embedded_text.heading": "'b'",
    "embedded_text.title": "'a'",
    "field_index_statement.type": "'text'",
    "heartbeat.worker_version": "'1'",
    "index_field.type": "'text'",
    "maintain_step.step": "'keywords'",
    "note_maintenance.failure": "'no'",
    "note_maintenance.step": "'source'",
    "set_chunking.chunking": """'{"max_tokens": 128}'""",
    "set_fingerprint.embedder_fingerprint": "'f/1'",
    "store_embeddings.vectors": "ARRAY['[0, 0, 1]']::public.halfvec[]",
    "store_contexts.job_id": sql_calls.CONTEXT,
    "store_contexts.lease": sql_calls.CONTEXT_LEASE,
    "store_contexts.source": (
        f"(SELECT source FROM rag.context_input({sql_calls.CONTEXT}, {sql_calls.CONTEXT_LEASE}))"
    ),
    "store_contexts.vectors": "ARRAY['[0, 0, 1]']::public.halfvec[]",
    "store_extraction.job_id": sql_calls.EXTRACT,
    "store_extraction.lease": sql_calls.EXTRACT_LEASE,
    "store_extraction.settings_version": "1",
    "texts": "ARRAY['a fish']",
}

# More than a row of an index takes, however it is compressed.
LONG = "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))
TEXTS = [
    "''",
    "' '",
    f"'{LONG}'",
    "E'\\n'",
    "'%s {vector} $1 \\'",
    "E'a\\u0301'",
    "'NaN'",
    "'-1'",
]
NUMBERS = ["0", "-1", "1", "2147483647", "-2147483648"]
JSONS = [
    "'{}'", "'[]'", "'null'", "'5'", "'\"x\"'", "'[null]'", "'[[]]'", "'[5]'", "'[{}]'", "'true'",
    '\'{"": null}\'',
]  # fmt: skip
RECORDS = [
    f"'[{{\"uri\": \"e\", \"content\": \"x\", {pair}}}]'"
    for pair in (
        '"uri": 5', '"content": 5', '"content": null', '"content": ""', '"metadata": 5',
        '"metadata": [1]', '"metadata": null', '"language": "nope"', '"language": 5',
        '"language": ""', '"title": {}', '"heading": 5', '"media_type": null', '"media_type": []',
        f'"title": "{LONG}"', f'"language": "{LONG}"', f'"heading": "{LONG}"',
        '"embedding": 5', '"embedding": []', '"embedding": ["x"]', '"embedding": [1]',
        '"embedding": [1e400, 0, 0]', '"embedding": [[1, 0, 0]]', '"embedding": "x"',
        '"ordinal": "x"', '"ordinal": -1', '"ordinal": 1e9', '"ordinal": 1e400', '"start": -1',
        '"start": "x"', '"start": 5, "stop": 1', '"start": 1e400, "stop": 2',
        '"start": 0.5, "stop": 1', '"stop": 1e10, "start": 0',
    )
]  # fmt: skip
ARRAYS = ["'{}'", "'{NULL}'"]
HOSTILE: dict[str, list[str]] = {
    "text": TEXTS,
    "bytea": ["NULL", "''"],
    "text[]": [*ARRAYS, "'{\"\"}'", "'{{a,b},{c,d}}'", "'{{nope}}'"],
    "integer": NUMBERS,
    "integer[]": [*ARRAYS, "'{-1,2147483647}'", "'{{1,2},{3,4}}'", "'[5:6]={1,2}'"],
    "bigint": [*NUMBERS, "9223372036854775807", "-9223372036854775808"],
    "bigint[]": [*ARRAYS, "'{-1,9223372036854775807}'", "'{{1,2},{3,4}}'", "'[5:6]={1,2}'"],
    "double precision": [
        "0", "-1", "1e-320", "1e308", "-1e308", "'NaN'", "'Infinity'", "'-Infinity'",
    ],
    "double precision[]": [*ARRAYS, "'{NaN}'", "'{1,2,3}'", "'[5:5]={1}'"],
    "boolean": ["true", "false"],
    "jsonb": JSONS,
    "put_documents.documents": [*JSONS, *RECORDS],
    "put_chunks.chunks": [*JSONS, *RECORDS],
    "load_chunks.chunks": [*JSONS, *RECORDS],
    "put_eval_queries.queries": [
        *JSONS,
        *(
            f"""'[{{"question": "q", "{key}": "{LONG}"}}]'"""
            for key in ("id", "category", "source", "relevant", "answers", "expected_terms")
        ),
    ],
    "store_chunks.chunks": [*JSONS, *RECORDS],
    "interval": ["'0'", "'-1 day'", "'1 year'"],
    "date": ["'-infinity'", "'infinity'", "'2026-01-01'"],
    "timestamp with time zone": ["'-infinity'", "'infinity'", "'2026-01-01'"],
    "uuid": ["'00000000-0000-0000-0000-000000000000'"],
    "uuid[]": [*ARRAYS, "'{00000000-0000-0000-0000-000000000000}'"],
    "regclass": ["'rag.chunks'", "'pg_class'", "0", "4294967295"],
    "regconfig": ["'simple'", "0", "4294967295"],
    "halfvec": ["'[1]'", "'[0,0,0]'", "'[65504,-65504,65504]'"],
    "halfvec[]": [*ARRAYS, "ARRAY['[1]']::public.halfvec[]", "ARRAY['[0,0,0]']::public.halfvec[]"],
    "rag.spaces": ["rag._active_space(-1)"],
}  # fmt: skip


class Argument(NamedTuple):
    name: str
    type: str
    optional: bool


class Routine(NamedTuple):
    name: str
    kind: str
    arguments: list[Argument]


@pytest.fixture(scope="module")
def filled(new_database: Callable[..., str], template: str) -> Any:
    with psycopg.connect(new_database(template), autocommit=True) as opened:
        sql_calls.fill(opened)
        opened.execute(
            """CREATE TEMP TABLE staged_chunks (position bigint, uri text, title text, heading text,
               content text,
               metadata jsonb, embedding public.halfvec)"""
        )
        opened.execute("SET statement_timeout = '20s'; SET client_min_messages = error")
        yield opened


def public_routines(connection: psycopg.Connection[Any]) -> list[Routine]:
    rows = connection.execute(
        """SELECT p.oid, p.proname, p.prokind::text, a.name, format_type(a.type, NULL),
                  a.number > p.pronargs - p.pronargdefaults
           FROM pg_proc AS p
           CROSS JOIN LATERAL unnest(p.proargtypes::oid[], p.proargnames[1:p.pronargs])
               WITH ORDINALITY AS a (type, name, number)
           WHERE p.pronamespace = 'rag'::regnamespace AND p.proname = ANY (%s)
           ORDER BY p.proname, p.oid, a.number""",
        [list(sql_calls.public_names())],
    ).fetchall()
    return [
        Routine(name, kind, [Argument(*row[3:]) for row in group])
        for (_, name, kind), group in itertools.groupby(rows, lambda row: row[:3])
    ]


def calls(routine: Routine) -> list[str]:
    """The call that works, and it with each argument replaced in turn; in `make test` by NULL and a
    third of what is wrong, another third than for the argument before it."""
    usual = {
        a.name: f"{WORKS[key]}::{'public.' * a.type.startswith('halfvec')}{a.type}"
        for a in routine.arguments
        for key in (a.name, f"{routine.name}.{a.name}")
        if key in WORKS
        and (not a.optional or (key in ("timeout", "timeout_seconds") and a.type != "interval"))
    }
    missing = [a.name for a in routine.arguments if not a.optional and a.name not in usual]
    assert not missing, f"rag.{routine.name}: what works for {missing}?"
    made = [usual]
    for number, argument in enumerate(routine.arguments, len(routine.name)):
        schema = "public." * argument.type.startswith("halfvec")
        hostile = HOSTILE.get(f"{routine.name}.{argument.name}", HOSTILE[argument.type])
        for value in ("NULL", *(hostile if rota.LONG else hostile[number % 3 :: 3])):
            made.append(usual | {argument.name: f"({value})::{schema}{argument.type}"})
    verb = "CALL " if routine.kind == "p" else "SELECT * FROM "
    return [
        f"{verb}rag.{routine.name}({', '.join(f'{k} => {v}' for k, v in given.items())})"
        for given in made
    ]


def complaint(connection: psycopg.Connection[Any], call: str) -> str | None:
    """What is wrong with how a call failed; None where it worked,
    or said what is wrong and what to do."""
    try:
        if call.startswith("CALL"):  # some commit by themselves
            connection.execute(call)
        else:
            with connection.transaction(force_rollback=True):
                connection.execute(call)
    except psycopg.Error as error:
        if not (error.sqlstate or "").startswith("RG"):
            return f"{call}: {error.sqlstate} {error.diag.message_primary}"
        if not error.diag.message_hint:
            return f"{call}: no HINT with {error.diag.message_primary}"
    return None


@pytest.mark.longer
def test_any_argument_gives_a_result_or_an_error_that_says_what_is_wrong(
    filled: psycopg.Connection[Any],
) -> None:
    routines = public_routines(filled)
    made = [call for routine in routines for call in calls(routine)]
    assert len(made) > 1000
    made.sort(key=lambda call: call.startswith("CALL"))
    complaints = [found for call in made if (found := complaint(filled, call))]
    assert not complaints, "\n".join(complaints)


def test_a_ready_made_chunks_start_is_metadata_of_any_kind(
    connection: psycopg.Connection[Any],
) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    connection.execute(
        """SELECT rag.put_chunks('docs', 'talk', '[{"content": "hello", "start": "00:01"}]')"""
    )
    rows = connection.execute("SELECT metadata, start_offset FROM rag.chunks").fetchall()
    assert rows == [({"start": "00:01"}, None)]


def test_a_language_that_does_not_exist_is_named(connection: psycopg.Connection[Any]) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    with pytest.raises(psycopg.Error, match="no text search configuration 'klingon'") as caught:
        connection.execute(
            """SELECT rag.put_documents('docs',
               '[{"uri": "a", "content": "nuqneH", "language": "klingon"}]')"""
        )
    assert caught.value.sqlstate == "RG001"


def test_a_bulk_load_stores_documents_in_the_order_of_put_documents(
    connection: psycopg.Connection[Any],
) -> None:
    """Another order in each of two loads is a deadlock where they share documents."""
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    connection.execute(
        """CREATE TEMP TABLE staged_chunks (position bigint, uri text, title text, heading text,
               content text, metadata jsonb, embedding public.halfvec);
           INSERT INTO staged_chunks
           SELECT place, CASE place WHEN 1 THEN 'b' WHEN 2 THEN 'a' WHEN 3 THEN 'B'
               ELSE 'c' END, '', '', 'x', '{}'::jsonb, NULL::public.halfvec
           FROM generate_series(1, 5002) AS place
           UNION ALL SELECT 5003, 'A', '', '', 'x', '{}'::jsonb, NULL::public.halfvec"""
    )  # fmt: skip
    connection.execute("SELECT rag.load_staged('docs')")
    stored = connection.execute("SELECT uri FROM rag.documents ORDER BY ctid").fetchall()
    assert stored == [("A",), ("B",), ("a",), ("b",), ("c",)]
