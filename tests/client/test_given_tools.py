"""Tools that a caller gives to `ask`: functions of Python and of the database, and their rights."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from fakes import Call, ScriptedLLM
from patience import BOUND
from prompts import quoted
from psycopg.conninfo import make_conninfo
from tool_calls import calling

from rag_pg import AgentTool, Rag, SqlFunction, function_tool
from rag_pg.answer.tools.sql_function import sql_function_tool
from rag_pg.db import Database
from rag_pg.errors import InvalidInput

SHOP = """
CREATE SCHEMA shop;
CREATE TYPE shop.state AS ENUM ('open', 'paid');
CREATE TABLE shop.orders (id bigint PRIMARY KEY, customer text, state shop.state, amount numeric,
    ordered_on date);
INSERT INTO shop.orders SELECT n, CASE n % 3 WHEN 0 THEN 'Ada' ELSE 'Ben' END,
    CASE n % 2 WHEN 0 THEN 'open'::shop.state ELSE 'paid' END, n * 10,
    date '2026-01-01' + n::integer
    FROM generate_series(1, 300) AS n;
CREATE FUNCTION shop.find_orders(customer text, since date DEFAULT '2026-01-01',
    states shop.state[] DEFAULT '{open,paid}', above numeric DEFAULT 0)
RETURNS SETOF shop.orders LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT o.* FROM shop.orders AS o WHERE o.customer = find_orders.customer
    AND o.ordered_on >= since AND o.state = ANY (states) AND o.amount >= above ORDER BY o.id;
END;
COMMENT ON FUNCTION shop.find_orders IS 'The orders of a customer, the oldest first.';
CREATE FUNCTION shop.total(customer text, state shop.state) RETURNS numeric LANGUAGE sql STABLE
RETURN (SELECT sum(o.amount) FROM shop.orders AS o
        WHERE o.customer = total.customer AND o.state = total.state);
CREATE FUNCTION shop.pay(id bigint) RETURNS boolean LANGUAGE sql VOLATILE
BEGIN ATOMIC
    UPDATE shop.orders AS o SET state = 'paid' WHERE o.id = pay.id RETURNING true;
END;
CREATE FUNCTION shop.wait(seconds double precision) RETURNS void LANGUAGE sql
RETURN pg_sleep(seconds);
CREATE FUNCTION shop.settings(wanted jsonb, flag boolean DEFAULT NULL) RETURNS jsonb LANGUAGE sql
RETURN jsonb_build_object('wanted', wanted, 'flag', flag);
CREATE FUNCTION shop.twice(n integer) RETURNS integer LANGUAGE sql RETURN 2 * n;
CREATE FUNCTION shop.twice(n text) RETURNS text LANGUAGE sql RETURN n || n;
CREATE FUNCTION shop.unnamed(integer) RETURNS integer LANGUAGE sql RETURN $1;
CREATE FUNCTION shop.many(VARIADIC n integer[]) RETURNS integer LANGUAGE sql RETURN n[1];
CREATE FUNCTION shop.anything(n anyelement) RETURNS anyelement LANGUAGE sql AS 'SELECT n';
CREATE FUNCTION shop.definer() RETURNS bigint LANGUAGE sql SECURITY DEFINER
RETURN (SELECT count(*) FROM shop.orders);
CREATE PROCEDURE shop.clear() LANGUAGE sql BEGIN ATOMIC DELETE FROM shop.orders; END;
"""


def begin(rag: Rag) -> None:
    """The shop and a document."""
    with psycopg.connect(str(rag.dsn)) as connection:
        connection.execute(SHOP)
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "a.md", "content": "Ada buys red fish."})


@pytest.fixture
def shop(rag: Rag) -> Rag:
    return rag


def last_results(llm: ScriptedLLM) -> list[str]:
    return [m.content for m in llm.calls[-1].messages if m.role == "tool"]


def ask(rag: Rag, *replies: Any, **options: Any) -> tuple[Any, ScriptedLLM]:
    llm = ScriptedLLM(*replies, name="main")
    return rag.collection("docs").ask("How much did Ada pay?", llm=llm, **options), llm


def test_a_sql_function_is_a_tool_by_its_catalogue(shop: Rag) -> None:
    tool = sql_function_tool(SqlFunction(name="shop.find_orders"), shop.database)
    assert (tool.name, tool.description) == (
        "find_orders",
        "The orders of a customer, the oldest first.",
    )
    properties = tool.parameters["properties"]
    assert list(properties) == ["customer", "since", "states", "above"]
    assert tool.parameters["required"] == ["customer"]
    assert properties["above"]["type"] == ["number", "null"]
    orders = tool.run(customer="Ada", since="2026-10-20", states=["open"])
    assert [order["id"] for order in orders] == [294, 300]
    assert len(tool.run(customer="Ben")) == 200  # the most that are read
    total = sql_function_tool(SqlFunction(name="shop.total"), shop.database)
    assert total.parameters["properties"]["state"] == {"type": "string", "enum": ["open", "paid"]}
    assert total.run(customer="Ada", state="open") == [76_500]


def test_arguments_are_values_and_never_sql(shop: Rag) -> None:
    tool = sql_function_tool(SqlFunction(name="shop.find_orders"), shop.database)
    for text in ("Ada'; DROP TABLE shop.orders; --", "%s", "$1", "Ada\\", "%(argument0)s"):
        assert tool.run(customer=text) == []
    with pytest.raises(InvalidInput):
        tool.run(customer="Ada", since="2026-01-01'); DELETE FROM shop.orders; --")
    settings = sql_function_tool(SqlFunction(name="shop.settings"), shop.database)
    wanted = {"a": [1, None, "x'y"], "b": "text"}
    assert settings.run(wanted=wanted, flag=True) == [{"wanted": wanted, "flag": True}]
    assert settings.run(wanted="text") == [{"wanted": "text", "flag": None}]


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("find_orders", "names no function; use schema.function"),
        ("pg_catalog.pg_sleep", "is the system's"),
        ("information_schema.x", "is the system's"),
        ("shop.nothing", "there is no function shop.nothing"),
        ("shop.twice", "there is 2 functions shop.twice"),
        ("shop.unnamed", "argument '' has no plain name"),
        ("shop.many", "it is VARIADIC"),
        ("shop.anything", "argument n is of the pseudo-type anyelement"),
        ("shop.definer", "it is SECURITY DEFINER"),
        ("shop.clear", "it is a procedure"),
    ],
)
def test_a_function_that_can_be_no_tool_says_why(shop: Rag, name: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        shop.collection("docs").ask("?", tools=[name])


def test_a_function_writes_only_where_that_was_declared(
    shop: Rag, connection: psycopg.Connection[Any]
) -> None:
    def state() -> str:
        row = connection.execute("SELECT state FROM shop.orders WHERE id = 2").fetchone()
        return str(row and row[0])

    pays = calling(("pay", {"id": 2}))
    _, llm = ask(shop, pays, "No [1].", "No [1].", tools=["shop.pay"])
    refused = llm.calls[1].messages[-1].content
    assert "tried to write, and this only reads" in refused and state() == "open"
    _, llm = ask(shop, pays, "Paid [1].", tools=[SqlFunction(name="shop.pay", read_only=False)])
    assert (state(), quoted(last_results(llm)[0])) == ("paid", ["true"])


def test_a_function_that_takes_too_long_is_cancelled(shop: Rag) -> None:
    hasty, patient = (
        sql_function_tool(SqlFunction(name="shop.wait", timeout=seconds), shop.database)
        for seconds in (0.1, 60)
    )
    with pytest.raises(TimeoutError, match=r"no result within 0\.1 s"):
        hasty.run(seconds=BOUND)  # not waited for: whole tests end before
    assert patient.run(seconds=0) == [""]


def test_a_function_does_what_its_caller_may(
    shop: Rag, connection: psycopg.Connection[Any], dsn: str
) -> None:
    connection.execute("CREATE ROLE tools_caller LOGIN")
    connection.execute("GRANT USAGE ON SCHEMA rag TO tools_caller")
    connection.execute(
        "GRANT EXECUTE ON FUNCTION rag.api_version(), rag.min_api_version() TO tools_caller"
    )
    try:
        limited = Database(make_conninfo(dsn, user="tools_caller"))
        limited.open()
        with pytest.raises(InvalidInput, match="this role may not execute it"):
            sql_function_tool(SqlFunction(name="shop.total"), limited)
        connection.execute("GRANT USAGE ON SCHEMA shop TO tools_caller")
        tool = sql_function_tool(SqlFunction(name="shop.total"), limited)
        with pytest.raises(Exception, match="permission denied for table orders"):
            tool.run(customer="Ada", state="open")
        limited.close()
    finally:
        connection.execute("DROP OWNED BY tools_caller")
        connection.execute("DROP ROLE tools_caller")


def price(article: str) -> float:
    """The price of an article in francs."""
    return {"fish": 4.5}[article]


def test_tools_of_all_kinds_answer_a_question(shop: Rag) -> None:
    double = AgentTool(
        name="double", description="Twice.", run=lambda n: 2 * n,
        parameters={"type": "object", "properties": {"n": {"type": "number"}}},
    )  # fmt: skip
    asked = calling(
        ("price", {"article": "fish"}),
        ("total", {"customer": "Ada", "state": "paid"}),
        ("double", {"n": 21}),
        ("dates", {"day": "2026-11-22"}),
        ("price", {"article": "rake"}),
    )
    tools = [price, "shop.total", double]
    answer, llm = ask(shop, asked, "It costs 4.5 [1], of 75000 [2].", tools=tools)
    texts = [quoted(text) for text in last_results(llm)]
    assert texts[:3] == [["4.5"], ["75000"], ["42"]] and "Sunday" in texts[3][0]
    assert last_results(llm)[4] == "error: KeyError: 'rake'"
    assert [result.name for result in answer.tool_results] == ["price", "total"]
    assert (answer.strategy, answer.found) == ("agent", True)


def test_a_tool_with_a_name_that_is_taken_is_refused(shop: Rag) -> None:
    search = function_tool(price, name="search")
    with pytest.raises(InvalidInput, match="there is a tool search already"):
        ask(shop, "x", tools=[search])
    with pytest.raises(InvalidInput, match="two tools have the name price"):
        ask(shop, "x", tools=[price, price])
    with pytest.raises(InvalidInput, match="3 is no tool"):
        ask(shop, "x", tools=[3])
    with pytest.raises(InvalidInput, match="use a list of tools"):
        ask(shop, "x", tools="shop.total")


def test_strategies_that_call_no_tools_say_so(shop: Rag) -> None:
    with pytest.raises(InvalidInput, match="strategy single calls no tools; use agent"):
        ask(shop, "x", tools=[price], strategy="single")


def test_a_server_that_is_down_leaves_the_other_tools(shop: Rag) -> None:
    answer, _ = ask(
        shop,
        calling(("price", {"article": "fish"})),
        "It costs 4.5 [1].",
        tools=["stdio:/no/such/program", price],
    )
    assert answer.text == "It costs 4.5 [1]."
    assert answer.notes[0].startswith("tools of stdio:/no/such/program are left out: cannot")


def test_a_document_beyond_the_filter_is_not_read(shop: Rag) -> None:
    shop.collection("docs").add(
        {"uri": "mine.md", "content": "Ada's secret is tea.", "metadata": {"owner": "ada"}}
    )

    def reads(call: Call) -> Any:
        if len(call.messages) == 2:
            return calling(("get_document", {"uri": "a.md"}), ("get_document", {"uri": "mine.md"}))
        return "Tea [1]."

    _, llm = ask(shop, reads, strategy="agent", filter={"owner": "ada"})
    refused, read = last_results(llm)
    assert refused.startswith("error: there is no document with the uri 'a.md'")
    assert quoted(read) == ["Ada's secret is tea."]


def test_a_caller_of_rag_ask_names_no_tools(shop: Rag) -> None:
    with pytest.raises(InvalidInput, match="tools"):
        shop._answer_ask(
            "docs",
            {"question": "?", "limit": 8, "filter": {}, "options": {"tools": ["shop.total"]}},
        )
