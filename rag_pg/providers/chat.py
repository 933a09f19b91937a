"""What every provider's language model does alike: `ChatModel` is the LLM of them all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Protocol, Unpack

from rag_pg.errors import InvalidInput, UnusableReply
from rag_pg.protocols import MAX_TOKENS, CompletionOptions
from rag_pg.providers.checks import check_completion
from rag_pg.providers.connection import Access, Connection, ConnectionOptions, Provider
from rag_pg.providers.limits import find_model, token_counter
from rag_pg.types import Capabilities, Completion, Message, Tool, Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatRequest:
    """The arguments of `LLM.complete` and `LLM.stream`. timeout: seconds, of this request."""

    messages: Sequence[Message]
    schema: Mapping[str, Any] | None = None
    tools: Sequence[Tool] = ()
    temperature: float = 0.2
    max_tokens: int = MAX_TOKENS
    timeout: float

    @property
    def system(self) -> str:
        return "\n\n".join(m.content for m in self.messages if m.role == "system")


class Chat(Protocol):
    """A model behind one SDK. Errors are the SDK's own."""

    def complete(self, request: ChatRequest) -> Completion: ...

    def stream(self, request: ChatRequest) -> Iterator[str | Completion]:
        """Yield the text in pieces, then the Completion."""
        ...

    def close(self) -> None: ...


class ChatModel:
    """A provider's language model: an `LLM`. Threads may share it.

    Nothing is imported, read or connected before the first call.
    """

    def __init__(self, name: str, connection: Connection[Chat], capabilities: Capabilities) -> None:
        self.name = name
        self.capabilities = capabilities
        self._connection = connection

    @property
    def fingerprint(self) -> str:
        """What its answers depend on beside what it is asked: which model, and where."""
        return f"{self.name} at {self._connection.url}"

    @property
    def url(self) -> str:
        """Where it is asked."""
        return self._connection.url

    def load(self) -> None:
        """Import the SDK and read the key, which the first call does else; nothing is connected.

        Raises: ProviderAuth (no key), ModelUnavailable (no SDK installed).
        """
        self._connection.open()

    def complete(
        self, messages: Sequence[Message], **options: Unpack[CompletionOptions]
    ) -> Completion:
        """As `LLM.complete`. A model that thinks first may use more than max_tokens.

        Raises: ProviderAuth, RateLimited, ProviderUnavailable, ProviderTimeout, UnusableReply,
            ProviderError, ModelUnavailable (no SDK installed).
        """
        request = self._request(messages, options)
        return self._finish(self._connection.call(lambda chat: chat.complete(request)), request)

    def stream(
        self, messages: Sequence[Message], **options: Unpack[CompletionOptions]
    ) -> Iterator[str | Completion]:
        """As `LLM.stream`. Raises: as `complete`."""
        request = self._request(messages, options)
        with closing(self._connection.stream(lambda chat: chat.stream(request))) as pieces:
            for piece in pieces:
                if isinstance(piece, Completion):
                    yield self._finish(piece, request)
                elif piece:
                    yield piece

    def _request(self, messages: Sequence[Message], options: CompletionOptions) -> ChatRequest:
        """Raises: InvalidInput (sources that the model would not see)."""
        if not self.capabilities.citations and any(m.sources for m in messages):
            raise InvalidInput(f"{self.name} takes no sources; write them into the content")
        return ChatRequest(messages=messages, timeout=self._connection.timeout, **options)

    def _finish(self, got: Completion, request: ChatRequest) -> Completion:
        """Read the JSON that was asked for, and count the tokens where the provider told none.

        Raises: UnusableReply (nothing at all came, or what is no text and no count stands where one
        belongs).
        """
        check_completion(got, self.name)
        if got.usage == Usage():
            counter = token_counter(self)
            prompt = counter.of_prompt(request.messages, request.tools, request.schema)
            used = Usage(prompt_tokens=prompt, answer_tokens=sum(counter.count([got.text])))
            got = replace(got, usage=used)
        if got.finish == "stop" and not got.text.strip():
            error = UnusableReply(f"{self.name} gave an empty answer; ask again")
            error.usage = got.usage
            raise error
        parsed = parse_json(got.text) if request.schema is not None else None
        return replace(got, text=got.text.strip(), parsed=parsed)


def parse_json(text: str) -> Any:
    """The value of a JSON text; else the first object or array in it, as in a fence or behind a
    word of introduction; None where there is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        start = re.search(r"[{\[]", text)
    if start is None:
        return None
    try:
        return json.JSONDecoder().raw_decode(text, start.start())[0]
    except (ValueError, RecursionError):
        return None


class ProviderModel(ChatModel):
    """A model that a provider runs; how it is reached, see `ConnectionOptions`."""

    def __init__(
        self,
        provider: Provider,
        model: str,
        open_chat: Callable[[Access], Chat],
        reached: ConnectionOptions,
        **capabilities: Any,
    ) -> None:
        name = f"{provider.name}:{model}"
        facts = find_model(name)
        known = {
            "context_tokens": facts.context_tokens if facts else None,
            "thought_tokens": facts.thoughts if facts else 0,
        }
        connection = Connection(provider, open_chat, **reached)
        able = Capabilities(schema=True, tools=True, **known | capabilities)
        super().__init__(name, connection, able)
