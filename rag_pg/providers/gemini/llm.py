"""Gemini: answers (`GeminiLLM`) and embeddings (`GeminiEmbedder`), through either Google SDK.

The key comes from the argument, else GEMINI_API_KEY, else GOOGLE_API_KEY; the address from the
argument, else RAG_PG_GEMINI_BASE_URL. Nothing is imported, read or connected before the first call.
Objects may be shared between threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from rag_pg.errors import UnusableReply
from rag_pg.providers.chat import ChatRequest, parse_json
from rag_pg.providers.gemini.connection import Connection
from rag_pg.providers.gemini.sdk import Reply, SdkChoice
from rag_pg.types import Capabilities, Completion, Finish, Message, Tool, ToolCall, Usage


class GeminiLLM:
    """A Gemini model that writes text. `timeout`: seconds per request, above 0."""

    def __init__(
        self,
        model: str = "gemini-2.5-flash",
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        sdk: SdkChoice = "auto",
        timeout: float = 60.0,
    ) -> None:
        self.name = f"gemini:{model}"
        self.capabilities = Capabilities(schema=True, tools=True)
        self._model = model
        self._connection = Connection(api_key, base_url, sdk, timeout)

    def load(self) -> None:
        """Import the SDK and read the key, which the first call does else; nothing is connected.

        Raises: ProviderAuth (no key), ModelUnavailable (no SDK installed).
        """
        self._connection.open()

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        temperature: float = 0.2,
        max_tokens: int = 1024,
    ) -> Completion:
        """As `LLM.complete`. A model that thinks first may use more than max_tokens.

        Raises: ProviderAuth, RateLimited, ProviderTimeout, ProviderError, ModelUnavailable (no SDK installed).
        """
        request = ChatRequest(
            messages=messages,
            schema=schema,
            tools=tools,
            temperature=temperature,
            max_tokens=max_tokens,
        )
        replies = self._connection.call(
            lambda sdk: list(sdk.generate(request, self._model, stream=False))
        )
        return _completion(replies, request, self.name)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        temperature: float = 0.2,
        max_tokens: int = 1024,
    ) -> Iterator[str | Completion]:
        """As `LLM.stream`. Raises: as `complete`."""
        request = ChatRequest(
            messages=messages,
            schema=schema,
            tools=tools,
            temperature=temperature,
            max_tokens=max_tokens,
        )
        replies = []
        pieces = self._connection.stream(
            lambda sdk: sdk.generate(request, self._model, stream=True)
        )
        with closing(pieces):
            for reply in pieces:
                replies.append(reply)
                if reply.text:
                    yield reply.text
        yield _completion(replies, request, self.name)


def _completion(replies: Sequence[Reply], request: ChatRequest, name: str) -> Completion:
    """Put the pieces together. Raises: UnusableReply (nothing in it)."""
    text = "".join(reply.text for reply in replies)
    found = [call for reply in replies for call in reply.calls]
    calls = [
        ToolCall(id=c.id or f"call-{n}", name=c.name, arguments=c.arguments, signature=c.signature)
        for n, c in enumerate(found, 1)
    ]
    blocked = next((reply.blocked for reply in replies if reply.blocked), "")
    reason = next((reply.finish for reply in reversed(replies) if reply.finish), "")
    finish: Finish = "tool_calls" if calls else "stop"
    if blocked or reason not in ("STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED", ""):
        finish = "blocked"
    elif reason == "MAX_TOKENS":
        finish = "length"
    elif not (text.strip() or calls):
        raise UnusableReply(f"{name} gave an empty answer; ask again")
    prompt = max((reply.prompt_tokens for reply in replies), default=0)
    total = max((reply.total_tokens for reply in replies), default=0)
    return Completion(
        text=text.strip(),
        parsed=parse_json(text) if request.schema is not None else None,
        tool_calls=calls,
        finish=finish,
        usage=Usage(prompt_tokens=prompt, answer_tokens=max(0, total - prompt)),
        reason=(blocked or reason) if finish == "blocked" else "",
    )
