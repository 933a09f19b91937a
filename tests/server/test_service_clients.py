"""Programs that speak to a running service: OpenAI's SDK, MCP's, and a plain connection."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import command_line
import httpx2
import pytest
from fake_openai import FakeOpenAI
from fake_provider import Fault, Reply, Request
from http_service import running
from mcp import Client
from mcp_client import data
from openai import BadRequestError, NotFoundError, OpenAI, RateLimitError
from patience import BOUND, wait_until

from rag_pg import Rag, Settings

NOTES: list[dict[str, Any]] = [
    {"uri": "pump", "content": "The pump runs at two bar.", "metadata": {"kind": "machine"}},
    {"uri": "https://wiki.example.com/valve", "title": "Valve",
     "content": "# Valve\n\nThe valve opens at three bar.", "metadata": {"kind": "part", "no": 7}},
]  # fmt: skip
QUESTION = "When does the valve open?"
ASK = {"collection": "notes", "question": QUESTION, "strategy": "single", "stream": True}
ASKED: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is the pump?"},
    {"role": "assistant", "content": "A machine."},
    {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
]


@pytest.fixture(scope="module")
def notes(new_database: Callable[..., str], template: str, tmp_path_factory: Any) -> Iterator[Rag]:
    """A collection with a model that another process can open."""
    home = tmp_path_factory.mktemp("home")
    with Rag(new_database(template), settings=Settings(home=home)) as rag:
        rag.collection("notes").add(*NOTES)
        yield rag


@pytest.fixture(scope="module")
def model() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


def of(model: FakeOpenAI) -> dict[str, str]:
    """The environment of a service whose answers a model writes."""
    return {
        "RAG_PG_LLM": "openai:some",
        "OPENAI_API_KEY": model.key,
        "RAG_PG_OPENAI_BASE_URL": f"{model.url}/v1",
    }


@pytest.fixture(scope="module")
def url(notes: Rag, model: FakeOpenAI) -> Iterator[str]:
    """A service whose answers are written by a model, with its sources below."""
    with running(notes, "--answers", "2", "--waiting", "0", **of(model)) as service:
        yield service.url


@pytest.fixture
def client(url: str, model: FakeOpenAI) -> Iterator[OpenAI]:
    model.reset()
    with OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=BOUND) as client:
        yield client


def test_the_openai_client_chats_whole_and_streamed(client: OpenAI, model: FakeOpenAI) -> None:
    assert [one.id for one in client.models.list()] == ["rag:notes"]
    assert client.models.retrieve("rag:notes:single").id == "rag:notes:single"
    with pytest.raises(NotFoundError, match="'nothing'"):
        client.models.retrieve("rag:nothing")
    said = "The valve opens at three bar [1]."
    model.answers.extend([said] * 99)  # several calls each: a follow-up is made to stand alone
    whole = client.chat.completions.create(model="rag:notes:single", messages=ASKED)
    message = whole.choices[0].message
    assert message.content is not None and message.content.startswith("The valve opens at three")
    assert "## Sources" in message.content
    assert message.annotations is not None and whole.usage is not None
    first = message.annotations[0].url_citation
    assert (first.url, first.title) == ("https://wiki.example.com/valve", "Valve")
    assert "three bar" in message.content[first.start_index : first.end_index]
    assert whole.usage.total_tokens > 0
    text, annotations, usage, kinds = "", [], None, set()
    for chunk in client.chat.completions.create(
        model="rag:notes:single",
        messages=ASKED,
        stream=True,
        stream_options={"include_usage": True},
    ):
        usage = chunk.usage or usage
        kinds |= {(chunk.model_extra or {}).get("event", {}).get("type")}
        for choice in chunk.choices:
            text += choice.delta.content or ""
            annotations += (choice.delta.model_extra or {}).get("annotations", [])
    assert text == message.content and usage is not None
    assert annotations[0]["url_citation"]["url"] == first.url
    assert kinds == {None, "status", "source"}
    with client.chat.completions.stream(model="rag:notes:single", messages=ASKED) as stream:
        seen = {one.type for one in stream}
        assert "content.done" in seen
        assert stream.get_final_completion().choices[0].message.content == message.content


def test_what_an_answer_used_counts_for_the_limits_of_its_key(
    notes: Rag, model: FakeOpenAI
) -> None:
    model.reset()
    model.answers.extend(["The valve opens at three bar [1]."] * 99)
    key = notes.database.make_service_key(
        "spender", scopes=["ask"], settings={}, limits={"tokens_per_day": 1}
    )
    with running(notes, "--keys", **of(model)) as service:
        address = f"{service.url}/v1"
        with OpenAI(base_url=address, api_key=key, max_retries=0, timeout=BOUND) as client:
            client.chat.completions.create(model="rag:notes:single", messages=ASKED)
            with pytest.raises(RateLimitError, match="tokens_per_day") as beyond:
                client.chat.completions.create(model="rag:notes:single", messages=ASKED)
    assert int(beyond.value.response.headers["retry-after"]) > 0
    used = next(one for one in notes.database.list_service_keys() if one.key_name == "spender")
    assert used.requests == 1 and used.tokens > 1


def test_who_goes_away_before_the_end_has_used_what_was_sent_and_read(
    notes: Rag, model: FakeOpenAI
) -> None:
    model.reset()
    model.answers.append(Reply(text="The valve opens at three bar [1]. " * 9, stall=BOUND))
    limits = {"tokens_per_day": 1}
    key = notes.database.make_service_key("leaver", scopes=["ask"], settings={}, limits=limits)
    headers = {"authorization": f"Bearer {key}"}
    with running(notes, "--keys", **of(model)) as service:
        asked: Any = {
            "url": f"{service.url}/ask",
            "json": ASK,
            "headers": headers,
            "timeout": BOUND,
        }
        with httpx2.stream("POST", **asked):
            wait_until(model.stalling.is_set)

        def tokens() -> int:
            found = notes.database.list_service_keys()
            return next(one.tokens for one in found if one.key_name == "leaver")

        wait_until(lambda: tokens() > 1)
        assert httpx2.post(**asked).status_code == 429


def test_a_model_whose_order_is_of_no_use_counts_for_the_limits_of_its_key(
    notes: Rag, model: FakeOpenAI
) -> None:
    model.reset()
    model.answers.extend(["in prose"] * 9)
    key = notes.database.make_service_key(
        "orderer", scopes=["read"], settings={}, limits={"tokens_per_day": 1}
    )
    body = {"query": "valve", "documents": ["a", "b"]}
    with running(notes, "--keys", "--rerank", "llm", **of(model)) as service:
        headers = {"authorization": f"Bearer {key}"}
        asked = [
            httpx2.post(f"{service.url}/v1/rerank", json=body, headers=headers, timeout=BOUND)
            for _ in range(2)
        ]
    assert [one.status_code for one in asked] == [502, 429]


def test_the_openai_client_embeds_and_searches(client: OpenAI, notes: Rag) -> None:
    docs = notes.get_collection("notes")
    wanted = docs.embedder.embed_documents(["one", "two"])
    with pytest.raises(BadRequestError, match="dimensions 7 are not those of the model"):
        client.embeddings.create(model="rag:notes", input="one", dimensions=7)
    made = client.embeddings.create(model=docs.info.model, input=["one", "two"])  # as base64
    plain = client.embeddings.create(model="rag:notes", input="two", encoding_format="float")
    assert [list(one.embedding) for one in made.data] == wanted.tolist()
    assert plain.data[0].embedding == pytest.approx(wanted[1].tolist())
    page = client.vector_stores.search(
        "notes",
        query="valve",
        max_num_results=3,
        filters={
            "type": "and",
            "filters": [
                {"type": "eq", "key": "kind", "value": "part"},
                {"type": "gte", "key": "no", "value": 7},
            ],
        },
    )
    (found,) = page.data
    assert found.filename == "https://wiki.example.com/valve" and 0 <= found.score <= 1
    assert "three bar" in found.content[0].text
    for call in (
        lambda: client.chat.completions.create(model="rag:nowhere", messages=ASKED),
        lambda: client.embeddings.create(model="onnx:/etc/passwd", input="x"),
        lambda: client.vector_stores.search("nowhere", query="x"),
    ):
        with pytest.raises(NotFoundError):
            call()


def test_tasks_of_open_webui_are_answered_without_search_and_model(
    client: OpenAI, model: FakeOpenAI
) -> None:
    history = (
        "<chat_history>\nUSER: How do I open\tthe valve?\nASSISTANT: Turn it.\n</chat_history>"
    )
    for key, reply in (
        ("title", "How do I open the valve?"),
        ("tags", []),
        ("follow_ups", []),
        ("queries", []),
        ("text", ""),
    ):
        task = f'### Task:\nMake it.\n### Output:\nJSON format: {{ "{key}": "…" }}\n{history}'
        told = client.chat.completions.create(
            model="rag:notes", messages=[{"role": "user", "content": task}]
        )
        assert json.loads(told.choices[0].message.content or "") == {key: reply}
    assert model.requests == []


@pytest.mark.minutes
def test_a_helper_model_does_the_tasks_of_open_webui_where_one_is_set(
    notes: Rag, model: FakeOpenAI
) -> None:
    model.reset()
    model.answers.append('{ "title": "Opening the valve" }')
    task = '### Task:\nJSON format: { "title": "…" }\n### Chat History:\nUSER: The valve?'
    asked: Any = [{"role": "user", "content": task}]
    with running(notes, **of(model), RAG_PG_HELPER_LLM="openai:small") as service:
        address = f"{service.url}/v1"
        with OpenAI(base_url=address, api_key="none", max_retries=0, timeout=BOUND) as client:
            told = client.chat.completions.create(model="rag:notes", messages=asked)
    assert told.choices[0].message.content == '{ "title": "Opening the valve" }'
    assert told.usage is not None and told.usage.total_tokens > 0
    (request,) = model.requests
    assert request.body["model"] == "small" and request.body["messages"][-1]["content"] == task
    assert [one.kind for one in notes.admin.usage(by=["strategy", "kind"])
            if one.strategy == "task"] == ["helper"]  # fmt: skip


def test_mcp_is_served_beside(url: str) -> None:
    async def used() -> tuple[list[str], Any]:
        async with Client(f"{url}/mcp") as client:
            tools = await client.list_tools()
            count = await client.call_tool("count", {"collection": "notes"})
            return [tool.name for tool in tools.tools], data(count)

    names, count = asyncio.run(used())
    assert "search" in names and count == {"documents": 2}
    # No stream waits there for what never comes, and is cut when the service stops.
    stream = httpx2.get(f"{url}/mcp", headers={"accept": "text/event-stream"}, timeout=BOUND)
    assert stream.status_code == 405 and stream.headers["allow"] == "POST"
    assert stream.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(("status", "end"), [(401, "error"), (404, "answer")])
def test_what_a_provider_says_of_an_error_stays_with_the_service(
    url: str, model: FakeOpenAI, status: int, end: str
) -> None:
    model.reset()
    model.fail(status, "of account org-private", code="private\nof you", times=9)
    told = httpx2.post(f"{url}/ask", json=ASK, timeout=BOUND).text
    assert f"event: {end}" in told and str(status) in told
    assert "private" not in told


def test_who_goes_away_frees_the_answer_and_its_model(url: str, model: FakeOpenAI) -> None:
    """Two answers are made at once and none may wait: while two models think the next is refused,
    and when their readers have gone it is answered."""
    model.reset()
    address = url.removeprefix("http://").split(":")
    readers: list[socket.socket] = []
    left = model.left
    for stream in (True, False):
        model.delay(BOUND)
        body = json.dumps(ASK | {"stream": stream}).encode()
        reader = socket.create_connection((address[0], int(address[1])))
        head = f"POST /ask HTTP/1.1\r\nhost: {':'.join(address)}\r\ncontent-length: {len(body)}"
        reader.sendall(f"{head}\r\ncontent-type: application/json\r\n\r\n".encode() + body)
        readers.append(reader)
        wait_until(lambda: model.thinking == len(readers))
    asked = {"collection": "notes", "question": QUESTION, "strategy": "extractive"}
    busy = httpx2.post(f"{url}/ask", json=asked, timeout=BOUND)
    assert (busy.status_code, busy.headers["retry-after"]) == (503, "5")
    search = {"collection": "notes", "query": "valve"}
    assert httpx2.post(f"{url}/search", json=search, timeout=BOUND).status_code == 200
    for reader in readers:
        linger = struct.pack("ii", 1, 0)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        reader.close()
    wait_until(lambda: model.left == left + 2)

    def answered() -> bool:
        return httpx2.post(f"{url}/ask", json=asked, timeout=BOUND).status_code == 200

    wait_until(answered)


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
@pytest.mark.parametrize(("method", "status"), [("GET", 405), ("POST", 200)])
def test_who_asks_for_another_protocol_is_answered_in_this_one(
    url: str, method: str, status: int, protocol: str
) -> None:
    headers = {
        "content-type": "application/json", "Connection": "Upgrade, HTTP2-Settings",
        "Upgrade": protocol, "HTTP2-Settings": "AAEAAEAA", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }  # fmt: skip
    body = json.dumps({"collection": "notes", "query": "valve"})
    with closing(HTTPConnection(url.removeprefix("http://"), timeout=BOUND)) as connection:
        for _ in range(2):  # the connection stays
            connection.request(method, "/search", body, headers)
            response = connection.getresponse()
            assert (response.status, b"valve" in response.read()) == (status, status == 200)


class Held(FakeOpenAI):
    """Answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.arrived, self.let = threading.Event(), threading.Event()

    def route(self, request: Request) -> Fault | tuple[int, Any]:
        self.arrived.set()
        self.let.wait(BOUND)
        return super().route(request)


@pytest.mark.minutes
def test_an_answer_that_was_accepted_is_finished_while_the_service_stops(notes: Rag) -> None:
    with Held() as held:
        held.answers.append("The valve opens at three bar [1].")
        with (
            running(notes, **of(held)) as service,
            httpx2.stream("POST", f"{service.url}/ask", json=ASK, timeout=BOUND) as response,
        ):
            wait_until(held.arrived.is_set)
            service.process.terminate()
            address = httpx2.URL(service.url)

            def closed() -> bool:
                try:
                    socket.create_connection((address.host, address.port or 0)).close()
                except ConnectionError:
                    return True
                return False

            wait_until(closed)
            held.let.set()
            assert response.status_code == 200
            assert "event: answer" in response.read().decode()
    assert service.process.returncode in (0, -15)


@pytest.mark.minutes
def test_several_processes_serve_one_address(notes: Rag) -> None:
    with running(notes, "--processes", "2") as service:
        search = {"collection": "notes", "query": "valve"}
        for _ in range(4):
            found = httpx2.post(f"{service.url}/search", json=search, timeout=BOUND)
            assert found.json()["hits"][0]["uri"].endswith("valve")
    assert len([line for line in service.log if '"/search"' in line]) == 4


@pytest.mark.minutes
def test_processes_of_one_service_share_the_limits_of_a_key(notes: Rag) -> None:
    key = notes.database.make_service_key(
        "shared", scopes=["read"], settings={}, limits={"requests_per_day": 12}
    )
    head = {"authorization": f"Bearer {key}"}
    search = {"collection": "notes", "query": "valve", "vector_weight": 0}
    with running(notes, "--keys", "--processes", "2") as service, ThreadPoolExecutor(8) as pool:

        def ask(_: int) -> int:  # each by a connection of its own
            return httpx2.post(
                f"{service.url}/search", json=search, headers=head, timeout=BOUND
            ).status_code

        told = list(pool.map(ask, range(30)))
    assert sorted(told) == [200] * 12 + [429] * 18
    (used,) = [one for one in notes.database.list_service_keys() if one.key_name == "shared"]
    assert used.requests == 12


def test_it_listens_only_where_nobody_else_comes_from(notes: Rag, tmp_path: Path) -> None:
    for address in ("0.0.0.0:0", "[::]:0"):
        done = command_line.run(
            "serve", address, environment={"RAG_PG_DSN": notes.dsn or ""}, cwd=tmp_path
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert "is reached from elsewhere" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.minutes
def test_a_search_is_answered_beside_a_hundred_answers_and_all_of_them_end(notes: Rag) -> None:
    """As many models as may answer at once think until the search is answered."""
    at_once, asked = 12, 100
    search = {"collection": "notes", "query": "valve"}
    with (
        Held() as held,
        running(notes, "--answers", str(at_once), **of(held)) as service,
        ThreadPoolExecutor(asked) as pool,
    ):

        def ask(number: int) -> str:
            body = ASK | {"question": f"{QUESTION} {number}"}
            return httpx2.post(f"{service.url}/ask", json=body, timeout=BOUND).text

        reading = [pool.submit(ask, number) for number in range(asked)]
        try:
            wait_until(lambda: len(held.requests) == at_once)
            assert httpx2.post(f"{service.url}/search", json=search, timeout=BOUND).json()["hits"]
            assert not any(one.done() for one in reading)
        finally:
            held.let.set()
        told = [one.result(BOUND) for one in reading]
    assert [text for text in told if "event: answer" not in text or "event: error" in text] == []
    assert len(held.requests) == asked
