"""Stored calibrations, their curve, and the exact bounds of a share."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from math import comb
from typing import Any

import psycopg
import pytest
from patience import BOUND, wait_until, waits

Connection = psycopg.Connection[Any]
FIELDS: dict[str, Any] = {
    "set_name": "faq",
    "features": ["similarity"],
    "answerable_weights": [-1, 2.5],
    "right_weights": [0, 1],
    "evidence_floor": 0.4,
    "thresholds": [0.2, 0.5, 0.8],
    "answered": [1000, 600, 200],
    "correct": [700, 540, 200],
    "question_count": 1000,
    "answerable_count": 800,
    "refuse_below": 0.2,
    "answer_from": 0.5,
}
JUDGED: dict[str, Any] = {
    **FIELDS,
    "features": ["similarity", "judgement"],
    "answerable_weights": [-1, 2.5, 3],
    "right_weights": [0, 1, 0],
    "correct": [700, 560, 200],
    "judge_model": "openai:small",
    "judge_version": "1",
}


@pytest.fixture
def docs(connection: Connection) -> Connection:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    return connection


def put(connection: Connection, **changed: Any) -> None:
    connection.execute("SELECT rag.put_calibration('docs', %s)", [json.dumps(FIELDS | changed)])


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("successes", "trials", "lower", "upper"),
    [(0, 10, 0, 0.3084971), (5, 10, 0.1870860, 0.8129140), (10, 10, 0.6915029, 1), (0, 0, 0, 1)],
)
def test_bounds_are_those_of_published_tables(
    connection: Connection, successes: int, trials: int, lower: float, upper: float
) -> None:
    found = connection.execute(
        "SELECT * FROM rag._clopper_pearson(%s, %s)", [successes, trials]
    ).fetchone()
    assert found == pytest.approx((lower, upper), abs=1e-6)


@pytest.mark.one_database
@pytest.mark.parametrize("trials", [1, 7, 60, 700])
def test_bounds_leave_half_of_the_error_in_each_tail(connection: Connection, trials: int) -> None:
    for successes in {1, trials // 3, trials - 1, trials} - {0}:
        lower, upper = connection.execute(
            "SELECT * FROM rag._clopper_pearson(%s, %s, 0.9)", [successes, trials]
        ).fetchone() or (0, 0)
        as_many = sum(_binomial(k, trials, lower) for k in range(successes, trials + 1))
        as_few = sum(_binomial(k, trials, upper) for k in range(successes + 1))
        assert as_many == pytest.approx(0.05, abs=1e-6)
        assert as_few == pytest.approx(1 if successes == trials else 0.05, abs=1e-6)


def _binomial(k: int, n: int, share: float) -> float:
    return float(comb(n, k)) * share**k * (1 - share) ** (n - k)


def test_what_is_no_share_is_refused(connection: Connection) -> None:
    for call in ("2, 1", "-1, 1", "NULL, 1", "1, 2, 1"):
        with pytest.raises(psycopg.Error, match="is no share") as caught:
            connection.execute(f"SELECT rag._clopper_pearson({call})".encode())
        assert caught.value.sqlstate == "RG001"


def test_curve_tells_coverage_accuracy_and_bounds(docs: Connection) -> None:
    put(docs)
    rows = docs.execute("SELECT * FROM rag.calibration_curve('docs')").fetchall()
    assert [row[:5] for row in rows] == [
        (0.2, 1000, 700, 1.0, 0.7),
        (0.5, 600, 540, 0.6, 0.9),
        (0.8, 200, 200, 0.2, 1.0),
    ]
    bounds = docs.execute("SELECT lower_bounds FROM rag.get_calibration('docs')").fetchone()
    assert bounds == ([row[5] for row in rows],)
    assert all(row[5] < row[4] <= row[6] for row in rows)


def test_a_calibration_of_another_space_is_stale(docs: Connection) -> None:
    put(docs)
    stale = "SELECT stale FROM rag.get_calibration('docs')"
    finding = "SELECT status, detail FROM rag.doctor() WHERE check_name = 'calibrations'"
    assert docs.execute(stale).fetchone() == (None,)
    assert docs.execute(finding).fetchone() == ("ok", "all that are stored hold")
    docs.execute("SELECT rag.set_fingerprint('docs', 'one')")
    put(docs)
    (space,) = docs.execute("SELECT rag.create_space('docs', 'other', 4)").fetchone() or (0,)
    docs.execute("SELECT rag.activate_space(%s, force => true)", [space])
    (told,) = docs.execute(stale).fetchone() or ("",)
    assert told == f"it was measured with space 1, and {space} is active"
    assert docs.execute(finding).fetchone() == ("warn", f"docs: {told}")


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"correct": [99, 99, 20]}, "with 99 right answers and 200 questions without one"),
        ({"answerable_count": 901}, "with 700 right answers and 99 questions without one"),
        ({"correct": [100, 99, 20], "answerable_count": 900}, None),
    ],
)
def test_a_calibration_of_too_few_questions_is_told_as_one_that_is_not_applied(
    docs: Connection, changed: dict[str, Any], told: str | None
) -> None:
    put(docs, **changed)
    (stale,) = docs.execute("SELECT stale FROM rag.get_calibration('docs')").fetchone() or ("",)
    found = docs.execute("SELECT status FROM rag.doctor() WHERE check_name = 'calibrations'")
    assert stale == (told and f"it was measured {told}, fewer than 100 of each")
    assert found.fetchone() == ("warn" if told else "ok",)


def test_storing_gives_the_collection_another_version(docs: Connection) -> None:
    version = "SELECT rag.collection_version('docs')"
    versions = [docs.execute(version).fetchone()]
    put(docs)
    versions.append(docs.execute(version).fetchone())
    docs.execute("SELECT rag.drop_calibration('docs')")
    versions.append(docs.execute(version).fetchone())
    assert len(set(versions)) == 3
    assert docs.execute("SELECT * FROM rag.get_calibration('docs')").fetchall() == []


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"right_weights": [1]}, "does not fit together"),
        ({"right_weights": [None, 1]}, "has nulls"),
        ({"correct": [1001, 1, 1]}, "more correct than answered"),
        ({"refuse_below": 1.6}, "does not fit together"),
        ({"evidence_floor": "x"}, "another type"),
        ({"evidence_floor": None}, "has no value"),
        ({"evidence_floor": "NaN"}, "or that are none"),
        ({"thresholds": [0.1]}, "does not fit together"),
        # a judgement without its model, a model without a judgement
        ({"judged": []}, "no JSON object"),
        ({"judged": FIELDS}, "calibrations_judgement"),
        ({"judged": JUDGED | {"judge_model": None}}, "calibrations_judgement"),
        ({"judged": JUDGED | {"right_weights": [1]}}, "does not fit together"),
        ({"judged": JUDGED | {"judge_model": "a\x1b[2J"}}, "no name of 1 to 200 characters"),
        ({"judged": JUDGED | {"judge_version": "1" * 201}}, "no name of 1 to 200 characters"),
        ({key: JUDGED[key] for key in ("judge_model", "judge_version")}, "calibrations_judgement"),
        ({key: value for key, value in JUDGED.items() if "judge" not in key}, "_judgement"),
    ],
)
def test_a_calibration_that_does_not_fit_together_is_refused(
    docs: Connection, changed: dict[str, Any], told: str
) -> None:
    with pytest.raises(psycopg.Error, match=told) as caught:
        put(docs, **changed)
    assert caught.value.sqlstate == "RG001"


def test_a_dropped_collection_leaves_no_calibration(docs: Connection) -> None:
    put(docs)
    docs.execute("SELECT rag.drop_collection('docs')")
    assert docs.execute("SELECT count(*) FROM rag.calibrations").fetchone() == (0,)


def test_what_is_measured_with_a_judgement_stands_beside_what_is_measured_without(
    docs: Connection,
) -> None:
    put(docs, judged=JUDGED)
    read = "SELECT features, judge_model, judge_version, correct FROM rag.get_calibration('docs')"
    assert docs.execute(read).fetchall() == [
        (["similarity"], None, None, [700, 540, 200]),
        (["similarity", "judgement"], "openai:small", "1", [700, 560, 200]),
    ]
    curve = "SELECT correct, lower_bound FROM rag.calibration_curve('docs', judged => %s)"
    (_, plain, _), (_, judged, _) = (docs.execute(curve, [of]).fetchall() for of in (False, True))
    assert (plain[0], judged[0]) == (540, 560) and plain[1] < judged[1]
    put(docs)  # in place of all that was stored
    assert docs.execute(read).fetchall() == [(["similarity"], None, None, [700, 540, 200])]
    put(docs, judged=JUDGED)
    docs.execute("SELECT rag.drop_calibration('docs')")
    assert docs.execute(read).fetchall() == []


def test_a_calibration_knows_the_documents_that_it_was_measured_on(docs: Connection) -> None:
    put(docs, judged=JUDGED)
    same = """SELECT bool_and(corpus_fingerprint = rag._corpus_fingerprint('docs'))
              FROM rag.get_calibration('docs')"""
    assert docs.execute(same).fetchone() == (True,)
    docs.execute("SELECT rag.put_document('docs', 'a', 'red fish')")
    assert docs.execute(same).fetchone() == (False,)


def test_two_calibrations_at_once_leave_one_of_them_whole(docs: Connection, dsn: str) -> None:
    with psycopg.connect(dsn) as first, ThreadPoolExecutor(1) as other:
        put(first, judged=JUDGED)
        waiting = other.submit(put, docs, set_name="other")
        with psycopg.connect(dsn, autocommit=True) as watching:
            wait_until(lambda: waits(watching, docs))
        first.commit()
        waiting.result(BOUND)
    found = docs.execute("SELECT set_name, judge_model FROM rag.get_calibration('docs')").fetchall()
    assert found == [("other", None)]
