"""OpenTelemetry by its standard environment variables: spans and metrics are sent by OTLP."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rag_pg.errors import InvalidInput, RagError
from rag_pg.extras import extra
from rag_pg.tracing import Attribute, add_meter, remove_meter, set_tracer
from rag_pg.version import __version__

log = logging.getLogger(__name__)

ENDPOINTS = tuple(f"OTEL_EXPORTER_OTLP_{kind}ENDPOINT" for kind in ("", "TRACES_", "METRICS_"))
PROTOCOLS = tuple(f"OTEL_EXPORTER_OTLP_{kind}PROTOCOL" for kind in ("", "TRACES_", "METRICS_"))
SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKENS = tuple(4.0**power for power in range(14))
# Histograms of the conventions for generative AI, by the operation of a span: their attributes.
CALL = ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "error.type",
        "gen_ai.response.model", "server.address", "server.port")  # fmt: skip
DURATIONS = {
    "chat": ("gen_ai.client.operation.duration", CALL),
    "embeddings": ("gen_ai.client.operation.duration", CALL),
    "retrieval": ("gen_ai.client.operation.duration", CALL),
    "invoke_workflow": ("gen_ai.workflow.duration", ("gen_ai.workflow.name", "error.type")),
    "invoke_agent": ("gen_ai.invoke_agent.duration", (*CALL[:4], "gen_ai.agent.name")),
    "execute_tool": (
        "gen_ai.execute_tool.duration",
        ("gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.type", "error.type"),
    ),
}


class OtelMeter:
    """Records spans that have ended as the histograms of the conventions."""

    def __init__(self, meter: Any) -> None:
        def histogram(name: str, unit: str, bounds: tuple[float, ...]) -> Any:
            return meter.create_histogram(name, unit, explicit_bucket_boundaries_advisory=bounds)

        names = dict.fromkeys(name for name, _ in DURATIONS.values())
        self._durations = {name: histogram(name, "s", SECONDS) for name in names}
        self._tokens = histogram("gen_ai.client.token.usage", "{token}", TOKENS)
        self._first = histogram("gen_ai.client.operation.time_to_first_chunk", "s", SECONDS)

    def measure(self, operation: str, seconds: float, attributes: Mapping[str, Attribute]) -> None:
        found = DURATIONS.get(operation)
        if found is None:
            return
        name, wanted = found
        told = {key: attributes[key] for key in wanted if key in attributes}
        self._durations[name].record(seconds, told)
        if operation not in ("chat", "embeddings"):
            return
        for kind in ("input", "output"):
            used = attributes.get(f"gen_ai.usage.{kind}_tokens")
            if isinstance(used, int):
                self._tokens.record(used, {**told, "gen_ai.token.type": kind})
        first = attributes.get("gen_ai.response.time_to_first_chunk")
        if isinstance(first, float):
            self._first.record(first, told)


@contextmanager
def traced() -> Iterator[None]:
    """Send spans and metrics of the block where OTEL_EXPORTER_OTLP_ENDPOINT, or that of traces or
    metrics, says; nothing where none of them is set. What is left is sent at the end. A variable
    that cannot be followed is told in the log, and nothing is sent."""
    environment = os.environ
    is_off = environment.get("OTEL_SDK_DISABLED", "").lower() == "true"
    if is_off or not any(environment.get(name) for name in ENDPOINTS):
        yield
        return
    try:
        close = begin(environment)
    except RagError as exc:
        log.warning("nothing is traced: %s", exc)
        yield
        return
    try:
        yield
    finally:
        close()


def begin(environment: Mapping[str, str]) -> Callable[[], None]:
    """Begin to send, and return what ends it. Raises: InvalidInput (another protocol than
    http/protobuf), ModelUnavailable (no extra otel)."""
    for name in PROTOCOLS:
        if environment.get(name, "http/protobuf") != "http/protobuf":
            raise InvalidInput(f"{name} is {environment[name]!r:.40}; set it to http/protobuf")
    with extra("otel", "OpenTelemetry needs"):
        from opentelemetry import metrics, trace
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = environment.get("OTEL_SERVICE_NAME", "rag-pg")
    resource = Resource.create({"service.name": name, "service.version": __version__})
    spans = TracerProvider(resource=resource, shutdown_on_exit=False)
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    figures = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    trace.set_tracer_provider(spans)  # for the spans of the MCP SDK
    metrics.set_meter_provider(figures)
    meter = OtelMeter(figures.get_meter("rag_pg", __version__))
    set_tracer(spans.get_tracer("rag_pg", __version__))
    add_meter(meter)

    def close() -> None:
        set_tracer(None)
        remove_meter(meter)
        spans.shutdown()
        figures.shutdown()

    return close
