"""Any model of the sentence-transformers library as an embedder."""

from __future__ import annotations

import hashlib
import importlib
import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag_pg.errors import (
    ModelUnavailable,
    ProviderError,
)
from rag_pg.providers.checks import check_finite, check_texts
from rag_pg.types import Scores, Vectors

TEXTS, PAIRS = 8, 16  # of a batch
_NO_LIMIT = 1_000_000  # tokens, of a model that takes texts of any length


class SentenceTransformers:
    """Any sentence-transformers model, with the query and document prompts it defines.

    Constructing it loads the model, on the device that the library chooses: what a model gives is
    only known then. Calls run one at a time. Raises: ModelUnavailable.
    """

    provider: str | None = None

    def __init__(self, model: str) -> None:
        self.name = f"sentence-transformers:{model}"
        self._model = load_model("SentenceTransformer", model, self.name)
        self._lock = threading.Lock()  # transformers' tokenizers must not be shared by threads
        prompts = self._model.prompts
        self._query_prompt: str = prompts.get("query") or ""
        # The first that is set: the library itself would stop at an empty "document".
        candidates = [prompts.get(key) for key in ("document", "passage", "corpus")]
        self._document_prompt: str = next(filter(None, candidates), "")
        self.dimensions = len(self.embed_query(""))
        limit = self._model.max_seq_length
        self.max_tokens = int(limit) if limit and math.isfinite(limit) else _NO_LIMIT
        self.fingerprint = self._fingerprint(model)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), dimensions), in the order of `texts`.

        Raises: InvalidInput (a text is not valid Unicode), ProviderError.
        """
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        return self._embed(self._model.encode_document, texts, self._document_prompt)

    def embed_query(self, text: str) -> Vectors:
        """Return float32 (dimensions,). Raises as `embed_documents`."""
        vector: Vectors = self.embed_queries([text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (len(texts), dimensions). Raises as `embed_documents`."""
        return self._embed(self._model.encode_query, texts, self._query_prompt)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's length as a document: its prompt and special tokens included."""
        if not texts:
            return []
        prompted = [self._document_prompt + text for text in check_texts(texts)]
        tokenizer = self._model.tokenizer
        with self._lock:
            if hasattr(tokenizer, "encode_batch"):  # static embeddings use the tokenizers library
                return [len(encoding) for encoding in tokenizer.encode_batch(prompted)]
            encoded = tokenizer(prompted, truncation=False, padding=False, verbose=False)
            return [len(ids) for ids in encoded["input_ids"]]

    def _embed(self, encode: Callable[..., Any], texts: Sequence[str], prompt: str) -> Vectors:
        given = check_texts(texts)
        try:
            with self._lock:
                vectors = encode(  # sorts by length before it cuts batches
                    given,
                    prompt=prompt,
                    batch_size=TEXTS,
                    show_progress_bar=False,
                    normalize_embeddings=True,
                )
        except RuntimeError as exc:  # torch: out of memory and the like
            raise ProviderError(f"{self.name} failed on {len(texts)} texts: {exc}") from exc
        return check_finite(vectors, self.name)

    def _fingerprint(self, source: str) -> str:
        model, folder = self._model, Path(source)
        config = getattr(model.transformers_model, "config", None)
        revision = getattr(config, "_commit_hash", None) or _weights_checksum(folder)
        pooling = [str(part.pooling_mode) for part in model if hasattr(part, "pooling_mode")]
        prompts = {"query": self._query_prompt, "document": self._document_prompt}
        return (
            f"{folder.resolve().name if folder.is_dir() else source} revision={revision} "
            f"{str(model.dtype).removeprefix('torch.')} max={self.max_tokens} "
            f"pooling={'+'.join(pooling)} l2 prompts={prompts}"
        )


def load_model(kind: str, model: str, name: str) -> Any:
    """Return the library's class `kind` opened for `model`.
    Raises: ModelUnavailable, which says `name`."""
    try:
        # Not an import statement: type checkers would read all of torch.
        library = importlib.import_module("sentence_transformers")
    except ImportError as exc:
        raise ModelUnavailable(
            f"{name} needs a library that is not installed ({exc}): "
            'pip install "rag-pg[sentence-transformers]"'
        ) from exc
    try:
        return getattr(library, kind)(model)
    except Exception as exc:  # unknown model, no network, a broken file, …
        raise ModelUnavailable(f"cannot load {name}: {exc}") from exc


def _weights_checksum(folder: Path) -> str:
    """Return a checksum of a local model's weights, which may change while its path does not."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in {".safetensors", ".bin"}:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256:{digest.hexdigest()[:16]}"


class CrossEncoder:
    """A cross-encoder of the sentence-transformers library, by its name or folder.

    Constructing it loads the model. Calls run one at a time. Raises: ModelUnavailable.
    """

    def __init__(self, model: str) -> None:
        self.name = f"cross-encoder:{model}"
        self._model = load_model("CrossEncoder", model, self.name)
        self._lock = threading.Lock()  # transformers' tokenizers must not be shared by threads
        if self._model.num_labels != 1:
            raise ModelUnavailable(
                f"{self.name} gives {self._model.num_labels} numbers for each pair; "
                "use a cross-encoder with one"
            )
        # The library would put an untrained head on any encoder, and its scores would be noise.
        kind = (getattr(self._model.config, "architectures", None) or [""])[0]
        if len(self._model) == 1 and kind.endswith(("Model", "ForMaskedLM")):
            raise ModelUnavailable(
                f"{self.name} is no cross-encoder: a {kind} has no trained head that scores pairs; "
                "use a model made for reranking"
            )

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """Return a score per text, larger is better. What is too long for the model is cut."""
        pairs = [(query, text) for text in texts]
        with self._lock:
            scores = self._model.predict(pairs, batch_size=PAIRS, show_progress_bar=False)
        return np.asarray(scores, dtype=np.float64)
