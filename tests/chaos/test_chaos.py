"""Nothing is lost, doubled or stuck, whatever happens to workers, database and provider meanwhile.

`make chaos` runs it: RAG_PG_TEST_CHAOS seconds over 2,000 documents of RAG_PG_EVAL_DATA, or with
RAG_PG_TEST_CHAOS=0 15 seconds over 60 documents. `.ci/run` runs the short form for some commits.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos.run import show, storm
from paths import server_folder
from rich.console import Console

LONG = float(os.environ.get("RAG_PG_TEST_CHAOS", "0"))


@pytest.fixture
def folder() -> Iterator[Path]:
    with server_folder() as made:
        yield made


@pytest.mark.minutes
def test_a_storm_leaves_every_document_searchable_in_its_last_version(folder: Path) -> None:
    if LONG:
        if not os.environ.get("RAG_PG_EVAL_DATA"):
            pytest.skip("no data: the long form needs RAG_PG_EVAL_DATA")
        report = storm(folder, documents=2000, seconds=LONG, pause=4)
    else:
        report = storm(folder, documents=60, seconds=15, pause=1)
    show(report, Console(width=140))
    assert {what: rows for what, rows in report.violations.items() if rows} == {}
    assert set(report.worker_exits) <= {0, -signal.SIGTERM}  # the latter while it was starting
    assert report.faults.total() >= 3
    assert report.answers["answered"] > 0
    if LONG:
        assert report.embedded <= 1.1 * report.necessary
