"""The reranker `onnx:<folder or hub name>`: a cross-encoder with an ONNX file, without torch.

Its graph takes input_ids, attention_mask (and token_type_ids) of a query and a text as one pair;
the first output is one number for each pair, before the activation. What its folder holds:
rag_pg.providers.onnx.folder. The scores are those of sentence-transformers' CrossEncoder with the
same weights.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_pg.errors import ModelUnavailable
from rag_pg.providers.checks import check_texts
from rag_pg.providers.onnx.encoder import Encoder
from rag_pg.providers.onnx.folder import ModelFolder
from rag_pg.providers.onnx.text_embedder import open_tokenizer
from rag_pg.types import Scores, Vectors

Pairs = Callable[[str, Sequence[str]], tuple[list[list[int]], list[list[int]]]]
_NUMBERS_FROM_PADDING = ("roberta", "xlm-roberta", "camembert", "mpnet")
"""Model types whose first position is the padding's id + 1: that many fewer tokens fit."""


class OnnxReranker:
    """A cross-encoder with an ONNX file, on the CPU. Safe to share between threads.

    Constructing it reads the files beside the graph; the graph is opened at the first use, or by
    `load`. Raises: ModelUnavailable.

    Args:
        model: a folder, an ONNX file in one (as onnx/model_int8.onnx), or a name on the Hugging
            Face hub, from which it is downloaded once.
    """

    def __init__(self, model: str) -> None:
        self.name = f"onnx:{model}"
        folder = ModelFolder.find(model)
        config = folder.read("config.json")
        _check_head(config, self.name)
        self._activate = _activation(config, self.name)
        self.max_tokens = _max_tokens(config, folder.read("tokenizer_config.json"))
        self._encoder = Encoder(
            self.name,
            lambda: folder.graph,
            dimensions=1,
            padding=int(config.get("pad_token_id") or 0),
            pool=self._one_number,
        )
        self._tokenizer = folder.tokenizer
        self._pairs: Pairs | None = None
        self._lock = threading.Lock()

    def load(self) -> None:
        """Read the tokenizer and open the graph, so that no time limit counts that.
        Raises: ModelUnavailable."""
        with self._lock:
            if self._pairs is None:
                self._pairs = _read_pairs(self._tokenizer, self.max_tokens)
        self._encoder.open()

    def rerank(self, query: str, texts: Sequence[str]) -> Scores:
        """Return a score per text, larger is better: 0 to 1 where the model ends in a sigmoid.

        Of a pair that is too long for the model the longer text is cut, at its end.
        Raises: ModelUnavailable, InvalidInput (not valid Unicode), ProviderError.
        """
        query, *texts = check_texts([query, *texts])
        self.load()
        assert self._pairs is not None
        rows, types = self._pairs(query, texts)
        return self._activate(self._encoder.encode(rows, types)[:, 0].astype(np.float64))

    def _one_number(self, output: NDArray[Any], mask: NDArray[np.int64]) -> Vectors:
        if output.ndim == 1:
            output = output[:, None]
        if output.shape != (len(mask), 1):
            raise ModelUnavailable(
                f"{self.name} gives {output.shape} for {len(mask)} pairs; use a cross-encoder "
                "with one number for each"
            )
        return output.astype(np.float32)


def _check_head(config: Mapping[str, Any], name: str) -> None:
    """Refuse what was not trained to score a pair by one number: its scores would be noise."""
    kind = (config.get("architectures") or [""])[0]
    if kind and not kind.endswith("ForSequenceClassification"):
        raise ModelUnavailable(
            f"{name} is no cross-encoder: a {kind} has no trained head that scores pairs; "
            "use a model made for reranking"
        )
    labels = config.get("num_labels") or len(config.get("id2label") or {}) or 1
    if labels != 1:
        raise ModelUnavailable(
            f"{name} gives {labels} numbers for each pair; use a cross-encoder with one"
        )


def _activation(config: Mapping[str, Any], name: str) -> Callable[[Scores], Scores]:
    """What its makers put behind its number; sentence-transformers' default is a sigmoid."""
    stated = (config.get("sentence_transformers") or {}).get("activation_fn")
    stated = stated or config.get("sbert_ce_default_activation_function") or "Sigmoid"
    kind = str(stated).rpartition(".")[2]
    if kind == "Identity":
        return lambda scores: scores
    if kind == "Sigmoid":
        return lambda scores: 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
    raise ModelUnavailable(
        f"{name} ends in {stated}; Sigmoid and Identity are known here; use cross-encoder:MODEL"
    )


def _max_tokens(config: Mapping[str, Any], tokenizer: Mapping[str, Any]) -> int:
    positions = config.get("max_position_embeddings")
    if positions and config.get("model_type") in _NUMBERS_FROM_PADDING:
        positions -= int(config.get("pad_token_id") or 0) + 1
    limits = (tokenizer.get("model_max_length"), positions)
    return min((int(limit) for limit in limits if limit), default=512)


def _read_pairs(path: Path, max_tokens: int) -> Pairs:
    """Return what makes token ids and types of a query with each text. Raises: ModelUnavailable."""
    tokenizer = open_tokenizer(path)
    tokenizer.enable_truncation(max_tokens, strategy="longest_first")

    def encode(query: str, texts: Sequence[str]) -> tuple[list[list[int]], list[list[int]]]:
        found = tokenizer.encode_batch([(query, text) for text in texts])
        return [one.ids for one in found], [one.type_ids for one in found]

    return encode
