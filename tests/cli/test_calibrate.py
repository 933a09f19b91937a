"""`rag-pg calibrate`: what it says of questions that it could not read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_pg.cli import calibrate as command
from rag_pg.cli.app import app
from rag_pg.types import Rejected


@pytest.mark.parametrize("rejected", [(), (Rejected(file="q.jsonl", line=2, reason="no JSON"),)])
def test_questions_that_are_left_out_set_the_exit_code(
    rejected: tuple[Rejected, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = SimpleNamespace(calibration=lambda: None, calibrate=lambda *_, **__: {"n": 1})
    report = SimpleNamespace(rejected=rejected)

    @contextmanager
    def opened(dsn: str | None) -> Iterator[Any]:
        yield SimpleNamespace(import_eval_set=lambda *_: report)

    monkeypatch.setattr(command, "open_client", opened)
    monkeypatch.setattr(command, "open_collection", lambda *_: target)
    monkeypatch.setattr(command, "print_json", lambda found: None)
    done = CliRunner().invoke(app, ["calibrate", "docs", "--questions", "q.jsonl", "--json"])
    assert done.exit_code == (1 if rejected else 0), done.output
    assert ("no JSON" in done.output) == bool(rejected)
