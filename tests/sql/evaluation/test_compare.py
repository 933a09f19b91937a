"""Comparisons of runs against the same tests written in numpy."""

from __future__ import annotations

import itertools
import json
import math
import random
from typing import Any

import numpy as np
import psycopg
import pytest
from rota import tries

Connection = psycopg.Connection[Any]


def permutation_p(connection: Connection, differences: list[float], count: int = 10000) -> float:
    row = connection.execute(
        "SELECT rag._randomisation_p(rag._subset_means(%s::double precision[], %s, 1))",
        [differences, count],
    ).fetchone()
    assert row is not None
    return float(row[0])


def enumerated_p(differences: list[float]) -> float:
    """Of all signs."""
    values = np.array(differences)
    signs = np.array(list(itertools.product([-1, 1], repeat=len(values))))
    return float(np.mean(np.abs(signs @ values) >= abs(values.sum()) - 1e-9))


@pytest.mark.one_database
@pytest.mark.parametrize("count", [1, 3, 8, 9, 12])
def test_few_differences_are_tested_by_all_signs(connection: Connection, count: int) -> None:
    chance = random.Random(count)
    differences = [round(chance.uniform(-1, 1.5), 3) for _ in range(count)]
    found = permutation_p(connection, [*differences, 0.0, 0.0])
    assert found == pytest.approx(enumerated_p(differences))


@pytest.mark.one_database
@pytest.mark.parametrize("one, other, allowed", [(0.8, 0.7, 0.1), (0.9, 0.6, 0.3)])
def test_what_rounding_leaves_of_a_loss_that_is_allowed_is_none(
    connection: Connection, one: float, other: float, allowed: float
) -> None:
    left = other - one + allowed
    assert left < 0
    assert permutation_p(connection, [left] * 30) == 1


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.05])
@pytest.mark.few(1)
def test_many_differences_are_tested_by_random_signs(connection: Connection, shift: float) -> None:
    generator = np.random.default_rng(7)
    values = np.round(generator.normal(shift, 0.3, 300), 4)
    signs = generator.choice([-1, 1], size=(20000, 300))
    wanted = np.mean(np.abs(signs @ values) >= abs(values.sum()))
    found = permutation_p(connection, values.tolist())
    assert found == pytest.approx(wanted, abs=4 * math.sqrt(wanted * (1 - wanted) / 10000) + 1e-3)
    assert found == permutation_p(connection, values.tolist())  # the generator is seeded


@pytest.mark.longer
def test_equal_settings_are_rarely_called_different(connection: Connection) -> None:
    generator = np.random.default_rng(3)
    found = [
        permutation_p(connection, generator.normal(0, 0.3, 60).tolist(), 500)
        for _ in range(tries(200, 60))
    ]
    # 10, or 3, are expected; more than these once in a hundred
    assert sum(p < 0.05 for p in found) <= tries(18, 7)


@pytest.mark.one_database
@pytest.mark.parametrize("count", [6, 9, 13])
def test_the_interval_is_that_of_all_subsets(connection: Connection, count: int) -> None:
    chance = random.Random(count)
    differences = [round(chance.uniform(-0.5, 1), 3) for _ in range(count)]
    subsets = [s for n in range(1, count + 1) for s in itertools.combinations(differences, n)]
    means = sorted(sum(one) / len(one) for one in subsets)
    for significance in (0.2, 0.05, 0.01):
        # the largest k of them below which at most a half of the significance lies
        below = math.ceil(significance * 2**count / 2) - 1
        wanted = (means[below - 1], means[-below]) if below else (None, None)
        row = connection.execute(
            """SELECT i.low, i.high FROM rag._randomisation_interval(
                   rag._subset_means(%s::double precision[], 8192, 1), %s) AS i""",
            [differences, significance],
        ).fetchone()
        assert row == pytest.approx(wanted), significance


def test_the_interval_of_many_is_near_that_of_the_bootstrap(connection: Connection) -> None:
    generator = np.random.default_rng(5)
    values = np.round(generator.normal(0.1, 0.4, 90), 6)
    values[:30] = 0
    means = generator.choice(values, size=(20000, 90)).mean(axis=1)
    row = connection.execute(
        """SELECT i.low, i.high FROM rag._randomisation_interval(
               rag._subset_means(%s::double precision[], 10000, 1), 0.05) AS i""",
        [values.tolist()],
    ).fetchone()
    assert row == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.015)


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "none"])
@pytest.mark.few(1)
def test_an_interval_never_contradicts_its_p_value(connection: Connection, correction: str) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    chance = random.Random(11)
    queries = [{"id": f"q{n}", "question": f"question {n}", "relevant": ["d"],
                "category": f"c{n % 4}"} for n in range(60)]  # fmt: skip
    connection.execute("SELECT rag.put_eval_queries('set', %s)", [json.dumps(queries)])
    seen = set()
    for effect in (0, 0.1, 0.2, 0.3, 0.4, 0.6):
        for asked in (5, 12, 60):
            runs = [
                connection.execute(
                    """INSERT INTO rag.eval_runs (set_id, collection, kind, corpus_fingerprint,
                           set_fingerprint, model, code_version, finished_at)
                       SELECT set_id, 'docs', 'search', 'c', 's', 'm', '1', now()
                       FROM rag.eval_sets RETURNING run_id"""
                ).fetchone()
                for _ in range(2)
            ]
            for side, run in enumerate(runs):
                assert run is not None
                ranks = [1 if chance.random() < 0.4 + side * effect else chance.randint(2, 20)
                         for _ in range(asked)]  # fmt: skip
                connection.execute(
                    """INSERT INTO rag.eval_results (run_id, query_id, category, unanswerable,
                           judgement_grades, judgement_ranks)
                       SELECT %s, 'q' || n, 'c' || n %% 4, false, '{1}', ARRAY[rank]
                       FROM unnest(%s::integer[]) WITH ORDINALITY AS x (rank, n)""",
                    [run[0], ranks],
                )
            rows = connection.execute(
                """SELECT category, p_value, adjusted_p_value, low, high, difference
                   FROM rag.compare_runs(%s, %s, '{ndcg,mrr,recall}', 3, 1000,
                       correction => %s)""",
                [runs[0][0], runs[1][0], correction],  # type: ignore[index]
            ).fetchall()
            for category, p, adjusted, low, high, difference in rows:
                excluded = (low is not None and low > 0) or (high is not None and high < 0)
                assert excluded == (adjusted < 0.05), (category, p, adjusted, low, high)
                assert (low is None or low <= difference) and (high is None or difference <= high)
                seen.add((category is None, excluded, low is None))
    assert {(True, True, False), (True, False, False), (False, False, True)} <= seen


def test_p_values_are_corrected_as_holm_and_bonferroni_say(connection: Connection) -> None:
    row = connection.execute(
        """SELECT rag._adjust_p_values('{0.01,0.04,0.03,0.005}'),
                  rag._adjust_p_values('{0.01,0.04,0.03,0.005}', 'bonferroni'),
                  rag._adjust_p_values('{0.01,0.9}', 'none')"""
    ).fetchone()
    assert row is not None
    assert row[0] == pytest.approx([0.03, 0.06, 0.06, 0.02])  # statsmodels, multipletests
    assert row[1] == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert row[2] == [0.01, 0.9]


@pytest.mark.one_database
@pytest.mark.parametrize("metrics", [["ndcg", "ndgc"], ["ndcg", None], [], None, ["judge"]])
def test_a_metric_that_there_is_none_of_is_no_empty_comparison(
    connection: Connection, metrics: list[str | None] | None
) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    connection.execute("""SELECT rag.put_eval_queries('set', '[{"question": "?"}]')""")
    connection.execute("SELECT rag.start_eval_run('set', 'docs')")
    wrong = metrics[-1] if metrics else None
    named = f"there is no metric {'NULL' if wrong is None else repr(wrong)}"
    with pytest.raises(psycopg.Error, match=named) as raised:
        connection.execute("SELECT * FROM rag.compare_runs(1, 1, %s::text[])", [metrics])
    assert raised.value.sqlstate == "RG004"
    for function in ("rag.compare_queries", "rag.test_regression"):
        with pytest.raises(psycopg.Error, match=named):
            connection.execute(f"SELECT * FROM {function}(1, 1, %s)".encode(), [wrong])


def test_runs_are_compared_by_question_and_by_category(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    for name in ("good", "bad"):
        connection.execute(
            "SELECT rag.put_chunks('docs', %s, %s)", [name, json.dumps([{"content": name}])]
        )
    ids: dict[str, int] = dict(
        connection.execute(
            """SELECT d.uri, c.chunk_id FROM rag.chunks AS c
               JOIN rag.documents AS d USING (collection_id, document_id)"""
        ).fetchall()
    )
    queries = [
        {"id": f"q{n:02}", "question": f"question {n}", "relevant": ["good"],
         "category": "rising" if n < 10 else "falling"}
        for n in range(20)
    ]  # fmt: skip
    connection.execute("SELECT rag.put_eval_queries('set', %s)", [json.dumps(queries)])
    for good in (range(10, 20), range(10)):
        (run,) = connection.execute("SELECT rag.start_eval_run('set', 'docs')").fetchone() or (0,)
        results = [
            {"query_id": f"q{n:02}", "hits": [{"chunk_id": ids["good" if n in good else "bad"]}]}
            for n in range(20)
        ]
        connection.execute("SELECT rag.put_eval_results(%s, %s)", [run, json.dumps(results)])
        with pytest.raises(psycopg.Error, match=f"run {run} is not finished"):
            connection.execute("SELECT rag.compare_runs(%s, %s)", [run, run])
        connection.execute("SELECT rag.finish_eval_run(%s)", [run])
    with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
        rows = cursor.execute("SELECT * FROM rag.compare_runs(1, 2, '{ndcg}')").fetchall()
        queries_found = cursor.execute("SELECT * FROM rag.compare_queries(1, 2, 'ndcg')").fetchall()
    assert [(r["category"], r["difference"], r["wins"], r["ties"], r["losses"]) for r in rows] == [
        (None, 0, 10, 0, 10), ("falling", -1, 0, 0, 10), ("rising", 1, 10, 0, 0),
    ]  # fmt: skip
    assert [r["p_value"] for r in rows] == pytest.approx([1, 2 / 1024, 2 / 1024], abs=1e-3)
    # one metric was asked for, and two categories are looked at
    assert [r["adjusted_p_value"] for r in rows] == pytest.approx([1, 4 / 1024, 4 / 1024], abs=1e-3)
    spread = np.std([1] * 10 + [-1] * 10, ddof=1)
    assert rows[0]["detectable"] == pytest.approx(2.80158 * spread / math.sqrt(20), rel=1e-4)
    assert [r["difference"] for r in queries_found] == [-1] * 10 + [1] * 10
    assert queries_found[0]["question"] == "question 10"
