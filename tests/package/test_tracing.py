"""Spans of what rag_pg does, in a tracer that the program hands over."""

import pytest
from fakes import HashEmbedder
from tracer import recording

from rag_pg import tracing
from rag_pg.tracing import embeddings_span, set_tracer, span


def test_without_a_tracer_nothing_is_done() -> None:
    assert tracing._tracer is None
    with span("x", {}) as current, embeddings_span(HashEmbedder(), 3) as other:
        current.set_attribute("a", 1)
        other.set_attribute("a", 1)


def test_an_error_passes_and_names_its_type() -> None:
    with recording() as tracer, pytest.raises(KeyError), span("x", {"a": 1}):
        raise KeyError("y")
    assert [(s.name, s.attributes) for s in tracer.spans] == [
        ("x", {"a": 1, "error.type": "KeyError"})
    ]


def test_an_embedding_is_named_as_the_conventions_want() -> None:
    with recording() as tracer, embeddings_span(HashEmbedder("hash:8"), 3):
        pass
    assert tracer.spans[0].name == "embeddings hash:8"
    assert tracer.spans[0].attributes == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": "hash:8",
        "gen_ai.embeddings.dimension.count": 8,
        "gen_ai.provider.name": "hash",
        "rag_pg.texts": 3,
    }


@pytest.mark.libraries
def test_the_tracer_of_opentelemetry_is_one() -> None:
    from opentelemetry import trace

    set_tracer(trace.NoOpTracerProvider().get_tracer("test"))
    try:
        with span("x", {"a": 1, "b": ["c"]}) as current:
            current.set_attribute("d", True)
            assert tracing.trace_id_of(current) == ""  # nothing records
    finally:
        set_tracer(None)
