"""Structured questions from Python and from the command line."""

import datetime
import json
import logging
import os
from pathlib import Path
from typing import Any

import psycopg
import pytest
from app_orders import make_orders
from command_line import run

from rag_pg import InvalidQuery, NotFound, Rag, RagError
from rag_pg.errors import StatementCanceled

CONTRACTS = [
    {"uri": f"c{n}", "content": f"contract {n}",
     "metadata": {"party": party, "amount": n * 10, "signed": f"2024-0{1 + n % 3}-15"}}
    for n, party in enumerate(["Müller GmbH", "Hall Ltd", "Hall Ltd", "Brush & Co"])
]  # fmt: skip


def test_python_describes_aggregates_and_finds(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(*CONTRACTS, wait=False)
    fields = {one.field: one for one in docs.metadata.describe()}
    assert (fields["amount"].type, fields["amount"].maximum) == ("numeric", 30)
    assert (fields["signed"].type, fields["signed"].minimum) == ("timestamptz", "2024-01-15")
    assert docs.metadata.aggregate(
        {"total": {"sum": "amount"}},
        group_by=["party"],
        filter={"signed": {"$gte": datetime.date(2024, 1, 1)}},
        having={"total": {"$gte": 10}},
        order_by=["-total"],
    ) == [{"party": "Brush & Co", "total": 30}, {"party": "Hall Ltd", "total": 30}]
    with pytest.raises(InvalidQuery, match="no aggregate"):
        docs.metadata.aggregate({"n": {"count": "*"}}, having={"m": 1})


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("query", "best", "least"),
    [
        ("Müller GmbH", "Müller GmbH", 1.0),
        ("muller gmbh", "Müller GmbH", 0.95),
        ("MÜLL", "Müller GmbH", 0.8),
        ("gmbh", "Müller GmbH", 0.7),
        ("Co Brush", "Brush & Co", 0.7),
        ("brush and co", "Brush & Co", 0.2),
        ("Hal Ldt", "Hall Ltd", 0.2),
        ("ruch", "Brush & Co", None),
    ],
)
def test_a_name_is_found_however_it_is_written(
    rag: Rag, query: str, best: str, least: float | None
) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(*CONTRACTS, wait=False)
    found = docs.metadata.find_values("party", query)
    if least is None:
        assert all(one.similarity < 0.5 for one in found)
    else:
        assert found[0].value == best and found[0].similarity >= least


def test_a_views_timeout_ends_a_query_and_nothing_else(
    rag: Rag, connection: psycopg.Connection[object]
) -> None:
    connection.execute(
        "CREATE SCHEMA app; CREATE VIEW app.slow AS SELECT pg_sleep(30) IS NULL AS x"
    )
    second = datetime.timedelta(milliseconds=200)
    assert rag.views.expose("app.slow", "Slow", timeout=second) == "slow"
    for _ in range(2):
        with pytest.raises(StatementCanceled):
            rag.views.query("slow")
    assert rag.database._execute("SHOW statement_timeout")[0][0] == "0"
    shorter = rag.database.with_settings({"statement_timeout": "50ms"})
    assert shorter._execute("SELECT rag._view_timeout('slow')")[0][0] == "50"
    connection.execute("SET statement_timeout = 100")  # as a program without Python does it
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("SELECT rag.query_view('slow')")


def test_views_are_exposed_asked_and_hidden(
    rag: Rag, connection: psycopg.Connection[object], caplog: pytest.LogCaptureFixture
) -> None:
    rows = make_orders(connection)
    connection.execute("CREATE VIEW app.touching AS SELECT app.touch() AS x")
    with caplog.at_level(logging.WARNING):
        rag.views.expose("app.touching", "Touches")
    assert "app.touch(), which is volatile" in caplog.text
    with pytest.raises(InvalidQuery, match="writes when it is read"):
        rag.views.query("touching")
    rag.views.expose("app.sales", "An order", column_descriptions={"qty": "pieces"})
    (sales, _) = rag.views.list()
    by_name = {column.name: column for column in sales.columns}
    assert by_name["qty"].description == "pieces" and sales.rights == "caller"
    assert by_name["state"].labels == ["new", "paid", "sent"]
    day = datetime.date(2024, 2, 1)
    found = rag.views.query("sales", columns=["id"], filter={"day": {"$gte": day}}, order_by=["id"])
    assert [row["id"] for row in found] == [r["id"] for r in rows if r["day"] and r["day"] >= day]
    assert rag.views.hide("sales") and not rag.views.hide("sales")
    with pytest.raises(NotFound, match="there is no view 'sales'"):
        rag.views.query("sales")
    with pytest.raises(RagError, match="no name of a view"):
        rag.views.expose("sales", "An order")


def test_the_command_line_asks_structured_questions(
    rag: Rag, dsn: str, connection: psycopg.Connection[object], tmp_path: Path
) -> None:
    rag.collection("docs", model="hash:32").add(*CONTRACTS, wait=False)
    make_orders(connection)
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith("RAG_PG_")
    } | {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(tmp_path)}

    def output(*arguments: str) -> str:
        done = run(*arguments, environment=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def call(function: str, *arguments: str) -> list[Any]:
        return [
            json.loads(line) for line in output("call", function, *arguments, "--json").splitlines()
        ]

    assert call("aggregate_documents", "collection=docs", "group_by={party}", "order_by={-total}",
                'aggregates={"n": {"count": "*"}, "total": {"sum": "amount"}}',
                'having_filter={"total": {"$gt": 0}}') == [
        {"party": "Brush & Co", "n": 1, "total": 30}, {"party": "Hall Ltd", "n": 2, "total": 30}
    ]  # fmt: skip
    assert "amount\tnumeric\tfalse\t4\t4\t0\t30\t" in output(
        "call", "describe_metadata", "collection=docs"
    )
    assert output("call", "expose_view", "view=app.sales", "description=An order") == "sales\n"
    assert output("call", "list_views").startswith("sales\tAn order\t")
    assert call("query_view", "name=sales", "columns={id}", 'filter={"id": 5}') == [{"id": 5}]
    counted = call(
        "query_view", "name=sales", 'aggregates={"n": {"count": "*"}}', "group_by={state}"
    )
    assert sum(row["n"] for row in counted) == 60
    assert output("call", "hide_view", "name=sales") == "true\n"
