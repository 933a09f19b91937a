"""What a process counts and times, as Prometheus reads it."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus import read

from rag_pg.metrics import BUCKETS, Figures
from rag_pg.tracing import add_meter, remove_meter, span
from rag_pg.types import Metric


@given(
    labels=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.text(), max_size=3),
    value=st.floats(allow_nan=False),
)
def test_every_label_and_value_is_read_as_it_was(labels: dict[str, str], value: float) -> None:
    metric = Metric(name="rag_pg_x", kind="gauge", help="What.", labels=labels, value=value)
    assert read(Figures().render([metric])) == {"rag_pg_x": [(labels, value)]}


@given(times=st.lists(st.floats(0, 1000), min_size=1, max_size=20))
def test_a_histogram_counts_what_is_up_to_each_bound(times: list[float]) -> None:
    figures = Figures()
    for seconds in times:
        figures.observe("rag_pg_http_request_seconds", seconds, path="/x", status="200")
    found = read(figures.render())
    buckets = {
        float(labels["le"]): value for labels, value in found["rag_pg_http_request_seconds_bucket"]
    }
    assert buckets == {
        bound: sum(seconds <= bound for seconds in times) for bound in (*BUCKETS, math.inf)
    }
    assert found["rag_pg_http_request_seconds_count"][0][1] == len(times)
    assert found["rag_pg_http_request_seconds_sum"][0][1] == pytest.approx(sum(times))


def test_what_processes_leave_each_other_is_summed(tmp_path: Path) -> None:
    processes = [Figures(tmp_path) for _ in range(3)]
    for number, figures in enumerate(processes, 1):
        for _ in range(number):
            figures.count("rag_pg_worker_jobs_total", kind="ingest", outcome="done")
        figures.save()
    wanted = [({"kind": "ingest", "outcome": "done"}, 6.0)]
    assert [read(one.render())["rag_pg_worker_jobs_total"] for one in processes] == [wanted] * 3
    saved = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    for figures in processes:
        figures.save()
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == saved  # nothing is new
    assert all(json.loads(file.read_text()) for file in saved)


def test_a_span_is_measured_by_its_operation_its_error_and_its_legs() -> None:
    figures = Figures()
    add_meter(figures)
    try:
        attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": "secret"}
        with span("retrieval secret", attributes) as current:
            current.set_attribute("rag_pg.seconds.statement", 0.25)
            current.set_attribute("rag_pg.method", "hybrid")
        with pytest.raises(KeyError), span("rerank model", {}):
            raise KeyError("secret")
    finally:
        remove_meter(figures)
    text = figures.render()
    assert "secret" not in text
    found = read(text)
    assert [labels for labels, _ in found["rag_pg_operation_seconds_count"]] == [
        {"operation": "rerank", "error": "KeyError"},
        {"operation": "retrieval", "error": ""},
    ]
    assert found["rag_pg_search_leg_seconds_sum"] == [
        ({"leg": "statement", "method": "hybrid"}, 0.25)
    ]
