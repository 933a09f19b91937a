"""A plugin for pytest: every collected test runs;
a skip is for a missing engine or missing data alone.

What needs a package or a user is installed or run as one, so that no proof goes missing unseen.
RAG_PG_TEST_REPORT names a file for the counts and what failed: tests/run.py sums them up.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

REASONS = (
    "no engine: ",
    "no data: ",
    "no root: ",  # nobody becomes root for a test; root becomes nobody
    "delete_all_documents",  # Haystack's suite leaves out an argument that stores need not have
)

KINDS = ("passed", "failed", "error", "skipped", "deselected")

_collected: set[str] = set()
_outcomes: dict[str, str] = {}
_refused: list[str] = []


def pytest_collection_finish(session: pytest.Session) -> None:
    _collected.update(item.nodeid for item in session.items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    _collected.update(ids)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _judge(report)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        _outcomes[report.nodeid] = report.outcome
    _judge(report)


def _judge(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped:
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "expected to fail"
    if not reason.removeprefix("Skipped: ").startswith(REASONS):
        _refused.append(f"{report.nodeid}: {reason}")


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if hasattr(session.config, "workerinput"):
        return  # one of several processes: the first one counts
    silent = _collected - _outcomes.keys()
    if exitstatus != 0 or session.config.option.collectonly:
        return
    if silent:
        print(f"\n{len(silent)} tests were collected but did not run: {sorted(silent)[:5]}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if _refused:
        print(f"\nskipped for another reason than {' or '.join(REASONS)}")
        print("\n".join(_refused))
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if path := os.environ.get("RAG_PG_TEST_REPORT"):
        stats = terminalreporter.stats
        counted = [f"{len(stats[key])} {key}" for key in KINDS if stats.get(key)]
        failed = [report.nodeid for key in KINDS[1:3] for report in stats.get(key, ())]
        Path(path).write_text("\n".join([", ".join(counted) or "no tests", *failed]) + "\n")
