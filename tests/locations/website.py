"""A website on loopback that stands for every public host, and a resolver of the test's own."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rag_pg.locations import Network
from rag_pg.threads import start_thread

PUBLIC = "93.184.216.34"
Answer = tuple[int, Mapping[str, str], bytes]


def html(text: str, *links: str, head: str = "") -> Answer:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    body = f"<html><head>{head}</head><body><main><p>{text}</p>{anchors}</main></body></html>"
    return 200, {"Content-Type": "text/html; charset=utf-8"}, body.encode()


@dataclass
class Site:
    """pages: answers by path; others are 404. hosts: addresses by name; others are public, and
    numbers are what the system takes them for. asked: paths answered with a body. reached: the IP
    addresses that were connected to: all of them lead here."""

    port: int = 0
    pages: dict[str, Answer | Callable[[Mapping[str, str]], Answer]] = field(default_factory=dict)
    hosts: dict[str, Callable[[], list[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)

    def network(self, *private_hosts: str) -> Network:
        return Network(
            private_hosts=frozenset(private_hosts), lookup=self._lookup, connect=self._connect
        )

    def _lookup(self, host: str, port: int, **options: Any) -> list[tuple[object, ...]]:
        if host in self.hosts:
            return [(0, 0, 0, "", (ip, port)) for ip in self.hosts[host]()]
        try:
            return list(socket.getaddrinfo(host, port, flags=socket.AI_NUMERICHOST, **options))
        except socket.gaierror:
            return [(0, 0, 0, "", (PUBLIC, port))]

    def _connect(self, ip: str, port: int, seconds: float) -> socket.socket:
        self.reached.append(ip)
        return socket.create_connection(("127.0.0.1", self.port), timeout=seconds)

    def answer(self, path: str, headers: Mapping[str, str]) -> Answer:
        found = self.pages.get(path, (404, {}, b""))
        status, own, body = found(headers) if callable(found) else found
        tag = f'"{hash(body)}"'
        if status == 200 and own.get("ETag") != "none":
            own = {"ETag": tag, **own}
            if headers.get("If-None-Match") == tag:
                return 304, own, b""
        self.asked.append(path)
        return status, own, body


@contextmanager
def serve() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = site.answer(self.path, self.headers)  # type: ignore[arg-type]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = start_thread(partial(server.serve_forever, 0.02), "website")
    site.port = server.server_port
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
