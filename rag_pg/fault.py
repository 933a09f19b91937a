"""Whose fault an error is, and what it costs the job that met it.

This is the one table; docs/guides/reliability.md tells the same in words. Errors of the database
are looked up by their SQLSTATE, then by its class (the first two characters); others by their type.
"""

from __future__ import annotations

from enum import Enum

from rag_pg.errors import (
    CollectionMismatch,
    DatabaseUnavailable,
    InvalidInput,
    LeaseLost,
    ModelUnavailable,
    ProviderAuth,
    RateLimited,
    SchemaMismatch,
    SpaceChanged,
    StatementCanceled,
)


class Fault(Enum):
    """Whose fault it is. The comment says what it costs the job."""

    LEASE = "the lease is gone"  # nothing: the result is dropped, somebody else has the job
    AWAY = "the database is away"  # nothing: the worker waits, and hands everything back
    BUSY = "the database cannot do it now"  # nothing: handed back, tried again a little later
    CANCELED = "somebody cancelled the statement"  # it is done again for a while, then an attempt
    WORKER = "this worker may not, or cannot"  # nothing: handed back for others
    PROVIDER = "the provider refuses"  # nothing: handed back for as long as it says
    REFUSED = "the document is refused"  # dead at once: no attempt can help
    DOCUMENT = "the document cannot be stored"  # an attempt
    PROGRAM = "a defect"  # an attempt


OF_SQLSTATE = {
    "08": Fault.AWAY,  # connection exception
    "22": Fault.DOCUMENT,  # data exception
    "23": Fault.DOCUMENT,  # a constraint
    "25006": Fault.AWAY,  # read-only transaction: a replica, a failover
    "25P03": Fault.AWAY,  # idle_in_transaction_session_timeout
    "25P04": Fault.CANCELED,  # transaction_timeout
    "28": Fault.AWAY,  # not let in
    "3D": Fault.AWAY,  # no such database
    "3F000": Fault.WORKER,  # no such schema
    "40": Fault.BUSY,  # deadlock, serialization failure
    "42501": Fault.WORKER,  # no right to
    "42704": Fault.DOCUMENT,  # its language is no text search configuration
    "42883": Fault.WORKER,  # another version of the schema: no such function,
    "42P01": Fault.WORKER,  # no such table
    "53": Fault.BUSY,  # disk full, out of memory
    "53300": Fault.AWAY,  # too many connections
    "53400": Fault.DOCUMENT,  # a configured limit (temp_file_limit): the same next time
    "54": Fault.DOCUMENT,  # too large, too deep, too many: the same next time
    "55": Fault.DOCUMENT,  # not in the state for it: the same next time, except
    "55006": Fault.BUSY,  # in use,
    "55P03": Fault.BUSY,  # a lock not had in time
    "57": Fault.AWAY,  # shut down, starting, terminated
    "57014": Fault.CANCELED,
    "58": Fault.BUSY,  # an error of the operating system, as of its disk
    "F0": Fault.AWAY,  # its configuration is broken
    "P0001": Fault.DOCUMENT,  # raised by somebody's trigger
    "RG001": Fault.REFUSED,
    "RG003": Fault.REFUSED,
    "RG004": Fault.REFUSED,
    "RG005": Fault.LEASE,
    "RG006": Fault.WORKER,
    "RG011": Fault.AWAY,  # as 25006
    "RG012": Fault.REFUSED,
}

OF_ERROR: tuple[tuple[type[Exception], Fault], ...] = (  # the first that fits
    (LeaseLost, Fault.LEASE),
    (DatabaseUnavailable, Fault.AWAY),
    (StatementCanceled, Fault.CANCELED),
    (SchemaMismatch, Fault.WORKER),
    (ModelUnavailable, Fault.WORKER),
    (ProviderAuth, Fault.WORKER),
    (RateLimited, Fault.PROVIDER),
    (SpaceChanged, Fault.DOCUMENT),
    (CollectionMismatch, Fault.REFUSED),
    (InvalidInput, Fault.REFUSED),
)


def fault_of_sqlstate(state: str) -> Fault:
    """The fault of an error of the database; PROGRAM
    where the table names neither it nor its class."""
    return OF_SQLSTATE.get(state) or OF_SQLSTATE.get(state[:2]) or Fault.PROGRAM


def fault_of(exc: BaseException) -> Fault:
    """The fault of what was raised: by the SQLSTATE it came from, where it has one."""
    state = getattr(exc, "sqlstate", None) or getattr(exc.__cause__, "sqlstate", None)
    if isinstance(state, str):
        return fault_of_sqlstate(state)
    return next((fault for kind, fault in OF_ERROR if isinstance(exc, kind)), Fault.PROGRAM)
