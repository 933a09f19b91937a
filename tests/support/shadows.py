"""Functions, operators, types and relations of somebody else's, named as PostgreSQL's own.

They tell when they are used.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

import psycopg
from paths import ROOT

from rag_pg.db.schema import sql_files

Connection = psycopg.Connection[Any]

# What an argument may be given as without a cast: a function declared for exactly that fits better.
NEARER = {
    "text": ("text", "name", "character varying"),
    "bigint": ("bigint", "integer", "smallint"),
    "double precision": ("double precision", "integer", "bigint", "numeric", "real"),
    "numeric": ("numeric", "integer", "bigint"),
    "oid": ("oid", "regclass", "bigint", "integer"),
    "regclass": ("regclass", "oid", "text"),
}
ELEMENTS = (
    "integer",
    "bigint",
    "smallint",
    "double precision",
    "real",
    "text",
    "uuid",
    "jsonb",
    "boolean",
    "numeric",
    "timestamptz",
    "public.halfvec",
)
TESTS = ("=", "<>", "<", ">", "<=", ">=", "@>", "<@", "?", "@?", "@@", "~", "~~")
MAKERS = (
    "+", "-", "*", "/", "%", "||", "->", "->>", "#>", "#>>", "&", "|", "<<", ">>", "^", "<=>",
    "<->", "<#>", "<~>",
)  # fmt: skip
OPERANDS = (
    *(
        "integer", "bigint", "smallint", "double precision", "real", "numeric", "text", "name",
        "oid", "jsonb",
    ),
    *(
        "text[]", "bigint[]", "integer[]", "double precision[]", "real[]", "name[]", "regclass",
        "uuid",
    ),
    *("public.vector", "public.halfvec"),
)  # fmt: skip


def make_shadows(connection: Connection) -> None:
    """Make functions and operators in public that fit calls better than PostgreSQL's own,
    or as well.

    Each counts its calls in public.hijacked, which no rollback takes back, and raises an error.
    """
    sources = [*sql_files(), *(ROOT / "rag_pg").rglob("*.py")]
    source = " ".join(path.read_text(encoding="utf-8") for path in sources)
    words = sorted(set(re.findall(r"[a-z_0-9]+(?=\()", source)))
    rows = connection.execute(
        """SELECT p.proname, p.prokind, p.provariadic::regtype::text,
           p.proargtypes::regtype[]::text[]
           FROM pg_proc AS p
           WHERE p.pronamespace IN ('pg_catalog'::regnamespace, 'public'::regnamespace)
               AND p.proname = ANY (%s)
               AND 'internal'::regtype <> ALL (p.proargtypes) AND p.prokind <> 'p'""",
        [words],
    ).fetchall()
    wanted: set[tuple[str, tuple[str, ...]]] = set()
    for name, _, variadic, types in rows:
        if variadic == '"any"':
            for count in range(1, 4):
                for last in itertools.product(("text", "integer", "bigint", "jsonb"), repeat=count):
                    wanted.add((name, (*types[:-1], *last)))
            continue
        for element in ELEMENTS if any("any" in kind for kind in types) else ("",):
            options = [
                (f"{element}[]",)
                if kind.endswith("array")
                else (element,)
                if "any" in kind
                else NEARER.get(kind, (kind,))
                for kind in types
            ]
            for arguments in itertools.islice(itertools.product(*options), 60):
                wanted.add((name, arguments))
    connection.execute(
        """CREATE SEQUENCE public.hijacked;
           CREATE FUNCTION public.hijack() RETURNS void LANGUAGE plpgsql AS $$
           BEGIN PERFORM pg_catalog.nextval('public.hijacked'); RAISE EXCEPTION 'hijacked';
           END $$"""
    )
    body = "LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM public.hijack(); RETURN NULL; END $$"
    statements = [
        f"""FUNCTION public."{name}"({", ".join(arguments)})
            RETURNS {"bigint" if name == "count" else arguments[0] if arguments else "text"}
            {body}"""
        for name, arguments in sorted(wanted)
    ]
    for left, right in itertools.product(OPERANDS, repeat=2):
        for symbols, answers, by in ((TESTS, "boolean", "test"), (MAKERS, left, "make")):
            statements.append(f"FUNCTION public.by_{by}({left}, {right}) RETURNS {answers} {body}")
            statements += [
                f"OPERATOR public.{o} (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION ="
                f" public.by_{by})"
                for o in symbols
            ]
    connection.execute(
        """CREATE PROCEDURE pg_temp.make(statements text[]) LANGUAGE plpgsql AS $$
           DECLARE _statement text;
           BEGIN
               FOREACH _statement IN ARRAY statements LOOP
                   BEGIN
                       EXECUTE 'CREATE ' || _statement;
                   EXCEPTION WHEN duplicate_function THEN  -- pgvector has it
                   END;
               END LOOP;
           END $$"""
    )
    connection.execute("CALL pg_temp.make(%s)", [statements])


TYPES = (
    "text", "jsonb", "json", "uuid", "regconfig", "regclass", "regtype", "oid", "name", "bytea",
    "date", "tsvector", "tsquery", "timestamptz", "float8", "int4", "int8", "bool",
)  # fmt: skip


def make_shadow_types(connection: Connection) -> None:
    """Make domains in public with the names of PostgreSQL's types, and views of its catalogue's.

    They are found where a session's search_path has public before pg_catalog. After make_shadows.
    """
    connection.execute(
        "CREATE FUNCTION public.hijack_value() RETURNS boolean LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM public.hijack(); RETURN false; END $$"
    )
    for name in TYPES:
        connection.execute(
            f"CREATE DOMAIN public.{name} AS pg_catalog.{name} "
            "CHECK (public.hijack_value())".encode()
        )
    relations = connection.execute(
        """SELECT c.relname, pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', ')
           FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
           WHERE c.relnamespace = 'pg_catalog'::pg_catalog.regnamespace
               AND c.relkind = ANY ('{r,v}') AND c.relname <> 'pg_statistic_ext_data'
               AND a.attnum > 0 AND a.atttypid <> 'anyarray'::pg_catalog.regtype
           GROUP BY c.relname"""
    ).fetchall()
    for name, columns in relations:
        connection.execute(
            f"CREATE VIEW public.{name} AS SELECT {columns} FROM pg_catalog.{name} "
            "WHERE public.hijack_value()".encode()
        )
