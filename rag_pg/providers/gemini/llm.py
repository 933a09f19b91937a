"""Answers by Gemini, through either Google SDK.

The key comes from the argument, else GEMINI_API_KEY, else GOOGLE_API_KEY; the address from the
argument, else RAG_PG_GEMINI_BASE_URL. Nothing is imported, read or connected before the first call.
Objects may be shared between threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Unpack

from rag_pg.errors import ProviderUnavailable
from rag_pg.providers.chat import ChatRequest, ProviderModel
from rag_pg.providers.connection import Access, ConnectionOptions
from rag_pg.providers.gemini import GEMINI
from rag_pg.providers.gemini.sdk import Reply, SdkChoice, open_sdk, thought_tokens
from rag_pg.types import Completion, Finish, ToolCall, Usage


class GeminiChat:
    """One model over either SDK."""

    def __init__(self, model: str, sdk: SdkChoice, access: Access) -> None:
        self._model = model
        self._sdk = open_sdk(sdk, api_key=access.key, base_url=access.url, timeout=access.timeout)

    def close(self) -> None:
        self._sdk.close()

    def complete(self, request: ChatRequest) -> Completion:
        return _completion(list(self._sdk.generate(request, self._model, stream=False)))

    def stream(self, request: ChatRequest) -> Iterator[str | Completion]:
        replies = []
        with closing(self._sdk.generate(request, self._model, stream=True)) as pieces:
            for reply in pieces:
                replies.append(reply)
                if reply.text:
                    yield reply.text
        if not any(reply.blocked or _ended(reply) for reply in replies):
            raise ProviderUnavailable(f"gemini:{self._model} broke off its answer; ask again")
        yield _completion(replies)


class GeminiLLM(ProviderModel):
    """A Gemini model that writes text. See `ConnectionOptions`."""

    def __init__(
        self,
        model: str = "gemini-2.5-flash",
        *,
        sdk: SdkChoice = "auto",
        **reached: Unpack[ConnectionOptions],
    ) -> None:
        super().__init__(
            GEMINI,
            model,
            lambda access: GeminiChat(model, sdk, access),
            reached,
            thought_tokens=thought_tokens(model, sdk),
        )


def _ended(reply: Reply) -> bool:
    return reply.finish not in ("FINISH_REASON_UNSPECIFIED", "")


def _completion(replies: Sequence[Reply]) -> Completion:
    """Put the pieces together."""
    found = [call for reply in replies for call in reply.calls]
    calls = [
        ToolCall(id=c.id or f"call-{n}", name=c.name, arguments=c.arguments, signature=c.signature)
        for n, c in enumerate(found, 1)
    ]
    blocked = next((reply.blocked for reply in replies if reply.blocked), "")
    reason = next((reply.finish for reply in reversed(replies) if _ended(reply)), "")
    finish: Finish = "tool_calls" if calls else "stop"
    if blocked or reason not in ("STOP", "MAX_TOKENS", ""):
        finish = "blocked"
    elif reason == "MAX_TOKENS":
        finish = "length"
    prompt = max((reply.prompt_tokens for reply in replies), default=0)
    total = max((reply.total_tokens for reply in replies), default=0)
    return Completion(
        text="".join(reply.text for reply in replies),
        tool_calls=calls,
        finish=finish,
        usage=Usage(prompt_tokens=prompt, answer_tokens=max(0, total - prompt)),
        reason=(blocked or reason) if finish == "blocked" else "",
    )
