"""`rag-pg calibrate`: what it says of questions that it could not read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from rag_pg import console
from rag_pg.cli.app import app
from rag_pg.console import options
from rag_pg.evaluation.cli.calibration import print_calibration
from rag_pg.evaluation.generate import Estimate
from rag_pg.evaluation.types import Rejected
from rag_pg.types import Calibration, Usage


@pytest.mark.parametrize("rejected", [(), (Rejected(file="q.jsonl", line=2, reason="no JSON"),)])
def test_questions_that_are_left_out_set_the_exit_code(
    rejected: tuple[Rejected, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    calibrating = SimpleNamespace(calibration=lambda: None, calibrate=lambda *_, **__: {"n": 1})
    target = SimpleNamespace(evaluation=calibrating)
    report = SimpleNamespace(rejected=rejected)

    @contextmanager
    def opened(dsn: str | None) -> Iterator[Any]:
        sets = SimpleNamespace(import_file=lambda *_: report)
        yield SimpleNamespace(evaluation=SimpleNamespace(sets=sets))

    monkeypatch.setattr(options, "open_client", opened)
    monkeypatch.setattr(console, "open_collection", lambda *_: target)
    monkeypatch.setattr(console, "write_json", lambda found: None)
    done = CliRunner().invoke(app, ["calibrate", "docs", "--questions", "q.jsonl", "--json"])
    assert done.exit_code == (1 if rejected else 0), done.output
    assert ("no JSON" in done.output) == bool(rejected)


def test_judgements_begin_when_what_they_cost_is_agreed_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[dict[str, Any]] = []
    usage = Usage(prompt_tokens=1_400_000, answer_tokens=56_000)
    estimate = Estimate(calls=1400, usage=usage, cost=0.65)
    calibrating = SimpleNamespace(
        estimate_calibration=lambda *_, **options: estimate,
        calibrate=lambda *_, **options: asked.append(options),
    )
    target = SimpleNamespace(evaluation=calibrating)

    @contextmanager
    def opened(dsn: str | None) -> Iterator[Any]:
        yield SimpleNamespace()

    monkeypatch.setattr(options, "open_client", opened)
    monkeypatch.setattr(console, "open_collection", lambda *_: target)
    monkeypatch.setattr(console, "write_json", lambda found: None)
    arguments = ["calibrate", "docs", "--set", "faq", "--llm", "m", "--max-cost", "2", "--json"]
    declined = CliRunner().invoke(app, arguments, input="n\n")
    assert declined.exit_code == 1 and asked == []
    assert "1400 calls, about 1,456,000 tokens; about $0.65" in declined.output
    CliRunner().invoke(app, [*arguments, "--yes"])
    assert [(o["judge"], o["llm"], o["max_cost"]) for o in asked] == [(True, "m", 2.0)]


def test_a_terminal_gets_the_thresholds_that_differ_and_a_pipe_gets_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = Calibration(
        set_name="faq", settings={}, features=[], answerable_weights=[0], right_weights=[0],
        evidence_floor=0, thresholds=[0.0012, 0.0034, 0.0041, 0.52], answered=[100, 80, 60, 40],
        correct=[50, 45, 40, 38], lower_bounds=[0.4, 0.45, 0.53, 0.83], question_count=100,
        answerable_count=60, refuse_below=0.07, answer_from=1.0, context_ratio=None,
        figures={"accuracy": 0.8333, "auroc_near_misses": 0.761}, corpus_changed=True,
    )  # fmt: skip
    found = replace(plain, judged=replace(plain, judge_model="openai:small", answer_from=0.52))
    print_calibration(found)
    piped, told = capsys.readouterr()
    assert "accuracy\t0.8333\t0.8333\n" in piped and "auroc_off_corpus\t\t\n" in piped
    assert "\t0.0034\t80\t45\t0.45\n" in piped and "openai:small\t0.52\t40\t38" in piped
    assert "the documents are not those that it was measured on" in told

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    print_calibration(found)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    curve = [line.split() for line in shown.splitlines() if line.startswith("0.")]
    assert [row[:4] for row in curve[:2]] == [
        ["0.00", "100", "100%", "50"],
        ["0.52", "40", "40%", "38"],
    ]
    assert len(curve) == 4 and "never" in shown and "from 0.52" in shown
