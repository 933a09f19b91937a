"""The tools search and fetch keep the contract that OpenAI publishes for ChatGPT.

https://developers.openai.com/apps-sdk/build/mcp-server#company-knowledge-compatibility and
https://platform.openai.com/docs/mcp: each result has exactly one item of content, of type text,
whose text is JSON of these schemas; no structured content; search needs a query alone, fetch an id.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import psycopg
import pytest
from mcp_client import FENCED, call, text_of, with_client

from rag_pg import Rag
from rag_pg.server.mcp import RagServer, make_server
from rag_pg.server.mcp.address import DocumentUrls
from rag_pg.server.mcp.render import count_tokens

TEXT = {"type": "string", "minLength": 1}
URL = {"type": "string", "pattern": r"^(https?|rag)://[!-~]+$"}
SEARCH = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": TEXT, "title": TEXT, "url": URL, "text": {"type": "string"}},
                "required": ["id", "title", "url"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["results"],
    "additionalProperties": False,
}
FETCH = {
    "type": "object",
    "properties": {
        "id": TEXT,
        "title": TEXT,
        "text": {"type": "string"},
        "url": URL,
        "metadata": {"type": "object"},
    },
    "required": ["id", "title", "text", "url"],
    "additionalProperties": False,
}


def checked(server: RagServer, tool: str, *, mode: str = "auto", **arguments: Any) -> Any:
    """Return the JSON of a call that keeps the contract."""
    result = call(server, tool, mode=mode, **arguments)
    assert not result.is_error and result.structured_content is None
    assert [block.type for block in result.content] == ["text"]
    found = json.loads(text_of(result))
    jsonschema.validate(found, SEARCH if tool == "search" else FETCH)
    return found


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.few(1)
def test_search_and_fetch_keep_the_contract(server: RagServer, mode: str) -> None:
    tools = {t.name: t for t in with_client(server, lambda c: c.list_tools(), mode=mode).tools}
    for name, argument in (("search", "query"), ("fetch", "id")):
        schema = tools[name].input_schema
        assert schema["required"] == [argument]
        assert schema["properties"][argument]["type"] == "string"
        assert tools[name].output_schema is None
    found = checked(server, "search", mode=mode, query="the pump runs at two bar")["results"]
    assert {r["id"].partition(":")[0] for r in found} == {"animals", "machines"}
    assert len({r["id"] for r in found}) == len(found) == 10
    for result in found:
        document = checked(server, "fetch", mode=mode, id=result["id"])
        assert (document["id"], document["url"]) == (result["id"], result["url"])


def test_search_with_nothing_to_find_keeps_the_contract(rag: Rag) -> None:
    rag.collection("empty", model="hash:32")
    assert checked(make_server(rag), "search", query="x") == {"results": []}


def test_results_are_those_of_the_client(filled: Rag, animals_server: RagServer) -> None:
    query = "a fish that lives 7 years in the sea"
    hits = filled.get_collection("animals").search(query, limit=20, filter={"kind": "fish"})
    arguments: dict[str, Any] = {"query": query, "filter": {"kind": "fish"}, "detail": "full"}
    first = checked(animals_server, "search", limit=8, **arguments)["results"]
    rest = checked(animals_server, "search", limit=12, offset=8, **arguments)["results"]
    assert [r["id"] for r in first + rest] == [f"animals:{hit.chunk_id}" for hit in hits]
    assert [FENCED.findall(r["text"])[0][2] for r in first] == [f"{h.content}\n" for h in hits[:8]]


def test_collections_take_turns_in_a_search_of_all(server: RagServer) -> None:
    found = checked(server, "search", query="the valve opens", limit=4)["results"]
    assert [r["id"].partition(":")[0] for r in found] == ["animals", "machines"] * 2


def test_collections_whose_vectors_cannot_be_made_here_do_not_end_a_search_of_all(rag: Rag) -> None:
    rag.collection("machines", model="hash:32").add(
        {"uri": "valve", "content": "The valve opens at three bar."}
    )
    own = {"uri": "pump", "content": "The pump runs at two bar.", "embedding": [1, 0, 0]}
    rag.collection("own", model="my-model", dimensions=3).add_chunks([own])
    rag.collection("changed", model="hash:16").add({"uri": "x", "content": "A bar of steel."})
    with psycopg.connect(rag.dsn or "", autocommit=True) as connection:
        connection.execute("UPDATE rag.spaces SET fingerprint = 'x' WHERE model = 'hash:16'")
    found = call(make_server(rag), "search", query="two bar")
    ids = [one["id"].partition(":")[0] for one in json.loads(text_of(found))["results"]]
    assert not found.is_error and sorted(ids) == ["machines", "own"]
    vectors, left_out = sorted((found.meta or {})["notes"], key=lambda note: "not searched" in note)
    assert vectors.startswith("vector search was skipped: unknown embedding model 'my-model'")
    assert left_out.startswith("changed was not searched: collection 'changed' holds vectors of x")


def test_a_document_is_fetched_whole_or_in_pieces(rag: Rag) -> None:
    sections = [f"# Part {n}\n\n{f'Sentence {n} of a long text. ' * 60}" for n in range(40)]
    text = "\n\n".join(sections)
    long = rag.collection("long", model="hash:32")
    long.add({"uri": "long", "title": "Long", "content": text, "metadata": {"lang": "en"}})
    server = make_server(rag, max_tokens=3000)
    (hit,) = long.search("Sentence 20 of a long text", limit=1)
    document = checked(server, "fetch", id=f"long:{hit.chunk_id}")
    piece = document["metadata"].pop("rag_pg")
    assert document["metadata"] == {"lang": "en"}
    assert piece["characters"] == len(text) and 0 < piece["start"] < piece["stop"] < len(text)
    assert text[piece["start"] :].startswith(hit.content[:40])
    ids, read = [f"long:{hit.chunk_id}@0"], ""
    while ids:
        result = call(server, "fetch", id=ids.pop())
        assert count_tokens(result) <= 3000
        document = json.loads(text_of(result))
        at = document["metadata"].get("rag_pg", {})
        read += text[at["start"] : at["stop"]]
        shown = FENCED.findall(document["text"])[0][2]
        assert shown.strip() == text[at["start"] : at["stop"]].strip()
        ids += [at["next_id"]] if "next_id" in at else []
    assert read == text


@pytest.mark.parametrize(
    ("address", "uri", "url"),
    [
        (None, "https://example.com/a?b=c#d", "https://example.com/a?b=c#d"),
        (None, "HTTPS://example.com/a b", "HTTPS://example.com/a%20b"),
        (None, "javascript:alert(1)", "rag://docs/javascript%3Aalert%281%29"),
        (None, "a/b c.md", "rag://docs/a%2Fb%20c.md"),
        ("https://wiki.example/{+uri}", "a/b c.md", "https://wiki.example/a/b%20c.md"),
        ("https://wiki.example/{collection}{?uri}", "a&b", "https://wiki.example/docs?uri=a%26b"),
        ("https://wiki.example/{metadata.page}", "x", "https://wiki.example/7"),
        ("{+uri}", "javascript:alert(1)", "rag://docs/javascript%3Aalert%281%29"),
        ("{+metadata.link}", "x", "rag://docs/x"),
    ],
)
def test_a_document_has_the_address_that_people_read_it_at(
    address: str | None, uri: str, url: str
) -> None:
    urls = DocumentUrls(address)
    assert urls.of("docs", uri, document_id="d", metadata={"page": 7}) == url


def test_a_server_gives_documents_the_addresses_of_its_template(filled: Rag) -> None:
    server = make_server(filled, document_url="https://zoo.example/{+uri}?years={metadata.years}")
    (found,) = checked(server, "search", query="bird 3", collection="animals", limit=1)["results"]
    assert found["url"].startswith("https://zoo.example/animals/")
    assert checked(server, "fetch", id=found["id"])["url"] == found["url"]


def test_ids_name_collections_with_odd_names(rag: Rag) -> None:
    names = ("a:1", "a%3A1", "ü@5")
    for name in names:
        rag.collection(name, model="hash:32").add({"uri": name, "content": f"of {name}"})
    server = make_server(rag)
    found = checked(server, "search", query="of")["results"]
    titles = {checked(server, "fetch", id=r["id"])["title"] for r in found}
    assert titles == set(names) and all(r["id"].isascii() for r in found)


def test_chunks_that_were_brought_ready_made_are_fetched(rag: Rag) -> None:
    rag.collection("docs", model="hash:32").add_chunks(
        [{"uri": "u", "content": f"piece {n} of it"} for n in range(3)]
    )
    server = make_server(rag)
    found = checked(server, "search", query="piece 1 of it")["results"]
    text = checked(server, "fetch", id=found[0]["id"])["text"]
    assert all(f"piece {n} of it" in text for n in range(3))
