"""What each tool returns is what the Python client returns; what is wrong is one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_client import call, data, pages, quoted_json, text_of, with_client

from rag_pg import InvalidInput, Rag
from rag_pg.server.mcp import RagServer, make_server
from rag_pg.text import estimate_tokens


def test_there_are_at_most_12_tools_and_their_descriptions_take_2000_tokens(
    server: RagServer,
) -> None:
    tools = with_client(server, lambda client: client.list_tools()).tools
    assert len(tools) <= 12
    texts = [f"{tool.name} {tool.description}" for tool in tools]
    for tool in tools:
        assert tool.description
        fields = tool.input_schema["properties"].values()
        texts += [field["description"] for field in fields if "description" in field]
    assert sum(estimate_tokens(texts)) <= 2000
    schemas = [json.dumps(tool.input_schema) for tool in tools]
    assert sum(estimate_tokens(texts + schemas)) <= 5500
    for schema in schemas:
        assert '"title": "' not in schema and '"null"' not in schema


def test_an_argument_that_is_null_is_one_that_is_left_out(animals_server: RagServer) -> None:
    nulls: dict[str, Any] = {"collection": None, "filter": None, "cursor": None}
    left_out = call(animals_server, "select", limit=3)
    assert data(call(animals_server, "select", limit=3, **nulls)) == data(left_out)


def test_every_tool_says_that_it_only_reads_what_is_here(server: RagServer) -> None:
    for tool in with_client(server, lambda client: client.list_tools()).tools:
        hints = tool.annotations
        assert hints is not None
        assert hints.read_only_hint is True and hints.open_world_hint is False
        assert hints.destructive_hint is False and hints.idempotent_hint is True


def test_output_schemas_are_objects_and_lists_stand_in_them(server: RagServer) -> None:
    tools = with_client(server, lambda client: client.list_tools()).tools
    assert [t.name for t in tools if t.output_schema is None] == ["search", "fetch"]
    for tool in tools:
        if tool.output_schema is not None:
            assert tool.output_schema["type"] == "object"
            assert "result" not in tool.output_schema["properties"]


def test_no_tool_takes_sql_or_a_url(server: RagServer) -> None:
    for tool in with_client(server, lambda client: client.list_tools()).tools:
        assert not {"sql", "statement", "url", "path"} & set(tool.input_schema["properties"])


def test_count_facets_and_select_are_those_of_the_client(
    filled: Rag, animals_server: RagServer
) -> None:
    animals = filled.get_collection("animals")
    fish: dict[str, Any] = {"kind": "fish", "years": {"$gte": 10}}
    assert data(call(animals_server, "count", filter=fish)) == {
        "documents": animals.count(filter=fish)
    }
    assert data(call(animals_server, "facets", field="tags"))["facets"] == [
        {"value": f.value, "documents": f.documents} for f in animals.metadata.facets("tags")
    ]
    found = data(
        call(
            animals_server, "select", filter=fish, order_by="years", descending=True, detail="full"
        )
    )["documents"]
    wanted = animals.metadata.select(filter=fish, order_by="years", descending=True)
    assert [d["uri"] for d in found] == [d.uri for d in wanted]
    assert [d["metadata"] for d in found] == [d.metadata for d in wanted]
    assert found[0]["updated_at"] == wanted[0].updated_at.isoformat()


def test_a_document_is_that_of_the_client(filled: Rag, animals_server: RagServer) -> None:
    document = filled.get_collection("animals").get("animals/fish-03.md")
    found = data(call(animals_server, "get_document", uri=document.uri))
    assert (found["uri"], found["title"]) == (document.uri, document.title)
    assert (found["text"], found["metadata"]) == (document.content, document.metadata)
    assert found["characters"] == len(document.content or "")
    low = data(call(animals_server, "get_document", uri=document.uri, detail="low"))
    assert "text" not in low


def test_an_answer_is_that_of_the_client(filled: Rag, animals_server: RagServer) -> None:
    question = "How many years does fish 7 live in the sea?"
    answer = filled.get_collection("animals").ask(question)
    found = data(call(animals_server, "ask", question=question, detail="full"))
    assert (found["answer"], found["found"]) == (answer.text, answer.found)
    assert [c["uri"] for c in found["citations"]] == [c.uri for c in answer.citations]
    assert [c["quote"] for c in found["citations"]] == [c.quote for c in answer.citations]
    first = found["citations"][0]
    read = json.loads(text_of(call(animals_server, "fetch", id=first["id"])))
    assert read["url"] == first["url"]


def test_the_text_holds_what_the_structured_content_holds(animals_server: RagServer) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("facets", {"field": "kind"}),
        ("select", {"detail": "full"}),
        ("list_collections", {"detail": "full"}),
        ("get_document", {"uri": "animals/bird-01.md"}),
    ]
    for tool, arguments in calls:
        result = call(animals_server, tool, **arguments)
        assert quoted_json(result) == data(result)


def test_pages_follow_each_other_without_a_gap(filled: Rag, animals_server: RagServer) -> None:
    animals = filled.get_collection("animals")
    found = pages(animals_server, "select", "documents", limit=7, order_by="years")
    assert [d["uri"] for d in found] == [
        d.uri for d in animals.metadata.select(order_by="years", limit=100)
    ]
    values = pages(animals_server, "facets", "facets", field="years", limit=4)
    assert [f["value"] for f in values] == [
        f.value for f in animals.metadata.facets("years", limit=100)
    ]


def test_the_same_cursor_gives_the_same_page(animals_server: RagServer) -> None:
    first = data(call(animals_server, "select", limit=5))
    again = [call(animals_server, "select", limit=5, cursor=first["next_cursor"]) for _ in "ab"]
    assert data(again[0]) == data(again[1])


@pytest.mark.parametrize("cursor", ["x", "1-", "-1-000000000000", "1" * 5000, "'; DROP", "1-\x00"])
def test_a_cursor_that_is_none_is_refused(animals_server: RagServer, cursor: str) -> None:
    result = call(animals_server, "select", cursor=cursor)
    assert result.is_error and "is no cursor; hand back next_cursor" in text_of(result)


def test_a_cursor_of_another_call_is_refused(animals_server: RagServer) -> None:
    cursor = data(call(animals_server, "select", limit=5))["next_cursor"]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("select", {"limit": 6}),
        ("facets", {"field": "kind"}),
    ]
    for tool, arguments in calls:
        result = call(animals_server, tool, cursor=cursor, **arguments)
        assert result.is_error and "of a call with other arguments" in text_of(result)


def test_what_is_wrong_with_a_call_is_one_line(server: RagServer) -> None:
    animals = {"collection": "animals"}
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("count", {"collection": "none"}, "there is no collection 'none'; there are: animals"),
        ("count", {}, "say which collection; there are: animals, machines"),
        ("count", {**animals, "filter": {"a": {"$no": 1}}}, "unknown operator '$no'"),
        ("count", {"collectoin": "animals"}, "count has no argument 'collectoin'; it has"),
        ("select", {**animals, "limit": 0}, "limit: 0 is less than the minimum of 1"),
        ("search", {}, "'query' is a required property"),
        ("fetch", {"id": "x"}, "'x' is no id; use one that search returned"),
        ("fetch", {"id": "animals:999999"}, "is gone"),
        ("get_document", {**animals, "uri": "u"}, "has no document 'u'"),
        ("nothing", {}, "Unknown tool: nothing"),
    ]
    for tool, arguments, told in calls:
        result = call(server, tool, **arguments)
        assert result.is_error and told in text_of(result), text_of(result)
        assert "\n" not in text_of(result) and len(text_of(result)) <= 401


def test_collections_that_are_not_allowed_are_not_there(animals_server: RagServer) -> None:
    listed = data(call(animals_server, "list_collections"))["collections"]
    assert [c["name"] for c in listed] == ["animals"]
    assert listed[0]["description"] == "Animals and how long they live."
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "pump", "collection": "machines"}),
        ("fetch", {"id": "machines:1"}),
        ("ask", {"question": "pump?", "collection": "machines"}),
        ("get_document", {"uri": "pump", "collection": "machines"}),
        ("count", {"collection": "machines"}),
        ("facets", {"field": "kind", "collection": "machines"}),
        ("select", {"collection": "machines"}),
    ]
    for tool, arguments in calls:
        result = call(animals_server, tool, **arguments)
        assert result.is_error
        assert text_of(result).endswith("there is no collection 'machines'; there are: animals")
    found = json.loads(text_of(call(animals_server, "search", query="the pump runs at two bar")))
    assert all(r["id"].startswith("animals:") for r in found["results"])


def test_a_resource_is_a_document_whatever_its_uri(rag: Rag) -> None:
    uris = ["a b/ü?x=1#y", "../../etc/passwd", "/abs%2Fpath", "https://example.com/a?b=c&d", "%"]
    odd = rag.collection("odd", model="hash:32")
    odd.add(*[{"uri": uri, "content": f"text of {uri}"} for uri in uris])
    server = make_server(rag)

    async def read(client: Any) -> list[str]:
        found = data(await client.call_tool("select", {}))["documents"]
        assert {d["uri"] for d in found} == set(uris)
        texts = []
        for uri in uris:
            address = data(await client.call_tool("get_document", {"uri": uri}))["url"]
            if address.startswith("rag://"):
                (content,) = (await client.read_resource(address)).contents
                texts.append(content.text)
        return texts

    for mode in ("auto", "legacy"):
        assert [uri for uri in uris if not uri.startswith("http")] == [
            text.splitlines()[2].removeprefix("text of ")
            for text in with_client(server, read, mode=mode)
        ]


def test_prompts_name_the_question_and_the_collection(server: RagServer) -> None:
    async def read(client: Any) -> Any:
        listed = (await client.list_prompts()).prompts
        got = await client.get_prompt("answer_with_sources", {"question": "How old is a fish?"})
        return [p.name for p in listed], got.messages[0].content.text

    names, text = with_client(server, read)
    assert names == ["answer_with_sources", "explore_collection"]
    assert "How old is a fish?" in text


@pytest.mark.parametrize(
    ("name", "told"), [("answer_with_sources", "Missing required arguments"), ("no", "Unknown")]
)
def test_a_wrong_prompt_is_told_of(server: RagServer, name: str, told: str) -> None:
    async def read(client: Any) -> str:
        with pytest.raises(MCPError, match=told) as caught:
            await client.get_prompt(name)
        return str(caught.value)

    assert with_client(server, read).startswith(told)


def test_settings_out_of_range_are_refused(filled: Rag) -> None:
    settings: list[tuple[dict[str, Any], str]] = [
        ({"max_tokens": 10}, "max_tokens 10 is out of range; use 1000 to 100000"),
        ({"timeout": 0}, "timeout 0 is out of range"),
        ({"timeout": float("nan")}, "timeout nan is out of range"),
        ({"document_url": "https://x/{"}, "is no URI template"),
        ({"document_url": "https://x/{page}"}, "names page; use collection, uri, document_id"),
        ({"document_url": "https://x/"}, "names no variable"),
    ]
    for wrong, told in settings:
        with pytest.raises(InvalidInput, match=told):
            make_server(filled, **wrong)
