"""A receiver of OpenTelemetry's protocol over HTTP, which decodes what it is sent."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass(frozen=True, kw_only=True)
class Received:
    """A span. kind: CLIENT, CONSUMER, …; parent: "" for none; links: the spans' ids."""

    name: str
    kind: str
    trace: str
    span: str
    parent: str
    links: Sequence[str]
    attributes: dict[str, Any]
    service: str
    is_error: bool
    events: int


@dataclass
class Receiver:
    """What came. metrics: the attributes of each point, by name."""

    url: str = ""
    spans: list[Received] = field(default_factory=list)
    metrics: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def named(self, beginning: str) -> list[Received]:
        return [one for one in self.spans if one.name.startswith(beginning)]

    def take_spans(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = _values(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_received(span, service) for span in scope.spans]

    def take_metrics(self, body: bytes) -> None:
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    points = [_values(point.attributes) for point in metric.histogram.data_points]
                    self.metrics.setdefault(metric.name, []).extend(points)


def _received(span: Any, service: str) -> Received:
    return Received(
        name=span.name,
        kind=Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        trace=span.trace_id.hex(),
        span=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        links=[link.span_id.hex() for link in span.links],
        attributes=_values(span.attributes),
        service=service,
        is_error=span.status.code == 2,
        events=len(span.events),
    )


def _values(pairs: Any) -> dict[str, Any]:
    found = {}
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        value = getattr(pair.value, kind)
        if kind == "array_value":
            value = [getattr(one, one.WhichOneof("value")) for one in value.values]
        found[pair.key] = value
    return found


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Receive on loopback while the block runs."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            takes = {"/v1/traces": receiver.take_spans, "/v1/metrics": receiver.take_metrics}
            takes[self.path](body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """No news."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
