"""What a model has to be: an embedder, a language model, a reranker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypedDict, runtime_checkable

from rag_pg.types import Capabilities, Completion, Message, Scores, Tool, Vectors


class Embedder(Protocol):
    """Turns text into L2-normalised vectors. `name` is what a collection stores as its model;
    `provider` is whose budget its calls count for, the part of its name before the first colon, or
    None where it runs here."""

    name: str
    provider: str | None
    dimensions: int
    max_tokens: int
    fingerprint: str  # model, weights, precision, length, pooling: vectors mix only when equal

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), dimensions), in the order of `texts`."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return float32 (dimensions,)."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the length of each text in this model's tokens, special tokens included."""
        ...


MAX_TOKENS = 1024


class CompletionOptions(TypedDict, total=False):
    """What `LLM.complete` and `LLM.stream` take beside the messages."""

    schema: Mapping[str, Any] | None
    tools: Sequence[Tool]
    temperature: float
    max_tokens: int


class LLM(Protocol):
    """A language model. `name` is shown with every answer."""

    name: str
    capabilities: Capabilities

    def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        temperature: float = 0.2,
        max_tokens: int = MAX_TOKENS,
    ) -> Completion:
        """Return what follows the messages: at most one of system, which comes first; then user and
        assistant in turn, tool after the calls of an assistant.

        Args:
            schema: a JSON schema that the text has to fit; only of a model that is capable of it
                (`complete_json` serves the others as well).
            tools: what the model may call instead of answering.
            temperature: 0 to 2; not sent to models that take none.
            max_tokens: of the text.
        Raises: ProviderError and its kinds, ModelUnavailable. A blocked or truncated answer is
            none: see `Completion.finish`.
        """
        ...

    def stream(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        tools: Sequence[Tool] = (),
        temperature: float = 0.2,
        max_tokens: int = MAX_TOKENS,
    ) -> Iterator[str | Completion]:
        """Yield the text in pieces as it comes, then the whole Completion. Closing the iterator
        ends the request. Raises: as `complete`, also after some pieces."""
        ...


class Reranker(Protocol):
    """Judges candidates of a search by reading them beside the query.
    `name` is shown when it fails.

    One with a method `load()` is loaded before the time limit of a call runs.
    """

    name: str

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """Return a float array (len(texts),) in the order of `texts`; larger is better."""
        ...


@runtime_checkable
class Checked(Protocol):
    """What can tell beforehand whether it will work: a provider with its key and model."""

    def check(self) -> None:
        """Raises: ProviderAuth, ProviderError."""
        ...
