"""CALL rag.ask: a worker answers with all that an answer in Python has."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from typing import Any

import psycopg
import pytest
from answering import answering
from fakes import HashEmbedder
from pooler import transaction_pooler
from waiting import Door

from rag_pg import Answer, Rag
from rag_pg.worker.requests import ANSWERS_AT_ONCE, RequestAnswerer

Connection = psycopg.Connection[Any]
QUESTION = "Where does the red fish swim?"
MINIMAL = {"question": QUESTION, "limit": 8, "filter": {}, "options": {}, "timeout": 120}


def begin(rag: Rag) -> None:
    rag.collection("docs", model="hash:32").add(
        {"uri": "fish", "content": "The red fish swims in the warm sea."},
        {"uri": "bird", "content": "A blue bird flies over the tree."},
    )


@pytest.fixture
def filled(rag: Rag) -> Rag:
    return rag


def ask(connection: Connection, question: str = QUESTION, **options: Any) -> dict[str, Any]:
    row = connection.execute(
        "CALL rag.ask('docs', %s, options => %s::jsonb, timeout => 60)",
        [question, json.dumps(options)],
    ).fetchone()
    assert row is not None
    answer: dict[str, Any] = row[0]
    return answer


def answer_of(
    requests: RequestAnswerer, connection: Connection, arguments: Mapping[str, Any] = MINIMAL
) -> Any:
    """What a worker gives to who leaves a request without rag.ask."""
    row = connection.execute(
        "SELECT rag._add_request('docs', 'ask', %s::jsonb, 60)", [json.dumps(arguments)]
    ).fetchone()
    assert row is not None and requests.answer() == 1
    row = connection.execute("SELECT rag._read_answer(%s)", row).fetchone()
    assert row is not None
    return row[0]


def test_sql_gives_the_fields_of_an_answer(filled: Rag, connection: Connection) -> None:
    with answering(filled):
        answer = ask(connection)
    same = filled.collection("docs").ask(QUESTION)
    assert set(answer) == {field.name for field in fields(Answer)}
    assert (answer["text"], answer["strategy"]) == (same.text, "extractive")
    assert [c["uri"] for c in answer["citations"]] == [c.uri for c in same.citations] == ["fish"]
    assert [step["kind"] for step in answer["steps"]] == [step.kind for step in same.steps]


def test_options_of_sql_reach_the_strategy(filled: Rag, connection: Connection) -> None:
    with answering(filled):
        answer = ask(connection, strategy="extractive", fusion="rrf", max_steps=None)
        assert answer["strategy"] == "extractive"
        for options, message in (
            ({"strategy": "os:system"}, "there is no strategy 'os:system'"),
            ({"strategy": "single"}, "needs a language model"),
            ({"verify": "twice"}, "use once or strict"),
            ({"max_steps": 99}, "max_steps 99 is out of range"),
            ({"min_support": 2}, "min_support is 2"),
        ):
            with pytest.raises(psycopg.Error, match=message) as caught:
                ask(connection, **options)
            assert caught.value.sqlstate == "RG009"


def test_sql_refuses_what_is_not_right_often_enough(filled: Rag, connection: Connection) -> None:
    weak = {
        "features": ["words"], "answerable_weights": [0, 0], "right_weights": [-3, 1],
        "evidence_floor": -9, "thresholds": [0.0, 0.5], "answered": [200, 100],
        "correct": [100, 100], "question_count": 200, "answerable_count": 100,
        "refuse_below": 0.1, "answer_from": 0.5,
    }  # fmt: skip
    with answering(filled):
        plain = ask(connection, min_support=0.6)
        assert plain["found"] and "docs is not calibrated (rag-pg calibrate)" in plain["notes"][0]
        connection.execute("SELECT rag.put_calibration('docs', %s)", [json.dumps(weak)])
        hedged, refused = ask(connection), ask(connection, min_support=0.6)
    assert (hedged["found"], hedged["sufficient"]) == (True, False)
    assert hedged["support"] == pytest.approx(0.06, abs=0.01)
    assert (refused["found"], refused["sufficient"]) == (False, False)
    assert refused["reason"].endswith("its support is 0.06, needed is 0.50")


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stratgy": "single"}, 'a question has no option "stratgy"'),
        ({"llm": "gemini"}, 'a question has no option "llm"'),
        ({"strategy": 1}, "option strategy is 1"),
        ({"max_steps": 1.5}, "option max_steps is 1.5"),
        ({"history": {}}, "option history is {}"),
        ({"history": ["x" * 200_000]}, "the options have"),
    ],
)
def test_unknown_options_are_refused_before_a_worker_sees_them(
    filled: Rag, connection: Connection, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(psycopg.Error, match=message) as caught:
        ask(connection, **options)
    assert caught.value.sqlstate == "RG004"
    assert connection.execute("SELECT count(*) FROM rag.worker_calls").fetchone() == (0,)


@pytest.mark.parametrize(
    ("name", "value"),
    [("llm", "openai:gpt-4.1"), ("helper_llm", "openai:gpt-4.1"), ("rerank", "cross-encoder:/x")],
)
def test_a_role_that_writes_requests_itself_chooses_no_model_of_the_worker(
    filled: Rag, connection: Connection, name: str, value: str
) -> None:
    arguments = {**MINIMAL, "options": {name: value}}
    with pytest.raises(psycopg.Error, match=f"rag.ask has no option '{name}'"):
        answer_of(filled.worker().requests, connection, arguments)


def test_a_long_question_is_refused_before_a_model_sees_it(
    filled: Rag, connection: Connection
) -> None:
    arguments = {**MINIMAL, "question": "fish " * 20_001}
    with pytest.raises(psycopg.Error, match="the query has 100005 bytes; use at most 100000"):
        answer_of(filled.worker().requests, connection, arguments)


def test_an_answer_that_jsonb_cannot_store_is_cleaned_or_told(
    filled: Rag, connection: Connection
) -> None:
    requests = filled.worker().requests
    given: dict[str, Any] = {"text": "a\0b\ud800c", "score": float("nan"), "of": ("x\0",)}
    requests.answerers = {"ask": lambda collection, arguments: given}
    assert answer_of(requests, connection) == {"text": "abc", "score": None, "of": ["x"]}
    given["text"] = object()
    with pytest.raises(psycopg.Error, match="which JSON does not have"):
        answer_of(requests, connection)


def test_a_worker_keeps_a_collection_until_its_settings_change(
    filled: Rag, connection: Connection, embedder: HashEmbedder
) -> None:
    with answering(filled):
        ask(connection)
        known = filled._collections["docs"]
        embedder.seen.clear()
        ask(connection)
        assert filled._collections["docs"] is known
        space = filled.collection("docs").spaces.create("hash:64", activate=True)
        assert ask(connection)["found"]
        changed = filled._collections["docs"]
        assert changed is not known and changed.info.space_id == space.space_id
        filled.drop_collection("docs")
        filled.collection("docs", model="hash:32").add({"uri": "ant", "content": "Ants dig."})
        assert ask(connection, "What do ants dig?")["citations"][0]["uri"] == "ant"


def test_questions_are_embedded_while_answers_wait(filled: Rag, connection: Connection) -> None:
    door = Door()

    def answer(collection: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        door.wait()
        return {}

    def embed(collection: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"embedding": [1.0]}

    requests = RequestAnswerer(
        filled.database, {"ask": answer, "embed_query": embed}, name="w", collections=None
    )
    kinds = ["ask"] * (ANSWERS_AT_ONCE + 1) + ["embed_query"]
    ids = [
        connection.execute(
            "SELECT rag._add_request('docs', %s, %s::jsonb, 3600)", [kind, json.dumps(MINIMAL)]
        ).fetchone()
        for kind in kinds
    ]
    requests.start()
    try:
        door.wait_for_arrivals(ANSWERS_AT_ONCE)
        requests.wake()
        row: Any = (None,)
        while row == (None,):
            row = connection.execute("SELECT rag._read_answer(%s)", ids[-1]).fetchone() or row
        assert row == ({"embedding": [1.0]},) and not door.is_open
    finally:
        door.open()
        requests.close()


LEAVE = "SELECT rag.request_answer('docs', %s, options => %s::jsonb, timeout => %s)"


def leave(
    connection: Connection, question: str = QUESTION, *, timeout: float = 600, **options: Any
) -> Any:
    (key,) = connection.execute(LEAVE, [question, json.dumps(options), timeout]).fetchone() or (0,)
    return key


def read(connection: Connection, key: Any) -> dict[str, Any]:
    (state,) = connection.execute("SELECT rag.answer_of(%s)", [key]).fetchone() or ({},)
    return dict(state)


@pytest.mark.parametrize("through", [nullcontext, transaction_pooler])
def test_a_question_is_left_in_a_transaction_and_its_answer_read_as_often_as_wanted(
    filled: Rag, dsn: str, through: Callable[[str], AbstractContextManager[str]]
) -> None:
    requests = filled.worker().requests
    with through(dsn) as reached, psycopg.connect(reached, prepare_threshold=None) as web:
        key = leave(web)  # in a transaction: no procedure could
        assert read(web, key) == {"state": "pending"} and requests.answer() == 0
        web.commit()
        assert read(web, key) == {"state": "pending"} and requests.answer() == 1
        found = read(web, key)
        assert found["state"] == "done" and found.keys() == {"state", "answer"}
        assert set(found["answer"]) == {field.name for field in fields(Answer)}
        assert found["answer"]["text"] == filled.collection("docs").ask(QUESTION).text
        web.commit()
        web.execute("SET TRANSACTION READ ONLY")  # as PostgREST does for GET
        assert read(web, key) == found
        web.commit()
        gone = leave(web, "Never asked?")
        web.rollback()
        assert requests.answer() == 0
        with pytest.raises(psycopg.Error, match=f"there is no request {gone}") as caught:
            read(web, gone)
        assert caught.value.sqlstate == "RG002" and caught.value.diag.message_hint


def test_a_question_that_fails_says_why(filled: Rag, connection: Connection) -> None:
    requests = filled.worker().requests
    failing = leave(connection, strategy="os:system")
    assert requests.answer() == 1
    late, taken = leave(connection), leave(connection)
    connection.execute("UPDATE rag.worker_calls SET expires_at = now() - interval '30 minutes'")
    connection.execute(
        "UPDATE rag.worker_calls SET worker = 'w' WHERE arguments ->> 'answer_key' = %s",
        [str(taken)],
    )
    for key, message in (
        (failing, "could not answer: InvalidInput: there is no strategy 'os:system'"),
        (late, "no worker answered in time; start one: rag-pg worker"),
        (taken, "worker w took the request but did not answer in time"),
    ):
        found = read(connection, key)
        assert found["state"] == "failed" and message in found["error"]
    connection.execute("SELECT rag.maintain_step('leftovers')")
    assert read(connection, late)["state"] == "failed"  # it may be read for an hour
    connection.execute("UPDATE rag.worker_calls SET expires_at = now() - interval '61 minutes'")
    connection.execute("SELECT rag.maintain_step('leftovers')")
    assert connection.execute("SELECT count(*) FROM rag.worker_calls").fetchone() == (0,)
    with pytest.raises(psycopg.Error, match="there is no request"):
        read(connection, late)


@pytest.mark.parametrize(
    ("question", "options", "timeout", "message"),
    [
        (" ", {}, 60, "the question is empty"),
        ("x", {"llm": "gemini"}, 60, 'a question has no option "llm"'),
        ("x", {}, 0, "timeout 0 is out of range"),
        ("x", {}, 3601, "timeout 3601 is out of range"),
    ],
)
@pytest.mark.one_database
def test_what_cannot_be_asked_is_not_left(
    filled: Rag,
    connection: Connection,
    question: str,
    options: dict[str, Any],
    timeout: float,
    message: str,
) -> None:
    with pytest.raises(psycopg.Error, match=message) as caught:
        leave(connection, question, timeout=timeout, **options)
    assert caught.value.sqlstate == "RG004"
    with connection.transaction(), pytest.raises(psycopg.Error, match="leaves its question"):
        connection.execute("SET TRANSACTION READ ONLY")
        leave(connection)
    assert connection.execute("SELECT count(*) FROM rag.worker_calls").fetchone() == (0,)
