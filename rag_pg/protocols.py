"""What a model has to be: an embedder, a language model, a reranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rag_pg.types import Completion, Message, Scores, Vectors


class Embedder(Protocol):
    """Turns text into L2-normalised vectors. `name` is what a collection stores as its model."""

    name: str
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


class LLM(Protocol):
    """A language model. `name` is shown with every answer."""

    name: str

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, temperature: float | None = None
    ) -> Completion:
        """Return what follows the messages: at most one of system, which comes first; then user and
        assistant in turn, the last of user.

        Args:
            max_tokens: of the text. temperature: 0 and up; None: as suits the model.
        Raises: ProviderError and its kinds, ModelUnavailable.
        """
        ...


class Reranker(Protocol):
    """Judges candidates of a search by reading them beside the query. `name` is shown when it fails."""

    name: str

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """Return a float array (len(texts),) in the order of `texts`; larger is better."""
        ...
