"""What every request passes before it is read: who may call, how large it is, how long it takes."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
import uuid
from collections.abc import Collection
from itertools import chain
from urllib.parse import unquote_to_bytes

from python_multipart.multipart import parse_options_header
from sse_starlette.sse import SendTimeoutError
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_pg.errors import RagError
from rag_pg.server.body import with_whole_json
from rag_pg.server.connection import Connection
from rag_pg.server.http.keys import find_key
from rag_pg.server.http.mcp import PATH
from rag_pg.server.http.problem import response_of
from rag_pg.server.http.service import Service
from rag_pg.server.mcp import LOCAL

ACCESS = logging.getLogger("rag_pg.access")
UPLOADS = "/uploads"
TAIL = 4096  # bytes of a form, among which its last boundary is
HOST = re.compile(r"(\[[\da-f:.]+\]|[^:@\[\]]+)(?::\d+)?", re.IGNORECASE)
SECURITY = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:;"
    " frame-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self';"
    " frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """ASGI middleware. Refuses other Host headers than those of this machine and the allowed, as a
    page sends that rebinds its name to this address, and requests of other pages; counts the bytes
    of a body while it is read; ends what does not begin to respond in time; writes a line of JSON
    for each request to the logger rag_pg.access, without texts.

    Args:
        max_upload: bytes of an upload. open_paths: what needs no key.
    """

    def __init__(
        self, app: ASGIApp, *, service: Service, max_upload: int, open_paths: Collection[str]
    ) -> None:
        self._app, self._service, self._options = app, service, service.options
        self._hosts = {*LOCAL, *service.options.allowed_hosts}
        self._max_upload, self._open_paths = max_upload, open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, request_id, status = time.perf_counter(), uuid.uuid4().hex, 0
        method = scope["method"]
        if method == "HEAD" and scope["path"] != PATH:  # a GET of which is a stream without an end
            scope = dict(scope, method="GET")
        state = scope.setdefault("state", {})

        async def seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if not clock.expired():
                    clock.reschedule(None)  # a stream may last
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
                is_open = scope["path"] in self._open_paths
                headers.setdefault("Cache-Control", "no-cache" if is_open else "no-store")
            elif method == "HEAD":
                message = dict(message, body=b"")
            await send(message)

        try:
            async with asyncio.timeout(self._options.timeout) as clock:
                try:
                    self._check_caller(Headers(scope=scope))
                    _check_head(scope)
                    if self._options.keys and scope["path"] not in self._open_paths:
                        told = Headers(scope=scope).getlist("authorization")
                        state["key"] = await find_key(self._service.rag, told, state)
                    counted, most = self._counted(scope, receive), self._options.max_body
                    whole = await with_whole_json(scope, counted, most)
                    await self._app(scope, whole, seen)
                except (HTTPException, RagError) as exc:
                    if status:
                        raise
                    await response_of(exc)(scope, receive, seen)
        except SendTimeoutError:
            pass  # of a stream that nobody reads: the connection is closed
        except TimeoutError:
            if status or not clock.expired():
                raise
            within = f"within {self._options.timeout:g} seconds"
            late = HTTPException(504, f"no answer {within}; ask for less")
            if state.get("body_awaited"):
                late = HTTPException(408, f"the body did not come {within}; send less, or faster")
            await response_of(late)(scope, receive, seen)
        finally:
            seconds = time.perf_counter() - began
            path = getattr(scope.get("route"), "path", "")
            told_by = {"path": path, "status": str(status)}
            self._service.figures.observe("rag_pg_http_request_seconds", seconds, **told_by)
            line = {
                "at": time.time(),
                "request_id": request_id,
                "key": state.get("key_name"),
                "method": method,
                "path": path,
                "status": status,
                "seconds": round(seconds, 4),
            }
            ACCESS.info(json.dumps(line))

    def _check_caller(self, headers: Headers) -> None:
        """Raises: HTTPException."""
        host, *others = headers.getlist("host") or [""]
        named = HOST.fullmatch(host)
        if others or named is None or not self._hosts & {host, named[1]}:
            told = "by two names" if others else repr(host)[:80]
            raise HTTPException(421, f"this service is not called {told}; see --allowed-host")
        for origin in headers.getlist("origin"):
            # Another port is another site. A proxy may call the service by a name of its own.
            if origin.partition("://")[2] not in (host, *self._options.allowed_hosts):
                raise HTTPException(403, "a page of another site asks; only this service's own may")

    def _counted(self, scope: Scope, receive: Receive) -> Receive:
        """Return `receive` that gives no more than a body may have, and no form that was cut off,
        of which the last file would be lost. Raises: HTTPException."""
        most, setting = self._options.max_body, "--max-body"
        if scope["path"] == UPLOADS:
            most, setting = self._max_upload, "RAG_PG_MAX_FILE_BYTES"
        refused = HTTPException(413, f"the body has more than {most} bytes; see {setting}")
        headers = Headers(scope=scope)
        if (coded := headers.get("content-encoding", "identity")).lower() != "identity":
            told = f"the body has the encoding {coded[:40]!r}; send it as it is, not compressed"
            raise HTTPException(415, told)
        told = headers.get("content-length", "0")
        if not told.isdecimal() or int(told) > most:
            raise refused
        kind, parameters = parse_options_header(headers.get("content-type"))
        end = (
            b"--%s--" % parameters.get(b"boundary", b"") if kind == b"multipart/form-data" else b""
        )
        read, tail, state = 0, b"", scope["state"]

        async def counted() -> Message:
            nonlocal read, tail
            state.setdefault("body_awaited", True)
            message = await receive()
            body = message.get("body", b"")
            read += len(body)
            if read > most:
                raise refused
            tail = (tail + body)[-TAIL:] if end else b""
            if message["type"] == "http.request" and not message.get("more_body", False):
                state["body_awaited"] = False
                if end not in tail:
                    raise HTTPException(400, "the form ends before its last boundary; send it anew")
            return message

        return counted


def _check_head(scope: Scope) -> None:
    """Raises: HTTPException: a head that came at once is read whole by uvicorn, whatever its size,
    and names that are no UTF-8 would all be read as one."""
    address = scope.get("raw_path", b"") + b"?" + scope["query_string"]
    size, most = sum(map(len, chain(*scope["headers"], [address]))), Connection.head_bytes
    if size > most:
        raise HTTPException(431, f"the address and headers have more than {most} bytes")
    try:
        unquote_to_bytes(address).decode()
    except UnicodeDecodeError as exc:
        told = "the address is no UTF-8; percent-encode UTF-8, as %C3%A9 for é"
        raise HTTPException(400, told) from exc
