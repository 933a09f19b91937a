"""rag._auto_weight against the formula in plain Python."""

from __future__ import annotations

from typing import Any

import fusion_oracle
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

COSINES = st.dictionaries(st.integers(1, 30), st.floats(-1, 1), max_size=30)
WORDS = st.dictionaries(st.integers(1, 30), st.floats(0.001, 50), max_size=30)
WEIGHTS = st.tuples(st.floats(0.01, 10), st.floats(0.01, 10))

AUTO = """
    SELECT rag._auto_weight(
        (SELECT max(v.x) - avg(v.x) FROM (SELECT x FROM unnest(%(cosines)s::float8[]) AS u (x)
                                          ORDER BY x DESC LIMIT 10) AS v),
        (SELECT 1 - avg(v.x) / nullif(max(v.x), 0)
            FROM (SELECT x FROM unnest(%(words)s::float8[]) AS u (x)
                  ORDER BY x DESC LIMIT 10) AS v),
        %(vector_weight)s, %(keyword_weight)s)"""


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cosines=COSINES, words=WORDS, weights=WEIGHTS)
def test_auto_weight_is_the_oracles(
    connection: psycopg.Connection[Any],
    cosines: dict[int, float],
    words: dict[int, float],
    weights: tuple[float, float],
) -> None:
    candidates = cosines.keys() | words.keys()
    found = connection.execute(
        AUTO,
        {
            "cosines": list(cosines.values()),
            "words": [words.get(i, 0.0) for i in candidates],
            "vector_weight": weights[0],
            "keyword_weight": weights[1],
        },
    ).fetchone()
    assert found is not None
    assert found[0] == pytest.approx(fusion_oracle.auto_weight(cosines, words, weights), abs=1e-9)


def test_a_leg_without_a_lead_has_no_say(connection: psycopg.Connection[Any]) -> None:
    ask = "SELECT rag._auto_weight(%s, %s)"
    shares = [
        connection.execute(ask, leads).fetchone()
        for leads in ((0.2, None), (None, 0.5), (None, None), (0.0, 0.5), (-1e-17, 0.0))
    ]
    assert shares == [(1,), (0,), (1,), (0,), (0,)]


def test_the_leg_that_stands_out_more_gets_more_say(connection: psycopg.Connection[Any]) -> None:
    rows = connection.execute(
        """SELECT rag._auto_weight(0.1, 0.5) < rag._auto_weight(0.2, 0.5),
                  rag._auto_weight(0.1, 0.5) > rag._auto_weight(0.1, 0.7),
                  rag._auto_weight(0.1, 0.8), rag._auto_weight(0.1, 0.8, 3, 1)"""
    ).fetchall()
    assert rows == [(True, True, pytest.approx(0.5), pytest.approx(0.75))]
