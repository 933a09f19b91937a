"""Calls over HTTP that end with the scope of their work: when it is stopped their socket is shut,
so that the provider hears of it and no thread waits for its answer."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Any

from rag_pg.deadline import current_scope


def interrupt_reads(client: Any) -> None:
    """Let what a client of httpx reads be interrupted by `Scope.stop`, whatever proxies it has.

    Its connections are made by a backend that stands in the pools of its transports. In a release
    of httpx without one a call that nobody waits for ends at its next piece.
    """
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

    def read(self, *args: Any, **options: Any) -> bytes:
        scope = current_scope()
        if scope is None:
            return bytes(self._inner.read(*args, **options))
        with scope.interrupting(self._shut):
            return bytes(self._inner.read(*args, **options))

    def start_tls(self, *args: Any, **options: Any) -> _Stream:
        return _Stream(self._inner.start_tls(*args, **options))

    def _shut(self) -> None:
        with suppress(OSError):  # it is closed already. Of a TLS socket that below it:
            socket.socket.shutdown(self._inner.get_extra_info("socket"), socket.SHUT_RDWR)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
