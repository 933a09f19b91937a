"""A model behind OpenAI's protocol that gives every strategy what it asks for, and a thread that
answers requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fake_openai import FakeOpenAI
from fake_provider import Fault, Reply, Request

from rag_pg import Rag

ANSWER = "Open the account page and choose Reset password [1]."
TOLD: Mapping[str, Any] = {
    "final": ANSWER,
    "follow_up": "Who sends the link?",  # asked again, it ends the loop
    "query": "link by mail",
    "sufficient": True,
    "question": "How do I reset my password when I am locked out?",
    "score": 9,
}
SAMPLES: Mapping[str, Any] = {"string": "A sentence.", "boolean": True, "integer": 1, "array": []}


def fill(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object that fits a flat schema."""
    return {
        name: TOLD.get(name, SAMPLES[str(kind["type"])])
        for name, kind in schema["properties"].items()
    }


class AnsweringOpenAI(FakeOpenAI):
    """Fills schemas, searches once where it has tools, else answers ANSWER."""

    open_to_all = True

    def route(self, request: Request) -> Fault | tuple[int, Any]:
        body = request.body
        last = body["messages"][-1] if "messages" in body else {}
        if "response_format" in body:
            schema = body["response_format"]["json_schema"]["schema"]
            self.answers.append(json.dumps(fill(schema)))
        elif body.get("tools") and last["role"] == "user":
            arguments = {"query": "reset password"}
            self.answers.append(Reply(finish="tool_calls", calls=[("search", arguments)]))
        else:
            self.answers.append(ANSWER)
        return super().route(request)


@contextmanager
def answering(rag: Rag) -> Iterator[None]:
    """Answer requests in a thread, as a worker does."""
    requests, stop = rag.worker().requests, threading.Event()

    def answer() -> None:
        while not stop.wait(0.01):
            requests.answer()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
