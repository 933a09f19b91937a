"""What spans cost: processor time of one without a tracer and with OpenTelemetry's, and their
share of a search.

    python bench/tracing.py

Best of rounds, in a process that does nothing else. The search is a hybrid one by minilm over this
project's documentation, in an embedded server of its own; client alone: without the server's time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from lib.service import documents
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from rag_pg import Rag, Settings
from rag_pg.metrics import Figures
from rag_pg.tracing import add_meter, remove_meter, set_tracer, span

ROUNDS, SPANS, SEARCHES = 7, 5000, 200
ATTRIBUTES: Mapping[str, str | int] = {
    "gen_ai.operation.name": "retrieval",
    "gen_ai.data_source.id": "docs",
    "gen_ai.request.model": "minilm",
    "gen_ai.request.top_k": 10,
}


class Nowhere(SpanExporter):
    """Takes spans and does nothing."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def one_span() -> None:
    with span("retrieval docs", ATTRIBUTES) as current:
        current.set_attribute("rag_pg.hits", 10)
        current.set_attribute("rag_pg.method", "hybrid")
        current.set_attribute("rag_pg.cached", False)


def microseconds(work: Callable[[], object], times: int) -> float:
    """Of this process's processor time, for each: the best round."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(times):
            work()
        rounds.append((time.process_time() - began) / times * 1e6)
    return min(rounds)


def main() -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    tracer, figures = provider.get_tracer("bench"), Figures()
    print(f"a span without a tracer     {microseconds(one_span, SPANS):8.2f} µs")
    add_meter(figures)
    print(f"measured for /metrics       {microseconds(one_span, SPANS):8.2f} µs")
    remove_meter(figures)
    set_tracer(tracer)
    print(f"with OpenTelemetry, batched {microseconds(one_span, SPANS):8.2f} µs")
    set_tracer(None)
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        with Rag(settings=Settings(home=Path(name))) as rag:
            docs = rag.collection("docs")
            docs.add(*documents())
            numbers = count()
            cpu: dict[bool, list[float]] = {False: [], True: []}
            wall = []
            for number in range(2 * SEARCHES):
                traced = bool(number % 2)
                set_tracer(tracer if traced else None)
                began, clock = time.process_time(), time.perf_counter()
                docs.search(f"restore backup {next(numbers)}")
                cpu[traced].append((time.process_time() - began) * 1e3)
                wall.append((time.perf_counter() - clock) * 1e3)
            set_tracer(None)
    added = median(cpu[True]) - median(cpu[False])
    print(f"a search                    {median(wall):8.2f} ms")
    print(f"of the client               {median(cpu[False]):8.2f} ms")
    print(f"its spans add               {added:8.3f} ms, {added / median(wall):.1%} of it")
    provider.shutdown()


if __name__ == "__main__":
    main()
