"""Anthropic's messages API on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fake_provider import ANSWER_TOKENS, PROMPT_TOKENS, FakeProvider, Fault, Reply, Request

STOP = {
    "stop": "end_turn",
    "length": "max_tokens",
    "blocked": "refusal",
    "tool_calls": "tool_use",
    "none": None,
}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}


class FakeAnthropic(FakeProvider):
    """`thinks`: a thought stands before each answer, as the models that always think give it."""

    thinks = False

    def error(
        self, status: int, message: str, code: str, details: list[dict[str, Any]] | None
    ) -> dict[str, Any]:
        return {"type": "error", "error": {"type": code or "api_error", "message": message}}

    def route(self, request: Request) -> Fault | tuple[int, Any]:
        given = request.headers.get("x-api-key"), request.headers.get("authorization")
        if given not in ((self.key, None), (None, f"Bearer {self.key}")):
            return 401, self.error(401, "invalid x-api-key", "authentication_error", None)
        if request.path != "/v1/messages":
            return 404, self.error(404, f"no such path: {request.path}", "not_found_error", None)
        reply = self.next_reply(request)
        blocks = self._blocks(reply)
        if request.body.get("stream"):
            events = [
                f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
                for event in _events(reply, blocks)
            ]
            headers = {"content-type": "text/event-stream"}
            # A word is the third event: the message and its block are begun before it.
            return Fault(pieces=events, headers=headers, head=3, stall=reply.stall, cut=reply.cut)
        return 200, _message(blocks, STOP[reply.finish])

    def _blocks(self, reply: Reply) -> list[dict[str, Any]]:
        texts: list[dict[str, Any]] = []
        if reply.text:
            texts.append({"type": "text", "text": reply.text})
        for text, indexes in reply.cites:
            cited = [_citation(index) for index in indexes]
            texts.append({"type": "text", "text": text, "citations": cited})
        uses = [
            {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": dict(arguments)}
            for n, (name, arguments) in enumerate(reply.calls)
        ]
        return [*([THOUGHT] if self.thinks else []), *texts, *uses]


def _citation(index: int) -> dict[str, Any]:
    return {
        "type": "search_result_location",
        "search_result_index": index,
        "source": "somewhere",
        "title": None,
        "cited_text": "a passage",
        "start_block_index": 0,
        "end_block_index": 1,
    }


def _events(reply: Reply, blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": _message([], None)}
    for index, block in enumerate(blocks):
        deltas: list[dict[str, Any]]
        if block["type"] == "text":
            start: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": w} for w in Reply(text=block["text"]).pieces]
            for citation in block.get("citations", ()):
                deltas.append({"type": "citations_delta", "citation": citation})
        elif block["type"] == "tool_use":
            start = {**block, "input": {}}
            text = json.dumps(block["input"])
            parts = (text[:4], text[4:])
            deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
        else:
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    if reply.finish != "none":
        usage = {"output_tokens": ANSWER_TOKENS}
        end = {"stop_reason": STOP[reply.finish], "stop_sequence": None}
        yield {"type": "message_delta", "delta": end, "usage": usage}
        yield {"type": "message_stop"}


def _message(blocks: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "fake",
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": PROMPT_TOKENS, "output_tokens": ANSWER_TOKENS},
    }
