"""Turns a BERT checkpoint into one ONNX graph that maps token ids to sentence embeddings.

The graph uses onnxruntime's fused operators (domain com.microsoft): attention, bias + GELU and
residual + layer norm are one node each. Mean pooling and L2 normalisation are part of the graph:

    input_ids, attention_mask   int32 (batch, tokens), padded on the right
    embedding                   float32 (batch, hidden), each row of length 1

Exporting through torch would need torch, and onnxruntime does not fuse what its exporter writes.
`onnx` and `safetensors` are imported when a graph is built, not with this module.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag_pg.errors import ModelUnavailable
from rag_pg.extras import extra
from rag_pg.providers.onnx.graph import FUSED, Graph

CONVERTER_VERSION = 2
"""Part of a converted file's name: raise it whenever this module would write another graph."""

Weights = dict[str, NDArray[np.float32]]  # emptied tensor by tensor, so that memory peaks lower


@dataclass(frozen=True, kw_only=True, slots=True)
class BertConfig:
    """What the graph needs of config.json."""

    hidden: int
    layers: int
    heads: int
    epsilon: float

    @classmethod
    def read(cls, path: Path) -> BertConfig:
        """Read config.json. Raises ModelUnavailable for anything but a plain BERT encoder."""
        config = json.loads(path.read_text(encoding="utf-8"))
        for key, only in (
            ("model_type", "bert"),
            ("hidden_act", "gelu"),
            ("position_embedding_type", "absolute"),
        ):
            if config.get(key, only) != only:
                raise ModelUnavailable(
                    f"{path} has {key} {config[key]!r}, only {only!r} can be converted; "
                    'name the model "sentence-transformers:MODEL" instead'
                )
        return cls(
            hidden=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            epsilon=config["layer_norm_eps"],
        )


def build(model_dir: Path) -> Graph:
    """Return the graph for `model_dir`/model.safetensors and config.json.

    The same input gives the same bytes, about as many as the weights; memory peaks at about
    five times that.
    Raises: ModelUnavailable (not a BERT encoder), OSError (a file cannot be read).
    """
    config = BertConfig.read(model_dir / "config.json")
    weights = _read_weights(model_dir / "model.safetensors")
    graph = Graph(opset=17, ir_version=8, version=CONVERTER_VERSION)
    try:
        states, lengths = _embeddings(graph, weights, config, graph.ids, graph.mask)
        for index in range(config.layers):
            states = _encoder_layer(graph, weights, config, index, states, lengths)
    except KeyError as missing:
        raise ModelUnavailable(
            f"{model_dir / 'model.safetensors'} has no tensor {missing}: not a BERT encoder"
        ) from None
    graph.pool(states, config.hidden)
    return graph


def _read_weights(path: Path) -> Weights:
    """Return the checkpoint's float tensors as float32."""
    with extra("onnx", "converting a model needs"):
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

    try:
        tensors = load_file(path)
    except SafetensorError as exc:
        raise ModelUnavailable(f"{path} is not a safetensors file: {exc}") from exc
    return {
        name: tensor.astype(np.float32, copy=False)
        for name, tensor in tensors.items()
        if tensor.dtype.kind == "f"
    }


def _embeddings(
    graph: Graph, weights: Weights, config: BertConfig, ids: str, mask: str
) -> tuple[str, str]:
    """Add word + position + segment embeddings and their layer norm.

    Returns the names of the states, (batch, tokens, hidden), and of the unpadded lengths, (batch,).
    """
    zero = graph.constant("zero", np.array(0, dtype=np.int32))
    segments = graph.add("Mul", [ids, zero], "segment_ids")  # one text: all segment 0
    tables = [f"{part}_embeddings.weight" for part in ("word", "position", "token_type")]
    names = [*tables, "LayerNorm.weight", "LayerNorm.bias"]
    constants = [graph.constant(name, weights.pop(f"embeddings.{name}")) for name in names]
    outputs = ("embedded", "lengths")
    graph.add(
        "EmbedLayerNormalization",
        [ids, segments, *constants, mask],
        *outputs,
        domain=FUSED,
        epsilon=config.epsilon,
    )
    return outputs


def _encoder_layer(
    graph: Graph, weights: Weights, config: BertConfig, index: int, states: str, lengths: str
) -> str:
    """Add transformer layer `index`; returns the name of its states, (batch, tokens, hidden).

    A checkpoint stores a dense layer as (out, in); the graph multiplies by (in, out).
    """
    prefix = f"layer{index}."

    def take(name: str) -> NDArray[np.float32]:
        return weights.pop(f"encoder.layer.{index}.{name}").T  # of a bias: the bias itself

    def constant(name: str) -> str:
        return graph.constant(prefix + name, take(name))

    def joined(kind: str) -> str:
        parts = [take(f"attention.self.{part}.{kind}") for part in ("query", "key", "value")]
        return graph.constant(f"{prefix}qkv.{kind}", np.concatenate(parts, axis=-1))

    def multiply(block: str, inputs: str) -> str:
        return graph.add(
            "MatMul", [inputs, constant(f"{block}.dense.weight")], f"{prefix}{block}.product"
        )

    def add_and_normalise(block: str, projected: str, residual: str) -> str:
        vectors = [f"{block}.LayerNorm.weight", f"{block}.LayerNorm.bias", f"{block}.dense.bias"]
        return graph.add(
            "SkipLayerNormalization",
            [projected, residual, *map(constant, vectors)],
            f"{prefix}{block}.states",
            domain=FUSED,
            epsilon=config.epsilon,
        )

    attended = graph.add(
        "Attention",
        [states, joined("weight"), joined("bias"), lengths],
        f"{prefix}attended",
        domain=FUSED,
        num_heads=config.heads,
    )
    projected = multiply("attention.output", attended)
    attention = add_and_normalise("attention.output", projected, states)
    activated = graph.add(
        "BiasGelu",
        [multiply("intermediate", attention), constant("intermediate.dense.bias")],
        f"{prefix}gelu",
        domain=FUSED,
    )
    return add_and_normalise("output", multiply("output", activated), attention)
