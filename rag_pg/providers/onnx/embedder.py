"""The embedder `onnx:<folder or hub name>`: a BERT-like model with an ONNX file, without torch.

Its graph takes input_ids and attention_mask (and token_type_ids); the first output is states of
tokens, or an embedding. What its folder holds: rag_pg.providers.onnx.folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_pg.errors import ModelUnavailable
from rag_pg.providers.onnx.encoder import Encoder
from rag_pg.providers.onnx.files import sha256
from rag_pg.providers.onnx.folder import ModelFolder
from rag_pg.providers.onnx.text_embedder import TextEmbedder, read_tokenizer
from rag_pg.types import Vectors

_POOLING = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}


class OnnxModel(TextEmbedder):
    """A model with an ONNX file, on the CPU, its embeddings L2-normalised. Safe to share between
    threads.

    Constructing it reads the files beside the graph and hashes it; the graph is opened at the first
    use. Raises: ModelUnavailable.

    Args:
        model: a folder, an ONNX file in one, or a name on the Hugging Face hub, from which it is
            downloaded once.
    """

    def __init__(self, model: str) -> None:
        self.name = f"onnx:{model}"
        folder = ModelFolder.find(model)
        config = folder.read("config.json")
        tuned = folder.read("config_sentence_transformers.json")
        pooling = _pooling(folder.read("1_Pooling/config.json"), self.name)
        limits = [
            folder.read("sentence_bert_config.json").get("max_seq_length"),
            config.get("max_position_embeddings"),
        ]
        self.max_tokens = min((int(limit) for limit in limits if limit), default=512)
        prompts: Mapping[str, str] = tuned.get("prompts") or {}
        self.query_prompt = prompts.get("query") or ""
        candidates = [prompts.get(key) for key in ("document", "passage", "corpus")]
        self.document_prompt = next(filter(None, candidates), "")
        try:
            self.dimensions = int(config["hidden_size"])
            hashes = [sha256(path)[:16] for path in (*folder.weights, folder.tokenizer)]
        except (KeyError, OSError) as exc:
            raise ModelUnavailable(f"cannot read {folder.root}: {exc!r}") from exc
        asked = hashlib.sha256(json.dumps([self.query_prompt, self.document_prompt]).encode())
        self.fingerprint = (
            f"onnx revision=sha256:{'+'.join(hashes)} max={self.max_tokens} pooling={pooling} l2 "
            f"prompts={asked.hexdigest()[:16]}"
        )
        encoder = Encoder(
            self.name,
            lambda: folder.graph,
            dimensions=self.dimensions,
            padding=int(config.get("pad_token_id") or 0),
            pool=partial(_embeddings, pooling),
        )
        super().__init__(encoder, lambda: read_tokenizer(folder.tokenizer))


def _embeddings(pooling: str, output: NDArray[Any], mask: NDArray[np.int64]) -> Vectors:
    """Return rows of length 1 of what a graph put out: (batch, tokens, hidden), or (batch, hidden),
    which is pooled already."""
    states = output.astype(np.float32)
    if states.ndim == 3 and pooling == "cls":
        states = states[:, 0]
    elif states.ndim == 3 and pooling == "max":
        states = np.where(mask[:, :, None] == 1, states, -np.inf).max(axis=1)
    elif states.ndim == 3:
        weights = mask.astype(np.float32)[:, :, None]
        states = (states * weights).sum(axis=1) / weights.sum(axis=1)
    length: Vectors = np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-12)
    return states / length


def _pooling(config: Mapping[str, Any], name: str) -> str:
    chosen = [key for key, value in config.items() if key.startswith("pooling_mode_") and value]
    if not chosen:
        return "mean"
    if len(chosen) > 1 or chosen[0] not in _POOLING:
        raise ModelUnavailable(
            f"{name} pools by {' and '.join(chosen)}; mean, cls and max are known here; use "
            "sentence-transformers:MODEL"
        )
    return _POOLING[chosen[0]]
