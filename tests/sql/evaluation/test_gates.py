"""Gates: a loss is caught and told, equal settings pass, and changes are refused or recorded."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import psycopg
import pytest
from psycopg.types.json import Jsonb
from rota import tries

from rag_pg import Rag

Connection = psycopg.Connection[Any]
WORDS = ("anchor", "bridge", "candle", "dragon", "engine", "forest", "guitar", "hammer")


def two_runs(
    connection: Connection, ranks: list[tuple[int, int]], categories: list[str], name: str = "set"
) -> tuple[int, int]:
    """Two finished runs that found what is relevant to each question at these ranks."""
    connection.execute(
        """INSERT INTO rag.eval_sets (name) VALUES (%s) ON CONFLICT DO NOTHING""", [name]
    )
    runs: list[int] = []
    for side in (0, 1):
        row = connection.execute(
            """INSERT INTO rag.eval_runs (set_id, collection, kind, corpus_fingerprint,
                   set_fingerprint, model, code_version, finished_at)
               SELECT set_id, 'docs', 'search', 'c', 's', 'm', '1', now() FROM rag.eval_sets
               WHERE name = %s RETURNING run_id""",
            [name],
        ).fetchone()
        assert row is not None
        runs.append(row[0])
        connection.execute(
            """INSERT INTO rag.eval_results (run_id, query_id, category, unanswerable,
                   judgement_grades, judgement_ranks)
               SELECT %s, 'q' || n, category, false, '{1}', ARRAY[rank]
               FROM unnest(%s::integer[], %s::text[]) WITH ORDINALITY AS x (rank, category, n)""",
            [row[0], [pair[side] for pair in ranks], categories],
        )
    return runs[0], runs[1]


def regression(
    connection: Connection, runs: tuple[int, int], epsilon: float = 0
) -> dict[str | None, tuple[bool, float, float, float | None]]:
    rows = connection.execute(
        """SELECT category, passed, difference, p_value, detectable
           FROM rag.test_regression(%s, %s, 'ndcg', %s)""",
        [*runs, epsilon],
    )
    return {row[0]: (row[1], row[2], row[3], row[4]) for row in rows}


@pytest.mark.minutes
def test_a_planted_loss_of_three_points_is_caught(connection: Connection) -> None:
    generator = np.random.default_rng(5)
    before = generator.choice([1, 1, 1, 2, 3, 30], 300)
    # In 25 of 300 questions the first hit falls to the third rank and beyond.
    after = before.copy()
    first = np.flatnonzero(before == 1)
    after[first[:12]] = 3
    after[first[12:19]] = 40
    runs = two_runs(
        connection, [(int(a), int(b)) for a, b in zip(before, after, strict=True)], [""] * 300
    )
    passed, difference, p_value, detectable = regression(connection, runs)[None]
    assert not passed and -0.05 < difference < -0.03 and p_value < 0.001
    assert detectable is not None and detectable < 0.03
    assert regression(connection, runs, 0.05)[None][0]  # that much is allowed
    assert regression(connection, (runs[1], runs[0]))[None][0]  # a gain is no loss


@pytest.mark.longer
@pytest.mark.minutes
def test_equal_settings_rarely_fail(connection: Connection) -> None:
    generator = np.random.default_rng(11)
    failed = 0
    for repeat in range(repeats := tries(200, 60)):
        ranks = generator.choice([1, 1, 2, 3, 5, 30], (24, 2)).tolist()
        runs = two_runs(connection, ranks, ["a", "b", ""] * 8, f"s{repeat}")
        failed += not all(passed for passed, *_ in regression(connection, runs).values())
    assert failed <= repeats / 20  # 5 %, over all questions or in either category


def test_a_loss_in_one_category_is_caught_where_the_others_hide_it(connection: Connection) -> None:
    ranks = [(1, 4)] * 12 + [(4, 1)] * 14 + [(2, 2)] * 20
    runs = two_runs(connection, ranks, ["dates"] * 12 + ["names"] * 14 + ["other"] * 20)
    found = regression(connection, runs)
    assert {category: passed for category, (passed, *_) in found.items()} == {
        None: True,
        "dates": False,
        "names": True,
        "other": True,
    }


def test_few_questions_are_said_to_show_no_loss(connection: Connection) -> None:
    runs = two_runs(connection, [(1, 5)] * 4, [""] * 4)
    passed, difference, p_value, detectable = regression(connection, runs)[None]
    assert passed and difference < -0.5 and p_value == pytest.approx(1 / 16) and detectable is None


def begin(rag: Rag) -> None:
    """A collection of eight documents with a space that finds them by vector and another that finds
    others, and a gate on twelve questions whose words stand in no document."""
    with psycopg.connect(str(rag.dsn), autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('docs', 'good', 8, language => 'simple')")
        connection.execute("SELECT rag.set_fingerprint('docs', 'good/1')")
        for number, word in enumerate(WORDS):
            connection.execute(
                "SELECT rag.put_chunks('docs', %s, %s)",
                [word, Jsonb([{"content": word, "embedding": one_hot(number)}])],
            )
        connection.execute(
            "SELECT rag.put_eval_queries('faq', %s)",
            [Jsonb([{"id": f"q{n}", "question": f"zz{n}", "relevant": [WORDS[n % 8]],
                     "category": "even" if n % 2 == 0 else "odd"} for n in range(24)])],
        )  # fmt: skip
        put_vectors(connection, "good/1", range(24))
        connection.execute("SELECT rag.set_gate('docs', 'faq')")


@pytest.fixture
def gated(connection: Connection) -> Connection:
    return connection


def one_hot(number: int) -> list[float]:
    return [1.0 if n == number % 8 else 0.1 for n in range(8)]


def put_vectors(connection: Connection, fingerprint: str, numbers: Any) -> None:
    connection.execute(
        "SELECT rag.put_eval_embeddings('faq', %s, %s, %s::halfvec[])",
        [fingerprint, [f"q{n}" for n in range(24)], [str(one_hot(n)) for n in numbers]],
    )


def second_space(connection: Connection, shift: int) -> int:
    """A space whose document vectors are those of documents `shift` further on."""
    row = connection.execute("SELECT rag.create_space('docs', 'other', 8)").fetchone()
    assert row is not None
    connection.execute("SELECT rag.set_fingerprint('docs', 'other/1', %s)", [row[0]])
    for number, word in enumerate(WORDS):
        connection.execute(
            """INSERT INTO rag.embeddings (space_id, chunk_id, embedding)
               SELECT %s, c.chunk_id, %s::halfvec FROM rag.chunks AS c WHERE c.content = %s""",
            [row[0], str(one_hot(number + shift)), word],
        )
    return int(row[0])


def test_a_worse_space_is_refused_with_the_questions_that_lost(gated: Connection) -> None:
    space = second_space(gated, 4)
    put_vectors(gated, "other/1", range(24))
    with pytest.raises(psycopg.Error) as error, gated.transaction():
        gated.execute("SELECT rag.activate_space(%s)", [space])
    assert error.value.sqlstate == "RG010"
    message = str(error.value.diag.message_primary)
    assert "ndcg@10 of set 'faq' falls by" in message and "from 1.0000 to" in message
    assert "in category 'even'" in message and "q15 (-" in message
    assert "force => true" in str(error.value.diag.message_hint)
    told = json.loads(str(error.value.diag.message_detail))
    assert told["change"] == f"activate_space {space} (model other)"
    assert {one["category"] for one in told["checks"]} == {None, "even", "odd"}
    assert gated.execute("SELECT count(*) FROM rag.gate_checks").fetchone() == (0,)
    assert active(gated) == "good"
    gated.execute("SELECT rag.activate_space(%s, force => true)", [space])
    assert active(gated) == "other"
    row = gated.execute(
        "SELECT outcome, action, checked_by = session_user FROM rag.list_gate_checks('docs')"
    ).fetchone()
    assert row == ("forced", f"activate_space {space} (model other)", True)
    gated.execute("SELECT rag.rollback_space('docs')")  # what was searched before is not measured
    assert active(gated) == "good"


@pytest.mark.one_database
@pytest.mark.parametrize(
    "options", ['{"vector_weight": -1}', '{"candidate_limit": 1}', '{"fusion": "best"}', "[]"]
)
def test_a_gate_takes_no_options_that_no_search_has(gated: Connection, options: str) -> None:
    with pytest.raises(psycopg.Error) as error, gated.transaction():
        gated.execute("SELECT rag.set_gate('docs', 'faq', options => %s)", [options])
    assert error.value.sqlstate == "RG004"


def active(connection: Connection) -> str:
    row = connection.execute("SELECT model FROM rag.space_settings('docs')").fetchone()
    assert row is not None
    return str(row[0])


def test_a_space_as_good_is_activated_and_recorded(gated: Connection) -> None:
    space = second_space(gated, 0)
    with pytest.raises(psycopg.Error, match="24 of 24 questions") as error, gated.transaction():
        gated.execute("SELECT rag.activate_space(%s)", [space])
    assert error.value.sqlstate == "RG007"
    assert "rag-pg eval run faq docs --keep-vectors --space" in str(error.value.diag.message_hint)
    put_vectors(gated, "other/1", range(24))
    gated.execute("SELECT rag.activate_space(%s)", [space])
    assert active(gated) == "other"
    row = gated.execute("SELECT outcome, details FROM rag.list_gate_checks('docs')").fetchone()
    assert row is not None and row[0] == "passed"
    assert [one["difference"] for one in row[1]] == [0, 0, 0]


def test_another_chunking_needs_a_run_on_a_copy_that_is_cut_so(gated: Connection) -> None:
    wanted = '{"max_tokens": 99}'
    with pytest.raises(psycopg.Error, match="is not measured") as error, gated.transaction():
        gated.execute("SELECT rag.set_chunking('docs', %s)", [wanted])
    assert error.value.sqlstate == "RG007"
    gated.execute(
        "SELECT rag.create_collection('copy', 'good', 8, language => 'simple', chunking => %s)",
        [wanted],
    )
    gated.execute("SELECT rag.set_fingerprint('copy', 'good/1')")
    for number, word in enumerate(WORDS):
        gated.execute(
            "SELECT rag.put_chunks('copy', %s, %s)",
            [word, Jsonb([{"content": word, "embedding": one_hot(number)}])],
        )
    gated.execute("SELECT rag.evaluate_search('faq', 'copy')")
    gated.execute("SELECT rag.drop_collection('copy')")
    gated.execute("SELECT rag.set_chunking('docs', %s)", [wanted])
    gated.execute("SELECT rag.set_chunking('docs', '{}', force => true)")
    rows = gated.execute("SELECT outcome FROM rag.list_gate_checks('docs')").fetchall()
    assert rows == [("forced",), ("passed",)]


def test_a_run_is_tested_against_the_baseline_of_the_same_documents(gated: Connection) -> None:
    first, second = (
        gated.execute(
            "SELECT rag.evaluate_search('faq', 'docs', 10, '{}', %s)", [options]
        ).fetchone()[0]  # type: ignore[index]
        for options in ("{}", '{"vector_weight": 0}')
    )
    with pytest.raises(psycopg.Error, match="no baseline"), gated.transaction():
        gated.execute("SELECT * FROM rag.check_gates(%s)", [second])
    gated.execute("SELECT rag.set_eval_baseline(%s)", [first])
    rows = gated.execute(
        "SELECT category, passed, value_b, worst FROM rag.check_gates(%s)", [second]
    ).fetchall()
    assert [row[:3] for row in rows] == [(None, False, 0), ("even", False, 0), ("odd", False, 0)]
    assert rows[0][3][0] == {"query_id": "q0", "question": "zz0", "difference": -1}
    gated.execute(
        "SELECT rag.put_chunks('docs', 'new', %s)",
        [Jsonb([{"content": "ivory", "embedding": one_hot(1)}])],
    )
    row = gated.execute("SELECT rag.evaluate_search('faq', 'docs')").fetchone()
    assert row is not None
    with pytest.raises(psycopg.Error, match="are of different documents") as error:
        gated.execute("SELECT * FROM rag.check_gates(%s)", [row[0]])
    assert error.value.sqlstate == "RG007"


def test_a_gate_whose_metric_no_question_has_passes_nothing(gated: Connection) -> None:
    space = second_space(gated, 0)
    put_vectors(gated, "other/1", range(24))
    gated.execute("SELECT rag.set_gate('docs', 'faq', 'assertion_pass_rate')")
    for call in ("rag.activate_space(%s)", "rag.check_gates(%s)"):
        number = space
        if "check" in call:
            number = run_set(gated)
            gated.execute("SELECT rag.set_eval_baseline(%s)", [number])
        told = "no question has assertion_pass_rate of set 'faq'"
        with pytest.raises(psycopg.Error, match=told) as error, gated.transaction():
            gated.execute(f"SELECT {call}", [number])
        assert error.value.sqlstate == "RG007"
    assert active(gated) == "good"
    assert gated.execute("SELECT count(*) FROM rag.gate_checks").fetchone() == (0,)


def run_set(connection: Connection) -> int:
    row = connection.execute("SELECT rag.evaluate_search('faq', 'docs')").fetchone()
    assert row is not None
    return int(row[0])


def test_a_gate_of_answers_tests_runs_of_answers_and_refuses_no_change(gated: Connection) -> None:
    gated.execute("SELECT rag.drop_gate('docs', 'faq')")
    gated.execute("SELECT rag.set_gate('docs', 'faq', 'abstention')")
    assert gated.execute("SELECT kind FROM rag.list_gates('docs')").fetchone() == ("ask",)
    gated.execute("SELECT rag.activate_space(%s)", [second_space(gated, 4)])
    gated.execute("SELECT rag.set_chunking('docs', '{\"max_tokens\": 99}')")
    gated.execute("SELECT rag.alter_collection('docs', ef_search => 9)")
    assert gated.execute("SELECT count(*) FROM rag.gate_checks").fetchone() == (0,)
    with pytest.raises(psycopg.Error, match="no gate on set 'faq' for runs of kind search"):
        run = run_set(gated)
        gated.execute("SELECT rag.check_gates(%s, %s)", [run, run])
    runs = []
    for answered in (True, False):
        row = gated.execute("SELECT rag.start_eval_run('faq', 'docs', 'ask')").fetchone()
        assert row is not None
        runs.append(row[0])
        results = [{"query_id": f"q{n}", "answered": answered} for n in range(24)]
        gated.execute("SELECT rag.put_eval_results(%s, %s)", [row[0], Jsonb(results)])
        gated.execute("SELECT rag.finish_eval_run(%s)", [row[0]])
    checked = "SELECT category, difference, passed FROM rag.check_gates(%s, %s)"
    assert gated.execute(checked, [runs[1], runs[0]]).fetchall() == [
        (None, -1, False), ("even", -1, False), ("odd", -1, False)
    ]  # fmt: skip
    assert all(row[2] for row in gated.execute(checked, [runs[0], runs[1]]).fetchall())


def test_a_refusal_names_no_question_that_was_removed_meanwhile(gated: Connection) -> None:
    checks = [
        {"set": "faq", "n": number, "worst": [{"query_id": query, "question": "a canary"}]}
        for number, query in enumerate(("q1", "gone"))
    ]
    gated.execute("SELECT rag._record_refused_change('docs', 'a change', %s)", [Jsonb(checks)])
    row = gated.execute("SELECT outcome, details FROM rag.list_gate_checks('docs')").fetchone()
    assert row == ("refused", [checks[0], {"set": "faq", "n": 1}])


def measured_run(connection: Connection) -> int:
    row = connection.execute(
        "SELECT rag._measure_gate(1, g) FROM rag.gates AS g WHERE g.metric = 'ndcg'"
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_a_gate_takes_a_run_only_of_the_collection_as_it_is(gated: Connection) -> None:
    run = run_set(gated)
    assert measured_run(gated) == run
    gated.execute("UPDATE rag.spaces SET ef_search = 7")
    after = measured_run(gated)
    assert after > run
    assert measured_run(gated) == after
    gated.execute("UPDATE rag.eval_results SET error = 'x' WHERE run_id = %s", [after])
    again = measured_run(gated)
    assert again == after + 1
    wanted = '{"max_tokens": 99}'
    gated.execute("UPDATE rag.eval_runs SET chunking = %s WHERE run_id = %s", [wanted, after])
    with pytest.raises(psycopg.Error, match="is not measured"):
        gated.execute("SELECT rag.set_chunking('docs', %s)", [wanted])


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("rag.set_gate('docs', 'faq', 'latency_p50')", "RG001"),
        ("rag.set_gate('docs', 'faq', 'answer_f1', options => '{\"fusion\": \"rrf\"}')", "RG001"),
        ("rag.set_gate('docs', 'faq', 'seconds')", "RG001"),
        ("rag.set_gate('docs', 'faq', 'ndcg', -0.1)", "RG004"),
        ("rag.set_gate('docs', 'faq', 'ndcg', 'NaN')", "RG004"),
        ("rag.set_gate('docs', 'faq', 'ndcg', 0.1, NULL)", "RG004"),
        ("rag.set_gate('docs', 'other')", "RG002"),
        ("rag.set_gate('docs', 'faq', options => '{\"no\": 1}')", "RG004"),
        ("rag.test_regression(1, 999999)", "RG002"),
        ("rag.drop_eval_set('faq')", "RG007"),
    ],
)
def test_wrong_gates_are_told(gated: Connection, call: str, code: str) -> None:
    with pytest.raises(psycopg.Error) as error:
        gated.execute(f"SELECT {call}")
    assert error.value.sqlstate == code, error.value


def test_a_gate_goes_with_its_collection(gated: Connection) -> None:
    assert gated.execute("SELECT queries FROM rag.list_gates('docs')").fetchone() == (24,)
    gated.execute("SELECT rag.drop_collection('docs')")
    assert gated.execute("SELECT count(*) FROM rag.gates").fetchone() == (0,)
    gated.execute("SELECT rag.drop_eval_set('faq')")


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("change", "checks"),
    [(None, "[]"), ("", "[]"), ("x" * 10001, "[]"), ("x", None), ("x", "{}"), ("x", "[1]")],
)
def test_what_no_gate_said_is_not_recorded(
    gated: Connection, change: str | None, checks: str | None
) -> None:
    with pytest.raises(psycopg.Error) as error, gated.transaction():
        gated.execute("SELECT rag._record_refused_change('docs', %s, %s)", [change, checks])
    assert error.value.sqlstate == "RG001"
