"""Embeddings by Gemini."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from rag_pg.errors import InvalidInput
from rag_pg.providers.checks import unit_vectors
from rag_pg.providers.connection import Connection, ConnectionOptions
from rag_pg.providers.gemini import GEMINI
from rag_pg.providers.gemini.sdk import Sdk, SdkChoice, open_sdk
from rag_pg.text import estimate_tokens
from rag_pg.types import Vectors

BATCH = 100  # texts: the API's limit per request


DIMENSIONS = 768


class GeminiEmbedder:
    """A Gemini embedding model: L2-normalised vectors of 1 to 3072 dimensions, as the model allows.

    Longer texts than `max_tokens` are cut by the API. `timeout`: seconds per request of at most 100
    texts. Raises: InvalidInput (dimensions).
    """

    provider: str | None = "gemini"
    max_tokens = 2048

    def __init__(
        self,
        model: str = "gemini-embedding-001",
        *,
        dimensions: int = DIMENSIONS,
        sdk: SdkChoice = "auto",
        **reached: Unpack[ConnectionOptions],
    ) -> None:
        if dimensions < 1:
            raise InvalidInput(f"dimensions must be at least 1, not {dimensions}")
        self.name = f"gemini:{model}" + ("" if dimensions == DIMENSIONS else f":{dimensions}")
        self.dimensions = dimensions
        self.fingerprint = f"gemini/{model}/dimensions={dimensions}/task=retrieval/l2"  # no SDK
        self._model = model
        self._connection: Connection[Sdk] = Connection(
            GEMINI,
            lambda access: open_sdk(
                sdk, api_key=access.key, base_url=access.url, timeout=access.timeout
            ),
            patience=0,  # a refusal is the business of who plans the calls: the worker's budget
            **reached,
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), dimensions). Raises: as GeminiLLM.complete."""
        batches = [texts[at : at + BATCH] for at in range(0, len(texts), BATCH)]
        vectors = [self._embed(batch, "RETRIEVAL_DOCUMENT") for batch in batches]
        return np.concatenate([np.empty((0, self.dimensions), np.float32), *vectors])

    def embed_query(self, text: str) -> Vectors:
        """Return float32 (dimensions,). Raises: as GeminiLLM.complete."""
        query: Vectors = self.embed_queries([text])[0]
        return query

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), dimensions), for up to 100 texts. Raises: as
        GeminiLLM.complete."""
        return self._embed(texts, "RETRIEVAL_QUERY")

    def check(self) -> None:
        """Embed a word: the key, the model and its dimensions are right. Raises: as
        GeminiLLM.complete."""
        self.embed_query("check")

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return an estimate that errs on the high side (rag_pg.text.tokens.estimate_tokens): the
        tokenizer is not public, and asking the API would be a request per chunk."""
        return estimate_tokens(texts)

    def _embed(self, texts: Sequence[str], task: str) -> Vectors:
        rows = self._connection.call(
            lambda sdk: sdk.embed(texts, model=self._model, task=task, dimensions=self.dimensions)
        )
        return unit_vectors(rows, count=len(texts), dimensions=self.dimensions, name=self.name)


def open_embedder(name: str) -> GeminiEmbedder:
    """Return the embedder called "gemini:<model>" or "gemini:<model>:<dimensions>".

    Raises: InvalidInput.
    """
    match = re.fullmatch(r"gemini:([\w./-]+)(?::(\d{1,5}))?", name)
    if match is None:
        raise InvalidInput(f"{name!r} is not gemini:MODEL or gemini:MODEL:DIMENSIONS")
    return GeminiEmbedder(match[1], dimensions=int(match[2] or DIMENSIONS))
