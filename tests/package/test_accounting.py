"""The suite's own rule: what is skipped for want of anything but an engine
or data fails the run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from accounting import REASONS
from paths import ROOT, SUPPORT
from rota import spread
from run import main


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("pass", 0),
        ("pytest.skip('no engine: docker')", 0),
        ("pytest.skip('no data: RAG_PG_EVAL_DATA is not set')", 0),
        ("pytest.importorskip('nowhere')", 1),
        ("pytest.skip('takes minutes')", 1),
        ("pytest.xfail('later')", 1),
    ],
)
def test_a_skip_is_for_a_missing_engine_or_data_alone(
    tmp_path: Path, body: str, status: int
) -> None:
    (tmp_path / "test_it.py").write_text(f"import pytest\ndef test_it():\n    {body}\n")
    command = [sys.executable, "-m", "pytest", "-p", "accounting", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "no:xdist", "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(SUPPORT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stdout + done.stderr


def reasons(source: str) -> Iterator[str]:
    """What each skip of a file of tests says, as far as it is written there; a name as it is."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr not in ("skip", "skipif", "importorskip", "xfail"):
            continue
        named = {one.arg: one.value for one in node.keywords}
        said = named.get("reason") or (node.args[0] if node.func.attr == "skip" else None)
        if isinstance(said, ast.JoinedStr):
            said = said.values[0]
        if isinstance(said, ast.Name):
            yield said.id
        else:
            yield str(said.value) if isinstance(said, ast.Constant) else ast.unparse(node)


def test_every_skip_that_is_written_is_one_that_a_run_admits() -> None:
    """Also those that this machine does not need."""
    found = [
        (path.relative_to(ROOT).as_posix(), said)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if path != Path(__file__)
        for said in reasons(path.read_text())
    ]
    assert len(found) > 30
    assert [one for one in found if not one[1].startswith((*REASONS, "NO_ENGINE"))] == []


def test_a_half_that_fails_does_not_hide_the_other(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = """import os
def test_good(): pass
def test_bad(): assert os.environ["RAG_PG_TEST_POSTGRES"] != "18"
"""
    (tmp_path / "test_it.py").write_text(body)
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    options = ["-p", "accounting", "-p", "no:cacheprovider", "-c", os.devnull]
    for halves in (("18", "16"), ("16",)):
        failed = main(
            [*options, "--rootdir", str(tmp_path)], dict.fromkeys(halves, (str(tmp_path),))
        )
        assert failed == ("18" in halves)
        summary = capfd.readouterr().out.split("--- summary")[1]
        assert "PostgreSQL 16 passed: 2 passed" in summary
        if failed:
            assert "PostgreSQL 18 FAILED with status 1: 1 passed, 1 failed" in summary
            assert "    test_it.py::test_bad" in summary


def test_few_cases_are_the_first_the_last_and_some_between() -> None:
    assert spread(16, 4) == {0, 5, 10, 15}  # four values of each of two parameters
    assert spread(9, 1) == {0}
    for cases in range(1, 40):
        for count in range(2, 9):
            found = spread(cases, count)
            assert {0, cases - 1} <= found <= {*range(cases)}
            assert len(found) == min(cases, count)
