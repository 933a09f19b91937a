"""What a connection may send before it is answered, and how many there may be."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from patience import BOUND
from uvicorn import Config
from uvicorn.server import ServerState

from rag_pg.server.connection import Connection
from rag_pg.server.http.request import event, events_of

HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"


class Wire(asyncio.Transport):
    """Where a connection writes."""

    def __init__(self) -> None:
        super().__init__()
        self.written, self.closed = b"", False

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


class Small(Connection):
    most = 2


class Hasty(Connection):
    head_seconds = body_seconds = 0.0


def connected(state: ServerState, kind: type[Connection] = Connection) -> tuple[Any, Wire]:
    head = Connection.head_bytes
    config = Config(nothing, log_config=None, access_log=False, h11_max_incomplete_event_size=head)
    config.load()
    made: Any = kind(config, state, {}, asyncio.get_running_loop())
    wire = Wire()
    made.connection_made(wire)
    return made, wire


@pytest.mark.parametrize("piece", [b"a" * 4096, b"X-A: b\r\n" * 500], ids=["one", "many"])
def test_headers_are_read_to_a_bound(piece: bytes) -> None:
    async def read() -> tuple[int, Wire]:
        made, wire = connected(ServerState())
        made.data_received(HEAD + b"X: ")
        count = 0
        while not wire.closed and count < 9 * Connection.head_bytes:
            made.data_received(piece)
            count += len(piece)
        made.connection_lost(None)
        return count, wire

    count, wire = asyncio.run(read())
    assert count <= Connection.head_bytes + len(piece)
    assert wire.written.startswith(b"HTTP/1.1 400")


def test_requests_of_one_connection_are_counted_each_for_itself() -> None:
    async def read() -> Wire:
        made, wire = connected(ServerState())
        for number in range(1, 4):
            made.data_received(HEAD + b"X: " + b"a" * 40_000)
            made.data_received(b"\r\n\r\n")
            async with asyncio.timeout(BOUND):
                while wire.written.count(b"HTTP/1.1 204") < number:
                    await asyncio.sleep(0)
        assert not wire.closed
        made.connection_lost(None)
        return wire

    assert b" 400 " not in asyncio.run(read()).written


def test_who_asks_for_another_protocol_keeps_its_body_wherever_its_packets_are_cut() -> None:
    head = HEAD + b"Connection: upgrade\r\nuPGRADE: h2c\r\nContent-Length: 4\r\n\r\n"
    whole, bodies = head + b"body", list[bytes]()

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        bodies.append(body)
        await nothing(scope, receive, send)

    async def read() -> None:
        made, wire = connected(ServerState())
        made.app = answer
        pieces = [[whole[:at], whole[at:]] for at in range(1, len(whole))]
        for number, cut in enumerate([*pieces, [bytes([one]) for one in whole]], 1):
            for piece in cut:
                made.data_received(piece)
            async with asyncio.timeout(BOUND):
                while wire.written.count(b"HTTP/1.1 204") < number:
                    assert b" 400 " not in wire.written and not wire.closed
                    await asyncio.sleep(0)
        made.connection_lost(None)

    asyncio.run(read())
    assert bodies == [b"body"] * len(whole)


def test_who_never_ends_its_headers_is_left() -> None:
    async def wait() -> bool:
        made, wire = connected(ServerState(), Hasty)
        made.data_received(HEAD)
        async with asyncio.timeout(BOUND):
            while not wire.closed:
                await asyncio.sleep(0)
        made.connection_lost(None)
        return wire.closed

    assert asyncio.run(wait())


def test_a_stop_waits_for_answers_and_not_for_bodies_that_never_come() -> None:
    async def stop() -> list[bool]:
        begun = asyncio.Event()

        async def answer(scope: Any, receive: Any, send: Any) -> None:
            begun.set()
            while (await receive())["type"] != "http.disconnect":
                pass

        closed = []
        for body in (b"{", b"{}"):
            made, wire = connected(ServerState(), Hasty)
            made.app = answer
            made.data_received(HEAD + b"Content-Length: 2\r\n\r\n" + body)
            await begun.wait()
            made.shutdown()
            later = asyncio.Event()
            asyncio.get_running_loop().call_later(0.001, later.set)  # behind that of the connection
            await later.wait()
            closed.append(wire.closed)
            made.connection_lost(None)
        return closed

    assert asyncio.run(stop()) == [True, False]


def test_a_process_has_no_more_connections_than_it_can() -> None:
    async def open_all() -> list[bool]:
        state = ServerState()
        made = [connected(state, Small) for _ in range(3)]
        closed = [wire.closed for _, wire in made]
        for one, _ in made:
            one.connection_lost(None)
        return closed

    assert asyncio.run(open_all()) == [False, False, True]


def test_a_stream_that_nobody_reads_is_ended() -> None:
    ended = []

    async def pieces() -> Any:
        try:
            while True:
                yield event({})
        finally:
            ended.append(True)

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()  # the connection is full

    scope = {"type": "http", "method": "POST"}
    with pytest.raises(TimeoutError):
        asyncio.run(events_of(pieces(), send_seconds=0)(scope, receive, send))
    assert ended == [True]
