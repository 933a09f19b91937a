"""A connection: how many there are at once, and what may stand before the body of a request.

httptools, of which uvicorn makes the faster of its parsers, takes headers of any length, in a time
that grows with its square; both parsers wait for them for ever. It reads no body behind a head that
asks for another protocol, as Java's client asks for HTTP/2 in each first request.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, ClassVar

from uvicorn import Config
from uvicorn.protocols.http.auto import AutoHTTPProtocol

_UPGRADE = re.compile(rb"\nupgrade(?=[ \t]*:)", re.IGNORECASE)
_END = re.compile(rb"\n\r?\n")
Base: Any = object if TYPE_CHECKING else AutoHTTPProtocol


class Connection(Base):  # type: ignore[misc]
    """uvicorn's, with bounds. most: of a process, below the 1024 files that it usually may open.
    head_bytes, head_seconds: of a request's address and headers. body_seconds: that a body has to
    come whole while the service stops."""

    most: ClassVar[int] = 800
    head_bytes: ClassVar[int] = 65_536
    head_seconds: ClassVar[float] = 30.0
    body_seconds: ClassVar[float] = 10.0
    _late: asyncio.TimerHandle | None = None
    _read = 0  # bytes of a head
    _pending = b""  # the end of a packet, in which a name that matters may begin

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > self.most:
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.cycle is None or self.cycle.response_complete:
            data, self._pending = self._pending + data, b""
            end = _END.search(data)
            at = end.end() if end else len(data)
            data = _UPGRADE.sub(b"\nx-grade", data[:at]) + data[at:]  # as long
            before, line_end, line = data.rpartition(b"\n")
            if not end and (line == b"\r" or b"upgrade".startswith(line.lower())):
                data, self._pending = before, line_end + line
                if not data:
                    return
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._end_head()
            return
        self._await_head()
        self._read += len(data)
        if self._read > self.head_bytes and not self.transport.is_closing():
            if self.cycle is None:
                self.send_400_response(f"The headers have more than {self.head_bytes} bytes.")
            else:  # perhaps what is left of a body that was refused
                self.transport.close()

    def shutdown(self) -> None:
        super().shutdown()
        self.loop.call_later(self.body_seconds, self._end_body)

    def _end_body(self) -> None:
        if self.cycle is not None and self.cycle.more_body:
            self.transport.close()

    def _await_head(self) -> None:
        if self._late is None:
            late = self.timeout_keep_alive_handler
            self._late = self.loop.call_later(self.head_seconds, late)

    def _end_head(self) -> None:
        self._read = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None


def configured(app: Any, **more: Any) -> Config:
    """Return uvicorn's settings for an application behind such connections."""
    return Config(
        app,
        http=Connection,
        ws="none",  # else who asks for a web socket with a body waits for ever
        h11_max_incomplete_event_size=Connection.head_bytes,
        log_config=None,
        access_log=False,
        **more,
    )
