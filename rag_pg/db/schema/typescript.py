"""TypeScript types of a schema's functions, from the catalogue, in the shape that supabase-js and
postgrest-js read: Database['rag_api']['Functions']['search']['Returns']."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

import psycopg

from rag_pg.config import SCHEMA
from rag_pg.db.schema.transaction import psycopg_connection, transaction
from rag_pg.errors import NotFound

TYPES = {
    **dict.fromkeys(("smallint", "integer", "real", "double precision", "numeric"), "number"),
    **dict.fromkeys(("json", "jsonb"), "Json"),
    "boolean": "boolean",
    "void": "undefined",
    "record": "Record<string, unknown>",
    "halfvec": "number[] | string",
}
HEAD = """\
// Written by rag-pg types. Do not edit: write it anew after an upgrade.
export type Json = string | number | boolean | null | { [key: string]: Json | undefined } | Json[];

export type Database = {
  %s: {
    Tables: { [_ in never]: never };
    Views: { [_ in never]: never };
    Enums: { [_ in never]: never };
    CompositeTypes: { [_ in never]: never };
    Functions: {
"""
FOOT = "    };\n  };\n};\n"


def typescript(
    dsn: str, *, schema: str = "rag_api", bigint: str = "number", own: str = SCHEMA
) -> str:
    """Return the types of the public functions of a schema.

    Args:
        own: the schema of rag_pg, which has their types.
        bigint: number, as PostgREST sends it, or string, as node-postgres reads it.
    Raises: NotFound where the schema has no functions.
    """
    with transaction(dsn, own) as connection:
        raw = psycopg_connection(connection)
        composites = _composites(raw)
        functions = raw.execute(
            """
            SELECT p.proname, coalesce(obj_description(p.oid, 'pg_proc'), ''), p.proargnames,
                p.proargmodes::text[], p.pronargs - p.pronargdefaults, p.proretset,
                ARRAY(SELECT format_type(t.oid, NULL) FROM
                    unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) AS t (oid)),
                format_type(p.prorettype, NULL)
            FROM pg_proc AS p
            WHERE p.pronamespace = to_regnamespace(%s) AND p.prokind = 'f'
                AND NOT starts_with(p.proname, '_')
            ORDER BY p.proname, p.proargtypes::text
            """,
            [schema],
        ).fetchall()
    if not functions:
        raise NotFound(f'schema {schema} has no functions; "rag-pg api-schema" makes rag_api')
    known = {**TYPES, "bigint": bigint}

    def told(name: str) -> str:
        if name.endswith("[]"):
            return f"({told(name.removesuffix('[]'))})[]"
        if name in composites:
            return _fields({field: f"{told(kind)} | null" for field, kind in composites[name]})
        return known.get(name.rpartition(".")[2], "string")

    notes: dict[str, str] = {}
    overloads: dict[str, list[str]] = {}  # of one name, in the order of their arguments
    for name, note, names, modes, required, many, types, result in functions:
        arguments, columns, optional = dict[str, str](), dict[str, str](), set[str]()
        for at, (mode, field, kind) in enumerate(
            zip(modes or ["i"] * len(types), names or [""] * len(types), types, strict=True)
        ):
            field = field or f"${at + 1}"
            if mode in "otb":
                columns[field] = f"{told(kind)} | null"
            if mode in "ibv":
                is_required = len(arguments) < required
                arguments[field] = told(kind) if is_required else f"{told(kind)} | null"
                optional |= set() if is_required else {field}
        row = _fields(columns) if columns else told(result)
        given = _fields(arguments, optional) if arguments else "never"
        first = " ".join(re.split(r"\n\n|\nCircle:", note)[0].split())
        notes.setdefault(name, f"      /** {first.replace('*/', '* /')} */\n      {_key(name)}: ")
        returns = f"({row})[]" if many else row
        overloads.setdefault(name, []).append(f"{{ Args: {given}; Returns: {returns} }}")
    lines = (f"{note}{' | '.join(overloads[name])};\n" for name, note in notes.items())
    return HEAD % schema + "".join(lines) + FOOT


def _composites(raw: psycopg.Connection[Any]) -> Mapping[str, list[list[str]]]:
    return dict(
        raw.execute(
            """
            SELECT format_type(t.oid, NULL),
                array_agg(ARRAY[a.attname, format_type(a.atttypid, NULL)] ORDER BY a.attnum)
            FROM pg_type AS t
            JOIN pg_attribute AS a
                ON a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE t.typnamespace = 'rag'::regnamespace AND t.typtype = 'c'
            GROUP BY t.oid
            """
        ).fetchall()
    )


def _fields(fields: Mapping[str, str], optional: Collection[str] = ()) -> str:
    told = (f"{_key(name)}{'?' * (name in optional)}: {kind}" for name, kind in fields.items())
    return f"{{ {'; '.join(told)} }}"


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)
