"""The examples of docs/examples run as they stand."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

EXAMPLES = ROOT / "docs" / "examples"
SYNC = "import runpy; runpy.run_path({path!r})['main']()"


def run(dsn: str, *arguments: str | Path) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        env=environment | {"RAG_PG_DSN": dsn},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_sqlalchemy_join_runs(dsn: str) -> None:
    path = EXAMPLES / "sqlalchemy_join.py"
    for _ in range(2):  # again, over what it left
        lines = run(dsn, "-c", SYNC.format(path=str(path))).splitlines()
        assert [line.split()[1:] for line in lines] == [["tarp", "39.00"], ["stove", "45.00"]]


@pytest.mark.minutes
def test_sqlalchemy_join_runs_asynchronously(dsn: str) -> None:
    assert "asynchronously: ['tarp', 'stove']" in run(dsn, EXAMPLES / "sqlalchemy_join.py")
