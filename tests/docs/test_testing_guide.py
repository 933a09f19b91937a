"""docs/guides/testing.md is true: its files are a suite that passes, in a closed folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

PAGE = (ROOT / "docs" / "guides" / "testing.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.parametrize(
    "server", [pytest.param("its own", marks=pytest.mark.minutes), "one that is given"]
)
def test_the_suite_of_the_page_passes(tmp_path: Path, server_dsn: str, server: str) -> None:
    """In `make test` beside the server of the run, which rag_pg.testing started, as it would
    start its own."""
    assert list(FILES) == ["conftest.py", "test_search.py"]
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    tmp_path.chmod(0o700)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("RAG_PG_", "PYTEST_"))}
    if server == "one that is given":
        environment["RAG_PG_TEST_DSN"] = server_dsn
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", tmp_path],
        cwd=tmp_path,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


def test_the_page_names_every_fixture() -> None:
    from rag_pg import testing

    source = Path(testing.__file__).read_text(encoding="utf-8")
    fixtures = re.findall(r"@pytest\.fixture.*\ndef (\w+)\(", source)
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == fixtures
