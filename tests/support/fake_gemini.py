"""A Gemini API on loopback for tests: both of Google's SDKs talk to it over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fake_provider import (
    ANSWER_TOKENS,
    GOOD_KEY,
    PROMPT_TOKENS,
    FakeProvider,
    Fault,
    Reply,
    Request,
    word_counts,
)

__all__ = ["GOOD_KEY", "FakeGemini", "Fault", "Reply", "Request", "failure", "vector"]

FINISH = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "blocked": "SAFETY",
}
_INVALID_KEY = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
}


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


class FakeGemini(FakeProvider):
    """Gemini at `fake.url`: embeddings, answers, and answers that are streamed."""

    def block_prompt(self, reason: str = "SAFETY") -> None:
        """Let the next prompt be refused."""
        self._reply({"promptFeedback": {"blockReason": reason}, "usageMetadata": _usage(3, 0)})

    def finish(self, reason: str, text: str = "") -> None:
        """Let the next answer stop for `reason` after `text`."""
        self._reply(_answer([{"text": text}] if text else [], reason))

    def _reply(self, body: Mapping[str, Any]) -> None:
        self._faults.append(Fault(body=json.dumps(body).encode()))

    def error(
        self, status: int, message: str, code: str, details: list[dict[str, Any]] | None
    ) -> dict[str, Any]:
        return _error(status, message, code, details)

    def route(self, request: Request) -> Fault | tuple[int, Any]:
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
            return 200, {"embedding": {"values": vector(request.body)}}
        if method == "generateContent":
            reply = self.next_reply(request)
            return 200, _answer(_parts([reply.text], reply), FINISH[reply.finish])
        if method == "streamGenerateContent":
            reply = self.next_reply(request)
            pieces = _events(list(_chunks(reply)), as_events="alt=sse" in request.query)
            headers = {"content-type": "application/json; charset=UTF-8"}
            return Fault(pieces=pieces, headers=headers, stall=reply.stall, cut=reply.cut)
        return 404, _error(404, f"no such method: {request.path}", "NOT_FOUND", None)


def _chunks(reply: Reply) -> Iterator[dict[str, Any]]:
    for piece in reply.pieces:
        yield {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": piece}]}}]
        }
    if reply.finish != "none":
        yield _answer(_parts([], reply), FINISH[reply.finish])


def _events(chunks: Sequence[dict[str, Any]], *, as_events: bool) -> list[bytes]:
    """The chunks as server-sent events, which one SDK asks for, or as one array, for the other."""
    texts = [json.dumps(chunk) for chunk in chunks]
    if as_events:
        return [f"data: {text}\r\n\r\n".encode() for text in texts]
    return [*(f"{'[' if n == 0 else ','}{text}".encode() for n, text in enumerate(texts)), b"]"]


def _parts(texts: Sequence[str], reply: Reply) -> list[dict[str, Any]]:
    calls = [{"functionCall": {"name": name, "args": args}} for name, args in reply.calls]
    return [*({"text": text} for text in texts if text), *calls]


def _embed_all(requests: list[Any]) -> tuple[int, Any]:
    if len(requests) > 100:
        message = "at most 100 requests can be in one batch"
        return 400, _error(400, message, "INVALID_ARGUMENT", None)
    return 200, {"embeddings": [{"values": vector(request)} for request in requests]}


def vector(request: Mapping[str, Any]) -> list[float]:
    """The vector of one text: `outputDimensionality` numbers, 3072 by default."""
    text = " ".join(part.get("text", "") for part in request["content"]["parts"])
    return word_counts(text, request.get("outputDimensionality") or 3072)


def _usage(prompt: int, answer: int) -> dict[str, int]:
    return {
        "promptTokenCount": prompt,
        "candidatesTokenCount": answer,
        "totalTokenCount": prompt + answer,
    }


def _answer(parts: list[dict[str, Any]], finish: str) -> dict[str, Any]:
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"index": 0, "finishReason": finish, "content": content}],
        "usageMetadata": _usage(PROMPT_TOKENS, ANSWER_TOKENS),
        "modelVersion": "fake",
    }


def _error(
    status: int, message: str, code: str, details: list[dict[str, Any]] | None
) -> dict[str, Any]:
    error = {"code": status, "message": message, "status": code, "details": details or []}
    return {"error": error}
