"""What a run lost counts as 0: in comparisons, gates and baselines, of searches and of answers."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from rag_pg import Rag

Connection = psycopg.Connection[Any]
Row = dict[str, Any]

STATES = ("right", "wrong", "refused", "failed", "failed late", "not asked")
METRICS = ("ndcg", "answer_f1", "abstention", "citation_recall", "assertion_pass_rate", "seconds")
ANSWERS = {"answer_f1", "abstention", "citation_recall"}


def result(state: str, kind: str, chunk: int) -> Row | None:
    """What a run records of a question whose document has that chunk."""
    if state == "not asked":
        return None
    if state == "failed":
        return {"error": "503 the provider is down"}
    found: Row = {"hits": [{"chunk_id": chunk, "score": 1}] if state != "wrong" else []}
    if state == "failed late":  # found, and nothing was written
        return {**found, "error": "503 the provider is down", "seconds": 2}
    if kind == "ask":
        found |= {"answer": "yes" if state == "right" else "no", "answered": state != "refused"}
        if state != "refused":
            found |= {"statements": 2, "supported_statements": 2 if state == "right" else 1}
    return {**found, "seconds": 1}


def value(state: str, kind: str, metric: str) -> float | None:
    """The metric by its definition; None where the run has it not."""
    if metric == "seconds":
        return {"not asked": None, "failed": None, "failed late": 2}.get(state, 1)
    if state == "not asked" or (metric in ANSWERS and kind == "search"):
        return None
    if state.startswith("failed"):
        return None if metric == "citation_recall" else 0
    if metric == "ndcg":
        return 0 if state == "wrong" else 1
    if metric == "citation_recall":
        return {"right": 1, "wrong": 0.5}.get(state)
    if metric == "abstention":
        return 0 if state == "refused" else 1
    if metric == "answer_f1":
        return 1 if state == "right" else 0
    return 0 if state == "wrong" else 1  # the best hit reaches the score that is expected


def paired(states: Sequence[str], kinds: Sequence[str], metric: str) -> list[float] | None:
    """Both values of a question that either run has the metric of; None: it is left out."""
    values = [value(s, k, metric) for s, k in zip(states, kinds, strict=True)]
    if values == [None, None]:
        return None
    for kind, found in zip(kinds, values, strict=True):
        if found is None and (metric == "seconds" or (metric in ANSWERS and kind == "search")):
            return None
    return [0 if found is None else found for found in values]


def begin(rag: Rag) -> None:
    """A collection docs of 36 documents, and a set of a question to each."""
    with psycopg.connect(str(rag.dsn), autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
        for n in range(36):
            connection.execute(
                "SELECT rag.put_chunks('docs', %s, %s)",
                [f"d{n:02}", Jsonb([{"content": f"text {n}"}])],
            )
        queries = [
            {"id": f"q{n:02}", "question": f"question {n}", "relevant": [f"d{n:02}"],
             "min_score": 0.5, "answers": ["yes"], "category": "even" if n % 2 == 0 else "odd"}
            for n in range(36)
        ]  # fmt: skip
        connection.execute("SELECT rag.put_eval_queries('set', %s)", [Jsonb(queries)])


@pytest.fixture
def chunks(connection: Connection) -> list[int]:
    """The chunks by the uri of their documents."""
    rows = connection.execute(
        """SELECT c.chunk_id FROM rag.chunks AS c
           JOIN rag.documents AS d USING (collection_id, document_id) ORDER BY d.uri"""
    )
    return [chunk for (chunk,) in rows]


def run(
    connection: Connection,
    chunks: list[int],
    kind: str,
    states: list[str],
    settings: dict[str, str] | None = None,
) -> int:
    (number,) = connection.execute(
        "SELECT rag.start_eval_run('set', 'docs', %s, %s)", [kind, Jsonb(settings or {})]
    ).fetchone() or (0,)
    found = [
        {**one, "query_id": f"q{n:02}"}
        for n, state in enumerate(states)
        if (one := result(state, kind, chunks[n])) is not None
    ]
    connection.execute("SELECT rag.put_eval_results(%s, %s)", [number, Jsonb(found)])
    connection.execute("SELECT rag.finish_eval_run(%s)", [number])
    return int(number)


@pytest.mark.parametrize("kinds", [("search", "search"), ("ask", "ask"), ("search", "ask")])
@pytest.mark.few(1)
def test_every_pair_of_states_counts_as_its_definition_says(
    connection: Connection, chunks: list[int], kinds: tuple[str, str]
) -> None:
    pairs = list(itertools.product(STATES, repeat=2))
    random.Random(7).shuffle(pairs)
    numbers = [
        run(connection, chunks, kind, [pair[side] for pair in pairs])
        for side, kind in enumerate(kinds)
    ]
    reached = Counter[str]()
    for metric in METRICS:
        wanted = {
            f"q{n:02}": both
            for n, pair in enumerate(pairs)
            if (both := paired(pair, kinds, metric)) is not None
        }
        rows = connection.execute(
            """SELECT query_id, value_a, value_b, missing_a IS NOT NULL, missing_b IS NOT NULL
               FROM rag.compare_queries(%s, %s, %s)""",
            [*numbers, metric],
        ).fetchall()
        assert {row[0]: pytest.approx(row[1:3]) for row in rows} == wanted, metric
        reached[metric] += len(rows)
        for query, _, _, *missing in rows:
            states = pairs[int(query[1:])]
            for state, is_missing, kind in zip(states, missing, kinds, strict=True):
                lost = value(state, kind, metric) is None or state.startswith("failed")
                assert is_missing == (lost and metric != "seconds"), (metric, states)
        whole = connection.execute(
            """SELECT queries, value_a, value_b FROM rag.compare_runs(%s, %s, ARRAY[%s])
               WHERE category IS NULL""",
            [*numbers, metric],
        ).fetchone()
        if not wanted:
            assert whole is None
            continue
        means = [sum(both[side] for both in wanted.values()) / len(wanted) for side in (0, 1)]
        assert whole == pytest.approx((len(wanted), *means)), metric
    both_answer = kinds == ("ask", "ask")
    assert {m for m in METRICS if reached[m]} == {m for m in METRICS
                                                  if both_answer or m not in ANSWERS}  # fmt: skip


@pytest.mark.parametrize("kind", ["search", "ask"])
@pytest.mark.parametrize("state", ["failed", "failed late"])
@pytest.mark.few(2)
def test_a_gate_fails_where_the_questions_failed(
    connection: Connection, chunks: list[int], kind: str, state: str
) -> None:
    metrics = ["ndcg", *(["answer_f1", "abstention", "citation_recall"] if kind == "ask" else [])]
    for metric in metrics:
        connection.execute("SELECT rag.set_gate('docs', 'set', %s)", [metric])
    base = run(connection, chunks, kind, ["right"] * 36)
    connection.execute("SELECT rag.set_eval_baseline(%s)", [base])
    down = run(connection, chunks, kind, ["right"] * 12 + [state] * 24)
    rows = connection.execute(
        "SELECT metric, passed, worst FROM rag.check_gates(%s) WHERE category IS NULL", [down]
    ).fetchall()
    assert {metric: passed for metric, passed, _ in rows} == dict.fromkeys(metrics, False)
    assert {one["missing"] for row in rows for one in row[2]} == {"503 the provider is down"}


@pytest.mark.parametrize("kind", ["search", "ask"])
@pytest.mark.parametrize("failed", [1, 5])
@pytest.mark.few(2)
def test_no_gate_passes_while_questions_failed(
    connection: Connection, chunks: list[int], kind: str, failed: int
) -> None:
    connection.execute("SELECT rag.set_gate('docs', 'set')")
    base = run(connection, chunks, kind, ["right"] * 36)
    connection.execute("SELECT rag.set_eval_baseline(%s)", [base])
    down = run(connection, chunks, kind, ["right"] * (36 - failed) + ["failed"] * failed)
    told = f"run {down} failed on {failed} of 36 questions: .*q35: 503 the provider is down"
    with pytest.raises(psycopg.Error, match=told) as error:
        connection.execute("SELECT * FROM rag.check_gates(%s)", [down])
    assert error.value.sqlstate == "RG007"


def test_no_run_is_tested_against_itself(connection: Connection, chunks: list[int]) -> None:
    connection.execute("SELECT rag.set_gate('docs', 'set')")
    base = run(connection, chunks, "search", ["right"] * 36)
    connection.execute("SELECT rag.set_eval_baseline(%s)", [base])
    for given in ("%s", "%s, %s"):
        with pytest.raises(psycopg.Error, match=f"run {base} is the baseline itself") as error:
            connection.execute(f"SELECT rag.check_gates({given})", [base] * (given.count("%")))
        assert error.value.sqlstate == "RG007"


def test_a_run_that_was_interrupted_is_refused_by_name(
    connection: Connection, chunks: list[int]
) -> None:
    connection.execute("SELECT rag.set_gate('docs', 'set')")
    base = run(connection, chunks, "search", ["right"] * 36)
    connection.execute("SELECT rag.set_eval_baseline(%s)", [base])
    part = run(connection, chunks, "search", ["right"] * 30 + ["not asked"] * 6)
    with pytest.raises(psycopg.Error, match=r"no result of 6 of 36 questions: q30, q31") as error:
        connection.execute("SELECT * FROM rag.check_gates(%s)", [part])
    assert error.value.sqlstate == "RG007"
    (notes,) = connection.execute(
        "SELECT notes FROM rag.eval_runs WHERE run_id = %s", [part]
    ).fetchone() or (None,)
    assert notes == ["6 questions of the set were not asked"]
    metrics = connection.execute(
        "SELECT value FROM rag.eval_metrics(%s) WHERE metric = 'not_asked'", [part]
    ).fetchall()
    assert metrics == [(6,)]


@pytest.mark.parametrize(
    ("states", "told"),
    [(["right"] * 35 + ["not asked"], "has no result of 1 of 36 questions: q35"),
     (["failed"] + ["right"] * 35, "failed on 1 of 36 questions: q00: 503 the provider is down")],
)  # fmt: skip
def test_no_baseline_is_made_of_a_run_that_lost_questions(
    connection: Connection, chunks: list[int], states: list[str], told: str
) -> None:
    number = run(connection, chunks, "search", states)
    with pytest.raises(psycopg.Error, match=told) as error:
        connection.execute("SELECT rag.set_eval_baseline(%s)", [number])
    assert error.value.sqlstate == "RG007"
    connection.execute("SELECT rag.set_eval_baseline(%s, false)", [number])
    with pytest.raises(psycopg.Error, match=told):
        connection.execute("SELECT rag.set_gate('docs', 'set')")
        whole = run(connection, chunks, "search", ["right"] * 36)
        connection.execute("SELECT * FROM rag.check_gates(%s, %s)", [whole, number])


def test_a_run_that_lost_questions_is_not_reused(connection: Connection, chunks: list[int]) -> None:
    whole = run(connection, chunks, "search", ["right"] * 36)
    part = run(connection, chunks, "search", ["right"] * 35 + ["not asked"])
    connection.execute("UPDATE rag.eval_runs SET notes = '{}' WHERE run_id = %s", [part])
    rows = connection.execute("SELECT run_id FROM rag._equal_runs('set', 'docs')").fetchall()
    assert rows == [(whole,)]


def test_an_imported_ranking_lacks_questions_of_passages_alone(
    connection: Connection, chunks: list[int]
) -> None:
    passage = [{"id": "q00", "question": "q", "relevant": [{"uri": "d00", "quote": "text 0"}]}]
    connection.execute("SELECT rag.put_eval_queries('set', %s)", [Jsonb(passage)])
    for states, told in (
        (["not asked"] + ["right"] * 35, None),
        (["right"] * 35 + ["not asked"], "no result of 1 of 36 questions: q35"),
    ):
        number = run(connection, chunks, "search", states, {"imported": "tag"})
        if told is None:
            connection.execute("SELECT rag.set_eval_baseline(%s)", [number])
            continue
        with pytest.raises(psycopg.Error, match=told):
            connection.execute("SELECT rag.set_eval_baseline(%s)", [number])


def test_questions_that_were_put_in_between_are_no_loss(
    connection: Connection, chunks: list[int]
) -> None:
    before = run(connection, chunks, "search", ["right"] * 36)
    new = '[{"id": "zz", "question": "new", "relevant": ["d00"]}]'
    connection.execute("SELECT rag.put_eval_queries('set', %s)", [new])
    after = run(connection, chunks, "search", ["wrong"] * 36)
    connection.execute(
        "SELECT rag.put_eval_results(%s, %s)", [after, Jsonb([{"query_id": "zz", "hits": []}])]
    )
    rows = connection.execute(
        "SELECT queries, value_a, value_b FROM rag.compare_runs(%s, %s, '{ndcg}')"
        " WHERE category IS NULL",
        [before, after],
    ).fetchall()
    assert rows == [(36, 1, 0)]


def test_a_question_that_cannot_be_asked_stops_no_other(
    connection: Connection, chunks: list[int]
) -> None:
    blank = "UPDATE rag.eval_queries SET question = E' \\n' WHERE query_id < %s"
    asked = "SELECT rag.evaluate_search('set', 'docs', options => '{\"vector_weight\": 0}')"
    connection.execute(blank, ["q02"])
    (number,) = connection.execute(asked).fetchone() or (0,)
    rows = connection.execute(
        "SELECT query_id, error FROM rag.eval_results WHERE run_id = %s ORDER BY 1", [number]
    ).fetchall()
    assert len(rows) == 36 and dict(rows[:3]) == {
        "q00": "the query is empty", "q01": "the query is empty", "q02": None
    }  # fmt: skip
    connection.execute(blank, ["q99"])
    with pytest.raises(psycopg.Error, match="the query is empty"):
        connection.execute(asked)
