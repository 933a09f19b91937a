"""A plugin for pytest: every collected test runs;
a skip is for a missing engine or missing data alone.

What needs a package or a user is installed or run as one, so that no proof goes missing unseen.
"""

from __future__ import annotations

from typing import Any

import pytest

REASONS = (
    "no engine: ",
    "no data: ",
    "no root: ",
)  # nobody becomes root for a test; root becomes nobody

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
