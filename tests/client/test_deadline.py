"""A bound of time holds for all of an answer: whatever does not come is done without."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from threading import Timer
from typing import Any

import psycopg
import pytest
from fakes import Call, HashEmbedder, ScriptedLLM, WordReranker
from patience import moment
from tool_calls import calling
from waiting import Door, WaitingEmbedder, WaitingLLM

from rag_pg import Answer, Collection, Rag, Settings
from rag_pg.db import cancel
from rag_pg.deadline import Scope, call_within, current_scope, grace, half_of_the_time, sleep
from rag_pg.errors import BudgetExceeded, ProviderUnavailable, RateLimited
from rag_pg.providers.connection import Access, Connection, Provider, passing
from rag_pg.threads import start_thread

QUESTION = "Which fish in the pond are red?"
CONTENT = "The fish in the pond are red and eat shrimps."
SECONDS = (1, 8, 64)  # a machine that has not come to the step in the first is given the next
CITES = "The fish in the pond are red [1]."
REWRITES = json.dumps({"queries": ["red fish"]})
JUDGES = json.dumps({"verdicts": [{"statement": 1, "supported": True}]})


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.open()


@pytest.fixture
def waiting(door: Door) -> WaitingEmbedder:
    return WaitingEmbedder(door)


def begin(rag: Rag) -> None:
    rag.collection("docs", model="hash:32").add({"uri": "a", "content": CONTENT})


@pytest.fixture
def docs(dsn: str, rag: Rag, waiting: WaitingEmbedder) -> Iterator[Collection]:
    settings = Settings(home=rag.settings.home)
    with Rag(dsn, settings=settings, embedders={"hash": lambda name: waiting}) as opened:
        yield opened.get_collection("docs")


def ask_until_it_waits(
    docs: Collection, door: Door, options: Callable[[], dict[str, Any]], *strategies: str
) -> Answer:
    """Ask with more and more time, until the step that is closed was reached with time left for
    those behind it, as the one that `strategies` need."""
    for seconds in SECONDS:
        arrived = door.arrived
        answer = docs.ask(QUESTION, timeout=seconds, **options())
        is_in_time = answer.found and (not strategies or answer.strategy in strategies)
        if door.arrived > arrived and is_in_time:
            return answer
    raise AssertionError(f"not answered behind the step: {answer.reason}, {answer.notes}")


def wait_at(door: Door) -> Callable[..., None]:
    return lambda *given: door.wait()


def models(door: Door) -> dict[str, dict[str, Any]]:
    """Options of questions, each with one step that does not answer."""

    def lookup(word: str) -> str:
        """Look a word up."""
        door.wait()
        return word

    writes = ScriptedLLM(CITES, name="writer")
    stuck = WaitingLLM(door, "{}", name="helper")
    both = calling(("search", {"query": "red fish"}), ("lookup", {"word": "fish"}))
    agent = ScriptedLLM(both, CITES, name="agent")
    return {
        "model": {"strategy": "single", "llm": WaitingLLM(door, CITES)},
        "rewrite": {"rewrite": ["multi_query"], "llm": writes, "helper_llm": stuck},
        "reranker": {"rerank": WordReranker(wait_at(door)), "rerank_timeout": None, "llm": writes},
        "verify once": {"verify": "once", "llm": writes, "helper_llm": stuck},
        "verify strict": {"verify": "strict", "llm": writes, "helper_llm": stuck},
        "evidence": {"strategy": "evidence", "llm": writes, "helper_llm": stuck},
        "self_ask": {"strategy": "self_ask", "llm": writes, "helper_llm": stuck},
        "tool": {"strategy": "agent", "tools": [lookup], "llm": agent},
    }


@pytest.mark.parametrize("step", models(Door()))
@pytest.mark.few(4)
def test_an_answer_comes_in_time_whichever_model_does_not(
    docs: Collection, door: Door, step: str
) -> None:
    answer = ask_until_it_waits(docs, door, lambda: models(door)[step])
    assert not door.is_open
    assert (answer.found, answer.sources[0].uri) == (True, "a")
    assert any("timeout (" in note for note in answer.notes), answer.notes


@pytest.mark.parametrize("what", ["queries", "documents"])
@pytest.mark.parametrize("llm", [None, "writer"])
@pytest.mark.few(2)
def test_an_answer_comes_in_time_when_nothing_can_be_embedded(
    docs: Collection, waiting: WaitingEmbedder, door: Door, what: str, llm: str | None
) -> None:
    setattr(waiting, what, True)
    model = ScriptedLLM("It is said of them that they have a colour [1].") if llm else None
    answer = ask_until_it_waits(docs, door, lambda: {"llm": model, "strategy": "auto"})
    assert not door.is_open
    assert (answer.found, answer.sources[0].uri) == (True, "a")


def test_the_model_has_half_of_the_time_when_a_question_cannot_be_embedded(
    docs: Collection, waiting: WaitingEmbedder, door: Door
) -> None:
    waiting.queries = True
    answer = ask_until_it_waits(
        docs, door, lambda: {"llm": ScriptedLLM(CITES), "strategy": "single"}, "single"
    )
    assert any(n.startswith("vector search was skipped: hash:32 did not") for n in answer.notes)


def test_an_answer_without_a_model_has_half_of_the_time_when_texts_cannot_be_embedded(
    docs: Collection, waiting: WaitingEmbedder, door: Door
) -> None:
    waiting.documents = True
    answers = (docs.ask(QUESTION, timeout=seconds, strategy="extractive") for seconds in SECONDS)
    answer = next(a for a in answers if a.citations and a.citations[0].status)
    assert (answer.found, answer.reason, door.is_open) == (True, "", False)
    (note,) = answer.notes
    assert note.startswith("sentences were compared by their words alone: hash:32 did not answer")


@pytest.mark.parametrize("table", ["chunks", "documents", "collections", "usage", "answer_log"])
@pytest.mark.few(2)
def test_an_answer_comes_in_time_when_a_table_is_locked(
    docs: Collection, dsn: str, table: str, connection: psycopg.Connection[Any]
) -> None:
    docs.alter(keep_answers=timedelta(days=1))
    with psycopg.connect(dsn) as other:
        other.execute(f"LOCK TABLE rag.{table} IN ACCESS EXCLUSIVE MODE".encode())
        answer = docs.ask(QUESTION, timeout=1)
        assert answer.text
        if table in ("chunks", "collections"):
            assert not answer.found and answer.reason == "stopped by timeout (1 s)"
        waits = connection.execute(
            "SELECT count(*) FROM pg_locks WHERE NOT granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ).fetchone()
        assert waits == (0,)
    assert docs.ask(QUESTION, timeout=64).found


def test_every_call_knows_the_last_moment_of_its_answer(docs: Collection) -> None:
    moments: list[tuple[str, float | None]] = []

    def note(step: str) -> None:
        scope = current_scope()
        moments.append((step, None if scope is None else scope.ends_at))

    def reply(step: str, text: Any) -> Callable[[Call], Any]:
        def tell(call: Call) -> Any:
            note(step)
            return text

        return tell

    class Noting(HashEmbedder):
        def embed_query(self, text: str) -> Any:
            note("embed query")
            return super().embed_query(text)

        def embed_documents(self, texts: Sequence[str]) -> Any:
            note("embed sentences")
            return super().embed_documents(texts)

    def look_up(word: str) -> str:
        """Look a word up."""
        note("tool")
        return word

    told = "In truth nobody has ever counted how many there may have been [1]."
    docs._opened.searcher._space._embedder = Noting("hash:32")
    docs.ask(
        QUESTION,
        timeout=500,
        strategy="agent",
        tools=[look_up],
        verify="once",
        rewrite=["multi_query"],
        rerank=WordReranker(lambda query, texts: note("rerank")),
        llm=ScriptedLLM(
            reply("model", calling(("look_up", {"word": "fish"}), ("search", {"query": "fish"}))),
            reply("model", told),
        ),
        helper_llm=ScriptedLLM(reply("helper", REWRITES), reply("helper", JUDGES), name="helper"),
    )
    docs.ask(QUESTION, timeout=500, strategy="single", llm=ScriptedLLM(told))
    ended = moment()
    assert {step for step, _ in moments} == {
        "embed query", "embed sentences", "tool", "rerank", "model", "helper",
    }  # fmt: skip
    assert all(moment is not None and moment <= ended + 500 for _, moment in moments)


def test_without_time_for_anything_an_answer_says_so(docs: Collection) -> None:
    answer = docs.ask(QUESTION, timeout=1e-9, llm=ScriptedLLM(CITES))
    assert (answer.text, answer.found) == ("There was no time to find an answer.", False)
    assert answer.reason == "stopped by timeout (1e-09 s)" and answer.notes and answer.trace_id


@pytest.mark.parametrize("error", [passing("503"), RateLimited("429"), RateLimited("429", 30.0)])
def test_no_pause_is_made_that_is_longer_than_the_time_left(error: Exception) -> None:
    pauses: list[float] = []
    connection: Connection[Any] = Connection(
        Provider(name="x", url="http://x", url_setting="X", key_settings=()),
        lambda access: _Closeable(access),
        sleep=pauses.append,
    )

    def fail(sdk: Any) -> None:
        raise error

    with (
        Scope(moment(0.25)).entered(),
        pytest.raises(type(error)),
    ):
        connection.call(fail)
    assert pauses == []
    with Scope(moment(1000)).entered(), pytest.raises(ProviderUnavailable):
        connection.call(lambda sdk: fail_with(passing("503")))
    assert pauses == [0.5, 2.0]


def fail_with(error: Exception) -> None:
    raise error


class _Closeable:
    def __init__(self, access: Access) -> None:
        self.access = access

    def close(self) -> None:
        pass


def test_a_pause_ends_with_the_work() -> None:
    scope = Scope(can_stop=True)
    with scope.entered():
        scope.stop()
        assert sleep(1000) is True
    with Scope(moment()).entered():
        assert sleep(1000) is False


def test_an_order_to_cancel_that_is_late_meets_nobody_elses_statement(
    rag: Rag, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scope is stopped, or its moment comes, just when its statement has ended by itself."""
    late: list[Callable[[], object]] = []

    def keep(run: Callable[[], object]) -> Timer:
        late.append(run)
        return Timer(0, run)

    monkeypatch.setattr(cancel, "start_thread", lambda run, name: keep(run))
    monkeypatch.setattr(cancel, "start_timer", lambda left, run: keep(run))
    scope = Scope(moment(1000), can_stop=True)
    with rag.database.connection() as connection:
        with scope.entered(), cancel.cancelled_in_time(connection):
            scope.stop()
        orders = [start_thread(run, "late") for run in late for _ in range(10)]
        for _ in range(100):
            connection.execute("SELECT pg_sleep(.001)")
        for order in orders:
            order.join()
    assert len(late) == 2


def test_a_scope_within_another_ends_no_later() -> None:
    with Scope(100.0, "outer").entered():
        assert (Scope(200.0, "inner").ends_at, Scope(200.0, "inner").bound) == (100.0, "outer")
        assert (Scope(50.0, "inner").ends_at, Scope(50.0, "inner").bound) == (50.0, "inner")
        assert Scope().may_end
    assert current_scope() is None and not Scope().may_end


def test_what_was_stopped_is_not_begun() -> None:
    outer = Scope(can_stop=True)
    with outer.entered():
        inner = Scope()
        outer.stop()
        began: list[int] = []
        with pytest.raises(BaseException) as caught:
            call_within(inner, lambda: began.append(1), "x")
        assert type(caught.value).__name__ == "Stopped" and began == []


def test_what_is_written_down_has_a_time_of_its_own() -> None:
    with Scope(moment()).entered():
        with pytest.raises(BudgetExceeded, match="is over: x was not asked"):
            call_within(current_scope(), lambda: 1, "x")
        with grace(1000):
            assert call_within(current_scope(), lambda: 1, "x") == 1
        with half_of_the_time():
            scope = current_scope()
            assert scope is not None and scope.is_late
