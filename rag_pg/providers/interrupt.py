"""Calls over HTTP that end with the scope of their work: when it is stopped their socket is shut,
so that the provider hears of it and no thread waits for its answer. A reply ends in its time, and
each line of one that is streamed, however little each read brings; none is of an address that
nobody named."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Any

from rag_pg.deadline import current_scope


class SlowReply(TimeoutError):
    """A reply, or a line of one, did not end in its time."""


_ends_at: ContextVar[float | None] = ContextVar("ends_at", default=None)
_last_reply: ContextVar[Any] = ContextVar("last_reply", default=None)


def forget_reply() -> None:
    """Before a call: `last_reply` is of this one."""
    _last_reply.set(None)


def last_reply() -> tuple[str, str]:
    """The media type of the last reply and its text; two empty ones without one."""
    reply = _last_reply.get()
    if reply is None:
        return "", ""
    kind = str(reply.headers.get("content-type") or "no media type")
    try:
        return kind, reply.text
    except Exception:  # a stream that was not read, or broke off
        return kind, ""


@contextmanager
def ending_in(seconds: float) -> Iterator[None]:
    """Let all that the block reads have come after so many seconds, else it is a time-out."""
    token = _ends_at.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends_at.reset(token)


def guard_client(client: Any) -> None:
    """Let what a client of httpx reads be interrupted by `Scope.stop`, whatever proxies it has,
    and let it follow no redirect: that would take texts to an address that nobody named. What came
    back last is known by `last_reply`.

    Its connections are made by a backend that stands in the pools of its transports. In a release
    of httpx without one a call that nobody waits for ends at its next piece.
    """
    client.follow_redirects = False
    client.event_hooks["response"].append(_last_reply.set)
    for transport in (client._transport, *client._mounts.values()):
        pool: Any = getattr(transport, "_pool", None)
        if hasattr(pool, "_network_backend"):
            pool._network_backend = _Backend(pool._network_backend)


class _Backend:
    """A network backend of httpcore whose streams are `_Stream`s."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def connect_tcp(self, *args: Any, **options: Any) -> _Stream:
        return _Stream(self._inner.connect_tcp(*args, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Stream:
    """A network stream of httpcore; a read within a scope is interrupted when that is stopped."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._line_at = time.monotonic()  # when a line of the reply was whole, or it was asked for

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)
        self._line_at = time.monotonic()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        scope, ends_at = current_scope(), _ends_at.get()
        if timeout is not None:
            last = self._line_at + timeout
            timeout = (last if ends_at is None else min(last, ends_at)) - time.monotonic()
            if timeout <= 0:
                raise SlowReply
        with nullcontext() if scope is None else scope.interrupting(self._shut):
            data = bytes(self._inner.read(max_bytes, timeout))
        if b"\n" in data:
            self._line_at = time.monotonic()
        return data

    def start_tls(self, *args: Any, **options: Any) -> _Stream:
        return _Stream(self._inner.start_tls(*args, **options))

    def _shut(self) -> None:
        with suppress(OSError):  # it is closed already. Of a TLS socket that below it:
            socket.socket.shutdown(self._inner.get_extra_info("socket"), socket.SHUT_RDWR)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
