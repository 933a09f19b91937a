"""Every provider's language model, one contract: the real SDKs against servers on loopback."""

from __future__ import annotations

import json
import re
import socket
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from fake_anthropic import THOUGHT, FakeAnthropic
from fake_gemini import FakeGemini
from fake_openai import FakeOpenAI
from fake_provider import GOOD_KEY, FakeProvider, Reply
from paths import ROOT
from patience import BOUND, wait_until

from rag_pg.deadline import Scope
from rag_pg.errors import (
    InvalidInput,
    ProviderAuth,
    ProviderError,
    ProviderTimeout,
    ProviderUnavailable,
    RateLimited,
    UnusableReply,
)
from rag_pg.protocols import LLM
from rag_pg.providers import complete_json, token_counter
from rag_pg.providers.anthropic import ANTHROPIC, AnthropicLLM
from rag_pg.providers.connection import PATIENCE, PAUSES, Provider
from rag_pg.providers.gemini import GEMINI
from rag_pg.providers.gemini.llm import GeminiLLM
from rag_pg.providers.openai import OPENAI, OpenAILLM
from rag_pg.threads import start_thread
from rag_pg.types import Completion, Message, Source, Tool, Usage

pytestmark = pytest.mark.libraries

SAID = "The red fish swims below [1]."
TOOL = Tool(
    name="search",
    description="Search the documents.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
        "additionalProperties": False,
    },
)
CALL = ("search", {"query": "red fish", "limit": 5})
SCHEMA = {
    "type": "object",
    "properties": {"queries": {"type": "array", "items": {"type": "string"}}},
    "required": ["queries"],
    "additionalProperties": False,
}
MESSAGES = [Message(role="system", content="Be brief."), Message(role="user", content="Which?")]


@dataclass
class Case:
    """A provider: its server, and how its model is opened. `pauses`: those it made."""

    provider: Provider
    fake: FakeProvider
    make: Callable[..., LLM]
    base: str = ""
    pauses: list[float] = field(default_factory=list)

    def open(self, **options: Any) -> LLM:
        given = {"api_key": GOOD_KEY, "base_url": self.url, "sleep": self.pauses.append, **options}
        return self.make(**given)

    @property
    def url(self) -> str:
        return self.fake.url + self.base

    @property
    def body(self) -> str:
        """The last request's body."""
        return json.dumps(self.fake.requests[-1].body)


CASES: dict[str, Callable[[], Case]] = {
    "genai": lambda: Case(GEMINI, FakeGemini(), lambda **o: GeminiLLM(sdk="genai", **o)),
    "generativeai": lambda: Case(
        GEMINI, FakeGemini(), lambda **o: GeminiLLM(sdk="generativeai", **o)
    ),
    "openai": lambda: Case(OPENAI, FakeOpenAI(), lambda **o: OpenAILLM("some", **o), base="/v1"),
    "anthropic": lambda: Case(ANTHROPIC, FakeAnthropic(), lambda **o: AnthropicLLM("some", **o)),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    case = CASES[request.param]()
    for name in (*case.provider.key_settings, case.provider.url_setting):
        monkeypatch.delenv(name, raising=False)
    with case.fake:
        yield case


@pytest.fixture
def llm(case: Case) -> LLM:
    return case.open()


def both_ways(llm: LLM, **options: Any) -> list[Completion]:
    """What `complete` and `stream` return for the same."""
    *pieces, last = llm.stream(MESSAGES, **options)
    assert isinstance(last, Completion) and all(isinstance(piece, str) for piece in pieces)
    assert "".join(map(str, pieces)) == last.text
    return [llm.complete(MESSAGES, **options), last]


# --- who goes away ---------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["complete", "stream"])
def test_a_call_that_nobody_waits_for_is_closed_while_the_model_thinks(
    case: Case, llm: LLM, way: str, request: pytest.FixtureRequest
) -> None:
    if "generativeai" in request.node.name:  # its library has no client of httpx
        return
    llm.complete(MESSAGES)  # a connection is kept, which the next call takes
    case.fake.delay(BOUND)
    scope = Scope(can_stop=True)
    ends: list[str] = []

    def ask() -> None:
        with scope.entered():
            try:
                list(llm.stream(MESSAGES)) if way == "stream" else llm.complete(MESSAGES)
            except ProviderUnavailable as exc:
                ends.append(type(exc).__name__)

    asking = start_thread(ask, "asking")
    wait_until(lambda: case.fake.thinking == 1)
    scope.stop()
    asking.join()
    wait_until(lambda: (case.fake.thinking, case.fake.left) == (0, 1))
    assert len(ends) == 1 and len(case.fake.requests) == 2  # it is not asked anew
    assert llm.complete(MESSAGES).text


# --- what is said ----------------------------------------------------------------------------


def test_an_answer_comes_with_its_usage(case: Case, llm: LLM) -> None:
    case.fake.answers.append(SAID)
    usage = Usage(prompt_tokens=7, answer_tokens=5)
    assert llm.complete(MESSAGES) == Completion(text=SAID, tool_calls=[], usage=usage)
    assert "Be brief." in case.body and "Which?" in case.body
    assert llm.name.startswith(f"{case.provider.name}:")


def test_a_streamed_answer_comes_in_pieces_and_is_the_same_as_the_whole(
    case: Case, llm: LLM
) -> None:
    case.fake.answers += [SAID, SAID]
    *pieces, last = llm.stream(MESSAGES)
    assert len(pieces) == 6 and "".join(map(str, pieces)) == SAID
    assert last == llm.complete(MESSAGES)


def test_a_conversation_keeps_its_order(case: Case, llm: LLM) -> None:
    turns = [*MESSAGES, Message(role="assistant", content="A."), Message(role="user", content="B?")]
    llm.complete(turns)
    places = [case.body.index(json.dumps(text)) for text in ("Which?", "A.", "B?")]
    assert places == sorted(places)


def test_tools_are_offered_and_called(case: Case, llm: LLM) -> None:
    reply = Reply(finish="tool_calls", calls=[CALL, ("search", {"query": "more"})])
    case.fake.answers += [reply, reply]
    for got in both_ways(llm, tools=[TOOL]):
        assert got.finish == "tool_calls" and got.text == ""
        assert [(call.name, dict(call.arguments)) for call in got.tool_calls] == [
            CALL,
            ("search", {"query": "more"}),
        ]
        assert len({call.id for call in got.tool_calls}) == 2
    assert "Search the documents." in case.body and '"limit"' in case.body


def test_results_of_tools_go_back_to_their_calls(case: Case, llm: LLM) -> None:
    case.fake.answers += [Reply(finish="tool_calls", calls=[CALL, CALL]), SAID]
    first = llm.complete(MESSAGES, tools=[TOOL])
    assistant = Message(role="assistant", content="", tool_calls=first.tool_calls)
    results = [
        Message(role="tool", content=f"hit {n}", tool_call_id=call.id)
        for n, call in enumerate(first.tool_calls)
    ]
    got = llm.complete([*MESSAGES, assistant, *results], tools=[TOOL])
    assert (got.text, got.finish) == (SAID, "stop")
    for call, result in zip(first.tool_calls, results, strict=True):
        assert case.body.count(f'"{call.id}"') == 2 and result.content in case.body


def test_an_answer_by_schema_is_parsed(case: Case, llm: LLM) -> None:
    case.fake.answers += ['{"queries": ["red fish"]}'] * 3
    for got in both_ways(llm, schema=SCHEMA):
        assert got.parsed == {"queries": ["red fish"]}
    assert '"queries"' in case.body
    assert complete_json(llm, MESSAGES, SCHEMA).parsed == {"queries": ["red fish"]}


def test_a_blocked_answer_says_so_and_why(case: Case, llm: LLM) -> None:
    reply = Reply(text="Well,", finish="blocked")
    case.fake.answers += [reply, reply]
    for got in both_ways(llm):
        assert (got.text, got.finish) == ("Well,", "blocked") and got.reason


@pytest.mark.parametrize("text", ["Because of", ""])
def test_a_truncated_answer_says_so(case: Case, llm: LLM, text: str) -> None:
    reply = Reply(text=text, finish="length")
    case.fake.answers += [reply, reply]
    for got in both_ways(llm, max_tokens=9):
        assert (got.text, got.finish, got.reason) == (text, "length", "")


def test_an_empty_answer_is_an_error(case: Case, llm: LLM) -> None:
    case.fake.answers += [Reply(), Reply()]
    with pytest.raises(UnusableReply, match="empty answer"):
        llm.complete(MESSAGES)
    with pytest.raises(UnusableReply, match="empty answer"):
        list(llm.stream(MESSAGES))


def test_one_object_serves_many_threads(case: Case, llm: LLM) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: llm.complete(MESSAGES).text, range(16)))
    assert len(answers) == len(case.fake.requests) == 16 and len(set(answers)) == 1


# --- repetition ------------------------------------------------------------------------------


def whole(llm: LLM) -> Completion:
    return llm.complete(MESSAGES)


def streamed(llm: LLM) -> Completion:
    *_, last = llm.stream(MESSAGES)
    assert isinstance(last, Completion)
    return last


ways = pytest.mark.parametrize("way", [whole, streamed])


@ways
def test_retry_after_is_waited_out(case: Case, llm: LLM, way: Callable[[LLM], Completion]) -> None:
    case.fake.fail(429, "slow down", headers={"Retry-After": "7"})
    assert way(llm).text and case.pauses == [7.0]


@ways
def test_a_rate_limit_and_a_failure_are_repeated_with_growing_pauses(
    case: Case, llm: LLM, way: Callable[[LLM], Completion]
) -> None:
    case.fake.fail(429, "slow down")
    case.fake.fail(503, "overloaded")
    assert way(llm).text
    assert case.pauses == [PAUSES.pause(1), PAUSES.pause(2)]


@pytest.mark.parametrize(("status", "kind"), [(429, RateLimited), (500, ProviderUnavailable)])
def test_repetitions_end(case: Case, llm: LLM, status: int, kind: type[ProviderError]) -> None:
    case.fake.fail(status, "made to fail", times=9)
    with pytest.raises(kind, match=f"{status}.*made to fail"):
        llm.complete(MESSAGES)
    assert len(case.fake.requests) == 3 and len(case.pauses) == 2


def test_a_long_wait_is_told_and_not_waited_out(case: Case, llm: LLM) -> None:
    case.fake.fail(429, "slow down", headers={"Retry-After": str(int(PATIENCE) + 1)})
    with pytest.raises(RateLimited, match="asks to wait 21 s") as caught:
        llm.complete(MESSAGES)
    assert caught.value.retry_after == PATIENCE + 1 and not case.pauses


@pytest.mark.parametrize("status", [400, 404])
def test_a_bad_request_is_not_repeated(case: Case, llm: LLM, status: int) -> None:
    case.fake.fail(status, "no such\nmodel")
    with pytest.raises(ProviderError, match=f"answered {status}.*no such model"):
        llm.complete(MESSAGES)
    assert len(case.fake.requests) == 1 and not case.pauses


# --- time and connection ---------------------------------------------------------------------


@ways
def test_a_server_that_hangs_is_a_time_out(case: Case, way: Callable[[LLM], Completion]) -> None:
    case.fake.delay(BOUND)
    with pytest.raises(ProviderTimeout, match=r"within 0\.2 s; raise timeout"):
        way(case.open(timeout=0.2))
    wait_until(lambda: case.fake.requests)  # the server may read it later than it was sent
    assert len(case.fake.requests) == 1


def test_a_stream_that_hangs_is_a_time_out_after_its_pieces(case: Case) -> None:
    opened = []
    for timeout in (0.2, 2, 20, 200):
        opened.append(timeout)
        case.fake.answers.append(Reply(text=SAID, stall=BOUND))
        pieces = case.open(timeout=timeout).stream(MESSAGES)
        try:
            assert next(pieces) == "The "
        except ProviderTimeout:
            continue  # the machine is busy: even the first piece came too late
        with pytest.raises(ProviderTimeout):
            next(pieces)
        break
    assert 1 <= len(case.fake.requests) <= len(opened)


@pytest.mark.parametrize("cut", [True, False])
def test_a_stream_that_breaks_off_is_an_error_after_its_pieces(
    case: Case, llm: LLM, cut: bool
) -> None:
    case.fake.answers.append(Reply(text=SAID, cut=cut, finish="none"))
    pieces = llm.stream(MESSAGES)
    assert next(pieces) == "The "
    with pytest.raises(ProviderUnavailable, match="broke off its answer"):
        list(pieces)
    assert len(case.fake.requests) == 1


def test_a_stream_that_is_closed_waits_for_nothing(
    case: Case, request: pytest.FixtureRequest
) -> None:
    # google-generativeai gives a piece only when it has the next.
    stall = 0 if "generativeai" in request.node.name else BOUND
    case.fake.answers.append(Reply(text=SAID, stall=stall))
    pieces = case.open(timeout=2 * BOUND).stream(MESSAGES)
    assert next(pieces) == "The "
    if stall:
        wait_until(case.fake.stalling.is_set)
    pieces.close()  # type: ignore[attr-defined]
    assert case.fake.stalling.is_set() or not stall  # only the end of the test lets it go on


def test_a_refused_connection_names_the_address(case: Case) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(
            ProviderUnavailable,
            match=f"cannot reach {case.provider.name} at {url}.*(refused|Errno)",
        ):
            case.open(base_url=url).complete(MESSAGES)


def test_no_text_goes_where_a_redirect_leads(
    case: Case, llm: LLM, request: pytest.FixtureRequest
) -> None:
    if "generativeai" in request.node.name:  # its library has no client of httpx
        return
    with type(case.fake)() as other:
        case.fake.fail(307, headers={"Location": f"{other.url}/elsewhere"})
        with pytest.raises(ProviderUnavailable, match=f"307: it redirects to {other.url}"):
            llm.complete(MESSAGES)
        case.fake.fail(302, headers={"Location": f"{other.url}/elsewhere"})
        with pytest.raises(ProviderUnavailable, match=case.provider.url_setting):
            list(llm.stream(MESSAGES))
        assert not other.requests


def test_details_that_are_none_are_no_wait(
    case: Case, llm: LLM, request: pytest.FixtureRequest
) -> None:
    if "generativeai" in request.node.name:  # its library reads them itself
        return
    for body in ('{"error": {"details": 7}}', '{"error": {"details": "soon"}}'):
        case.fake.fail_raw(429, body)
    assert llm.complete(MESSAGES).text
    assert case.pauses == [PAUSES.pause(1), PAUSES.pause(2)]


@pytest.mark.parametrize("status", [200, 404])
def test_a_reply_that_is_not_json_is_an_error(case: Case, llm: LLM, status: int) -> None:
    case.fake.fail_raw(status, "<html>a captive portal</html>")
    with pytest.raises(ProviderError, match=r"captive portal|cannot be read"):
        llm.complete(MESSAGES)


def test_time_out_is_positive(case: Case) -> None:
    with pytest.raises(InvalidInput, match="above 0 seconds"):
        case.open(timeout=0)


# --- keys ------------------------------------------------------------------------------------


def test_a_missing_key_is_told_with_its_variable(case: Case) -> None:
    with pytest.raises(ProviderAuth, match=f"set {case.provider.key_settings[0]}"):
        case.make(sleep=case.pauses.append).complete(MESSAGES)


def test_key_and_address_come_from_the_environment(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(case.provider.url_setting, case.url + "/")
    monkeypatch.setenv(case.provider.key_settings[0], f" {GOOD_KEY}\n")
    assert case.make().complete(MESSAGES).text


def test_a_refused_key_is_told_without_the_key(case: Case) -> None:
    key = "-".join(["wrong", "key", "42"])  # a traceback shows lines of source
    with pytest.raises(ProviderAuth, match="refused the key") as caught:
        case.open(api_key=key).complete(MESSAGES)
    assert key not in "".join(traceback.format_exception(caught.value))
    assert len(case.fake.requests) == 1


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(case: Case) -> None:
    key = "-".join(["ключ", "42"])
    with pytest.raises(ProviderAuth, match="copy it again") as caught:
        case.open(api_key=key).complete(MESSAGES)
    assert key not in "".join(traceback.format_exception(caught.value))


@ways
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
@pytest.mark.few(14)
def test_a_key_never_shows_even_when_the_provider_repeats_it(
    case: Case, llm: LLM, status: int, way: Callable[[LLM], Completion]
) -> None:
    case.fake.fail(status, f"key {GOOD_KEY} is bad", times=5)
    with pytest.raises(ProviderError) as caught:
        way(llm)
    assert "***" in str(caught.value)
    assert GOOD_KEY not in "".join(traceback.format_exception(caught.value))
    assert GOOD_KEY not in repr(llm)


# --- of one provider only --------------------------------------------------------------------


@pytest.fixture
def openai_server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as fake:
        yield fake


def test_a_server_of_ones_own_needs_no_key(
    openai_server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    openai_server.open_to_all = True
    assert OpenAILLM("qwen3:8b", base_url=f"{openai_server.url}/v1").complete(MESSAGES).text
    body = openai_server.requests[0].body
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("qwen3:8b", 1024, 0.2)


def test_a_parameter_that_a_model_refuses_is_left_out_from_then_on(
    openai_server: FakeOpenAI,
) -> None:
    openai_server.refuses = ("temperature",)
    llm = OpenAILLM("next", api_key=GOOD_KEY, base_url=f"{openai_server.url}/v1")
    assert llm.complete(MESSAGES).text and llm.complete(MESSAGES).text
    sent = ["temperature" in request.body for request in openai_server.requests]
    assert sent == [True, False, False]
    openai_server.refuses = ("messages",)
    with pytest.raises(ProviderError, match="Unsupported value: 'messages'"):
        llm.complete(MESSAGES)


def test_a_prompt_that_is_filtered_is_a_blocked_answer(openai_server: FakeOpenAI) -> None:
    openai_server.fail(400, "The response was filtered", code="content_filter", times=2)
    llm = OpenAILLM("some", api_key=GOOD_KEY, base_url=f"{openai_server.url}/v1")
    for got in both_ways(llm):
        assert (got.text, got.finish, got.reason) == ("", "blocked", "content_filter")


@pytest.mark.parametrize(
    ("message", "usage"),
    [
        ({"content": 5}, None),
        ({"content": [{"type": "text", "text": "Yes."}]}, None),
        ({"content": "Yes."}, {"prompt_tokens": "many", "completion_tokens": 1}),
        ({"content": "Yes."}, {"prompt_tokens": 7, "completion_tokens": -1}),
        ({"tool_calls": [{"id": "a", "function": {"name": None, "arguments": "{}"}}]}, None),
    ],
)
def test_what_is_no_text_and_no_count_is_unusable(
    openai_server: FakeOpenAI, message: Any, usage: Any
) -> None:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    openai_server.fail_raw(200, json.dumps({"choices": [choice], "usage": usage}))
    address = f"{openai_server.url}/v1"
    llm = OpenAILLM("some", api_key=openai_server.key, base_url=address)
    with pytest.raises(UnusableReply, match="cannot be read"):
        llm.complete(MESSAGES)


def test_tokens_that_a_provider_does_not_tell_are_estimated(openai_server: FakeOpenAI) -> None:
    message = {"role": "assistant", "content": "Yes, it is."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    openai_server.fail_raw(200, json.dumps({"choices": [choice]}))
    address = f"{openai_server.url}/v1"
    llm = OpenAILLM("some", api_key=openai_server.key, base_url=address)
    used, counter = llm.complete(MESSAGES).usage, token_counter(llm)
    assert used.prompt_tokens == counter.of_prompt(MESSAGES) > 0
    assert used.answer_tokens == sum(counter.count(["Yes, it is."])) > 0


def test_the_example_of_the_guide_runs(
    openai_server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "guides" / "providers.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.setenv("OPENAI_API_KEY", GOOD_KEY)
    monkeypatch.setenv("RAG_PG_OPENAI_BASE_URL", f"{openai_server.url}/v1")
    openai_server.answers += ["Sure!", '{"queries": ["forgotten password"]}']
    exec(example, {})
    assert "['forgotten password'] Usage(prompt_tokens=14" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("schema", "strict"),
    [(SCHEMA, True), ({"type": "object", "properties": {"a": {"type": "string"}}}, False)],
)
def test_openai_holds_a_model_to_a_closed_schema(
    openai_server: FakeOpenAI, schema: dict[str, Any], strict: bool
) -> None:
    openai_server.answers.append("{}")
    llm = OpenAILLM("some", api_key=GOOD_KEY, base_url=f"{openai_server.url}/v1")
    llm.complete(MESSAGES, schema=schema)
    sent = openai_server.requests[0].body["response_format"]["json_schema"]
    assert (sent["schema"], sent["strict"]) == (schema, strict)


def test_thoughts_that_led_to_a_call_go_back_with_it() -> None:
    with FakeAnthropic() as fake:
        fake.thinks = True
        llm = AnthropicLLM("some", api_key=GOOD_KEY, base_url=fake.url)
        fake.answers += [Reply(finish="tool_calls", calls=[CALL])] * 2
        for got in both_ways(llm, tools=[TOOL]):
            (call,) = got.tool_calls
            turns: list[Message] = [
                Message(role="assistant", content="", tool_calls=[call]),
                Message(role="tool", content="hit", tool_call_id=call.id),
            ]
            assert llm.complete([*MESSAGES, *turns]).text
            (thought, use) = fake.requests[-1].body["messages"][1]["content"]
            assert (thought, use["type"]) == (THOUGHT, "tool_use")


def test_sources_are_cited_by_anthropic_itself() -> None:
    sources = [Source(key=f"key{n}", title="", text=f"Passage {n}.") for n in range(3)]
    asked = [MESSAGES[0], Message(role="user", content="Which?", sources=sources)]
    with FakeAnthropic() as fake:
        llm = AnthropicLLM("some", api_key=GOOD_KEY, base_url=fake.url)
        assert llm.capabilities.citations
        reply = Reply(text="So ", cites=[("fish swim", [2, 2, 0]), (".", [])])
        fake.answers += [reply, reply]
        got = llm.complete(asked)
        assert got.text == "So fish swim [key2][key0]."
        *pieces, last = llm.stream(asked)
        assert last == got and "".join(map(str, pieces)) == got.text
        *results, question = fake.requests[0].body["messages"][0]["content"]
        assert [result["source"] for result in results] == ["key0", "key1", "key2"]
        assert all(result["citations"] == {"enabled": True} for result in results)
        assert question == {"type": "text", "text": "Which?"}


def test_a_model_takes_sources_only_where_it_cites_them_itself(case: Case, llm: LLM) -> None:
    asked = [
        Message(role="user", content="Which?", sources=[Source(key="a", title="", text="Passage.")])
    ]
    if llm.capabilities.citations:
        assert llm.complete(asked).text and "Passage." in case.body
        return
    with pytest.raises(InvalidInput, match="takes no sources"):
        llm.complete(asked)
    with pytest.raises(InvalidInput, match="takes no sources"):
        list(llm.stream(asked))
    assert not case.fake.requests
