"""The package without its extras: what needs one names it. `make wheel-test` runs the same program
where they are not installed; here their libraries cannot be imported."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution, packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from paths import ROOT
from patience import BOUND

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FRAMEWORKS = {"langchain", "llama-index", "haystack"}
EXTRAS = PROJECT["optional-dependencies"].keys() - {"all", "bench", "dev", "frameworks", "unit"}
MOST = 12
HIDE = """
import json, runpy, sys
names = frozenset(json.loads(sys.argv.pop()))
class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] in names
        return None if hidden else self.finder.find_spec(name, path, target)
sys.meta_path[:] = map(Hiding, sys.meta_path)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def closure(requirements: list[str]) -> set[str]:
    """The distributions that these requirements install."""
    found: set[str] = set()
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        asked = waiting.pop()
        name = canonicalize_name(asked.name)
        extras = asked.extras or {""}
        if name in found and not asked.extras:
            continue
        found.add(name)
        waiting += [
            needed
            for needed in map(Requirement, distribution(name).requires or ())
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras)
        ]
    return found


def hidden() -> Iterator[str]:
    """The modules that the mandatory dependencies do not bring."""
    there = closure(PROJECT["dependencies"]) | {"rag-pg"}
    for module, distributions in packages_distributions().items():
        if not there & {canonicalize_name(name) for name in distributions}:
            yield module


@pytest.fixture
def said(dsn: str, tmp_path: Path) -> dict[str, Any]:
    program = ROOT / "tests" / "package" / "core.py"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
    done = subprocess.run(
        [sys.executable, "-c", HIDE, program, dsn, json.dumps(sorted(hidden()))],
        env=environment
        | {"RAG_PG_HOME": str(tmp_path), "GEMINI_API_KEY": "x"}
        | {"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "x"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=BOUND,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_few_dependencies_are_mandatory() -> None:
    assert len(PROJECT["dependencies"]) <= MOST


def test_all_names_every_extra_but_those_with_torch_and_an_old_sdk() -> None:
    (all_,) = map(Requirement, PROJECT["optional-dependencies"]["all"])
    assert all_.extras == EXTRAS - {"sentence-transformers", "gemini-legacy"} - FRAMEWORKS


def test_the_core_searches_by_vectors_of_its_own_and_names_each_missing_extra(
    said: dict[str, Any],
) -> None:
    assert said["found"] == ["page.md", "ready", "2 added", "page.md", "page.md"]
    assert said["missing"].keys() == EXTRAS - {
        "eval",
        "code",
        "gemini-legacy",
    }  # tested with theirs
    for extra, lines in said["missing"].items():
        for line in lines:
            assert re.search(rf"pip install .rag-pg\[{extra}\]", line) and "\n" not in line, line
