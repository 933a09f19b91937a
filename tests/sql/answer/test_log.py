"""The log of answers: opt-in, bounded, judged by people, replayed against their sources."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest
from fakes import HashEmbedder

from rag_pg import InvalidInput, NotFound, Rag, Settings
from rag_pg.client.collection import Collection
from rag_pg.types import to_json

QUESTION = "When does the office open?"
OPENING = "The office opens at eight in the morning."


def begin(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:16")
    docs.alter(keep_versions=timedelta(days=30), keep_answers=timedelta(days=30))
    docs.add({"uri": "hours", "content": OPENING})


@pytest.fixture
def docs(dsn: str, tmp_path: Path) -> Iterator[Collection]:
    with Rag(dsn, settings=Settings(home=tmp_path), embedders={"hash": HashEmbedder}) as rag:
        yield rag.get_collection("docs")


def test_an_answer_is_logged_where_the_collection_says_so(docs: Collection) -> None:
    answer = docs.ask(QUESTION)
    (logged,) = docs.answers.list()
    assert (logged.answer_id, logged.question) == (UUID(answer.trace_id), QUESTION)
    assert (logged.answer, logged.found, logged.sources) == (answer.text, True, ["hours"])
    docs.alter(keep_answers=timedelta(0))
    docs.ask(QUESTION)
    assert len(docs.answers.list()) == 1
    docs.rag.database.maintain()
    assert docs.answers.list() == []


def test_what_ask_returns_is_logged_and_an_unknown_field_refused(
    docs: Collection, dsn: str
) -> None:
    answer = to_json(docs.ask(QUESTION))
    with psycopg.connect(dsn, autocommit=True) as connection:
        log = "SELECT rag.log_answer('docs', gen_random_uuid(), 'When?', %s)"
        assert connection.execute(log, [json.dumps(answer)]).fetchone() == (True,)
        with pytest.raises(psycopg.Error, match='no field "citation"') as caught:
            connection.execute(log, [json.dumps({**answer, "citation": []})])
    assert caught.value.sqlstate == "RG001"


def test_a_stream_is_logged_too(docs: Collection) -> None:
    *_, last = docs.stream(QUESTION)
    assert last.answer is not None
    assert [a.answer_id for a in docs.answers.list()] == [UUID(last.answer.trace_id)]


def test_the_log_keeps_no_more_than_its_bound(docs: Collection, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            """INSERT INTO rag.answer_log (answer_id, collection_id, answered_at, question, answer,
                   found, reason, strategy, model, citations, retrieved, notes, prompt_tokens,
                   answer_tokens, seconds)
               SELECT gen_random_uuid(), c.collection_id, now() - i * interval '1 second', 'q', 'a',
                   true, '', '', '', '[]', '{}', '{}', 0, 0, 0
               FROM rag.collections AS c, generate_series(1, 100020) AS i"""
        )
        connection.execute("CALL rag.maintain()")
        found = connection.execute(
            "SELECT count(*), max(now() - answered_at) < '100005 seconds' FROM rag.answer_log"
        ).fetchone()
    assert found is not None
    assert found[0] in (100_000, 100_001)


def test_thumbs_make_questions_of_an_evaluation_set(docs: Collection, dsn: str) -> None:
    liked, disliked, open_one = (
        docs.ask(q) for q in (QUESTION, "What opens at eight?", "Who sells zebras in Patagonia?")
    )
    docs.answers.feedback(liked.trace_id, 1)
    docs.answers.feedback(disliked.trace_id, -1, comment="It asked for something else.", citation=1)
    docs.answers.feedback(disliked.trace_id, -1)
    assert not open_one.found
    assert {a.question for a in docs.answers.list(only_open=True)} == {
        "What opens at eight?",
        "Who sells zebras in Patagonia?",
    }
    (judged,) = [a for a in docs.answers.list() if a.dislikes]
    assert (judged.likes, judged.dislikes, judged.comments) == (
        0, 2, ["It asked for something else."],
    )  # fmt: skip
    assert docs.evaluation.add_logged_queries("asked") == 3
    assert docs.evaluation.add_logged_queries("asked") == 0
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            """SELECT q.question, q.source, q.category, j.uri, j.quote
               FROM rag.eval_queries AS q LEFT JOIN rag.eval_judgements AS j
                   USING (set_id, query_id) ORDER BY q.category"""
        ).fetchall()
    assert rows == [
        ("What opens at eight?", "feedback", "disliked", None, None),
        (QUESTION, "feedback", "liked", "hours", OPENING),
        ("Who sells zebras in Patagonia?", "log", "unanswered", None, None),
    ]


def test_logged_questions_leave_what_people_said_of_those_that_a_set_has(
    docs: Collection, dsn: str
) -> None:
    unanswered = "Who sells zebras in Patagonia?"
    docs.ask(unanswered)
    liked = docs.ask(QUESTION)
    docs.answers.feedback(liked.trace_id, 1)
    docs.answers.feedback(liked.trace_id, -1, citation=1)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            """SELECT rag.log_answer('docs', gen_random_uuid(), 'Is it open on Sundays?',
                   '{"text": "Perhaps.", "found": true, "sufficient": false}')"""
        )
        assert docs.evaluation.add_logged_queries("asked") == 3
        rows = connection.execute(
            """SELECT q.question, q.category, j.uri, q.query_id FROM rag.eval_queries AS q
               LEFT JOIN rag.eval_judgements AS j USING (set_id, query_id) ORDER BY q.question"""
        ).fetchall()
        assert [row[:3] for row in rows] == [
            ("Is it open on Sundays?", "unanswered", None),
            (QUESTION, "liked", None),  # its citation was disliked
            (unanswered, "unanswered", None),
        ]
        connection.execute(
            """SELECT rag.put_eval_queries('asked', jsonb_build_array(jsonb_build_object(
                   'question', %s::text, 'id', %s::text, 'relevant', '["hours"]'::jsonb,
                   'answers', '["nobody"]'::jsonb)))""",
            [unanswered, rows[2][3]],
        )
        docs.ask(unanswered)  # again, as another answer
        assert docs.evaluation.add_logged_queries("asked") == 0
        assert connection.execute(
            """SELECT q.source, q.answers, j.uri FROM rag.eval_queries AS q
               JOIN rag.eval_judgements AS j USING (set_id, query_id)"""
        ).fetchall() == [("human", ["nobody"], "hours")]


def test_an_answer_is_replayed_against_what_its_source_said_then(docs: Collection) -> None:
    answer = docs.ask(QUESTION)
    docs.add({"uri": "hours", "content": "The office opens at nine in the morning."})
    (replayed,) = docs.answers.replay(answer.trace_id)
    assert (replayed.version_then, replayed.stood_then) == (1, True)
    assert (replayed.version_now, replayed.stands_now) == (2, False)
    docs.delete("hours")
    (replayed,) = docs.answers.replay(answer.trace_id)
    assert (replayed.version_then, replayed.stood_then) == (1, True)
    assert (replayed.version_now, replayed.stands_now) == (None, None)


def test_what_is_wrong_with_feedback_is_said(docs: Collection) -> None:
    answer = docs.ask(QUESTION)
    with pytest.raises(NotFound, match="there is no answer"):
        docs.answers.feedback(uuid4(), 1)
    with pytest.raises(InvalidInput, match="rating is 5"):
        docs.answers.feedback(answer.trace_id, 5)
    with pytest.raises(InvalidInput, match="no citation 9"):
        docs.answers.feedback(answer.trace_id, 1, citation=9)


def test_a_role_under_a_policy_sees_and_leaves_no_history(docs: Collection, dsn: str) -> None:
    docs.ask(QUESTION)
    docs.add({"uri": "hours", "content": "The office opens at nine in the morning."})
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            """DO $$ BEGIN
                   CREATE ROLE tenant_of_history;
               EXCEPTION WHEN duplicate_object THEN NULL; END $$;
               GRANT USAGE ON SCHEMA rag TO tenant_of_history;
               GRANT EXECUTE ON ALL ROUTINES IN SCHEMA rag TO tenant_of_history;
               GRANT SELECT ON rag.collections, rag.spaces, rag.documents, rag.chunks,
                   rag.document_versions, rag.answer_log, rag.answer_feedback, rag.erasures,
                   rag.version_commits TO tenant_of_history;
               GRANT INSERT ON rag.answer_log, rag.answer_feedback TO tenant_of_history"""
        )
        versions = "SELECT count(*) FROM rag.list_versions('docs', 'hours')"
        answers = "SELECT count(*) FROM rag.list_answers('docs')"
        log = """SELECT rag.log_answer('docs', gen_random_uuid(), 'why', '{"text": "so"}')"""
        connection.execute("SET ROLE tenant_of_history")
        assert connection.execute(versions).fetchone() == (2,)
        assert connection.execute(answers).fetchone() == (1,)
        assert connection.execute(log).fetchone() == (True,)
        connection.execute("RESET ROLE")
        connection.execute(
            """ALTER TABLE rag.documents ENABLE ROW LEVEL SECURITY;
               CREATE POLICY own ON rag.documents USING (tenant = current_user)"""
        )
        connection.execute("SET ROLE tenant_of_history")
        assert connection.execute(versions).fetchone() == (0,)
        assert connection.execute(answers).fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(log)
        connection.execute("RESET ROLE")
        connection.execute("DROP OWNED BY tenant_of_history")
