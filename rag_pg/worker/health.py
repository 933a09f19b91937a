"""The health endpoint of a worker: GET /health answers 200 when it lives, 503 when it does not,
with JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rag_pg.errors import InvalidInput
from rag_pg.threads import start_thread


@contextmanager
def serve_health(
    report: Callable[[], Mapping[str, Any]], host: str, port: int
) -> Iterator[tuple[str, int]]:
    """Serve `report()` while the block runs; yields the address.
    Its "ok" decides between 200 and 503.

    port 0 takes a free one. Raises InvalidInput when the address cannot be had.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/health":
                self.send_error(404, explain="the only page is /health")
                return
            state = report()
            body = json.dumps(state).encode() + b"\n"
            self.send_response(200 if state["ok"] else 503)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Probes are no news."""

    try:
        server = ThreadingHTTPServer((host, port), Handler)
    except (OSError, OverflowError) as exc:
        raise InvalidInput(
            f"cannot listen on {host}:{port}: {exc}; choose another --health port"
        ) from exc
    server.daemon_threads = True
    thread = start_thread(server.serve_forever, "rag-pg-health")
    try:
        yield str(server.server_address[0]), server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
