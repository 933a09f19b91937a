"""What the providers on loopback have in common: the real SDKs talk to them over HTTP.

Deterministic. Answers come from `answers`, else say DEFAULT_ANSWER. Faults are queued and used up
one per request, in order.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import select
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

from prompts import with_keys

GOOD_KEY = "fake-key-0123456789"
DEFAULT_ANSWER = "The sources say so [1]."
PROMPT_TOKENS, ANSWER_TOKENS = 7, 5
TICK = 0.02  # seconds


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as it arrived. `path` without the query string; header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Any
    query: str = ""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens to one request: a delay in seconds, then `body` with `status`, if given.

    pieces: the body, sent one by one. stall: seconds to wait after `head` of them. cut: the
    connection breaks there.
    """

    delay: float = 0.0
    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: Sequence[bytes] = ()
    head: int = 1
    stall: float = 0.0
    cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a model says, in no provider's words yet. calls: (name, arguments) of tools. cites:
    (text, indexes of sources), which follow the text."""

    text: str = ""
    finish: Literal["stop", "length", "blocked", "tool_calls", "none"] = "stop"
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    cites: Sequence[tuple[str, Sequence[int]]] = ()
    stall: float = 0.0  # after the first word, of an answer that is streamed; as in Fault
    cut: bool = False

    @property
    def pieces(self) -> list[str]:
        """The text in words, as it is streamed."""
        return re.findall(r"\S+\s*|\s+", self.text)


class FakeProvider:
    """`with FakeX() as fake:` serves at `fake.url` and keeps what was asked in `requests`.

    `key`: the only one that is accepted. `answers`: what comes next.
    """

    def __init__(self, *, key: str = GOOD_KEY) -> None:
        self.key = key
        self.requests: list[Request] = []
        self.answers: deque[str | Reply] = deque()
        self._faults: deque[Fault] = deque()
        self._closing = threading.Event()
        self.stalling = threading.Event()  # while an answer waits in its middle
        self.thinking = self.left = 0  # requests that are delayed now; whose client went away
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def reset(self) -> None:
        """Forget requests, faults and answers."""
        self.requests.clear()
        self.answers.clear()
        self._faults.clear()

    # --- faults ---

    def fail(
        self,
        status: int,
        message: str = "made to fail",
        *,
        code: str = "",
        details: list[dict[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
        times: int = 1,
    ) -> None:
        """Let the next `times` requests fail as the API fails. code: such as RESOURCE_EXHAUSTED."""
        body = json.dumps(self.error(status, message, code, details)).encode()
        self._faults.extend([Fault(status=status, body=body, headers=headers or {})] * times)

    def fail_raw(self, status: int, body: str, media_type: str = "application/json") -> None:
        """Let the next request be answered by a body that is not the API's."""
        headers = {"content-type": media_type}
        self._faults.append(Fault(status=status, body=body.encode(), headers=headers))

    def delay(self, seconds: float) -> None:
        """Let the next request wait, then be answered."""
        self._faults.append(Fault(delay=seconds))

    # --- what a provider says of itself ---

    def error(
        self, status: int, message: str, code: str, details: list[dict[str, Any]] | None
    ) -> dict[str, Any]:
        """The body of a failure."""
        raise NotImplementedError

    def route(self, request: Request) -> Fault | tuple[int, Any]:
        """The answer to a request: a status with a body, or a Fault."""
        raise NotImplementedError

    # --- what the handler calls ---

    def next_reply(self, request: Request) -> Reply:
        """What the model says next; [1] stands for the key of the best source it was shown."""
        answer = self.answers.popleft() if self.answers else DEFAULT_ANSWER
        reply = Reply(text=answer) if isinstance(answer, str) else answer
        return replace(reply, text=with_keys(reply.text, texts_in(request.body)))

    def respond(self, request: Request, is_gone: Callable[[], bool]) -> Fault:
        """Return the answer to `request` as a Fault, whose delay is over, or whose client gone."""
        self.requests.append(request)
        fault = self._faults.popleft() if self._faults else Fault()
        if fault.delay:
            self._think(fault.delay, is_gone)
        if fault.body is not None:
            return fault
        routed = self.route(request)
        if isinstance(routed, Fault):
            return routed
        status, body = routed
        return Fault(status=status, body=json.dumps(body).encode())

    def _think(self, seconds: float, is_gone: Callable[[], bool]) -> None:
        with self._lock:
            self.thinking += 1
        gone = False
        for _ in range(math.ceil(seconds / TICK)):
            if self._closing.wait(TICK) or (gone := is_gone()):
                break
        with self._lock:
            self.thinking -= 1
            self.left += gone


def texts_in(value: Any) -> list[str]:
    """Return the texts of a JSON value, in order."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts_in(one)]


def word_counts(text: str, size: int) -> list[float]:
    """Three times the number of each word (more or less) in `size` buckets; not normalised."""
    vector = [0.0] * size
    for word in re.findall(r"\w+", text.lower()) or [""]:
        digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
        vector[int.from_bytes(digest[:4], "little") % size] += 3.0
    return vector


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    fake: FakeProvider

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no news; everything else is."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        sent = self.rfile.read(length)
        if len(sent) < length:  # the client died while it sent
            self.close_connection = True
            return
        body = json.loads(sent or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        path, _, query = self.path.partition("?")
        request = Request(path=path, headers=headers, body=body, query=query)
        answer = self.server.fake.respond(request, self._is_gone)
        try:
            if answer.pieces:
                self._stream(answer)
            else:
                self._send(answer)
        except ConnectionError:  # the client has given up, as it should after a time-out
            self.close_connection = True

    def _is_gone(self) -> bool:
        """Whether the client has closed its connection."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def _send(self, answer: Fault) -> None:
        body = answer.body or b""
        self.send_response(answer.status)
        self.send_header("content-length", str(len(body)))
        for name, value in {"content-type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, answer: Fault) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for number, piece in enumerate(answer.pieces):
            if number == answer.head and answer.cut:
                self.close_connection = True
                return
            if number == answer.head and answer.stall:
                self.server.fake.stalling.set()
                self.server.fake._closing.wait(answer.stall)
                self.server.fake.stalling.clear()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
