"""Reads on standbys, where the connection string names several hosts.

What reads goes to a standby, all else to the primary. A client sees what it has written, and no
less than it has seen on the primary: it remembers how far the primary's log was, and a standby
that has not replayed as much is waited for, then passed by.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import psycopg
from psycopg_pool import PoolTimeout

from rag_pg.db.connect import Pool
from rag_pg.deadline import seconds_left
from rag_pg.errors import RagError
from rag_pg.fault import Fault, fault_of

REPLAY_SECONDS = 1.0  # for which a standby that is behind is waited for
PAUSE_SECONDS = 0.002
RENEW_SECONDS = 60.0  # after which a connection is opened anew: to a standby that is back
AWAY_SECONDS = 1.0  # for which a primary that is away is waited for
UNKNOWN = 2**63 - 1  # bytes; a position that no log reaches
AWAY = "no standby answers: the primary was read"
BEHIND = "the standby is behind what this client has seen: the primary was read"
POSITION = """SELECT pg_catalog.pg_wal_lsn_diff(
                  pg_catalog.pg_current_wal_insert_lsn(), '0/0')::pg_catalog.int8"""
REPLAYED = """SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_wal_lsn_diff(
                  pg_catalog.pg_last_wal_replay_lsn(), '0/0')::pg_catalog.int8 END"""
_notes: ContextVar[list[str] | None] = ContextVar("notes", default=None)


class Standbys:
    """Connections to standbys, and what these must have replayed. The copies of a database share
    it, and so do threads."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self._position = 0  # bytes of the primary's log
        self._patient = True
        self.primary_away = False  # as far as is known
        self._lock = threading.Lock()

    def remember(self, primary: psycopg.Connection[Any]) -> None:
        """Have the next reads wait for all that the primary has now."""
        try:
            row = primary.execute(POSITION).fetchone()
        except psycopg.Error:  # it went away, after what was done there
            row = None
        with self._lock:
            self._position = max(self._position, row[0] if row else UNKNOWN)

    def has_all(self, connection: psycopg.Connection[Any]) -> bool:
        """Whether a connection's server has all that was seen; waits a little for it, but once
        until it has caught up. The server is the primary where no standby answers."""
        if connection.info.parameter_status("in_hot_standby") == "off":
            _note(AWAY)
            return True
        wanted = self._position
        ends_at = time.monotonic() + (seconds_left(REPLAY_SECONDS) if self._patient else 0.0)
        while wanted:
            row = connection.execute(REPLAYED).fetchone()
            if row is None or row[0] is None:  # promoted, or behind a pooler, which tells no state
                _note(AWAY)
                return True
            if row[0] >= wanted:
                self._patient = True
                return True
            if time.monotonic() >= ends_at:
                self._patient = False
                _note(BEHIND)
                return False
            time.sleep(PAUSE_SECONDS)
        return True


@contextmanager
def read_notes() -> Iterator[list[str]]:
    """A list that gets what has to be said of where the block's reads were done."""
    notes: list[str] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def _note(text: str) -> None:
    notes = _notes.get()
    if notes is not None and text not in notes:
        notes.append(text)


def may_read_again(exc: RagError) -> bool:
    """Whether a read that failed so is worth another try: its connection was lost, or it stood in
    the way of what a standby replays."""
    away = fault_of(exc) is Fault.AWAY and not isinstance(exc.__cause__, PoolTimeout)
    return away or (exc.sqlstate or "").startswith("40")
