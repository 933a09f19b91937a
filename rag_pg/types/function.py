"""Functions of the database, as a program may call them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionArgument:
    """An argument: its name, its type (as SQL writes it, its schema and name, `category` and `kind`
    as in pg_type, the labels of an enumeration) and its default as SQL, None where it has none."""

    name: str
    type: str
    type_schema: str
    type_name: str
    category: str
    kind: str
    labels: Sequence[str]
    default: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionInfo:
    """A function: what it is called, whether the caller may execute it, with whose rights it runs,
    its result as SQL writes it, None of a procedure, and its arguments in order. kind: as in
    pg_proc."""

    schema: str
    name: str
    kind: str
    security_definer: bool
    variadic: bool
    may_execute: bool
    comment: str
    result: str | None
    arguments: Sequence[FunctionArgument]
