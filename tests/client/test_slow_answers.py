"""Answers that wait for models stop nothing else, and end when nobody waits for them."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest
from fake_openai import FakeOpenAI
from fakes import HashEmbedder
from waiting import LONGEST, Door, EndlessLLM, WaitingLLM

from rag_pg import AsyncCollection, AsyncRag, Rag, RagError, Settings
from rag_pg.client.aio import LONG_AT_ONCE
from rag_pg.providers.openai import OpenAILLM
from rag_pg.types import Event

QUESTION = "Which fish are red?"


@pytest.fixture
def door() -> Iterator[Door]:
    made = Door()
    yield made
    made.open()


def begin(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add({"uri": "a", "content": "The fish in the pond are red and eat shrimps."})


@pytest.fixture
def opened(dsn: str, rag: Rag) -> Callable[[], Any]:
    @asynccontextmanager
    async def open_collection() -> AsyncIterator[AsyncCollection]:
        settings = Settings(home=rag.settings.home)
        embedders = {"hash": lambda name: HashEmbedder(name)}
        async with AsyncRag(dsn, settings=settings, embedders=embedders) as there:
            yield await there.get_collection("docs")

    return open_collection


async def read(docs: AsyncCollection, llm: Any) -> list[Event]:
    return [event async for event in docs.stream(QUESTION, strategy="single", llm=llm)]


@pytest.mark.parametrize("streams", [True, False], ids=["streams", "answers"])
@pytest.mark.few(1)
def test_a_search_ends_while_more_answers_wait_than_there_are_threads(
    opened: Callable[[], Any], door: Door, streams: bool
) -> None:
    async def life() -> bool:
        async with opened() as docs, asyncio.timeout(LONGEST):
            llm = WaitingLLM(door)
            answers = [
                asyncio.create_task(
                    read(docs, llm) if streams else docs.ask(QUESTION, strategy="single", llm=llm)
                )
                for _ in range(LONG_AT_ONCE + 4)
            ]
            await asyncio.to_thread(door.wait_for_arrivals, LONG_AT_ONCE)
            hits = await docs.search(QUESTION)
            count = await docs.count()
            waited = not door.is_open and not any(answer.done() for answer in answers)
            assert [hit.uri for hit in hits] == ["a"] and count == 1
            door.open()
            await asyncio.gather(*answers)
            return waited

    assert asyncio.run(life())


@pytest.mark.parametrize("way", ["break", "aclose", "cancel"])
def test_a_reader_who_leaves_closes_the_models_stream(opened: Callable[[], Any], way: str) -> None:
    llm = EndlessLLM()

    async def life() -> None:
        async with opened() as docs:
            events = docs.stream(QUESTION, strategy="single", llm=llm)
            if way == "cancel":
                began = asyncio.Event()

                async def reader() -> None:
                    async for event in events:
                        if event.kind == "token":
                            began.set()

                task = asyncio.create_task(reader())
                await began.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            else:
                async for event in events:
                    if event.kind == "token":
                        break
                if way == "aclose":
                    await events.aclose()
                del events
            assert await asyncio.to_thread(llm.closed.wait, LONGEST)

    asyncio.run(life())


@pytest.mark.parametrize("streams", [True, False], ids=["stream", "ask"])
def test_who_leaves_frees_the_thread_although_the_model_does_not_answer(
    opened: Callable[[], Any], door: Door, rag: Rag, streams: bool
) -> None:
    async def life() -> None:
        async with opened() as docs:
            llm = WaitingLLM(door)
            answer = asyncio.create_task(
                read(docs, llm) if streams else docs.ask(QUESTION, strategy="single", llm=llm)
            )
            await asyncio.to_thread(door.wait_for_arrivals)
            answer.cancel()
            with pytest.raises(asyncio.CancelledError):
                await answer
            await until(lambda: [u.failures for u in rag.admin.usage() if u.calls] == [1])
            assert not door.is_open  # the call that was given up is counted while it goes on

    asyncio.run(life())


@pytest.mark.parametrize("way", ["search", "ask", "stream"])
def test_who_leaves_cancels_the_statement(
    opened: Callable[[], Any], connection: psycopg.Connection[Any], dsn: str, way: str
) -> None:
    def waiting() -> int:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock' AND backend_type = 'client backend'"
        ).fetchone()
        assert row is not None
        return int(row[0])

    async def life() -> None:
        async with opened() as docs:
            await docs.search(QUESTION)
            with psycopg.connect(dsn) as other:
                other.execute("LOCK TABLE rag.chunks IN ACCESS EXCLUSIVE MODE")
                call: Callable[[], Any] = {
                    "search": lambda: docs.search(QUESTION),
                    "ask": lambda: docs.ask(QUESTION),
                    "stream": lambda: read(docs, None),
                }[way]
                task = asyncio.create_task(call())
                await until(lambda: waiting() == 1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await until(lambda: waiting() == 0)
            assert [hit.uri for hit in await docs.search(QUESTION)] == ["a"]

    asyncio.run(life())


def test_closing_the_client_ends_the_answers_that_are_under_way(
    opened: Callable[[], Any], door: Door
) -> None:
    async def life() -> None:
        async with opened() as docs:
            answer = asyncio.create_task(
                docs.ask(QUESTION, strategy="single", llm=WaitingLLM(door))
            )
            await asyncio.to_thread(door.wait_for_arrivals)
        with pytest.raises(RagError, match="the client was closed"):
            await answer

    asyncio.run(life())


def test_closing_a_stream_waits_for_no_model(rag: Rag, door: Door) -> None:
    before = set(threading.enumerate())
    events = rag.get_collection("docs").stream(QUESTION, strategy="single", llm=WaitingLLM(door))
    assert next(events).kind in ("step", "search")
    door.wait_for_arrivals()
    new = set(threading.enumerate()) - before
    (thread,) = [thread for thread in new if thread.name == "rag-pg-ask"]
    events.close()
    thread.join(LONGEST)
    assert not thread.is_alive() and not door.is_open


def test_readers_that_go_away_free_connections_threads_and_calls_of_the_model(
    opened: Callable[[], Any], connection: psycopg.Connection[Any]
) -> None:
    """Twelve streams of a real SDK whose provider thinks, a search beside them, four ways to go."""

    def busy() -> int:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND state <> 'idle' AND backend_type = 'client backend'"
        ).fetchone()
        assert row is not None
        return int(row[0])

    def calling() -> list[str]:
        return [t.name for t in threading.enumerate() if t.name == "rag-pg-call"]

    async def life() -> None:
        with FakeOpenAI() as fake:
            llm = OpenAILLM("some", api_key=fake.key, base_url=f"{fake.url}/v1")
            async with opened() as docs, asyncio.timeout(LONGEST):
                for _ in range(12):
                    fake.delay(LONGEST)
                streams = [docs.stream(QUESTION, strategy="single", llm=llm) for _ in range(12)]
                seen: list[list[Event]] = [[] for _ in streams]

                async def read_on(n: int) -> None:
                    async for event in streams[n]:
                        seen[n].append(event)

                readers = [asyncio.create_task(read_on(n)) for n in range(12)]
                await until(lambda: fake.thinking == 12)
                hits = await docs.search(QUESTION)
                assert [hit.uri for hit in hits] == ["a"] and fake.thinking == 12
                for n, (stream, reader) in enumerate(zip(streams, readers, strict=True)):
                    if n % 4 == 0:
                        stream.cancel()
                    elif n % 4 == 1:
                        await asyncio.to_thread(stream.cancel)
                    elif n % 4 == 2:
                        await stream.aclose()
                    else:
                        reader.cancel()
                ended = await asyncio.gather(*readers, return_exceptions=True)
                assert [type(one) for one in ended] == 3 * [
                    type(None), type(None), type(None), asyncio.CancelledError,
                ]  # fmt: skip
                await until(lambda: (fake.thinking, fake.left) == (0, 12))
                await until(lambda: not calling() and busy() == 0)
                assert all(event.kind != "answer" for events in seen for event in events)
                assert [event async for event in streams[0]] == []
                assert (await read(docs, llm))[-1].kind == "answer"
                assert len(fake.requests) == 13

    asyncio.run(life())


def test_a_stream_is_cancelled_from_another_thread(rag: Rag, door: Door) -> None:
    docs = rag.get_collection("docs")
    with docs.stream(QUESTION, strategy="single", llm=WaitingLLM(door)) as events:
        assert next(events).kind in ("step", "search")
        reading = threading.Thread(target=lambda: list(events))
        reading.start()
        door.wait_for_arrivals()
        events.cancel()
        reading.join(LONGEST)
        assert not reading.is_alive() and not door.is_open
        assert list(events) == []
    never = docs.stream(QUESTION)
    never.cancel()
    assert list(never) == []
    door.open()
    kinds = [event.kind for event in docs.stream(QUESTION, strategy="single", llm=WaitingLLM(door))]
    assert kinds[-1] == "answer" and kinds.count("answer") == 1


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONGEST):
        while not holds():
            await asyncio.sleep(0.01)
