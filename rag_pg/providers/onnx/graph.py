"""An ONNX graph under construction, and the parts that every sentence encoder has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_pg.extras import extra
from rag_pg.providers.onnx.files import write_whole

PAGE = 4096  # bytes: where a part of a file may be mapped into memory
FUSED = "com.microsoft"  # onnxruntime's own operators


class Graph:
    """A graph from input_ids and attention_mask, int32 (batch, tokens), to one embedding of length
    1 a text; `constant` and `add` return the name of what they added.

    `onnx` is imported when a graph is built, not with this module.

    Args:
        ir_version: the one of the operator set: `onnx` may default to one too new for onnxruntime.
    """

    ids, mask = "input_ids", "attention_mask"

    def __init__(self, *, opset: int, ir_version: int, version: int) -> None:
        with extra("onnx", "converting a model needs"):
            import onnx.helper
            import onnx.numpy_helper

        self._onnx = onnx
        self.model = onnx.helper.make_model(
            onnx.helper.make_graph([], "bert-sentence-embedding", [], []),
            ir_version=ir_version,
            opset_imports=[onnx.helper.make_opsetid(*pair) for pair in (("", opset), (FUSED, 1))],
            producer_name="rag_pg",
            producer_version=str(version),
        )
        self.float32 = onnx.TensorProto.FLOAT
        for name in (self.ids, self.mask):
            declared = self._value(name, onnx.TensorProto.INT32, "batch", "tokens")
            self.model.graph.input.append(declared)

    def _value(self, name: str, kind: int, *shape: str | int) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, kind, shape)

    def constant(self, name: str, values: NDArray[Any]) -> str:
        tensor = self._onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)
        self.model.graph.initializer.append(tensor)
        return name

    def constant_int4(self, name: str, packed: NDArray[np.uint8], *shape: int) -> str:
        """Add signed 4-bit numbers, two in a byte, the first in the low half."""
        tensor = self._onnx.TensorProto(
            name=name, data_type=self._onnx.TensorProto.INT4, dims=shape, raw_data=packed.tobytes()
        )
        self.model.graph.initializer.append(tensor)
        return name

    def add(self, operator: str, inputs: Sequence[str], *outputs: str, **attributes: Any) -> str:
        node = self._onnx.helper.make_node(operator, inputs, outputs, **attributes)
        self.model.graph.node.append(node)
        return outputs[0]

    def pool(self, states: str, hidden: int) -> None:
        """End with the mean over unpadded tokens and L2 normalisation.

        The sum over tokens is a product, (1, tokens) x (tokens, hidden): the mask drops the
        padding.
        """
        axis = self.constant("axis", np.array([1], dtype=np.int64))
        weight = self.add("Cast", [self.mask], "mask", to=self.float32)
        row = self.add("Unsqueeze", [weight, axis], "mask_row")
        summed = self.add("MatMul", [row, states], "sum_row")
        total = self.add("Squeeze", [summed, axis], "sum")
        count = self.add("ReduceSum", [weight, axis], "count", keepdims=1)
        mean = self.add("Div", [total, count], "mean")
        output = self.add("LpNormalization", [mean], "embedding", axis=1, p=2)
        self.model.graph.output.append(self._value(output, self.float32, "batch", hidden))

    def serialise(self) -> bytes:
        """Return the file: the same graph gives the same bytes."""
        return self.model.SerializeToString(deterministic=True)  # type: ignore[no-any-return]

    def write(self, path: Path) -> None:
        """Write the graph to `path`, and its large constants beside it, in `path`.weights, from
        where onnxruntime maps them into memory: it starts in a third of the time, and processes
        share them. The graph is written last, when all that it needs is there.

        Raises: OSError.
        """
        weights = path.with_suffix(".weights")
        parts, offset = [], 0
        for tensor in self.model.graph.initializer:
            values = tensor.raw_data
            if len(values) < PAGE:
                continue
            tensor.ClearField("raw_data")
            tensor.data_location = self._onnx.TensorProto.EXTERNAL
            for key, value in (
                ("location", weights.name),
                ("offset", offset),
                ("length", len(values)),
            ):
                tensor.external_data.add(key=key, value=str(value))
            parts += [values, bytes(-len(values) % PAGE)]
            offset += len(values) + len(parts[-1])
        write_whole(weights, b"".join(parts))
        write_whole(path, self.serialise())
