"""Vectors as parameters of pgvector's type halfvec.

pgvector-python has such a class too, but not under one name in every version, and an application may be bound
to an old one by another library.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from psycopg import BaseConnection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

from rag_pg.models import Vectors


class HalfVector:
    """A vector in half precision, as a parameter of a statement."""

    __slots__ = ("value",)

    def __init__(self, value: Vectors | Sequence[float]) -> None:
        self.value = np.asarray(value, dtype=">f2")
        if self.value.ndim != 1:
            raise ValueError(f"a vector has one dimension, this array has {self.value.ndim}")

    def to_text(self) -> str:
        return vector_text(self.value.tolist())

    def to_binary(self) -> bytes:
        return struct.pack(">HH", len(self.value), 0) + self.value.tobytes()


def vector_text(value: Sequence[float]) -> str:
    """Return a vector as pgvector reads it."""
    return "[" + ",".join(str(float(number)) for number in value) + "]"


class _TextDumper(Dumper):
    format = Format.TEXT

    def dump(self, obj: HalfVector) -> Buffer | None:
        return obj.to_text().encode()


class _BinaryDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: HalfVector) -> Buffer | None:
        return obj.to_binary()


def register_halfvec(connection: BaseConnection[Any], info: TypeInfo) -> None:
    """Let a connection send HalfVector, alone, in arrays and in COPY."""
    info.register(connection)
    for base in (_TextDumper, _BinaryDumper):
        dumper = type(base.__name__, (base,), {"oid": info.oid})  # COPY asks the class for it
        connection.adapters.register_dumper(HalfVector, dumper)
