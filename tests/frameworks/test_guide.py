"""The examples of the guide run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from paths import ROOT

GUIDE = (ROOT / "docs" / "guides" / "frameworks.md").read_text(encoding="utf-8")
EXAMPLES = [
    code for code in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if "with Rag() as" in code
]


def test_each_framework_has_an_example_of_few_lines() -> None:
    assert len(EXAMPLES) == 3
    assert all(len(code.splitlines()) <= 12 for code in EXAMPLES)


@pytest.mark.parametrize("code", EXAMPLES, ids=["langchain", "llama_index", "haystack"])
def test_an_example_runs(
    code: str,
    dsn: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "handbook").mkdir()
    text = "# Backups\n\nBackups are kept for thirty days.\n"
    (tmp_path / "handbook" / "backup.md").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAG_PG_DSN", dsn)
    exec(compile(code, "guide", "exec"), {})
    assert "Backups are kept for thirty days." in capsys.readouterr().out
