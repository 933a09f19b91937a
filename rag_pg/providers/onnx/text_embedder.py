"""What the embedders that run here do alike: texts -> token ids -> vectors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rag_pg.errors import ModelUnavailable
from rag_pg.extras import extra
from rag_pg.providers.checks import check_texts
from rag_pg.providers.onnx.encoder import Encoder, cut
from rag_pg.types import Vectors

Tokenize = Callable[[Sequence[str]], list[list[int]]]


class TextEmbedder:
    """An `Embedder` of a tokenizer and an encoder, each loaded at the first use; a text's token ids
    are cut at `max_tokens`. Safe to share between threads."""

    name: str
    provider: str | None = None
    dimensions: int
    max_tokens: int
    fingerprint: str
    document_prompt: str = ""  # what the model was trained with before each text
    query_prompt: str = ""

    def __init__(self, encoder: Encoder, load_tokenizer: Callable[[], Tokenize]) -> None:
        self._encoder = encoder
        self._load_tokenizer = load_tokenizer
        self._tokenize: Tokenize | None = None
        self._lock = threading.Lock()

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), dimensions), in the order of `texts`.

        Raises: ModelUnavailable, InvalidInput (a text is not valid Unicode), ProviderError.
        """
        return self._embed(texts, self.document_prompt)

    def embed_query(self, text: str) -> Vectors:
        """Return float32 (dimensions,). Raises as `embed_documents`."""
        vector: Vectors = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), dimensions). Raises as `embed_documents`."""
        return self._embed(texts, self.query_prompt)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's length in tokens as a document, its prompt and special tokens
        included, before any cut."""
        return [len(ids) for ids in self._encode(texts, self.document_prompt)]

    def _embed(self, texts: Sequence[str], prompt: str) -> Vectors:
        rows = self._encode(texts, prompt)
        return self._encoder.encode([cut(ids, self.max_tokens) for ids in rows])

    def _encode(self, texts: Sequence[str], prompt: str = "") -> list[list[int]]:
        if not texts:
            return []
        with self._lock:
            if self._tokenize is None:
                self._tokenize = self._load_tokenizer()
        return self._tokenize([prompt + text for text in check_texts(texts)])


def open_tokenizer(path: Path) -> Any:
    """Open a tokenizer.json, of which a published one may pad. Raises: ModelUnavailable."""
    with extra("onnx", "a model that runs here needs"):
        from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as exc:  # the library raises Exception itself
        raise ModelUnavailable(f"cannot read {path}: {exc}") from exc
    tokenizer.no_padding()
    return tokenizer


def read_tokenizer(path: Path) -> Tokenize:
    """Return the tokenizer of a tokenizer.json. Raises: ModelUnavailable."""
    tokenizer = open_tokenizer(path)
    tokenizer.no_truncation()  # a published file may cut
    return lambda texts: [one.ids for one in tokenizer.encode_batch_fast(list(texts))]
