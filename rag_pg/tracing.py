"""Spans: what an operation did and how long it took, for a tracer that the program hands over.

Without one nothing is done. A tracer is that of OpenTelemetry, or anything with its method:
    from opentelemetry import trace
    rag_pg.set_tracer(trace.get_tracer("my program"))

Names and attributes are those of OpenTelemetry's conventions for generative AI and messaging; what
these have no name for begins with rag_pg. Texts of documents, queries and answers are not told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from rag_pg.protocols import LLM, Embedder, Reranker
from rag_pg.types import Completion

Attribute = str | bool | int | float | Sequence[str]


class Span(Protocol):
    """One operation under way."""

    def set_attribute(self, key: str, value: Any) -> None: ...


class Tracer(Protocol):
    """Begins spans. An error that leaves the block is its to record, as OpenTelemetry's does."""

    def start_as_current_span(
        self, name: str, *, attributes: Any = None
    ) -> AbstractContextManager[Span]: ...


class _NoSpan:
    def set_attribute(self, key: str, value: Any) -> None:
        pass


_NO_SPAN = _NoSpan()
_tracer: Tracer | None = None


def set_tracer(tracer: Tracer | None) -> None:
    """Hand over the tracer of this process; None: no spans."""
    global _tracer
    _tracer = tracer


@contextmanager
def span(name: str, attributes: Mapping[str, Attribute]) -> Iterator[Span]:
    """Trace a block; yields what takes further attributes. An error gives error.type."""
    if _tracer is None:
        yield _NO_SPAN
        return
    with _tracer.start_as_current_span(name, attributes=dict(attributes)) as current:
        try:
            yield current
        except Exception as exc:
            current.set_attribute("error.type", type(exc).__qualname__)
            raise


def trace_id_of(current: Span) -> str:
    """Return the id of a span's trace, 32 hexadecimal digits; "" where the tracer gives none."""
    read = getattr(current, "get_span_context", None)
    number = getattr(read(), "trace_id", 0) if callable(read) else 0
    return f"{number:032x}" if isinstance(number, int) and 0 < number < 1 << 128 else ""


def embeddings_span(embedder: Embedder, texts: int) -> AbstractContextManager[Span]:
    """Trace a call of an embedder with so many texts."""
    if _tracer is None:
        return nullcontext(_NO_SPAN)
    attributes: dict[str, Attribute] = {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": embedder.name,
        "gen_ai.embeddings.dimension.count": embedder.dimensions,
        "rag_pg.texts": texts,
    }
    if embedder.provider is not None:
        attributes["gen_ai.provider.name"] = embedder.provider
    return span(f"embeddings {embedder.name}", attributes)


def rerank_span(reranker: Reranker, texts: int) -> AbstractContextManager[Span]:
    """Trace a call of a reranker with so many texts."""
    attributes: dict[str, Attribute] = {
        "gen_ai.request.model": reranker.name,
        "rag_pg.texts": texts,
    }
    return span(f"rerank {reranker.name}", attributes)


def chat_span(llm: LLM, max_tokens: int, kind: str) -> AbstractContextManager[Span]:
    """Trace a call of a language model. kind: what it is for: answer, rewrite, rerank, …"""
    return span(
        f"chat {llm.name}",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": llm.name,
            "gen_ai.request.max_tokens": max_tokens,
            "rag_pg.kind": kind,
        },
    )


def tell_completion(current: Span, completion: Completion) -> None:
    """Tell the span of a call of a language model how it ended."""
    current.set_attribute("gen_ai.response.finish_reasons", [completion.finish])
    current.set_attribute("gen_ai.usage.input_tokens", completion.usage.prompt_tokens)
    current.set_attribute("gen_ai.usage.output_tokens", completion.usage.answer_tokens)
