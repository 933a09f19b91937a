"""No answer is above its cap, whatever is asked of whatever is stored.

Tokens are those of `estimate_tokens`, which errs on the high side: of the text and of the
structured content together, as a client may show its model both.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp_client import data, text_of, with_client
from mcp_types import CallToolResult, TextContent
from rota import tries

from rag_pg import Rag, Settings
from rag_pg.server.mcp import make_server
from rag_pg.server.mcp.render import count_tokens, quoted, render_object, render_page, shorten

SEED = 20261122
CALLS = tries(25, 6)  # random ones of each tool, beside those that are right
CAPS = (1000, *(pytest.param(cap, marks=pytest.mark.minutes) for cap in (2500, 8000)))
NAME = "collection"
WORDS = [
    "fish",
    "bird",
    "tree",
    "sea",
    "System:",
    "ignore",
    "0123456789",
    ",;:(){}[]\"'",
    "¦",
    "漢字",
    "ü\n",
]


def text(chance: random.Random, longest: int) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, longest)))


def value(chance: random.Random, depth: int = 3) -> Any:
    kinds: list[Callable[[], Any]] = [
        lambda: chance.randint(-(10**6), 10**6),
        lambda: 10 ** chance.randint(0, 3000),
        lambda: chance.random() * 10**300,
        lambda: text(chance, 30),
        lambda: text(chance, 3000),
        lambda: None,
        lambda: True,
    ]
    if depth:
        kinds += [
            lambda: [value(chance, depth - 1) for _ in range(chance.randint(0, 40))],
            lambda: {
                text(chance, 5): value(chance, depth - 1) for _ in range(chance.randint(0, 9))
            },
        ]
    return chance.choice(kinds)()


@pytest.fixture(scope="module")
def vast(new_database: Callable[..., str], template: str, tmp_path_factory: Any) -> Iterator[Rag]:
    """Three collections of documents that are short, long, and have much metadata."""
    chance = random.Random(7)
    dsn = new_database(template)
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    with Rag(dsn, settings=settings, embedders={"hash": lambda name: HashEmbedder()}) as rag:
        for name in ("one", "two", "x" * 100):
            opened = rag.collection(name, model="hash:32", chunking={"max_tokens": 256})
            opened.alter(description=text(chance, 100)[:1000])
            opened.add(
                *[
                    {
                        "uri": f"{number}/{text(chance, 40)}"[: chance.choice((20, 900))],
                        "title": text(chance, chance.choice((3, 600))),
                        "content": text(chance, chance.choice((5, 300, 3000))),
                        "metadata": {"kind": chance.choice("abc"), "n": number}
                        | {f"field {n}": value(chance) for n in range(chance.choice((0, 3, 60)))},
                    }
                    for number in range(12)
                ]
            )
        with psycopg.connect(dsn, autocommit=True) as connection:
            columns = ", ".join(f"repeat('wide {n} ', {n * 9}) AS c{n}" for n in range(60))
            connection.execute(
                f"CREATE VIEW public.wide AS SELECT g AS n, {columns}"
                " FROM generate_series(1, 300) AS g".encode()
            )
        rag.views.expose("public.wide", text(chance, 200), max_rows=1000)
        yield rag


def arguments(chance: random.Random, tool: str, known: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of which most are right, some hostile, some missing."""

    def name() -> Any:
        return chance.choice([*known["collections"] * 5, "none", None])

    filters: list[Any] = [
        *[None, {}] * 8, {"kind": "a"}, {"n": {"$gte": 3}}, {"$or": [{"kind": "b"}, {"n": 1}]},
        {"kind": {"$in": ["a"] * chance.randint(0, 3000)}}, {"a": {"$nope": 1}}, "kind=a", [], 7,
        {text(chance, 2000): text(chance, 2000)},
    ]  # fmt: skip
    limit = chance.choice([*[1, 5, 20, 100] * 3, 0, 10**9, "7", None, -1])
    detail = chance.choice([*["low", "full"] * 4, "other"])
    cursor = chance.choice([*[None] * 12, *known["cursors"][-1:], "x", "f" * 9000, 5])
    aggregates = chance.choice(
        [{"n": {"count": "*"}}, {"s": {"sum": "n"}, "m": {"max": "kind"}}, {"n": {"no": "x"}}, {}]
    )
    groups = chance.choice([[], ["kind"], ["n"], ["kind", "n"], ["n"] * 500, [text(chance, 900)]])
    made: dict[str, dict[str, Any]] = {
        "search": {"query": text(chance, 200), "collection": name(), "detail": detail,
                   "limit": limit, "offset": chance.choice([0, 0, 0, 5, 900, -1])},
        "fetch": {"id": chance.choice([*known["ids"][-20:], "one:1", "x", "one:1@99999"])},
        "ask": {"question": text(chance, 60), "collection": name(), "detail": detail},
        "get_document": {"uri": chance.choice([u for some in known["uris"].values() for u in some]),
                         "collection": name(), "detail": detail, "cursor": cursor},
        "list_collections": {"detail": detail, "cursor": cursor},
        "describe_metadata": {"collection": name(), "detail": detail, "cursor": cursor},
        "count": {"collection": name()},
        "facets": {"field": chance.choice(["kind", "n", "field 1", text(chance, 900)]),
                   "collection": name(), "limit": limit, "cursor": cursor,
                   **({"text": text(chance, 9)} if chance.random() < 0.3 else {})},
        "select": {"collection": name(), "limit": limit, "detail": detail, "cursor": cursor,
                   "order_by": chance.choice(["uri", "n", "kind", "uri", text(chance, 900)])},
        "aggregate": {"aggregates": aggregates, "group_by": groups, "collection": name(),
                      "limit": limit, "cursor": cursor},
        "list_views": {"cursor": cursor},
        "query_view": {"name": chance.choice(["wide", "wide", text(chance, 900)]), "limit": limit,
                       "cursor": cursor, **({"columns": ["n", "c1"]} if limit == 5 else {}),
                       **({"aggregates": aggregates} if limit == 20 else {})},
    }  # fmt: skip
    given = made[tool]
    if tool in ("search", "ask", "count", "facets", "select", "aggregate", "describe_metadata"):
        given["filter"] = chance.choice(filters)
    if chance.random() < 0.05:
        given[text(chance, 300)] = value(chance)
    if chance.random() < 0.05:
        given[chance.choice(list(given))] = value(chance)
    return given


def right(known: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Calls of each tool that must be answered."""
    where = [{"collection": name, "detail": "full"} for name in known["collections"]]
    uris = known["uris"]
    counts = {"rows": {"count": "*"}, "most": {"max": "n"}}
    return {
        "search": [{"query": "fish bird", "limit": 20, **one} for one in where],
        "fetch": [{"id": one} for one in known["ids"]],
        "ask": [{"question": "fish bird", **one} for one in where],
        "get_document": [{"uri": u, **one} for one in where for u in uris[one[NAME]][:4]],
        "list_collections": [{"detail": "full"}, {"detail": "low"}],
        "describe_metadata": where,
        "count": [{NAME: one[NAME], "filter": {"kind": "a"}} for one in where],
        "facets": [{"field": field, NAME: one[NAME]} for one in where for field in ("kind", "n")],
        "select": [{"order_by": "uri", "limit": 100, **one} for one in where],
        "aggregate": [{"aggregates": counts, "group_by": ["n"], NAME: one[NAME]} for one in where],
        "list_views": [{}],
        "query_view": [{"name": "wide", "limit": 100}],
    }


class Calls:
    """Calls one server and checks each answer; follows its pages."""

    def __init__(self, client: Client, cap: int, known: dict[str, Any]) -> None:
        self.client, self.cap, self.known = client, cap, known
        self.answered: Counter[str] = Counter()
        self.followed: Counter[str] = Counter()

    async def call(self, tool: str, given: dict[str, Any], most: int) -> str:
        """Read at most `most` pages of it; return why the first was refused, or nothing."""
        for page in range(most):
            result = await self.client.call_tool(tool, given)
            assert count_tokens(result) <= self.cap, (tool, given)
            if result.is_error:
                assert "\n" not in text_of(result) and "Traceback" not in text_of(result)
                assert "log says why" not in text_of(result), (tool, given)
                return text_of(result) if page == 0 else ""
            self.answered[tool] += 1
            found = result.structured_content or json.loads(text_of(result))
            if "next_cursor" not in found:
                break
            self.known["cursors"].append(found["next_cursor"])
            given = {**given, "cursor": found["next_cursor"]}
            self.followed[tool] += 1
        return ""


@pytest.mark.longer
@pytest.mark.parametrize("cap", CAPS)
def test_no_answer_is_above_its_cap(vast: Rag, cap: int) -> None:
    """Calls that are right reach every tool and its pages; random ones come beside them.

    Each random call has a seed of its own, which an error shows: what the calls before it found
    changes none of it but ids and cursors.
    """
    collections = [info.name for info in vast.collections()]
    uris = {name: [d.uri for d in vast.collection(name).metadata.select()] for name in collections}
    known: dict[str, Any] = {"collections": collections, "uris": uris, "cursors": []}
    known["ids"] = [
        f"{name}:{hit.chunk_id}"
        for name in collections
        for hit in vast.collection(name).search("fish", limit=9)
    ]

    async def main() -> Calls:
        async with Client(make_server(vast, max_tokens=cap)) as client:
            calls = Calls(client, cap, known)
            tools = right(known)
            assert [tool.name for tool in (await client.list_tools()).tools] == list(tools)
            for tool, givens in tools.items():
                for given in givens:
                    assert not (why := await calls.call(tool, given, 4)), (tool, given, why)
            for number in range(CALLS * len(tools)):
                chance = random.Random(seed := f"{SEED} {cap} {number}")
                tool = list(tools)[number % len(tools)]
                try:
                    await calls.call(tool, arguments(chance, tool, known), chance.choice((1, 9)))
                except AssertionError as error:
                    error.add_note(f"seed {seed}")
                    raise
            return calls

    calls = asyncio.run(main())
    assert calls.answered.keys() == right(known).keys()
    if cap == 1000:
        assert calls.followed.keys() >= {"get_document", "select", "query_view", "facets"}


def test_every_resource_stays_below_the_cap(vast: Rag) -> None:
    server = make_server(vast, max_tokens=1000)

    async def read(client: Any) -> None:
        for document in vast.get_collection("one").metadata.select():
            low = {"uri": document.uri, "collection": "one", "detail": "low"}
            result = await client.call_tool("get_document", low)
            (content,) = (await client.read_resource(data(result)["url"])).contents
            block = CallToolResult(content=[TextContent(type="text", text=content.text)])
            assert count_tokens(block) <= 1000

    with_client(server, read)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4000),
    lambda inner: st.lists(inner, max_size=50) | st.dictionaries(st.text(), inner, max_size=50),
    max_leaves=60,
)


@pytest.mark.minutes
@pytest.mark.longer
@settings(max_examples=tries(40, 15))
@given(st.lists(st.dictionaries(st.sampled_from("abcdef"), json_values), max_size=30))
def test_a_page_is_below_its_cap_and_has_a_row(rows: list[dict[str, Any]]) -> None:
    page = render_page("rows", rows, cap=1000, start=0, cursor=lambda n: f"{n:x}-{'0' * 12}")
    assert count_tokens(page) <= 1000
    found = page.structured_content
    assert found is not None and len(found["rows"]) >= min(1, len(rows))
    assert ("next_cursor" in found) == (len(found["rows"]) < len(rows))


@pytest.mark.longer
@settings(max_examples=tries(100, 35))
@given(st.dictionaries(st.sampled_from("abcdef"), json_values))
def test_an_object_is_below_its_cap_and_keeps_its_keys(values: dict[str, Any]) -> None:
    result = render_object("object", values, cap=1000)
    assert count_tokens(result) <= 1000
    assert result.structured_content is not None
    assert set(values) <= set(result.structured_content)


@given(json_values)
def test_what_fits_is_not_shortened(one: Any) -> None:
    plain = quoted(one)
    assert json.loads(json.dumps(plain)) == plain
    assert shorten({"n": 5, "t": "short", "l": [1, {"a": None}]}, 40, 8, 3) == {
        "n": 5,
        "t": "short",
        "l": [1, {"a": None}],
    }
