"""A server on loopback that speaks OpenAI's protocol: chat completions and embeddings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from fake_provider import (
    ANSWER_TOKENS,
    PROMPT_TOKENS,
    FakeProvider,
    Fault,
    Reply,
    Request,
    word_counts,
)

FINISH = {"blocked": "content_filter", "none": None}


class FakeOpenAI(FakeProvider):
    """`fake.url` ends before /v1. `refuses`: parameters that are answered by a 400. `open_to_all`:
    no key is asked for."""

    refuses: tuple[str, ...] = ()
    open_to_all = False
    dimensions = 1536

    def error(
        self, status: int, message: str, code: str, details: list[dict[str, Any]] | None
    ) -> dict[str, Any]:
        return {"error": {"message": message, "type": "error", "code": code or None, "param": None}}

    def route(self, request: Request) -> Fault | tuple[int, Any]:
        if not self.open_to_all and request.headers.get("authorization") != f"Bearer {self.key}":
            return 401, self.error(401, "Incorrect API key provided", "invalid_api_key", None)
        for name in self.refuses:
            if name in request.body:
                error = self.error(400, f"Unsupported value: '{name}'", "unsupported_value", None)
                error["error"]["param"] = name
                return 400, error
        if request.path == "/v1/embeddings":
            return 200, self._embed(request.body)
        if request.path != "/v1/chat/completions":
            return 404, self.error(404, f"no such path: {request.path}", "not_found", None)
        reply = self.next_reply(request)
        if request.body.get("stream"):
            events = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in _chunks(reply)]
            if reply.finish != "none":
                events.append(b"data: [DONE]\n\n")
            headers = {"content-type": "text/event-stream"}
            return Fault(pieces=events, headers=headers, stall=reply.stall, cut=reply.cut)
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [_call(n, *call) for n, call in enumerate(reply.calls)]
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
        return 200, {**_head("chat.completion"), "choices": [choice], "usage": _usage()}

    def _embed(self, body: Mapping[str, Any]) -> dict[str, Any]:
        size = body.get("dimensions") or self.dimensions
        data = [
            {"object": "embedding", "index": n, "embedding": word_counts(text, size)}
            for n, text in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 3, "total_tokens": 3}
        return {"object": "list", "model": "fake", "data": data[::-1], "usage": usage}


def _chunks(reply: Reply) -> Iterator[dict[str, Any]]:
    head = _head("chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    for piece in reply.pieces:
        yield chunk({"content": piece})
    for n, (name, arguments) in enumerate(reply.calls):
        call = _call(n, name, arguments)
        text = call["function"]["arguments"]
        call["function"]["arguments"] = ""
        yield chunk({"tool_calls": [{**call, "index": n}]})
        for part in (text[:4], text[4:]):
            yield chunk({"tool_calls": [{"index": n, "function": {"arguments": part}}]})
    if reply.finish != "none":
        yield chunk({}, _finish(reply))
        yield {**head, "choices": [], "usage": _usage()}


def _call(number: int, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call_{number}", "type": "function", "function": function}


def _finish(reply: Reply) -> str | None:
    return FINISH.get(reply.finish, reply.finish)


def _head(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "fake"}


def _usage() -> dict[str, int]:
    return {
        "prompt_tokens": PROMPT_TOKENS,
        "completion_tokens": ANSWER_TOKENS,
        "total_tokens": PROMPT_TOKENS + ANSWER_TOKENS,
    }
