"""What errors of the database mean, and what to do about them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg_pool import PoolTimeout

from rag_pg.errors import (
    SQLSTATES,
    DatabaseUnavailable,
    GateFailed,
    InvalidInput,
    RagError,
    SchemaMismatch,
    StatementCanceled,
)
from rag_pg.fault import Fault, fault_of_sqlstate

LONGEST_MESSAGE = 1000  # characters
LIMITS = {
    "57014": "statement_timeout",
    "25P03": "idle_in_transaction_session_timeout",
    "25P04": "transaction_timeout",
    "53400": "temp_file_limit",
}
# What to do about what the server cannot do now, by SQLSTATE, then by its class.
REMEDIES = {
    "40": "others changed the same at once: do it again",
    "53": "free some of that on its machine, or give it more",
    "53100": "make room on the disk of the server",
    "55006": "others use it: do it again when they are done",
    "55P03": (
        "another transaction holds what this needs for longer than lock_timeout of this role or"
        " database allows: do it again, or raise lock_timeout"
    ),
    "58": "the log of the server says more of what its operating system refused",
}
# A connection that is refused comes without a SQLSTATE.
FULL = re.compile(r"too many (clients|connections)|connection slots|no more connections")


def busy_remedy(exc: psycopg.Error) -> str:
    """Return what to do about an error that may be gone the next time."""
    state = exc.sqlstate or ""
    known = REMEDIES.get(state) or exc.diag.message_hint or REMEDIES.get(state[:2])
    return known or "do it again"


def away_remedy(exc: psycopg.Error) -> str:
    """Return what to do about a database that cannot be reached."""
    if exc.sqlstate != "53300" and not FULL.search(str(exc)):
        return "check RAG_PG_DSN and that the server runs"
    return (
        "the server must have a connection free: raise that limit (max_connections; CONNECTION"
        " LIMIT of a role or database; a pooler's own), or close some of those that a superuser"
        " sees by SELECT usename, application_name, count(*) FROM pg_stat_activity GROUP BY 1, 2"
    )


def limit_remedy(exc: psycopg.Error) -> str | None:
    """Return what to do about a setting of the role or database that ended a statement; None where
    none did."""
    name = LIMITS.get(exc.sqlstate or "")
    if name is None or "user request" in (exc.diag.message_primary or ""):
        return None
    if name == "temp_file_limit":
        return (
            "temp_file_limit of this role or database is less than that needs for a while: have a"
            " superuser raise it by ALTER ROLE, or ask for less at once"
        )
    return (
        f"{name} of this role or database is shorter than that takes: raise it by ALTER ROLE, or"
        f" with PGOPTIONS='-c {name}=1min'"
    )


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn what psycopg raises into rag_pg's errors: the message, then the remedy."""
    try:
        yield
    except PoolTimeout as exc:
        raise DatabaseUnavailable(str(exc)) from exc
    except psycopg.Error as exc:
        error = _translated(exc)
        error.sqlstate = exc.sqlstate
        raise error from exc
    except UnicodeEncodeError as exc:  # raised before anything is sent
        raise InvalidInput(
            f"{exc.object[exc.start : exc.end]!a} in {exc.object!a:.100} cannot be stored as "
            f"{exc.encoding}: take it out, or decode the text by its own encoding"
        ) from exc


def _translated(exc: psycopg.Error) -> RagError:
    message = exc.diag.message_primary or (str(exc).strip().splitlines() or ["no message"])[0]
    if len(message) > LONGEST_MESSAGE:  # it repeats what was given
        message = message[:LONGEST_MESSAGE] + "…"
    hint = f"; {exc.diag.message_hint}" if exc.diag.message_hint else ""
    if exc.sqlstate == "42501" and not hint:
        hint = "; its owner can allow that: rag.grant_access gives a role the rights of a use"
    if exc.sqlstate in SQLSTATES:
        error = SQLSTATES[exc.sqlstate](f"{message}{hint}")
        if isinstance(error, GateFailed) and exc.diag.message_detail:
            with suppress(ValueError, TypeError, LookupError):  # raised by a function of another
                told = json.loads(exc.diag.message_detail)
                error.change, error.checks = told["change"], told["checks"]
        return error
    fault = fault_of_sqlstate(exc.sqlstate or "")
    if isinstance(exc, psycopg.errors.UndefinedFunction | psycopg.errors.UndefinedTable):
        return SchemaMismatch(f'{message}; run "rag-pg db upgrade"')
    if fault is Fault.CANCELED or limit_remedy(exc):
        remedy = limit_remedy(exc) or "do it again, unless whoever cancelled it meant it"
        return StatementCanceled(f"{message}; {remedy}")
    if isinstance(exc, psycopg.errors.ReadOnlySqlTransaction):
        return DatabaseUnavailable(
            f"the database takes no writes: {message}; of a replica,"
            " target_session_attrs=read-write in RAG_PG_DSN finds the primary; else"
            " default_transaction_read_only is on for this role or database"
        )
    if fault is Fault.BUSY:
        remedy = busy_remedy(exc)
        return DatabaseUnavailable(f"the database cannot do this now: {message}; {remedy}")
    # psycopg's own: an answer too many, as a pooler gives beside the end of its connection.
    broken = isinstance(exc, psycopg.OperationalError | psycopg.InternalError)
    if fault is Fault.AWAY or (exc.sqlstate is None and broken):
        return DatabaseUnavailable(f"the database cannot be reached: {message}; {away_remedy(exc)}")
    if isinstance(exc, psycopg.ProgrammingError) and exc.sqlstate is None:
        return InvalidInput(
            f"not a connection string: {message}; set RAG_PG_DSN like"
            " postgresql://user@host/database"
        )
    if (exc.sqlstate or "").startswith(("22", "54", "42704")):
        return InvalidInput(f"{message}{hint}")
    return RagError(f"{message}{hint}")
