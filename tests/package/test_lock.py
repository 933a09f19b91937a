"""requirements.lock: one exact version of everything that pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MAKEFILE = (ROOT / "Makefile").read_text()

LINES = (ROOT / "requirements.lock").read_text().splitlines()
LOCKED = [Requirement(line) for line in LINES if not line.startswith("#")]
EXTRAS = PROJECT["optional-dependencies"].values()
ASKED = [
    Requirement(text)
    for texts in (PROJECT["dependencies"], *EXTRAS, re.findall(r'"([a-z0-9-]+<[\d.]+)"', MAKEFILE))
    for text in texts
    if not text.startswith("rag-pg[")
]


def environment(python: str) -> dict[str, str]:
    """The markers' values on Linux with this version of Python."""
    values = {**default_environment(), "sys_platform": "linux", "platform_machine": "x86_64"}
    version = {"python_version": python.rpartition(".")[0], "python_full_version": python}
    return {**{name: str(value) for name, value in values.items()}, **version}


def pins(python: str) -> dict[str, str]:
    """The exact versions that hold under this version of Python."""
    here = [r for r in LOCKED if r.marker is None or r.marker.evaluate(environment(python))]
    found = {str(canonicalize_name(r.name)): str(r.specifier).removeprefix("==") for r in here}
    assert len(found) == len(here), "two versions of one package"
    return found


@pytest.mark.parametrize("python", ["3.11.2", "3.11.7", "3.12.1", "3.13.0"])
def test_the_lock_holds_everything_that_is_asked_for(python: str) -> None:
    found = pins(python)
    names = {canonicalize_name(r.name) for r in ASKED} | {"torch", "hatchling"}
    assert names - found.keys() == set(), "run make lock"
    wrong = [
        f"{r} is locked at {found[canonicalize_name(r.name)]}"
        for r in ASKED
        if not r.specifier.contains(found[canonicalize_name(r.name)], prereleases=True)
    ]
    assert wrong == [], "run make lock"


def test_every_locked_version_is_exact() -> None:
    assert [str(r) for r in LOCKED if not re.fullmatch(r"==[\w.]+", str(r.specifier))] == []


def test_torch_is_locked_at_the_version_that_the_makefile_names() -> None:
    (named,) = re.findall(r"^TORCH := (.+)$", MAKEFILE, re.M)
    assert pins("3.11.7")["torch"] == named
