"""Schema rag_api: what PostgREST and Supabase expose, a thin function for each function of NAMES.

They are made from the catalogue, so that their arguments, results and comments are those of schema
rag, and run with the rights of their caller. An upgrade takes them away and makes them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import sql

from rag_pg.config import SCHEMA
from rag_pg.db.schema.transaction import await_upgrades, psycopg_connection, transaction
from rag_pg.errors import NotReady, RagError

NAMES = (
    "search", "search_keyword", "list_collections", "list_documents", "get_document", "list_chunks",
    "count_documents", "facets", "describe_metadata", "check_citation", "request_answer",
    "answer_of", "feedback", "put_document", "put_documents", "delete_documents",
)  # fmt: skip
MARK = (
    "Functions of rag_pg for PostgREST and Supabase: made by rag-pg api-schema, renewed by upgrades"
)
# PostgREST answers an error PT404 with the status 404, and one that it does not know with 400.
STATUS = {
    "RG002": 404, "RG003": 409, "RG005": 409, "RG006": 503, "RG007": 409, "RG008": 409,
    "RG009": 504, "RG010": 409, "RG011": 503, "RG012": 409,
}  # fmt: skip
CAUGHT = " OR ".join(f"SQLSTATE '{code}'" for code in STATUS)
MAPPED = " ".join(f"WHEN '{code}' THEN 'PT{status}'" for code, status in STATUS.items())
FUNCTION = """
    CREATE FUNCTION rag_api.{name}({arguments})
    RETURNS {result}
    LANGUAGE plpgsql {volatility}
    SET search_path TO pg_catalog, pg_temp
    AS $rag_api$
    DECLARE
        _remedy text;
    BEGIN
        {call}
    EXCEPTION WHEN {caught} THEN
        GET STACKED DIAGNOSTICS _remedy = PG_EXCEPTION_HINT;
        RAISE EXCEPTION USING ERRCODE = CASE SQLSTATE {mapped} END, MESSAGE = SQLERRM,
            DETAIL = SQLSTATE, HINT = _remedy;
    END
    $rag_api$
"""


def make_api(
    dsn: str, roles: Sequence[str] = (), access: str | None = None, *, schema: str = SCHEMA
) -> list[str]:
    """Make schema rag_api (of one named legal: legal_api), or make it anew, and let roles call it;
    return its functions' names.

    Args:
        roles: get the right to call its functions, which do what the role may do in schema rag.
        access: reader or writer: given to the roles by rag.grant_access; None: as they are.
    Raises: NotReady where a schema of that name is another's, or as an upgrade. NotFound: no such
        role. PermissionDenied: as somebody else than the owner.
    """
    api = sql.Identifier(f"{schema}_api")
    try:
        with transaction(dsn, schema) as connection:
            raw = psycopg_connection(connection)
            await_upgrades(raw)
            if not _is_made(raw):
                _make_schema(raw, api)
            for role in roles:
                if access is not None:
                    raw.execute("SELECT rag.grant_access(%s, %s)", [role, access])
                name = sql.Identifier(role)
                raw.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(api, name))
            take_away(raw)
            give_back(raw, schema)
    except psycopg.Error as exc:
        raise RagError.from_sqlstate(exc) from exc
    return list(NAMES)


def take_away(raw: psycopg.Connection[Any]) -> bool:
    """Drop the functions, which stand in the way of new types; return whether they are in use."""
    if not _is_made(raw):
        return False
    for (signature,) in raw.execute(
        "SELECT p.oid::regprocedure::text FROM pg_proc AS p"
        " WHERE p.pronamespace = 'rag_api'::regnamespace AND p.proname = ANY (%s)",
        [list(NAMES)],
    ).fetchall():
        raw.execute(f"DROP FUNCTION {signature}".encode())
    return True


def give_back(raw: psycopg.Connection[Any], schema: str) -> None:
    """Make the functions; every role with USAGE on the schema may call them."""
    found = raw.execute(
        """
        SELECT p.proname, pg_get_function_arguments(p.oid) AS arguments,
            pg_get_function_result(p.oid) AS result,
            CASE p.provolatile WHEN 'v' THEN 'VOLATILE' ELSE 'STABLE' END AS volatility,
            p.pronargs, p.proretset,
            ARRAY(SELECT quote_ident(a.name)
                  FROM unnest(p.proargnames, p.proargmodes::text[]) AS a (name, mode)
                  WHERE a.mode = 'o') AS columns,
            split_part(obj_description(p.oid), E'\\nCircle:', 1) AS comment
        FROM pg_proc AS p
        WHERE p.pronamespace = 'rag'::regnamespace AND p.proname = ANY (%s)
        """,
        [list(NAMES)],
    ).fetchall()
    callers = raw.execute(
        """SELECT string_agg(DISTINCT x.grantee::regrole::text, ', ')
           FROM pg_namespace AS n, aclexplode(n.nspacl) AS x
           WHERE n.nspname = 'rag_api' AND x.privilege_type = 'USAGE' AND x.grantee <> 0"""
    ).fetchone()
    for name, arguments, result, volatility, count, many, columns, comment in found:
        call = f"rag.{name}({', '.join(f'${number + 1}' for number in range(count))})"
        if many:
            call = f"RETURN QUERY SELECT f.* FROM {call} AS f;"
        elif columns:
            call = f"SELECT f.* INTO {', '.join(columns)} FROM {call} AS f;"
        else:
            call = f"RETURN {call};"
        made = FUNCTION.format(
            name=name, arguments=arguments, result=result, volatility=volatility, call=call,
            caught=CAUGHT, mapped=MAPPED,
        )  # fmt: skip
        raw.execute(made.encode())
        one = sql.Identifier(f"{schema}_api", name)
        raw.execute(sql.SQL("COMMENT ON FUNCTION {} IS {}").format(one, sql.Literal(comment)))
        raw.execute(sql.SQL("REVOKE ALL ON FUNCTION {} FROM PUBLIC").format(one))
        if callers and callers[0]:
            granted = sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}")
            raw.execute(granted.format(one, sql.SQL(callers[0])))
    raw.execute("NOTIFY pgrst, 'reload schema'")  # PostgREST listens there


def _is_made(raw: psycopg.Connection[Any]) -> bool:
    return raw.execute(
        "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'rag_api'"
    ).fetchone() == (MARK,)


def _make_schema(raw: psycopg.Connection[Any], api: sql.Identifier) -> None:
    if raw.execute("SELECT to_regnamespace('rag_api') IS NOT NULL").fetchone() == (True,):
        raise NotReady(
            f"there is a schema {api.as_string()} that rag_pg did not make: nothing was changed;"
            " rename it"
        )
    raw.execute("CREATE SCHEMA rag_api")
    raw.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(api, sql.Literal(MARK)))
