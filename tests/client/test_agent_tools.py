"""The tools of a collection through `ask`: exposed views, and what a caller of rag.ask gets."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from answering import AnsweringOpenAI
from fakes import ScriptedLLM
from prompts import quoted
from psycopg.conninfo import make_conninfo
from tool_calls import calling

from rag_pg import Rag, Settings

DOCUMENTS = [
    {"uri": "a.md", "content": "Ada buys red fish. She pays.", "metadata": {"who": "Ada", "n": 2}},
    {"uri": "b.md", "content": "Ben buys red fish. He owes.", "metadata": {"who": "Ben", "n": 5}},
]


@pytest.fixture
def shop(connection: psycopg.Connection[Any], rag: Rag) -> Rag:
    connection.execute("CREATE TABLE orders (id bigint, who text)")
    connection.execute("INSERT INTO orders VALUES (1, 'Ada'), (2, 'Ben')")
    rag.collection("docs", model="hash:32").add(*DOCUMENTS)
    rag.views.expose("public.orders", "The orders.")
    return rag


def ask(rag: Rag, *replies: Any, **options: Any) -> tuple[Any, ScriptedLLM]:
    llm = ScriptedLLM(*replies, name="main")
    return rag.collection("docs").ask("Who?", llm=llm, strategy="agent", **options), llm


def results(llm: ScriptedLLM) -> list[str]:
    return [m.content for m in llm.calls[-1].messages if m.role == "tool"]


def test_every_tool_of_a_collection_answers(shop: Rag) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "red fish"}),
        ("get_document", {"uri": "a.md"}),
        ("compare", {"first": "a.md", "second": "b.md"}),
        ("count", {"filter": {"n": {"$gt": 2}}}),
        ("facets", {"field": "who"}),
        ("select", {"order_by": "n", "descending": True, "fields": ["n"]}),
        ("aggregate", {"aggregates": {"most": {"max": "n"}}}),
    ]
    more: list[tuple[str, dict[str, Any]]] = [
        ("facets", {"field": "who", "text": "ada"}),
        ("view_orders", {"filter": {"who": "Ben"}}),
        ("dates", {"day": "2026-11-22"}),
        ("calculate", {"expression": "2 * 21"}),
    ]
    answer, llm = ask(shop, calling(*asked), calling(*more), "Ada [1].", max_steps=6)
    found = results(llm)
    assert not [text for text in found if text.startswith("error")]
    assert len(quoted(found[0])) == 2 and "only in the first: Ada buys" in found[2]
    texts = [quoted(text)[-1] for text in found]
    assert texts[3:] == [
        "documents\n1",
        "value\tdocuments\nAda\t1\nBen\t1",
        'uri\ttitle\tn\nb.md\t""\t5\na.md\t""\t2',
        "most\n5",
        "value\tdocuments\tsimilarity\nAda\t1\t0.95",
        "id\twho\n2\tBen",
        "date\tweekday\n2026-11-22\tSunday",
        "42",
    ]
    key = found[0].split("[")[1][:6]
    _, llm = ask(
        shop, calling(("search", {"query": "red fish"})),
        lambda call: calling(("expand", {"key": call.prompt.split("[")[1][:6]})), "Ada [1].",
    )  # fmt: skip
    assert key != results(llm)[0].split("[")[1][:6]
    assert "buys red fish" in results(llm)[1] and answer.citations[0].uri in ("a.md", "b.md")


def test_what_does_not_fit_the_collection_is_told_to_the_model(shop: Rag) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("count", {"filter": {"n": {"$about": 2}}}),
        ("facets", {"field": "size"}),
        ("aggregate", {"aggregates": {"n": {"median": "n"}}}),
        ("view_orders", {"columns": ["secret"]}),
        ("view_orders", {"order_by": ["secret"]}),
    ]
    _, llm = ask(shop, calling(*asked), calling(("count", {})), "2 [1].")
    found = results(llm)
    assert all(text.startswith("error: ") for text in found[:5]), found
    assert "$about" in found[0] and "is not one of ['n', 'who']" in found[1]
    assert "median" in found[2] and "secret" in found[4]


def test_views_can_be_left_out(shop: Rag) -> None:
    _, llm = ask(shop, "x [1].", views=False)
    assert not [t.name for t in llm.calls[0].tools if "view" in t.name]
    _, llm = ask(shop, "x [1].")
    assert "view_orders" in [t.name for t in llm.calls[0].tools]


def test_a_role_that_may_only_search_is_answered(
    shop: Rag, connection: psycopg.Connection[Any], dsn: str
) -> None:
    for statement in (
        "CREATE ROLE only_searches LOGIN",
        "GRANT USAGE ON SCHEMA rag TO only_searches",
        "GRANT SELECT ON ALL TABLES IN SCHEMA rag TO only_searches",
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rag TO only_searches",
        "REVOKE EXECUTE ON FUNCTION rag.list_views() FROM only_searches",
        "REVOKE EXECUTE ON FUNCTION rag.describe_metadata(text, jsonb, integer, integer)"
        " FROM only_searches",
    ):
        connection.execute(statement.encode())
    embedders = {"hash": lambda name: shop.collection("docs").embedder}
    try:
        limited = Rag(
            make_conninfo(dsn, user="only_searches"), settings=shop.settings, embedders=embedders
        )
        with limited:
            answer, _ = ask(limited, calling(("search", {"query": "red fish"})), "Ada [1].")
    finally:
        connection.execute("DROP OWNED BY only_searches")
        connection.execute("DROP ROLE only_searches")
    assert answer.strategy == "agent" and answer.citations
    assert [note.partition(":")[0] for note in answer.notes[:2]] == [
        "the metadata were not described to the model",
        "exposed views are left out",
    ]


@pytest.mark.libraries
def test_a_caller_of_rag_ask_reads_no_views_by_the_workers_rights(
    shop: Rag, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with AnsweringOpenAI() as model:
        monkeypatch.setenv("RAG_PG_OPENAI_BASE_URL", f"{model.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", model.key)
        settings = Settings(home=shop.settings.home, llm="openai:fake")
        embedders = {"hash": lambda name: shop.collection("docs").embedder}
        with Rag(dsn, settings=settings, embedders=embedders) as worker:
            asked = {"question": "Who?", "limit": 8, "filter": {}, "timeout": 60}
            worker._answer_ask("docs", {**asked, "options": {"strategy": "agent"}})
        offered = [tool["function"]["name"] for tool in model.requests[0].body["tools"]]
    assert "aggregate" in offered and "view_orders" not in offered
