"""The health endpoint of a worker: GET /health answers 200 when it lives, 503 when it does not,
with JSON; GET /metrics has figures for Prometheus."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rag_pg.errors import InvalidInput, RagError
from rag_pg.metrics import CONTENT_TYPE
from rag_pg.threads import start_thread


@contextmanager
def serve_health(
    report: Callable[[], Mapping[str, Any]],
    host: str,
    port: int,
    metrics: Callable[[], str] = str,
) -> Iterator[tuple[str, int]]:
    """Serve `report()` and `metrics()` while the block runs; yields the address.
    The "ok" of a report decides between 200 and 503; 503 is the answer of metrics that fail.

    port 0 takes a free one. Raises InvalidInput when the address cannot be had.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/health":
                    state = report()
                    body = json.dumps(state) + "\n"
                    self._answer(200 if state["ok"] else 503, "application/json", body)
                case "/metrics":
                    try:
                        self._answer(200, CONTENT_TYPE, metrics())
                    except RagError:
                        self.send_error(503, explain="the database cannot be asked now")
                case _:
                    self.send_error(404, explain="the pages are /health and /metrics")

        def _answer(self, status: int, content_type: str, body: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

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
