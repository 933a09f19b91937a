"""Spans: what an operation did and how long it took, for a tracer that the program hands over.

Without one nothing is done. A tracer is that of OpenTelemetry, or anything with its method:
    from opentelemetry import trace
    rag_pg.set_tracer(trace.get_tracer("my program"))

Names and attributes are those of OpenTelemetry's conventions for generative AI and messaging; what
these have no name for begins with rag_pg. Texts of documents, queries and answers are told only
where OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says so.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from rag_pg.protocols import LLM, MAX_TOKENS, CompletionOptions, Embedder, Reranker
from rag_pg.types import Completion, Message, ToolCall

Attribute = str | bool | int | float | Sequence[str]
QUEUE: Mapping[str, str] = {
    "messaging.system": "postgresql",
    "messaging.destination.name": "rag.jobs",
}
LEG = "rag_pg.seconds."  # begins attributes that tell how long a part of a search took
Kind = Literal["internal", "client", "producer", "consumer"]


class Span(Protocol):
    """One operation under way."""

    def set_attribute(self, key: str, value: Any) -> None: ...


class Tracer(Protocol):
    """Begins spans. An error that leaves the block is its to record; that of OpenTelemetry is told
    the type alone, since messages may quote texts."""

    def start_as_current_span(
        self, name: str, *, attributes: Any = None
    ) -> AbstractContextManager[Span]: ...


class Meter(Protocol):
    """Is told of every span when it has ended."""

    def measure(
        self, operation: str, seconds: float, attributes: Mapping[str, Attribute]
    ) -> None: ...


class _NoSpan:
    def set_attribute(self, key: str, value: Any) -> None:
        pass


_NO_SPAN = _NoSpan()
_NOTHING = nullcontext(_NO_SPAN)
_tracer: Tracer | None = None
_meters: tuple[Meter, ...] = ()


def set_tracer(tracer: Tracer | None) -> None:
    """Hand over the tracer of this process; None: no spans."""
    global _tracer
    _tracer = tracer


def add_meter(meter: Meter) -> None:
    """Tell a meter of spans from now on."""
    global _meters
    _meters = (*_meters, meter)


def remove_meter(meter: Meter) -> None:
    """Tell it of no more."""
    global _meters
    _meters = tuple(one for one in _meters if one is not meter)


def span(
    name: str,
    attributes: Mapping[str, Attribute],
    *,
    kind: Kind = "internal",
    parent: str | None = None,
    links: Sequence[str] = (),
) -> AbstractContextManager[Span]:
    """Trace a block; yields what takes further attributes. An error gives error.type.

    Args:
        parent: the span that it belongs to, as W3C trace context; None: the current one. links:
            others that it goes on with. Both are for a tracer of OpenTelemetry.
    """
    if _tracer is None and not _meters:
        return _NOTHING
    return _Traced(name, dict(attributes), kind, parent, links)


class _Traced:
    """A block that is traced and measured."""

    __slots__ = ("_began", "_manager", "_span", "attributes", "name")

    def __init__(
        self,
        name: str,
        attributes: dict[str, Attribute],
        kind: Kind,
        parent: str | None,
        links: Sequence[str],
    ) -> None:
        self.name, self.attributes = name, attributes
        self._manager: AbstractContextManager[Span] = _NOTHING
        if _tracer is not None:
            more = _otel_options(_tracer, kind, parent, links)
            self._manager = _tracer.start_as_current_span(name, attributes=attributes, **more)

    def __enter__(self) -> _Traced:
        self._span = self._manager.__enter__()
        self._began = time.perf_counter()
        return self

    def set_attribute(self, key: str, value: Any) -> None:
        self.attributes[key] = value
        self._span.set_attribute(key, value)

    def get_span_context(self) -> Any:
        read = getattr(self._span, "get_span_context", None)
        return read() if callable(read) else None

    def __exit__(self, kind: type[BaseException] | None, exc: Any, traceback: Any) -> bool | None:
        seconds = time.perf_counter() - self._began
        if isinstance(exc, Exception):
            self.set_attribute("error.type", type(exc).__qualname__)
            if _is_otel(_tracer):
                from opentelemetry.trace import StatusCode

                self._span.set_status(StatusCode.ERROR)  # type: ignore[attr-defined]
        operation = self.attributes.get("gen_ai.operation.name") or self.name.partition(" ")[0]
        for meter in _meters:
            meter.measure(str(operation), seconds, self.attributes)
        return self._manager.__exit__(kind, exc, traceback)


def _is_otel(tracer: Tracer | None) -> bool:
    api = sys.modules.get("opentelemetry.trace")
    return api is not None and isinstance(tracer, api.Tracer)


def _otel_options(
    tracer: Tracer, kind: Kind, parent: str | None, links: Sequence[str]
) -> dict[str, Any]:
    """What the tracer of OpenTelemetry takes beside attributes; nothing for another."""
    if not _is_otel(tracer):
        return {}
    from opentelemetry.trace import Link, SpanKind, get_current_span

    def linked(traceparent: str) -> Any:
        return get_current_span(_extracted(traceparent)).get_span_context()

    return {
        "kind": SpanKind[kind.upper()],
        "context": None if parent is None else _extracted(parent),
        "links": [Link(linked(one)) for one in links],
        "record_exception": False,
        "set_status_on_exception": False,
    }


def _extracted(traceparent: str) -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})


def current_traceparent() -> str | None:
    """Return the current span as W3C trace context; None without a tracer of OpenTelemetry."""
    if not _is_otel(_tracer):
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent")


def trace_id_of(current: Span) -> str:
    """Return the id of a span's trace, 32 hexadecimal digits; "" where the tracer gives none."""
    read = getattr(current, "get_span_context", None)
    number = getattr(read(), "trace_id", 0) if callable(read) else 0
    return f"{number:032x}" if isinstance(number, int) and 0 < number < 1 << 128 else ""


def embeddings_span(embedder: Embedder, texts: int) -> AbstractContextManager[Span]:
    """Trace a call of an embedder with so many texts."""
    if _tracer is None and not _meters:
        return _NOTHING
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": provider_name(embedder.provider or embedder.name),
        "gen_ai.request.model": embedder.name,
        "gen_ai.embeddings.dimension.count": embedder.dimensions,
        "rag_pg.texts": texts,
    }
    kind: Kind = "internal" if embedder.provider is None else "client"
    return span(f"embeddings {embedder.name}", attributes, kind=kind)


def rerank_span(reranker: Reranker, texts: int) -> AbstractContextManager[Span]:
    """Trace a call of a reranker with so many texts."""
    attributes: dict[str, Attribute] = {
        "gen_ai.request.model": reranker.name,
        "rag_pg.texts": texts,
    }
    return span(f"rerank {reranker.name}", attributes)


def chat_span(
    llm: LLM,
    messages: Sequence[Message],
    options: CompletionOptions,
    kind: str,
    *,
    streams: bool = False,
) -> AbstractContextManager[Span]:
    """Trace a call of a language model. kind: what it is for: answer, rewrite, rerank, …"""
    if _tracer is None and not _meters:
        return _NOTHING
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider_name(llm.name),
        "gen_ai.request.model": llm.name,
        "gen_ai.request.max_tokens": options.get("max_tokens", MAX_TOKENS),
        "rag_pg.kind": kind,
        **_address(llm),
    }
    if "temperature" in options:
        attributes["gen_ai.request.temperature"] = options["temperature"]
    if options.get("schema") is not None:
        attributes["gen_ai.output.type"] = "json"
    if streams:
        attributes["gen_ai.request.stream"] = True
    if tells_content():
        system = [m for m in messages if m.role == "system"]
        attributes["gen_ai.system_instructions"] = json.dumps([_part(m.content) for m in system])
        attributes["gen_ai.input.messages"] = json.dumps(
            [{"role": m.role, "parts": _parts(m)} for m in messages if m.role != "system"],
            default=str,
        )
    in_process: Kind = "internal" if llm.name.partition(":")[0] == "local" else "client"
    return span(f"chat {llm.name}", attributes, kind=in_process)


def tell_completion(current: Span, completion: Completion) -> None:
    """Tell the span of a call of a language model how it ended."""
    current.set_attribute("gen_ai.response.finish_reasons", [completion.finish])
    current.set_attribute("gen_ai.usage.input_tokens", completion.usage.prompt_tokens)
    current.set_attribute("gen_ai.usage.output_tokens", completion.usage.answer_tokens)
    if completion.model:
        current.set_attribute("gen_ai.response.model", completion.model)
    if completion.response_id:
        current.set_attribute("gen_ai.response.id", completion.response_id)
    if _tracer is not None and tells_content():
        parts = [_part(completion.text), *map(_call_part, completion.tool_calls)]
        told = [{"role": "assistant", "parts": parts, "finish_reason": completion.finish}]
        current.set_attribute("gen_ai.output.messages", json.dumps(told, default=str))


def tells_content() -> bool:
    """Whether spans are to have texts: the variable that the conventions' programs read."""
    wish = os.environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "")
    return wish.lower() in ("true", "span_only", "span_and_event")


def provider_name(name: str) -> str:
    """Return what the conventions call the provider of a model of this name."""
    provider = name.partition(":")[0]
    return "gcp.gemini" if provider == "gemini" else provider


def _address(llm: LLM) -> dict[str, Attribute]:
    url = urlsplit(getattr(llm, "url", ""))
    if not url.hostname:
        return {}
    port = url.port or {"http": 80}.get(url.scheme, 443)
    return {"server.address": url.hostname, "server.port": port}


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


def _call_part(call: ToolCall) -> dict[str, Any]:
    arguments = dict(call.arguments)
    return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments}


def _parts(message: Message) -> list[dict[str, Any]]:
    sources = [_part(f"{one.title}\n{one.text}") for one in message.sources]
    return [*sources, _part(message.content), *map(_call_part, message.tool_calls)]
