"""A Gemini API on loopback for tests: the real SDKs talk to it over HTTP.

Deterministic. Embeddings are hashed bags of words, not normalised, as the API's shortened vectors
are not. Answers come from `answers`, else say who answers. Faults are queued and used up one per
request, in order.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

GOOD_KEY = "fake-key-0123456789"
DEFAULT_ANSWER = "The sources say so [1]."
_INVALID_KEY = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request as it arrived. `path` without the query string; header names in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens to one request: a delay in seconds, then `body` with `status`, if given."""

    delay: float = 0.0
    status: int = 200
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def failure(
    status: int,
    code: str = "",
    *,
    message: str = "made to fail",
    details: list[dict[str, Any]] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Fault:
    """Return an answer as the API fails. code: such as RESOURCE_EXHAUSTED."""
    body = _error(status, message, code, details)
    return Fault(status=status, body=json.dumps(body).encode(), headers=headers or {})


class FakeGemini:
    """`with FakeGemini() as fake:` serves at `fake.url` and keeps what was asked in `requests`.

    `key`: the only one that is accepted. `answers`: texts for the next generateContent calls.
    """

    def __init__(self, *, key: str = GOOD_KEY) -> None:
        self.key = key
        self.requests: list[Request] = []
        self.answers: deque[str] = deque()
        self._faults: deque[Fault] = deque()
        self._closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> FakeGemini:
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
        fault = failure(status, code, message=message, details=details, headers=headers)
        self._faults.extend([fault] * times)

    def fail_raw(self, status: int, body: str) -> None:
        """Let the next request be answered by a body that is not the API's."""
        self._faults.append(Fault(status=status, body=body.encode()))

    def delay(self, seconds: float) -> None:
        """Let the next request wait, then be answered."""
        self._faults.append(Fault(delay=seconds))

    def block_prompt(self, reason: str = "SAFETY") -> None:
        """Let the next prompt be refused."""
        self._reply({"promptFeedback": {"blockReason": reason}, "usageMetadata": _usage(3, 0)})

    def finish(self, reason: str, text: str = "") -> None:
        """Let the next answer stop for `reason` after `text`."""
        self._reply(_answer(text, reason))

    def _reply(self, body: Mapping[str, Any]) -> None:
        self._faults.append(Fault(body=json.dumps(body).encode()))

    # --- what the handler calls ---

    def respond(self, request: Request) -> Fault:
        """Return the answer to `request` as a Fault, whose delay is over."""
        self.requests.append(request)
        fault = self._faults.popleft() if self._faults else Fault()
        if fault.delay:
            self._closing.wait(fault.delay)
        if fault.body is not None:
            return fault
        status, body = self._route(request)
        return Fault(status=status, body=json.dumps(body).encode())

    def _route(self, request: Request) -> tuple[int, Any]:
        given = request.headers.get("x-goog-api-key")
        if not given:
            return 403, _error(403, "Method doesn't allow unregistered callers", "", None)
        if given != self.key:
            message = "API key not valid. Please pass a valid API key."
            return 400, _error(400, message, "INVALID_ARGUMENT", [_INVALID_KEY])
        match = re.fullmatch(r"/v1beta/models/([^/:]+):(\w+)", request.path.replace("%3A", ":"))
        method = match[2] if match else ""
        if method == "batchEmbedContents":
            return _embed_all(request.body["requests"])
        if method == "embedContent":
            return 200, {"embedding": {"values": _vector(request.body)}}
        if method == "generateContent":
            text = self.answers.popleft() if self.answers else DEFAULT_ANSWER
            return 200, _answer(text, "STOP")
        return 404, _error(404, f"no such method: {request.path}", "NOT_FOUND", None)


def _embed_all(requests: list[Any]) -> tuple[int, Any]:
    if len(requests) > 100:
        message = "at most 100 requests can be in one batch"
        return 400, _error(400, message, "INVALID_ARGUMENT", None)
    return 200, {"embeddings": [{"values": _vector(request)} for request in requests]}


def _vector(request: Mapping[str, Any]) -> list[float]:
    """Three times the number of each word (more or less) in `outputDimensionality` buckets."""
    size = request.get("outputDimensionality") or 3072
    vector = [0.0] * size
    text = " ".join(part.get("text", "") for part in request["content"]["parts"])
    for word in re.findall(r"\w+", text.lower()) or [""]:
        digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
        vector[int.from_bytes(digest[:4], "little") % size] += 3.0
    return vector


def _usage(prompt: int, answer: int) -> dict[str, int]:
    return {
        "promptTokenCount": prompt,
        "candidatesTokenCount": answer,
        "totalTokenCount": prompt + answer,
    }


def _answer(text: str, finish: str) -> dict[str, Any]:
    parts = [{"text": text}] if text else []
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"index": 0, "finishReason": finish, "content": content}],
        "usageMetadata": _usage(7, 5),
        "modelVersion": "fake",
    }


def _error(
    status: int, message: str, code: str, details: list[dict[str, Any]] | None
) -> dict[str, Any]:
    error = {"code": status, "message": message, "status": code, "details": details or []}
    return {"error": error}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    fake: FakeGemini

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
        path = self.path.partition("?")[0]
        self._send(self.server.fake.respond(Request(path=path, headers=headers, body=body)))

    def _send(self, answer: Fault) -> None:
        body = answer.body or b""
        try:
            self.send_response(answer.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:  # the client has given up, as it should after a time-out
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
