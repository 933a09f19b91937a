"""PostgREST's own statements: a call of /rpc, for a role and the claims of its token.

Its settings, its transaction (read only for GET, and for what is not volatile), its choice of a
function by the names of the arguments, its query and its status of an error are those of release
12 and 13. Only HTTP is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import sql

CALL = """
WITH pgrst_source AS (
    SELECT pgrst_call.* FROM (SELECT %s::json AS json_data) AS pgrst_payload,
    LATERAL (SELECT {names} FROM json_to_record(pgrst_payload.json_data) AS _({columns}) LIMIT 1)
        AS pgrst_body,
    LATERAL "rag_api".{function}({given}) AS pgrst_call)
SELECT coalesce(json_agg(_postgrest_t), '[]') FROM (SELECT * FROM pgrst_source) AS _postgrest_t
"""
ALONE = """
WITH pgrst_source AS (SELECT pgrst_call.* FROM "rag_api".{function}() AS pgrst_call)
SELECT coalesce(json_agg(_postgrest_t), '[]') FROM (SELECT * FROM pgrst_source) AS _postgrest_t
"""
FUNCTIONS = """
SELECT p.provolatile, ARRAY(SELECT a.name FROM unnest(p.proargnames[1:p.pronargs]) AS a (name)),
    ARRAY(SELECT format_type(t.oid, NULL) FROM unnest(p.proargtypes::oid[]) AS t (oid)),
    p.pronargs - p.pronargdefaults
FROM pg_proc AS p
WHERE p.pronamespace = 'rag_api'::regnamespace AND p.proname = %s AND p.prokind = 'f'
"""


def rpc(
    connection: psycopg.Connection[Any],
    function: str,
    arguments: Mapping[str, Any],
    *,
    role: str,
    claims: Mapping[str, Any] | None = None,
    verb: str = "POST",
    before: str | None = None,
) -> tuple[int, Any]:
    """Return the status and the body: a list of the rows or values, or the error.

    Args:
        connection: of the authenticator, in autocommit mode. before: db-pre-request.
    """
    named = [
        (volatility, dict(zip(names, types, strict=True)))
        for volatility, names, types, required in connection.execute(FUNCTIONS, [function])
        if arguments.keys() <= set(names) and set(names[:required]) <= arguments.keys()
    ]
    if len(named) != 1:
        return (300 if named else 404), {"code": "PGRST203" if named else "PGRST202"}
    volatility, types = named[0]
    if arguments:
        call = sql.SQL(CALL).format(
            names=sql.SQL(", ").join(map(sql.Identifier, arguments)),
            columns=sql.SQL(", ").join(
                sql.SQL("{} " + types[name]).format(sql.Identifier(name)) for name in arguments
            ),
            function=sql.Identifier(function),
            given=sql.SQL(", ").join(
                sql.SQL("{0} := pgrst_body.{0}").format(sql.Identifier(name)) for name in arguments
            ),
        )
    else:
        call = sql.SQL(ALONE).format(function=sql.Identifier(function))
    reads = verb == "GET" or volatility != "v"
    try:
        with connection.transaction():
            if reads:
                connection.execute("SET TRANSACTION READ ONLY")
            connection.execute(
                """SELECT set_config('search_path', '"rag_api", "public"', true),
                       set_config('role', %s, true), set_config('request.jwt.claims', %s, true),
                       set_config('request.method', %s, true)""",
                [role, json.dumps({"role": role, **(claims or {})}), verb],
            )
            if before is not None:
                connection.execute(f"SELECT {before}()".encode())
            row = connection.execute(call, [json.dumps(arguments)] if arguments else []).fetchone()
            rows = row[0] if row else []
            return 200, [one.get("pgrst_call", one) for one in rows]
    except psycopg.Error as exc:
        told = {
            "code": exc.sqlstate, "message": exc.diag.message_primary,
            "details": exc.diag.message_detail, "hint": exc.diag.message_hint,
        }  # fmt: skip
        return status_of(exc.sqlstate or ""), told


def status_of(code: str) -> int:
    """The status that PostgREST gives an error of the database, for a request with a token."""
    if code.startswith("PT"):
        return int(code[2:])
    known = {"42501": 403, "25006": 405, "42883": 404, "42P01": 404, "23503": 409, "23505": 409}
    if code in known:
        return known[code]
    classes = {"08": 503, "53": 503, "57": 500, "XX": 500, "40": 500, "25": 500, "28": 403}
    return classes.get(code[:2], 400)
