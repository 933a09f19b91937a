"""Erasure: a document with a word that nothing else has leaves every table, and a receipt stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest
from dumps import dump
from fakes import HashEmbedder
from psycopg import sql

from rag_pg import Rag, Settings
from rag_pg.client.collection import Collection

Connection = psycopg.Connection[Any]
WORD = "xylocanth"
SECRET = f"The code of the {WORD} vault is seven."


def everywhere(connection: Connection, word: str) -> list[str]:
    """The tables of every schema whose rows hold a word, catalogues included."""
    tables = connection.execute(
        """SELECT format('%I.%I', relnamespace::regnamespace, relname) FROM pg_class
           WHERE relkind IN ('r', 'm') AND relpersistence <> 't'
             AND relnamespace::regnamespace::text NOT IN ('information_schema', 'pg_toast')
             AND (relname <> 'pg_statistic'
                  OR current_setting('server_version_num')::integer >= 180000)"""
    ).fetchall()
    return sorted(
        name
        for (name,) in tables
        if connection.execute(
            f"SELECT EXISTS (SELECT FROM {name} AS r WHERE r::text ILIKE %s)".encode(),
            [f"%{word}%"],
        ).fetchone()
        == (True,)
    )


def begin(rag: Rag) -> None:
    """Documents that say nothing special."""
    docs = rag.collection("docs", model="hash:16")
    docs.alter(keep_versions=timedelta(days=30), keep_answers=timedelta(days=30))
    docs.alter(sample_queries=1, keep_query_text=True)
    docs.add(
        *({"uri": f"plain-{n}", "content": f"Row {n} says nothing special."} for n in range(30))
    )


@pytest.fixture
def docs(dsn: str, tmp_path: Path) -> Iterator[Collection]:
    with Rag(dsn, settings=Settings(home=tmp_path), embedders={"hash": HashEmbedder}) as rag:
        yield rag.collection("docs")


def live_through(docs: Collection, connection: Connection) -> None:
    """Leave the word wherever a document leaves its words."""
    docs.add({"uri": f"{WORD}.txt", "content": f"An older text of {WORD}.", "metadata": {"n": 1}})
    docs.add({"uri": f"{WORD}.txt", "content": SECRET, "title": WORD, "metadata": {"w": WORD}})
    connection.execute("SELECT rag._merge_keyword(collection_id) FROM rag.collections")
    docs.metadata.index("w", "text")
    docs.search(f"the code of the {WORD} vault", filter={"w": WORD})
    answer = docs.ask("What is the code of the vault?", cache=True)
    assert WORD in answer.text
    docs.search("the code of the vault", cache=True)
    docs.answers.feedback(answer.trace_id, 1, comment=f"{WORD} is right")
    assert docs.evaluation.add_logged_queries("asked") == 1
    connection.execute(
        "SELECT rag.put_eval_queries('set', %s)",
        [
            json.dumps(
                [
                    {
                        "question": "What is the code of the vault?",
                        "relevant": [{"uri": f"{WORD}.txt", "quote": SECRET}],
                        "answers": [SECRET],
                        "expected_terms": [WORD],
                        "expected_metadata": {"w": WORD},
                    }
                ]
            )
        ],
    )
    docs.evaluation.run("set", kind="ask", strategy="extractive", limit=3)
    connection.execute(
        "SELECT rag.keep_original('docs', %s, %s, %s)",
        [f"{WORD}.txt", f"{WORD}.pdf", SECRET.encode()],
    )
    # By rules, by a model's extraction and context; and a job that failed over the text.
    docs.enrichment.set_rules([{"field": "vault", "pattern": "(\\w+canth)"}], wait=True)
    connection.execute(
        """UPDATE rag.chunks SET context = %(text)s, context_source = %(text)s
           WHERE content = %(text)s""",
        {"text": SECRET},
    )
    connection.execute(
        """INSERT INTO rag.jobs (collection_id, document_id, kind, state, errors)
           SELECT d.collection_id, d.document_id, 'ingest', 'dead', jsonb_build_array(%s::text)
           FROM rag.documents AS d WHERE d.uri = %s""",
        [SECRET, f"{WORD}.txt"],
    )
    connection.execute(
        """INSERT INTO rag.worker_calls (collection_id, kind, arguments, expires_at)
           SELECT c.collection_id, 'ask', jsonb_build_object('question', %s::text),
               now() + interval '1 hour'
           FROM rag.collections AS c""",
        [SECRET],
    )
    (asked,) = connection.execute(
        "SELECT query_id FROM rag.eval_queries WHERE source = 'feedback'"
    ).fetchone() or ("",)
    worst = [{"query_id": asked, "question": WORD, "difference": -1}]
    connection.execute(
        """INSERT INTO rag.gate_checks (collection, action, outcome, details)
           VALUES ('docs', 'set_chunking', 'failed', %s)""",
        [json.dumps([{"set": "asked", "passed": False, "worst": worst}])],
    )
    # What models said: a verdict, a completion, a question made from the document.
    connection.execute(
        """SELECT rag._keep_verdict('a', '1', jsonb_build_object('reason', %(text)s::text), 0),
               rag._write_cache('completion', '{a}', ARRAY[convert_to(%(text)s, 'UTF8')],
                   '1 day', 1000000),
               (SELECT p.state FROM rag.put_eval_queries('made', jsonb_build_array(
                   jsonb_build_object('question', %(text)s::text, 'relevant', %(uri)s::text)),
                   'synthetic') AS p)""",
        {"text": SECRET, "uri": f"{WORD}.txt"},
    )
    connection.execute("ANALYZE")


def test_a_word_is_nowhere_after_its_document_is_erased(docs: Collection, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        live_through(docs, connection)
        held = everywhere(connection, WORD)
        assert {
            "rag.document_versions", "rag.answer_log", "rag.answer_feedback",
            "rag.eval_judgements", "rag.eval_results", "rag.jobs",
            "rag.originals", "rag.worker_calls", "rag.gate_checks", "rag.eval_verdicts",
            "rag.eval_queries",
        } <= set(held)  # fmt: skip
        assert any("keyword_postings" in name for name in held)
        receipt = docs.erase(f"{WORD}.txt")
        assert everywhere(connection, WORD) == []
        assert WORD not in dump(dsn)
    assert receipt.document_hashes == [sha256(f"{WORD}.txt".encode()).hexdigest()]
    told = dict(receipt.removed)
    assert told.pop("chunks") >= 1 and told.pop("cache_entries") > 0
    assert told.pop("keyword_blocks") > 0 and told.pop("live_queries") > 1
    assert told == {
        "documents": 1, "document_versions": 1, "originals": 1, "jobs": 1, "answer_log": 1,
        "answer_feedback": 1, "worker_calls": 1, "eval_judgements": 3, "eval_queries": 2,
        "eval_answers": 1, "eval_results": 1, "eval_verdicts": 1, "gate_checks": 1,
        "eval_judgements_of_others": 0, "documents_of_copies": 0, "sources": 0, "job_errors": 0,
    }  # fmt: skip
    assert docs.search(f"code of the {WORD} vault").notes == ()
    assert WORD not in docs.ask("What is the code of the vault?").text
    assert docs.answers.list()[0].question  # the log goes on
    assert len(docs.search("row says nothing", limit=30)) == 30


def test_a_document_that_was_deleted_before_can_still_be_erased(docs: Collection, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        live_through(docs, connection)
        docs.delete(f"{WORD}.txt")
        receipt = docs.erase(f"{WORD}.txt")
        assert (receipt.removed["documents"], receipt.removed["document_versions"]) == (0, 2)
        assert everywhere(connection, WORD) == []


def test_a_temporary_copy_does_not_keep_what_is_erased(docs: Collection, dsn: str) -> None:
    docs.add({"uri": f"{WORD}.txt", "content": SECRET})
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            """SELECT rag._create_copy('docs', 'docs.sweep-0123abcd', 'hash:16', 16, chunking)
               FROM rag.collections WHERE name = 'docs'"""
        )
        connection.execute("SELECT rag._copy_documents('docs', 'docs.sweep-0123abcd', '')")
        assert docs.erase(f"{WORD}.txt").removed["documents_of_copies"] == 1
        assert everywhere(connection, WORD) == []


def test_a_filter_erases_what_passes_it_and_its_versions(docs: Collection, dsn: str) -> None:
    for name in ("ann", "bob"):
        docs.add({"uri": name, "content": f"Notes of {name} one.", "metadata": {"owner": name}})
        docs.add({"uri": name, "content": f"Notes of {name} two.", "metadata": {"owner": name}})
    docs.delete("ann")
    receipt = docs.erase(filter={"owner": {"$in": ["ann"]}})
    assert receipt.document_hashes == [sha256(b"ann").hexdigest()]
    assert docs.versions.list("ann") == []
    assert [v.version for v in docs.versions.list("bob")] == [2, 1]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("'docs'", "neither or both"),
        ("'docs', 'a', '{}'", "neither or both"),
        ("'docs', metadata_filter => '{}'", "passes every document"),
        ("'none', 'a'", "none"),
    ],
)
def test_what_is_wrong_is_said(docs: Collection, dsn: str, arguments: str, message: str) -> None:
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        pytest.raises(psycopg.Error, match=message) as caught,
    ):
        connection.execute(f"SELECT rag.erase({arguments})".encode())
    assert caught.value.diag.message_hint


def test_another_isolation_level_is_refused(docs: Collection, dsn: str) -> None:
    with (
        psycopg.connect(dsn) as connection,
        pytest.raises(psycopg.Error, match="repeatable read"),
    ):
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT rag.erase('docs', 'plain-1')")


def test_a_client_erases_whatever_the_default_level_is(
    docs: Collection, dsn: str, tmp_path: Path
) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        named = sql.SQL("ALTER DATABASE {} SET default_transaction_isolation TO serializable")
        connection.execute(named.format(sql.Identifier(connection.info.dbname)))
    settings = Settings(home=tmp_path)
    with Rag(dsn, settings=settings, embedders={"hash": HashEmbedder}) as rag:
        for uri, own in (("plain-1", {}), ("plain-2", {"app.user": "one"})):
            other = rag.with_settings(own).collection("docs")
            assert len(other.erase(uri).document_hashes) == 1
        with rag.database.connection() as connection:
            assert connection.execute("SHOW transaction_isolation").fetchone() == ("serializable",)


def test_every_table_with_text_is_erased_from_or_named_here(dsn: str) -> None:
    """A new table with text of documents has to be thought of."""
    without = {
        "access_grants", "alembic_version", "backlogs", "collections", "collection_changes",
        "cache_uses", "enrichments", "erasures", "exposed_views", "fields", "installed",
        "keyword_languages", "keyword_segments", "keyword_totals", "spaces", "usage", "workers",
        "eval_sets", "eval_judges", "calibrations", "gates", "recall_measures",
        "version_commits", "ordinary_words", "locations", "tenants", "tenant_roles", "service_keys",
        "service_key_uses", "maintenance_runs",
    }  # fmt: skip
    erased = {
        "answer_feedback", "answer_log", "cache_entries", "chunks", "document_versions",
        "documents", "embeddings", "eval_embeddings", "eval_judgements", "eval_queries",
        "eval_results", "eval_scores", "eval_verdicts", "jobs", "keyword_changes",
        "keyword_postings", "keyword_removed", "keyword_slots", "worker_calls", "originals",
        "gate_checks", "live_queries", "budgets", "eval_runs", "maintenance_failures",
        "source_changes", "source_documents", "sources",
    }  # fmt: skip
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            """SELECT relname FROM pg_class WHERE relnamespace = 'rag'::regnamespace
               AND relkind IN ('r', 'p') AND NOT relispartition"""
        ).fetchall()
    assert {name for (name,) in rows} - without - erased == set()


def test_what_was_under_way_keeps_nothing_of_a_document_that_was_erased(
    docs: Collection, dsn: str
) -> None:
    docs.add({"uri": f"{WORD}.txt", "content": SECRET})
    with psycopg.connect(dsn, autocommit=True) as connection:
        (query,) = connection.execute(
            """SELECT query_id FROM rag.put_eval_queries('set',
                   '[{"question": "Which vault?", "relevant": ["a"]}]')"""
        ).fetchone() or ("",)
        (run,) = connection.execute(
            "SELECT rag.start_eval_run('set', 'docs', 'ask')"
        ).fetchone() or (0,)
        chunk = docs.search("the code of the vault")[0].chunk_id
        docs.erase(f"{WORD}.txt")
        for retrieved in ([f"{WORD}.txt"], None):
            answer = {"text": SECRET, "found": True, "retrieved": retrieved, "seconds": 3}
            assert log_answer(connection, answer) is False
        assert log_answer(connection, {"text": "plain", "retrieved": ["plain-1"]}) is True
        result = {"query_id": query, "hits": [{"chunk_id": chunk, "score": 1}], "answer": SECRET}
        connection.execute("SELECT rag.put_eval_results(%s, %s)", [run, json.dumps([result])])
        assert everywhere(connection, WORD) == []


def test_an_answer_that_is_logged_meanwhile_is_waited_for(docs: Collection, dsn: str) -> None:
    docs.add({"uri": f"{WORD}.txt", "content": SECRET})
    with (
        psycopg.connect(dsn) as logging,
        psycopg.connect(dsn, autocommit=True) as erasing,
        psycopg.connect(dsn, autocommit=True) as connection,
        ThreadPoolExecutor() as threads,
    ):
        assert log_answer(logging, {"text": SECRET, "retrieved": [f"{WORD}.txt"]})
        done = threads.submit(erasing.execute, f"SELECT rag.erase('docs', '{WORD}.txt')".encode())
        while connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND pid = %s",
            [erasing.info.backend_pid],
        ).fetchone() == (0,):
            assert not done.done()
        logging.commit()
        done.result()
        assert everywhere(connection, WORD) == []


def test_what_was_read_while_an_erasure_was_open_for_long_is_not_kept(
    docs: Collection, dsn: str
) -> None:
    docs.add({"uri": f"{WORD}.txt", "content": SECRET})
    late = [LATE["a completion"], LATE["a verdict"]]
    with (
        psycopg.connect(dsn) as erasing,
        psycopg.connect(dsn, autocommit=True) as connection,
    ):
        erasing.execute("SELECT rag.erase('docs', %s)", [f"{WORD}.txt"])
        # an hour passes, in which others read the document
        erasing.execute("UPDATE rag.erasures SET erased_at = now() - interval '1 hour'")
        erasing.commit()
        with connection.transaction():
            connection.execute("SET TRANSACTION READ ONLY")
            assert connection.execute("SELECT rag._any_erased(0)").fetchone() == (True,)
        assert [write(connection, one, {"text": SECRET}) for one in late] == ["False", "False"]
        answer = {"text": SECRET, "found": True, "retrieved": [f"{WORD}.txt"], "seconds": 3}
        assert log_answer(connection, answer) is False
        assert everywhere(connection, WORD) == []
        connection.execute("UPDATE rag.erasures SET settled_at = now() - interval '2 minutes'")
        assert [write(connection, one, {"text": "else"}) for one in late] == ["True", "True"]


@pytest.mark.parametrize("found", [True, False])
def test_an_answer_of_unknown_documents_goes_with_any(
    docs: Collection, dsn: str, found: bool
) -> None:
    docs.add({"uri": f"{WORD}.txt", "content": SECRET})
    with psycopg.connect(dsn, autocommit=True) as connection:
        log_answer(connection, {"text": "from a tool", "found": found, "retrieved": None})
        docs.erase(f"{WORD}.txt")
        assert [one.answer for one in docs.answers.list()] == ([] if found else ["from a tool"])


def test_an_answer_that_is_given_again_does_not_say_what_it_was_made_from(
    docs: Collection, dsn: str
) -> None:
    docs.add({"uri": f"{WORD}.txt", "content": SECRET})
    first = docs.ask("What is the code of the vault?", cache=True)
    assert docs.ask("What is the code of the vault?", cache=True).cached
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows = connection.execute("SELECT answer_id::text, retrieved <> '{}' FROM rag.answer_log")
        known = {answer_id.replace("-", ""): known for answer_id, known in rows}
    assert known.pop(first.trace_id.replace("-", "")) is True
    assert list(known.values()) == [False]


def log_answer(connection: Connection, answer: dict[str, Any]) -> bool:
    (kept,) = connection.execute(
        "SELECT rag.log_answer('docs', gen_random_uuid(), 'Which vault?', %s)", [json.dumps(answer)]
    ).fetchone() or (None,)
    return bool(kept)


def test_what_a_source_told_of_a_row_that_failed_is_erased(docs: Collection, dsn: str) -> None:
    docs.add({"uri": f"{WORD}.txt", "content": SECRET})
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            """CREATE TABLE public.notes (id text PRIMARY KEY, body text);
               SELECT rag.attach_source('notes', 'docs', content => '{body}')"""
        )
        connection.execute(
            """UPDATE rag.sources SET row_error = %(text)s, broken = %(text)s""", {"text": SECRET}
        )
        connection.execute(
            "INSERT INTO rag.maintenance_failures (task, target, message) VALUES ('source', 1, %s)",
            [SECRET],
        )
        assert docs.erase(f"{WORD}.txt").removed["sources"] == 1
        assert everywhere(connection, WORD) == []
        (broken,) = connection.execute("SELECT broken FROM rag.sources").fetchone() or ("",)
        assert "erased" in broken  # it is still told that it stopped


def test_errors_that_hold_what_failed_are_erased_whatever_they_are_of(
    docs: Collection, dsn: str
) -> None:
    docs.add({"uri": f"{WORD}.txt", "content": SECRET})
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            """SELECT rag.put_eval_queries('set', '[{"id": "q", "question": "Which?"}]')"""
        )
        (run,) = connection.execute(
            "SELECT rag.start_eval_run('set', 'docs', 'ask')"
        ).fetchone() or (0,)
        failed = json.dumps([{"query_id": "q", "hits": [], "error": f"a provider said: {SECRET}"}])
        connection.execute("SELECT rag.put_eval_results(%s, %s)", [run, failed])
        connection.execute("SELECT rag.finish_eval_run(%s, ARRAY[%s])", [run, SECRET])
        connection.execute("SELECT rag.block_provider('gemini', 60, %s)", [SECRET])
        connection.execute(  # a batch of several documents failed
            """INSERT INTO rag.jobs (collection_id, document_id, kind, state, errors)
               SELECT d.collection_id, d.document_id, 'ingest', 'dead',
                   jsonb_build_array(jsonb_build_object('attempt', 3, 'error', %s::text))
               FROM rag.documents AS d WHERE d.uri = 'plain-1'""",
            [SECRET],
        )
        removed = docs.erase(f"{WORD}.txt").removed
        assert (removed["job_errors"], removed["eval_results"]) == (1, 1)
        assert everywhere(connection, WORD) == []
        told = connection.execute(
            """SELECT j.errors -> 0 ->> 'error', j.errors -> 0 ->> 'attempt', e.error, r.notes[1],
                   b.blocked_reason
               FROM rag.jobs AS j, rag.eval_results AS e, rag.eval_runs AS r, rag.budgets AS b"""
        ).fetchone()
        assert (
            told is not None and told[1] == "3" and all("erased" in told[n] for n in (0, 2, 3, 4))
        )


def test_the_keys_of_rows_that_documents_were_made_of_are_erased(
    docs: Collection, dsn: str
) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            """CREATE TABLE public.notes (id text PRIMARY KEY, body text);
               SELECT rag.attach_source('notes', 'docs', content => '{body}')"""
        )
        connection.execute(
            "INSERT INTO public.notes VALUES (%s, %s), ('b', 'plain')", [WORD, SECRET]
        )
        connection.execute("CALL rag.sync_source('notes', 'docs')")
        (uri,) = connection.execute(
            "SELECT uri FROM rag.documents WHERE content = %s", [SECRET]
        ).fetchone() or ("",)
        connection.execute("DELETE FROM public.notes WHERE id = %s", [WORD])
        assert "rag.source_changes" in everywhere(connection, WORD)
        docs.erase(uri)
        assert everywhere(connection, WORD) == []
        connection.execute("CALL rag.sync_source('notes', 'docs')")
        assert everywhere(connection, WORD) == []


def test_judgements_of_another_collections_document_of_that_uri_stay(
    docs: Collection, dsn: str
) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('other', 'none', 3)")
        connection.execute("SELECT rag.put_document('other', 'plain-1', 'Quite another text.')")
        judged = ("here", "there", "both", "unused")
        for name in judged:
            connection.execute(
                """SELECT rag.put_eval_queries(%s,
                       '[{"question": "Which row?", "relevant": ["plain-1"]}]')""",
                [name],
            )
        for name, collection in zip(
            ("here", "there", "both", "both"),
            ("docs", "other", "docs", "other"),
            strict=True,
        ):
            connection.execute("SELECT rag.start_eval_run(%s, %s, 'search')", [name, collection])
        removed = docs.erase("plain-1").removed
        assert (removed["eval_judgements"], removed["eval_judgements_of_others"]) == (3, 1)
        assert [
            connection.execute(
                "SELECT cardinality(ARRAY(SELECT jsonb_array_elements(relevant)))"
                " FROM rag.list_eval_queries(%s)",
                [name],
            ).fetchone()
            for name in judged
        ] == [(0,), (1,), (0,), (0,)]


def test_a_question_that_is_made_from_an_erased_document_is_refused(
    docs: Collection, dsn: str
) -> None:
    docs.add({"uri": f"{WORD}.txt", "content": SECRET})
    with psycopg.connect(dsn, autocommit=True) as connection:
        docs.erase(f"{WORD}.txt")
        made = json.dumps([{"question": SECRET, "relevant": [f"{WORD}.txt"]}])
        (row,) = connection.execute(
            "SELECT state, reason FROM rag.put_eval_queries('set', %s, 'synthetic')", [made]
        ).fetchall()
        assert row[0] == "rejected" and "document that was erased" in row[1]
        assert everywhere(connection, WORD) == []


# What a process writes that read a document before it was erased: a statement for each, which is
# run after the erasure, and while it is under way.
LATE = {
    "a completion": (
        "SELECT rag._write_cache('completion', '{a}', ARRAY[convert_to(%(text)s, 'UTF8')],"
        " '1 day', 1000000, age => 30)"
    ),
    "a search": (
        "SELECT rag._write_cache('search', '{a}', ARRAY[convert_to(%(text)s, 'UTF8')],"
        " '1 day', 1000000, 'docs', %(version)s)"
    ),
    "a verdict": (
        "SELECT rag._keep_verdict('a', '1', jsonb_build_object('reason', %(text)s::text), 30)"
    ),
    "a score": (
        "SELECT rag.put_eval_scores(%(run)s, 'faithfulness', '1', jsonb_build_array("
        "jsonb_build_object('query_id', 'q', 'score', 1, 'reason', %(text)s::text)))"
    ),
    "feedback": "SELECT rag.feedback(%(answer)s, 1, %(text)s)",
    "a logged answer": (
        "SELECT rag.log_answer('docs', gen_random_uuid(), 'Which?',"
        " jsonb_build_object('text', %(text)s::text, 'found', true, 'seconds', 30))"
    ),
    "logged questions": "SELECT rag.add_logged_queries('asked', 'docs')",
    "a generated question": (
        "SELECT rag.put_eval_queries('set', jsonb_build_array(jsonb_build_object('question',"
        " %(text)s::text, 'relevant', %(uri)s::text)), 'synthetic')"
    ),
    "chunks": (
        "SELECT rag.store_chunks(%(job)s, %(lease)s, 1, jsonb_build_array("
        "jsonb_build_object('content', %(text)s::text)))"
    ),
    "an extraction": (
        "SELECT rag.store_extraction(%(job)s, %(lease)s, 1, 1,"
        " jsonb_build_object('by', %(text)s::text))"
    ),
}


def read_before(connection: Connection) -> dict[str, Any]:
    """What processes know that read the document: versions, runs, leases, an answer."""
    row = connection.execute(
        """SELECT rag._cache_version('docs'),
                  rag.start_eval_run('set', 'docs', 'ask'),
                  (SELECT answer_id FROM rag.answer_log),
                  j.job_id, j.lease
           FROM rag.jobs AS j
           JOIN rag.documents AS d ON d.document_id = j.document_id WHERE d.uri = %s""",
        [f"{WORD}.txt"],
    ).fetchone()
    known = dict(zip(("version", "run", "answer", "job", "lease"), row or (), strict=True))
    chunk = connection.execute(
        "SELECT chunk_id FROM rag.chunks WHERE content = %s", [SECRET]
    ).fetchone()
    hits = {"query_id": "q", "hits": [{"chunk_id": (chunk or [0])[0], "score": 1}], "answer": "x"}
    connection.execute("SELECT rag.put_eval_results(%s, %s)", [known["run"], json.dumps([hits])])
    return known | {"text": SECRET, "uri": f"{WORD}.txt"}


@pytest.mark.parametrize("during", [False, True], ids=["after", "during"])
def test_nothing_that_was_read_before_an_erasure_is_written_after_it(
    docs: Collection, dsn: str, during: bool
) -> None:
    docs.add({"uri": f"{WORD}.txt", "content": SECRET})
    with psycopg.connect(dsn, autocommit=True) as connection, psycopg.connect(dsn) as erasing:
        connection.execute(
            "SELECT rag.put_eval_queries('set', %s)",
            [json.dumps([{"id": "q", "question": "Which vault?", "relevant": [f"{WORD}.txt"]}])],
        )
        log_answer(connection, {"text": SECRET, "found": False, "retrieved": [f"{WORD}.txt"]})
        connection.execute(
            """INSERT INTO rag.jobs (collection_id, document_id, kind, worker, lease,
                   lease_expires_at)
               SELECT d.collection_id, d.document_id, 'ingest', 'w', gen_random_uuid(),
                   now() + interval '1 hour'
               FROM rag.documents AS d WHERE d.uri = %s""",
            [f"{WORD}.txt"],
        )
        known = read_before(connection)
        erasing.execute("SELECT rag.erase('docs', %s)", [f"{WORD}.txt"])
        if not during:
            erasing.commit()
        others = [psycopg.connect(dsn, autocommit=True) for _ in LATE]
        with ThreadPoolExecutor(len(LATE)) as threads:
            done = [
                threads.submit(write, other, statement, known)
                for other, statement in zip(others, LATE.values(), strict=True)
            ]
            if during:
                waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
                while (connection.execute(waiting).fetchone() or (0,))[0] + sum(
                    one.done() for one in done
                ) < len(LATE):
                    pass
                erasing.commit()
            outcomes = dict(zip(LATE, [one.result() for one in done], strict=True))
        for other in others:
            other.close()
        assert everywhere(connection, WORD) == [], outcomes
        assert outcomes["a completion"] == outcomes["a search"] == outcomes["a verdict"] == "False"
        assert outcomes["a logged answer"] == "False" and outcomes["logged questions"] == "0"
        assert outcomes["feedback"] == "RG002" and outcomes["chunks"] == "RG005"


def write(connection: Connection, statement: str, known: dict[str, Any]) -> str:
    """What a late writer got: its result, or the code of its error."""
    try:
        return str((connection.execute(statement.encode(), known).fetchone() or ("",))[0])
    except psycopg.Error as error:
        return str(error.sqlstate)
