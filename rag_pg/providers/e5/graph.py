"""Repacks the 4-bit weights of multilingual-e5-small into an ONNX graph, without loss.

The word table stays in 4 bit. The layers' matrices keep their numbers and scales, each number in a
byte, which onnxruntime multiplies quicker than two in a byte: by activations in 8 bit, block by
block, so that a text's vector does not depend on the texts beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rag_pg.providers.e5.data_file import BLOCK, DataFile
from rag_pg.providers.onnx.graph import FUSED, Graph

GRAPH_VERSION = 3
"""Part of the file's name: raise it whenever this module would write another graph."""

_INT8_ACTIVATIONS = 4  # MatMulNBits: accuracy_level
_ZERO = 128  # of a number in 8 bit, as MatMulNBits takes it; it is 8 in 4 bit


def build(data: DataFile) -> Graph:
    """Return the graph, 79 MB. The same data give the same bytes. Raises: KeyError (a tensor is
    missing)."""
    graph = Graph(opset=21, ir_version=10, version=GRAPH_VERSION)
    axis = graph.constant("last", np.array([1], dtype=np.int64))
    lengths = graph.add("ReduceSum", [graph.mask, axis], "lengths", keepdims=0)
    states = _embeddings(graph, data)
    for index in range(data.layers):
        states = _layer(graph, data, f"l{index}.", states, lengths)
    graph.pool(states, data.hidden)
    return graph


def _embeddings(graph: Graph, data: DataFile) -> str:
    numbers, scales = data.blocks("emb.word", data.hidden)
    signed = numbers ^ 8  # number - 8 as a two's complement of four bits
    packed = (signed[:, 0::2] | (signed[:, 1::2] << 4)).astype(np.uint8)
    words = graph.add(
        "GatherBlockQuantized",
        [
            graph.constant_int4("word.numbers", packed, *numbers.shape),
            graph.ids,
            graph.constant("word.scales", scales),
        ],
        "words.float16",
        domain=FUSED,
        block_size=BLOCK,
        gather_axis=0,
        quantize_axis=1,
    )
    words = graph.add("Cast", [words], "words", to=graph.float32)
    table = data.floats("emb.pos").reshape(-1, data.hidden)
    segment = data.floats("emb.type").reshape(-1, data.hidden)[0]  # one text: all segment 0
    one, two = (graph.constant(str(n), np.array([n], dtype=np.int64)) for n in (1, 2))
    shape = graph.add("Shape", [graph.ids], "shape")
    length = graph.add("Slice", [shape, one, two], "length")
    zero = graph.constant("0", np.array([0], dtype=np.int64))
    positions = graph.add(
        "Slice", [graph.constant("position", table + segment), zero, length], "positions"
    )
    return graph.add(
        "LayerNormalization",
        [
            graph.add("Add", [words, positions], "embedded"),
            graph.constant("embedded.scale", data.floats("emb.ln.w")),
            graph.constant("embedded.bias", data.floats("emb.ln.b")),
        ],
        "embedded.states",
        axis=-1,
        epsilon=data.epsilon,
    )


def _layer(graph: Graph, data: DataFile, prefix: str, states: str, lengths: str) -> str:
    """Add a transformer layer; returns the name of its states, (batch, tokens, hidden)."""

    def constant(name: str) -> str:
        return graph.constant(prefix + name, data.floats(prefix + name))

    def add_and_normalise(norm: str, bias: str, projected: str, residual: str) -> str:
        return graph.add(
            "SkipLayerNormalization",
            [projected, residual, constant(f"{norm}.w"), constant(f"{norm}.b"), constant(bias)],
            f"{prefix}{norm}.states",
            domain=FUSED,
            epsilon=data.epsilon,
        )

    joined = _multiply(graph, data, [f"{prefix}{part}.w" for part in "qkv"], data.hidden, states)
    biases: list[NDArray[np.float32]] = [data.floats(f"{prefix}{part}.b") for part in "qkv"]
    parts = [f"{prefix}{part}" for part in "qkv"]
    graph.add("Split", [joined], *parts, axis=-1, num_outputs=3)
    attended = graph.add(
        "MultiHeadAttention",
        [*parts, graph.constant(f"{prefix}qkv.b", np.concatenate(biases)), lengths],
        f"{prefix}attended",
        domain=FUSED,
        num_heads=data.heads,
    )
    projected = _multiply(graph, data, [f"{prefix}ao.w"], data.hidden, attended)
    attention = add_and_normalise("aln", "ao.b", projected, states)
    inner = _multiply(graph, data, [f"{prefix}fi.w"], data.hidden, attention)
    activated = graph.add("BiasGelu", [inner, constant("fi.b")], f"{prefix}gelu", domain=FUSED)
    projected = _multiply(graph, data, [f"{prefix}fo.w"], data.inner, activated)
    return add_and_normalise("oln", "fo.b", projected, attention)


def _multiply(graph: Graph, data: DataFile, names: Sequence[str], inputs: int, states: str) -> str:
    """Multiply states by matrices that stand side by side."""
    blocks = [data.blocks(name, inputs) for name in names]
    numbers = np.concatenate([part for part, _ in blocks])
    scales = np.concatenate([part for _, part in blocks])
    cut = numbers.reshape(len(numbers), inputs // BLOCK, BLOCK)
    name = "+".join(names)
    return graph.add(
        "MatMulNBits",
        [
            states,
            graph.constant(f"{name}.numbers", cut + np.uint8(_ZERO - 8)),
            graph.constant(f"{name}.scales", scales.astype(np.float32).reshape(-1)),
        ],
        f"{name}.product",
        domain=FUSED,
        K=inputs,
        N=len(numbers),
        bits=8,
        block_size=BLOCK,
        accuracy_level=_INT8_ACTIVATIONS,
    )
