"""Calls of the functions of our schema: by name, with named arguments of the types that the
catalogue has for them.

The catalogue is read once, when a database is opened. No name of a statement comes from outside:
functions and arguments are those of the catalogue, quoted; values are parameters.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any, LiteralString

import psycopg
from psycopg import postgres, sql

from rag_pg.db.arguments import plain_argument
from rag_pg.errors import SchemaMismatch
from rag_pg.types import SHORT

# One text, a line for each function: its name, its volatility, the types of its arguments, their
# names.
CATALOGUE: LiteralString = """
    SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', p.proname, p.provolatile,
               pg_catalog.array_to_string(p.proargtypes::pg_catalog.oid[], ','),
               pg_catalog.array_to_string(p.proargnames[1:p.pronargs], ',')), E'\\n')
    FROM pg_catalog.pg_proc AS p
    WHERE p.pronamespace OPERATOR(pg_catalog.=) %s::pg_catalog.regnamespace::pg_catalog.oid"""
# Of unlogged tables, which a standby has not: neither can it answer them, nor has it to follow.
UNLOGGED = {
    "_count_cache_uses", "_read_cache", "_read_similar", "_write_cache", "answer_of", "cache_stats",
    "clear_cache",
}  # fmt: skip
PLAIN = re.compile("[a-z_][a-z0-9_]*")  # needs no quotes after a schema, nor as one
BUILT_IN = {
    oid: name
    for info in postgres.types
    for oid, name in ((info.oid, info.name), (info.array_oid, f"_{info.name}"))
    if oid
}


class Calls:
    """The functions of our schema, and the statements that call them. Empty until `read`."""

    def __init__(self, schema: str) -> None:
        self._schema = schema
        self._lines: Mapping[str, str] = {}
        self._types = BUILT_IN
        self._functions: dict[str, Mapping[str, str]] = {}
        self._statements: dict[tuple[str, ...], bytes] = {}

    def read(self, connection: psycopg.Connection[Any], halfvec: psycopg.types.TypeInfo) -> None:
        """Learn the functions that the database has now."""
        row = connection.execute(CATALOGUE, [self._schema]).fetchone()
        lines = ((row and row[0]) or "").split("\n")
        self._lines = {line.partition(" ")[0]: line for line in lines}
        self._types = {**BUILT_IN, halfvec.oid: "halfvec", halfvec.array_oid: "_halfvec"}
        self._functions.clear()
        self._statements.clear()

    def arguments(self, function: str) -> Mapping[str, str]:
        """Return the types of a function's arguments by their names.

        Raises: SchemaMismatch where there is none of that name.
        """
        found = self._functions.get(function)
        if found is None:
            _, _, types, names = f"{self._line(function)}  ".split(" ")[:4]
            oids = [int(oid) for oid in types.split(",") if oid]
            found = {
                name: self._types.get(oid, "")
                for name, oid in zip(names.split(","), oids, strict=False)
            }
            self._functions[function] = found
        return found

    def only_reads(self, function: str) -> bool:
        """Whether a function may be called on a standby. Raises: as `arguments`."""
        return self._line(function).split(" ")[1] != "v" and function not in UNLOGGED

    def _line(self, function: str) -> str:
        if function not in self._lines:
            raise SchemaMismatch(
                f'schema {self._schema} has no function {function}; run "rag-pg db upgrade"'
            )
        return self._lines[function]

    def plain(
        self, function: str, values: Mapping[str, Any], given: Container[str] | None = None
    ) -> dict[str, Any]:
        """Return those of the values that are arguments of a function as they will be sent.

        Args:
            given: of these types alone; None: of all.
        Raises: InvalidInput for a value of the wrong type, under the name that it was given by.
        """
        types = self.arguments(function)
        return {
            name: plain_argument(name, value, types[known])
            for name, value in values.items()
            if (known := name if name in types else SHORT.get(name, "")) in types
            and (given is None or types[known] in given)
        }

    def statement(
        self, function: str, names: Sequence[str], columns: Sequence[str] = (), more: str = ""
    ) -> bytes:
        """Return the call of a function with these arguments, each a placeholder of its name.

        Args:
            columns: of the result; none: all of them. more: expressions beside them.
        """
        key = (function, more, *names, "", *columns)
        made = self._statements.get(key)
        if made is None:
            made = self._statements[key] = self._made(function, names, columns, more)
        return made

    def _made(
        self, function: str, names: Sequence[str], columns: Sequence[str], more: str
    ) -> bytes:
        types = self.arguments(function)
        given = []
        for name in names:
            known = name if name in types else SHORT.get(name, "")
            if known not in types:
                raise SchemaMismatch(
                    f"function {self._schema}.{function} has no argument {name};"
                    ' run "rag-pg db upgrade"'
                )
            cast = _cast(types[known])
            binary = "b" if types[known] == "_halfvec" else "s"
            given.append(f"{_quoted(known)} => %({name}){binary}{cast}")
        selected = ", ".join(map(_quoted, columns)) or "*"
        return (
            f"SELECT {selected}{more} FROM {self._schema}.{_name(function)}({', '.join(given)})"
        ).encode()


def _cast(type_: str) -> str:
    """How a parameter is told its type: a list may be empty, a number smaller than it is meant."""
    if type_ in ("", "halfvec", "_halfvec"):
        return ""  # the driver tells it
    base = type_.removeprefix("_")
    return f"::pg_catalog.{_quoted(base)}{'[]' if base != type_ else ''}"


def _name(function: str) -> str:
    return function if PLAIN.fullmatch(function) else _quoted(function)


def _quoted(name: str) -> str:
    return sql.Identifier(name).as_string()
