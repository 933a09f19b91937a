"""The server over HTTP: on which address, for which Host headers, for whom."""

from __future__ import annotations

import hashlib
import hmac
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import AF_INET, AF_INET6

from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import PARSE_ERROR
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rag_pg.errors import InvalidInput
from rag_pg.server.body import with_whole_json

PATH = "/mcp"
LOCAL = ("127.0.0.1", "localhost", "[::1]")
SHORTEST_KEY = 16  # characters


def parse_address(text: str) -> tuple[str, int]:
    """Read HOST:PORT, e.g. 127.0.0.1:8000 or [::1]:8000; port 0 takes a free one."""
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not bare or not port.isdecimal() or int(port) > 65535 or (":" in bare) != ("[" in host):
        raise InvalidInput(f"{text!r:.80} is no address; write it like 127.0.0.1:8000")
    return bare, int(port)


def is_local(host: str) -> bool:
    """Whether only this machine reaches an address."""
    return host in ("localhost", "::1") or host.startswith("127.")


def check_names(host: str, allowed_hosts: Sequence[str] | None) -> None:
    """Raises: InvalidInput for an address that others reach, where no name is allowed."""
    if not is_local(host) and not allowed_hosts:
        raise InvalidInput(
            f"{host} is reached from elsewhere: say by which name, e.g. --allowed-host"
            " rag.example.com"
        )


@contextmanager
def listening(host: str, port: int) -> Iterator[tuple[socket.socket, str]]:
    """Listen on an address; give the socket and its URL."""
    family, shown = (AF_INET6, f"[{host}]") if ":" in host else (AF_INET, host)
    with socket.create_server((host, port), family=family) as listener:
        yield listener, f"http://{shown}:{listener.getsockname()[1]}/"


class KeyVerifier(TokenVerifier):
    """Lets those in who bring one of the keys: Authorization: Bearer KEY."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._digests = [hashlib.sha256(key.encode()).digest() for key in keys]

    async def verify_token(self, token: str) -> AccessToken | None:
        digest = hashlib.sha256(token.encode(errors="replace")).digest()
        matches = [hmac.compare_digest(digest, one) for one in self._digests]
        if not any(matches):
            return None
        return AccessToken(token=token, client_id=f"key {matches.index(True) + 1}", scopes=[])


def read_keys(path: Path) -> list[str]:
    """Read keys from a file, one a line; lines with # are comments. Raises: InvalidInput."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as exc:
        raise InvalidInput(f"cannot read the keys of {path}: {exc}") from exc
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys or min(map(len, keys)) < SHORTEST_KEY:
        raise InvalidInput(
            f"{path} holds {'a key that is too short' if keys else 'no key'}; write one a line, of"
            f" at least {SHORTEST_KEY} characters, as from: openssl rand -hex 32"
        )
    return keys


def _whole(app: ASGIApp) -> ASGIApp:
    """Return an application that is not asked what `with_whole_json` refuses."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            receive = await with_whole_json(scope, receive)
        except InvalidInput as exc:
            error = {"code": PARSE_ERROR, "message": f"Parse error: {exc}"}
            answer = JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)
            await answer(scope, receive, send)
        else:
            await app(scope, receive, send)

    return checked


def http_app(server: MCPServer, *, allowed_hosts: Sequence[str] = ()) -> Starlette:
    """Return an ASGI application that serves `server` at /mcp, without sessions: any process of
    several may answer any request.

    Args:
        allowed_hosts: names by which clients may call it beside those of this machine, with or
            without a port: other Host headers are refused, as a page that rebinds its name to this
            address sends.
    """
    names = [*LOCAL, *allowed_hosts]
    hosts = [*names, *(f"{name}:*" for name in names)]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts,
            allowed_origins=[f"{scheme}://{one}" for scheme in ("http", "https") for one in hosts],
        ),
    )
    for route in app.routes:
        if isinstance(route, Route) and route.path == PATH:
            route.methods = {"POST"}  # without sessions a stream by GET brings nothing, ever
            route.app = _whole(route.app)
    return app
