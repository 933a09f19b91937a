"""Calls by name: each names a function, arguments and columns that the database has."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import rag_pg
from rag_pg.config import SCHEMA
from rag_pg.db import Database
from rag_pg.db.calls import Calls
from rag_pg.db.connection import halfvec_type
from rag_pg.db.statements import columns_of
from rag_pg.errors import InvalidInput, SchemaMismatch

PACKAGE = Path(rag_pg.__file__).parent
WITH_CLASS = {"rows", "row", "only", "values", "value", "optional", "tuples"}
WITHOUT = {"call", "dicts"}


def written_calls() -> Iterator[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    """The file and line, function, arguments and columns of every call of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(("rag_pg", *path.relative_to(PACKAGE).with_suffix("").parts))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            at = {**dict.fromkeys(WITH_CLASS, 1), **dict.fromkeys(WITHOUT, 0)}.get(node.func.attr)
            if at is None or len(node.args) != at + 1:
                continue
            function = node.args[at]
            if not isinstance(function, ast.Constant) or not isinstance(function.value, str):
                continue
            columns: tuple[str, ...] = ()
            if node.func.attr in {"rows", "row", "only"}:
                found = getattr(importlib.import_module(module), ast.unparse(node.args[0]))
                columns = columns_of(found)
            elif isinstance(node.args[0], ast.Tuple):
                columns = ast.literal_eval(node.args[0])
            names = tuple(keyword.arg for keyword in node.keywords if keyword.arg)
            yield f"{path.name}:{node.lineno}", function.value, names, columns


def test_every_call_of_the_package_is_one_that_the_database_has(
    connection: psycopg.Connection[Any],
) -> None:
    calls = Calls(SCHEMA)
    calls.read(connection, halfvec_type(connection))
    faults = []
    written = list(written_calls())
    assert len(written) > 100
    for where, function, names, columns in written:
        try:
            statement = calls.statement(function, names, columns).decode()
            with connection.transaction(force_rollback=True):
                prepared = re.sub(r"%\(\w+\)[sb]", "NULL", statement)
                connection.execute(f"PREPARE call AS {prepared}".encode())
                connection.execute("DEALLOCATE call")
        except (psycopg.Error, SchemaMismatch) as exc:
            faults.append(f"{where} {function}: {exc}")
    assert not faults, "\n".join(faults)


def test_names_are_those_of_the_catalogue_and_values_are_parameters(database: Database) -> None:
    with pytest.raises(SchemaMismatch, match='no function no_such.*run "rag-pg db upgrade"'):
        database.call("no_such")
    with pytest.raises(SchemaMismatch, match="list_gates has no argument collections"):
        database.call("list_gates", collections="a")
    hostile = "x'); DROP SCHEMA rag; --"
    assert database.optional(str, "detect_language", content=hostile) is None
    with pytest.raises(SchemaMismatch, match="no function"):
        database.call(hostile)
    assert database.dicts("list_collections") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"job_ids": ["1"]}, r"job_ids is a list of whole numbers, not \['1'\]"),
        ({"job_ids": 5}, "job_ids is a list of whole numbers, not 5"),
        ({"job_ids": [2**70]}, "job_ids 1180591620717411303424 is out of range"),
        ({"include_waiting": 1}, "include_waiting is True or False, not 1"),
        ({"error_like": b"x"}, "error_like is a text, not b'x'"),
        ({"error_like": "a\0b"}, r"error_like 'a\\x00b' holds a NUL"),
    ],
)
@pytest.mark.one_database
def test_a_value_of_another_type_than_the_arguments_is_refused(
    database: Database, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        database.value(int, "retry_jobs", **arguments)
    assert database.value(int, "retry_jobs", job_ids=[], collection=None) == 0
