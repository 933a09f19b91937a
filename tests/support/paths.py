"""Where the checkout, its tests' helpers and a test's server are, and the code of its pages."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from rag_pg.testing import server_folder

__all__ = ["RECORDINGS", "ROOT", "SUPPORT", "blocks", "script", "server_folder"]

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
RECORDINGS = SUPPORT / "recordings"  # tables as other programs make them


def blocks(page: str, language: str) -> list[str]:
    """The fenced code blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def script(name: str) -> ModuleType:
    """A program in scripts/, imported."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
