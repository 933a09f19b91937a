"""What models were asked and what it cost: written by each role for itself, reported by day."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from rag_pg.db import schema
from rag_pg.db.database import Database
from rag_pg.errors import InvalidInput, InvalidQuery, RagError
from rag_pg.fault import Fault, fault_of
from rag_pg.types import ModelUsage, Usage

Connection = psycopg.Connection[Any]


@pytest.fixture
def docs(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")


def call(kind: str = "answer", model: str = "m", **figures: Any) -> ModelUsage:
    usage = Usage(prompt_tokens=figures.pop("read", 90), answer_tokens=figures.pop("wrote", 10))
    return ModelUsage(kind=kind, model=model, calls=1, usage=usage, **figures)


@pytest.mark.usefixtures("docs")
def test_figures_of_a_day_add_up(database: Database) -> None:
    database.record_usage("docs", "single", [call(cost=0.25), call("rewrite", "h", cost=0.05)])
    database.record_usage("docs", "single", [call(cost=0.5, failures=1)])
    database.record_usage("docs", "extractive", [ModelUsage(kind="answer", model="none")])
    (whole,) = database.usage_report(None, None, [])
    assert (whole.answers, whole.calls, whole.prompt_tokens, whole.answer_tokens) == (3, 3, 270, 30)
    assert whole.cost == pytest.approx(0.8)
    assert (whole.failures, whole.day) == (1, None)
    single, extractive = database.usage_report(None, None, ["strategy"])
    assert (single.strategy, single.answers) == ("single", 2)
    assert single.cost_per_answer == pytest.approx(0.4)
    assert (extractive.strategy, extractive.cost_per_answer) == ("extractive", 0)
    by_kind = database.usage_report(None, None, ["kind", "model", "day", "role", "collection"])
    assert [(x.kind, x.model, x.answers) for x in by_kind] == [
        ("answer", "m", 2), ("rewrite", "h", 0), ("answer", "none", 1)
    ]  # fmt: skip
    assert {(x.collection, x.day is not None) for x in by_kind} == {("docs", True)}
    assert by_kind[1].cost_per_answer is None


@pytest.mark.usefixtures("docs")
def test_days_are_chosen_both_included(database: Database, connection: Connection) -> None:
    for ago in (0, 1, 29, 30):
        database.record_usage("docs", f"s{ago}", [call()])
        connection.execute(
            "UPDATE rag.usage SET day = (now() AT TIME ZONE 'UTC')::date - %s WHERE strategy = %s",
            [ago, f"s{ago}"],
        )
    row = connection.execute("SELECT (now() AT TIME ZONE 'UTC')::date").fetchone()
    assert row is not None
    today = row[0]
    assert [x.strategy for x in database.usage_report(None, None, ["strategy"])] == [
        "s0", "s1", "s29"
    ]  # fmt: skip
    found = database.usage_report(today.replace(year=today.year - 1), today, ["day"])
    assert [(today - x.day).days for x in found if x.day] == [30, 29, 1, 0]
    assert database.usage_report(today, today.replace(year=today.year - 1), []) == []


@pytest.mark.one_database
@pytest.mark.parametrize(
    "calls",
    [
        "null", "{}", "[1]", '[{"kind": "a"}]', '[{"kind": "", "model": "m"}]',
        '[{"kind": "a", "model": "m", "calls": -1}]', '[{"kind": "a", "model": "m", "cost": "9"}]',
        '[{"kind": "a", "model": "m", "cost": 1e300}]', json.dumps([{"kind": "a"}] * 101),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("docs")
def test_what_are_no_calls_is_refused(connection: Connection, calls: str) -> None:
    with pytest.raises(psycopg.Error, match="the calls are no array of up to 100") as caught:
        connection.execute("SELECT rag.record_usage('docs', 's', %s)", [calls])
    assert caught.value.sqlstate == "RG001"


@pytest.mark.usefixtures("docs")
def test_an_unknown_field_of_a_call_is_refused(connection: Connection) -> None:
    calls = '[{"kind": "a", "model": "m"}, {"kind": "a", "model": "m", "prompt_token": 9}]'
    with pytest.raises(psycopg.Error, match='no field "prompt_token"') as caught:
        connection.execute("SELECT rag.record_usage('docs', 's', %s)", [calls])
    assert caught.value.sqlstate == "RG001"


@pytest.mark.usefixtures("docs")
def test_another_grouping_or_collection_is_refused(database: Database) -> None:
    with pytest.raises(InvalidQuery, match="unknown grouping {week}"):
        database.usage_report(None, None, ["week"])
    with pytest.raises(RagError, match="nowhere"):
        database.record_usage("nowhere", "single", [call()])
    with pytest.raises(InvalidInput, match="number of answers"):
        database.record_usage("docs", "single", [call()], answers=-1)


@pytest.mark.usefixtures("docs")
def test_a_locked_row_is_not_waited_for_long(database: Database, connection: Connection) -> None:
    database.record_usage("docs", "single", [call()])
    with connection.transaction():
        connection.execute("LOCK TABLE rag.usage")
        with pytest.raises(RagError) as caught:
            database.record_usage("docs", "single", [call()])
    assert fault_of(caught.value) is Fault.BUSY


@pytest.mark.usefixtures("docs")
def test_names_that_are_too_long_are_cut(database: Database) -> None:
    database.record_usage("docs", "s" * 5000, [call("k" * 5000, "m" * 5000)] * 2)
    (line,) = database.usage_report(None, None, ["strategy", "kind", "model"])
    assert (len(line.strategy or ""), len(line.kind or ""), len(line.model or "")) == (
        100,
        100,
        200,
    )
    assert line.calls == 2


@pytest.mark.usefixtures("docs")
def test_figures_of_more_than_a_year_ago_are_removed(
    database: Database, connection: Connection
) -> None:
    for strategy, ago in (("old", 401), ("young", 399)):
        database.record_usage("docs", strategy, [call()])
        connection.execute(
            "UPDATE rag.usage SET day = day - %s WHERE strategy = %s", [ago, strategy]
        )
    database.maintain()
    assert connection.execute("SELECT strategy FROM rag.usage").fetchall() == [("young",)]


def test_a_role_writes_and_reads_its_own_figures_alone(new_database: Callable[..., str]) -> None:
    dsn = new_database()
    roles = (f"usage_a_{os.getpid()}", f"usage_b_{os.getpid()}")
    schema.upgrade(dsn)
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute("SELECT rag.create_collection('docs', 'none', 3)")
        for role in roles:
            owner.execute(f"DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN".encode())
            owner.execute(
                f"""GRANT USAGE ON SCHEMA rag TO {role};
                    GRANT EXECUTE ON ALL ROUTINES IN SCHEMA rag TO {role};
                    GRANT SELECT ON rag.collections TO {role};
                    GRANT SELECT, INSERT, UPDATE ON rag.usage TO {role}""".encode()
            )
        try:
            for role in roles:
                with psycopg.connect(make_conninfo(dsn, user=role), autocommit=True) as connection:
                    for _ in range(2):
                        connection.execute(
                            "SELECT rag.record_usage('docs', 's', "
                            """'[{"kind": "answer", "model": "m", "calls": 1}]')"""
                        )
                    rows = connection.execute(
                        "SELECT role, calls FROM rag.usage_report(by => '{role}')"
                    ).fetchall()
                    assert rows == [(role, 2)]
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        connection.execute("UPDATE rag.usage SET role_name = 'usage_x'")
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        connection.execute(
                            """INSERT INTO rag.usage SELECT day, 'usage_x', collection_name,
                               strategy, call_kind, model_name, slot, 0, 0, 0, 0, 0, 0, 0, 0
                               FROM rag.usage"""
                        )
            rows = owner.execute(
                "SELECT role, calls FROM rag.usage_report(by => '{role}')"
            ).fetchall()
            assert rows == [(role, 2) for role in roles]
        finally:
            for role in roles:
                owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())
