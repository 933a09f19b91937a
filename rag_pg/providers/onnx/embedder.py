"""The embedder `onnx:<folder or hub name>`: a BERT-like model with an ONNX file, without torch.

What a folder holds is what sentence-transformers and optimum write:

    onnx/model.onnx or model.onnx        inputs input_ids, attention_mask (and token_type_ids);
                                         the first output: states of tokens, or an embedding
    tokenizer.json                       of the library tokenizers
    config.json                          hidden_size, max_position_embeddings, pad_token_id
    1_Pooling/config.json                mean (the default), cls or max
    sentence_bert_config.json            max_seq_length
    config_sentence_transformers.json    prompts: query, document or passage
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_pg.errors import ModelUnavailable
from rag_pg.extras import extra
from rag_pg.providers.onnx.encoder import Encoder
from rag_pg.providers.onnx.files import sha256
from rag_pg.providers.onnx.text_embedder import TextEmbedder, read_tokenizer
from rag_pg.types import Vectors

GRAPHS = ("onnx/model.onnx", "model.onnx")
FILES = (
    *GRAPHS,
    *(f"{graph}_data" for graph in GRAPHS),
    "tokenizer.json",
    "config.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
)
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
        model: a folder, or a name on the Hugging Face hub, from which it is downloaded once.
    """

    def __init__(self, model: str, *, threads: int | None = None) -> None:
        self.name = f"onnx:{model}"
        folder = _find(model)
        graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
        if graph is None or not (folder / "tokenizer.json").is_file():
            lacks = "model.onnx" if graph is None else "tokenizer.json"
            raise ModelUnavailable(
                f"{folder} has no {lacks}; name a model that was exported to ONNX"
            )
        config = _read(folder / "config.json")
        tuned = _read(folder / "config_sentence_transformers.json")
        pooling = _pooling(_read(folder / "1_Pooling/config.json"), self.name)
        limits = [
            _read(folder / "sentence_bert_config.json").get("max_seq_length"),
            config.get("max_position_embeddings"),
        ]
        self.max_tokens = min((int(limit) for limit in limits if limit), default=512)
        prompts: Mapping[str, str] = tuned.get("prompts") or {}
        self.query_prompt = prompts.get("query") or ""
        candidates = [prompts.get(key) for key in ("document", "passage", "corpus")]
        self.document_prompt = next(filter(None, candidates), "")
        tokenizer = folder / "tokenizer.json"
        try:
            self.dimensions = int(config["hidden_size"])
            weights = [
                path for path in (graph, graph.with_name(f"{graph.name}_data")) if path.is_file()
            ]
            hashes = [sha256(path)[:16] for path in (*weights, tokenizer)]
        except (KeyError, OSError) as exc:
            raise ModelUnavailable(f"cannot read {folder}: {exc!r}") from exc
        asked = hashlib.sha256(json.dumps([self.query_prompt, self.document_prompt]).encode())
        self.fingerprint = (
            f"onnx revision=sha256:{'+'.join(hashes)} max={self.max_tokens} pooling={pooling} l2 "
            f"prompts={asked.hexdigest()[:16]}"
        )
        encoder = Encoder(
            self.name,
            lambda: graph,
            dimensions=self.dimensions,
            threads=threads,
            padding=int(config.get("pad_token_id") or 0),
            pool=partial(_embeddings, pooling),
        )
        super().__init__(encoder, lambda: read_tokenizer(tokenizer))


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
            "sentence-transformers:<model>"
        )
    return _POOLING[chosen[0]]


def _read(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ModelUnavailable(f"cannot read {path}: {exc}") from exc
    return found if isinstance(found, dict) else {}


def _find(model: str) -> Path:
    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    with extra("onnx", f"downloading {model} needs"):
        from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model, allow_patterns=list(FILES)))
    except Exception as exc:  # no network, offline mode, no such model: one remedy
        raise ModelUnavailable(
            f"{model} is no folder here, and the Hugging Face hub did not give it: {exc}"
        ) from exc
