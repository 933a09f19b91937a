"""Random filters through every function that takes one, compared with the filter language's oracle.

tests/sql/filter/test_filter.py compares the compiled condition on rows;
here are documents, searches and counts.
"""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import psycopg
import pytest
from filter_oracle import matches
from fuzzing import fuzz
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from random_filters import DECLARED, Json, filters, metadata

CALLS = (
    "rag.search_keyword('{0}', 'common', 1000, %s)",
    "rag.search_vector('{0}', '[1, 1]', 1000, %s)",
    "rag.search_vector('{0}', '[1, 1]', 1000, %s, exact_below => 0)",
    "rag.search('{0}', 'common', '[1, 1]', 1000, %s, duplicates => true)",
    "rag.select_documents('{0}', %s, result_limit => 1000)",
)


def fill(connection: psycopg.Connection[Any], name: str, rows: list[Json], declared: bool) -> None:
    connection.execute("SELECT rag.create_collection(%s, 'none', 2)", [name])
    for number, row in enumerate(rows):
        chunk = {"content": f"common w{number % 7}", "embedding": [1, number]}
        connection.execute(
            "SELECT rag.put_chunks(%s, %s, %s, metadata => %s)",
            [name, str(number), json.dumps([chunk]), json.dumps(row)],
        )
    if declared:
        for field, kind in DECLARED.items():
            connection.execute("SELECT rag.index_field(%s, %s, %s)", [name, field, kind])
        connection.execute("CALL rag.maintain()")


def examples(seed: int, strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """The values that a strategy gives for a seed."""
    found: list[Any] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=count, database=None, phases=[Phase.generate], deadline=None,
                         suppress_health_check=list(HealthCheck))  # fmt: skip
    @hypothesis.given(strategy)
    def keep(value: Any) -> None:
        found.append(value)

    keep()
    return found


@pytest.fixture(scope="module")
def fuzz_dsn(new_database: Any, template: str) -> str:
    return str(new_database(template))


@pytest.mark.minutes
def test_every_function_finds_what_a_filter_says(fuzz_dsn: str) -> None:
    def searches(seed: int) -> None:
        rows = examples(seed, metadata, 60)
        name = f"fuzz{seed}"
        with psycopg.connect(fuzz_dsn, autocommit=True) as connection:
            fill(connection, name, rows, declared=seed % 2 == 0)
            for number, wanted in enumerate(examples(seed, filters, 30)):
                truth = sorted(str(i) for i, row in enumerate(rows) if matches(row, wanted))
                counted = connection.execute(
                    "SELECT rag.count_documents(%s, %s)", [name, json.dumps(wanted)]
                )
                assert counted.fetchone() == (len(truth),), f"count of {wanted!r}"
                call = CALLS[number % len(CALLS)].format(name)
                found = connection.execute(
                    f"SELECT uri FROM {call}".encode(), [json.dumps(wanted)]
                ).fetchall()
                assert sorted(uri for (uri,) in found) == truth, f"{call} with {wanted!r}"
            connection.execute("SELECT rag.drop_collection(%s)", [name])
            connection.execute("SELECT rag.remove_dropped()")

    fuzz(searches, 2)
