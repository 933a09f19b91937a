"""Gemini: answers (`GeminiLLM`) and embeddings (`GeminiEmbedder`), through either Google SDK.

The key comes from the argument, else GEMINI_API_KEY, else GOOGLE_API_KEY; the address from the
argument, else RAG_PG_GEMINI_BASE_URL. Nothing is imported, read or connected before the first call.
Objects may be shared between threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from rag_pg.errors import AnswerBlocked, ProviderError
from rag_pg.providers.gemini.connection import Connection
from rag_pg.providers.gemini.sdk import Reply, SdkChoice, Turn
from rag_pg.types import Completion, Message, Usage


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
        self._model = model
        self._connection = Connection(api_key, base_url, sdk, timeout)

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float | None = None
    ) -> Completion:
        """Return what the model says after `messages`.

        Args:
            max_tokens: of the visible answer; a model that thinks first may use more.
            temperature: 0 to 2; None: 0 where the model is best at it.
        Raises: ProviderAuth, RateLimited, ProviderTimeout, AnswerBlocked, ProviderError,
            ModelUnavailable (no SDK installed).
        """
        system = "\n\n".join(m.content for m in messages if m.role == "system")
        turns: list[Turn] = [
            ("model" if m.role == "assistant" else "user", m.content)
            for m in messages
            if m.role != "system"
        ]
        reply = self._connection.call(
            lambda sdk: sdk.generate(
                turns,
                model=self._model,
                system=system,
                max_tokens=max_tokens,
                temperature=temperature,
            )
        )
        answer_tokens = max(0, reply.total_tokens - reply.prompt_tokens)
        return Completion(
            text=_text(reply, self.name, max_tokens),
            finish="length" if reply.finish == "MAX_TOKENS" else "stop",
            usage=Usage(prompt_tokens=reply.prompt_tokens, answer_tokens=answer_tokens),
        )


def _text(reply: Reply, name: str, max_tokens: int) -> str:
    """Return the reply's text. Raises: AnswerBlocked, ProviderError (no text)."""
    if reply.blocked:
        raise AnswerBlocked(
            f"{name} refused the prompt ({reply.blocked}); "
            "rephrase the question, or filter out the document that gives offence"
        )
    text = reply.text.strip()
    if reply.finish == "MAX_TOKENS":
        if not text:
            raise ProviderError(
                f"{name} used up max_tokens ({max_tokens}) before it wrote a word; raise max_tokens"
            )
        return text
    if reply.finish not in ("STOP", "FINISH_REASON_UNSPECIFIED", ""):
        raise AnswerBlocked(f"{name} stopped its answer ({reply.finish}); rephrase the question")
    if not text:
        raise ProviderError(f"{name} gave an empty answer; ask again")
    return text
