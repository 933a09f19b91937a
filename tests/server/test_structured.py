"""Tools over metadata and views return what the Python client returns."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from mcp_client import call, data, pages, text_of

from rag_pg import Rag
from rag_pg.server.mcp import RagServer, make_server


def test_fields_are_those_of_the_client(filled: Rag, animals_server: RagServer) -> None:
    wanted = filled.get_collection("animals").metadata.describe(filter={"kind": "fish"})
    found = data(call(animals_server, "describe_metadata", filter={"kind": "fish"}))["fields"]
    assert [f["field"] for f in found] == [f.field for f in wanted]
    for row, field in zip(found, wanted, strict=True):
        assert (row["type"], row["documents"]) == (field.type, field.documents)
        assert (row["distinct_values"], row["examples"]) == (
            field.distinct_values,
            list(field.examples),
        )
        assert (row.get("minimum"), row.get("maximum")) == (field.minimum, field.maximum)
    low = data(call(animals_server, "describe_metadata", detail="low"))["fields"]
    assert set(low[0]) == {"field", "type", "documents"}


def test_values_like_a_text_are_those_of_the_client(filled: Rag, animals_server: RagServer) -> None:
    wanted = filled.get_collection("animals").metadata.find_values("tags", "fihs")
    found = data(call(animals_server, "facets", field="tags", text="fihs"))["facets"]
    assert found and [f["value"] for f in found] == [m.value for m in wanted]
    assert [f["similarity"] for f in found] == [m.similarity for m in wanted]
    both = call(animals_server, "facets", field="tags", text="fish", filter={"kind": "fish"})
    assert both.is_error and text_of(both) == "facets takes a text or a filter, not both"


def test_groups_are_those_of_the_client(filled: Rag, animals_server: RagServer) -> None:
    arguments: dict[str, Any] = {
        "aggregates": {"n": {"count": "*"}, "mean": {"avg": "years"}, "last": {"max": "years"}},
        "group_by": ["years", "kind"],
        "having": {"last": {"$gte": 3}},
        "order_by": ["-mean", "kind"],
        "filter": {"years": {"$lt": 12}},
    }
    wanted = filled.get_collection("animals").metadata.aggregate(**arguments)
    assert len(wanted) == 18
    assert data(call(animals_server, "aggregate", **arguments))["groups"] == wanted
    assert pages(animals_server, "aggregate", "groups", limit=5, **arguments) == wanted


@pytest.fixture
def orders(rag: Rag, dsn: str) -> Rag:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            """CREATE TABLE public.orders (customer text, total numeric, placed date, items json);
               INSERT INTO public.orders SELECT 'c' || g % 7, g * 1.5, date '2024-01-01' + g, '[1]'
               FROM generate_series(1, 60) AS g"""
        )
    rag.views.expose(
        "public.orders", "Orders, one a row.", column_descriptions={"total": "in euros"}
    )
    return rag


def test_views_are_those_of_the_client(orders: Rag) -> None:
    server = make_server(orders)
    (view,) = data(call(server, "list_views"))["views"]
    assert (view["name"], view["description"]) == ("orders", "Orders, one a row.")
    assert {"name": "total", "type": "numeric", "description": "in euros"} in view["columns"]
    arguments: dict[str, Any] = {"filter": {"total": {"$gt": 30}}, "order_by": ["-total"]}
    wanted = orders.views.query("orders", **arguments)
    assert data(call(server, "query_view", name="orders", limit=100, **arguments))["rows"] == wanted
    grouped: dict[str, Any] = {
        "aggregates": {"sum": {"sum": "total"}},
        "group_by": ["customer"],
        "order_by": ["-sum"],
    }
    assert data(call(server, "query_view", name="orders", **grouped))["rows"] == (
        orders.views.query("orders", **grouped)
    )


def test_rows_of_a_view_are_paged_without_an_order_too(orders: Rag) -> None:
    server = make_server(orders)
    rows = pages(server, "query_view", "rows", name="orders", limit=7)
    assert sorted(rows, key=str) == sorted(orders.views.query("orders"), key=str)
    assert len(rows) == 60


def test_a_view_that_is_hidden_or_unknown_is_an_error(orders: Rag) -> None:
    server = make_server(orders)
    orders.views.hide("orders")
    assert data(call(server, "list_views"))["views"] == []
    result = call(server, "query_view", name="orders")
    assert result.is_error and "there is no view 'orders'" in text_of(result)


def test_a_view_that_is_not_what_was_exposed_is_told(orders: Rag, dsn: str) -> None:
    server = make_server(orders)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("ALTER TABLE public.orders DROP COLUMN total")
    result = call(server, "query_view", name="orders")
    assert result.is_error and "total" in text_of(result)
