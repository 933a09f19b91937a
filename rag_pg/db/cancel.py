"""Statements that end with the scope of their work; see `rag_pg.deadline`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg_pool import PoolTimeout

from rag_pg.deadline import current_scope
from rag_pg.threads import start_thread, start_timer

CANCEL_SECONDS = 2.0  # for the server to take the order


@contextmanager
def given_up_in_time() -> Iterator[None]:
    """Let a wait for a connection, and an error of a statement that was cancelled, be told as the
    end of the scope."""
    scope = current_scope()
    if scope is None:
        yield
        return
    scope.check("the database", is_asked=False)
    try:
        yield
    except (PoolTimeout, psycopg.Error):
        scope.check("the database")
        raise


@contextmanager
def cancelled_in_time(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Cancel what the connection runs when the scope of its work ends; it is used no more then."""
    scope = current_scope()
    if scope is None:
        yield
        return
    lock = threading.Lock()  # the order must not reach what another runs on the connection later
    state = "runs"

    def cancel() -> None:
        nonlocal state
        with lock:
            if state == "ended":
                return
            state = "cancelled"
        with suppress(psycopg.Error):
            connection.cancel_safe(timeout=CANCEL_SECONDS)

    left = scope.seconds_left()
    timer = None if left is None else start_timer(left, cancel)
    try:
        with scope.interrupting(lambda: start_thread(cancel, "rag-pg-cancel")):
            yield
    finally:
        if timer is not None:
            timer.cancel()
        with lock:
            was_cancelled, state = state == "cancelled", "ended"
        if was_cancelled:
            connection.close()
