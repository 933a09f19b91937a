"""Git repositories made by tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest


def git(folder: Path, *arguments: str) -> str:
    if shutil.which("git") is None:
        pytest.skip("no engine: git is not on the PATH")
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        check=True, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    return done.stdout.strip()


def commit(folder: Path, files: Mapping[str, str]) -> str:
    """Make a commit of a repository hold these files alone, and return it."""
    if not folder.exists():
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        git(folder, "config", "uploadpack.allowFilter", "true")
    for path in folder.glob("*.md"):
        path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "files")
    return git(folder, "rev-parse", "HEAD")
