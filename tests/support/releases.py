"""Other releases of this program: its files with changes, and what they do in processes of theirs.

They lie as a wheel is unpacked, and come first on PYTHONPATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from paths import ROOT

from rag_pg.db.connection import API_VERSION
from rag_pg.version import __version__

UPGRADE = "import sys; from rag_pg.db import schema; print(schema.upgrade(sys.argv[1]))"
PLAN = "import sys; from rag_pg.db import schema; print(*schema.plan(sys.argv[1]), sep=chr(10))"
# What a client of the embedded server does when it opens.
OPEN = """
import sys
from rag_pg.db.database import Database
database = Database(sys.argv[1])
database.open(upgrade=True)
database.close()
"""


def make_release(
    folder: Path,
    version: str,
    *,
    api: tuple[int, int] | None = None,
    changes: Mapping[str, list[tuple[str, str]]] | None = None,
    files: Mapping[str, str] | None = None,
) -> Path:
    """Write a release into `folder` and return it.

    api: its rag.min_api_version() and rag.api_version(), which is its clients' version, too.
    changes: pairs of what stands in a file and what stands there instead, by its path.
    files: further ones, by their paths.
    """
    shutil.copytree(ROOT / "rag_pg", folder / "rag_pg")
    for part in ("sql", "alembic"):
        shutil.copytree(ROOT / part, folder / "rag_pg" / "_share" / part)
    every = {
        "rag_pg/version.py": [(__version__, version)],
        "sql/admin/version.sql": [(f"'{__version__}'", f"'{version}'")],
        **(changes or {}),
    }
    if api is not None:
        for name, number in zip(("min_api_version", "api_version"), api, strict=True):
            head = f"FUNCTION rag.{name}()\nRETURNS integer\nLANGUAGE sql IMMUTABLE PARALLEL SAFE\n"
            present = (ROOT / "sql/admin/version.sql").read_text(encoding="utf-8")
            old = f"{head}{present.partition(head)[2].partition(';')[0]};"
            every["sql/admin/version.sql"].append((old, f"{head}RETURN {number};"))
        every["rag_pg/db/connection.py"] = [
            (f"\nAPI_VERSION = {API_VERSION}\n", f"\nAPI_VERSION = {api[1]}\n")
        ]
    changed = {path: _changed(ROOT / path, pairs) for path, pairs in every.items()}
    for path, text in {**changed, **(files or {})}.items():
        home = folder if path.startswith("rag_pg/") else folder / "rag_pg" / "_share"
        (home / path).write_text(text, encoding="utf-8")
    return folder


def _changed(path: Path, pairs: Iterable[tuple[str, str]]) -> str:
    text = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert text.count(old) == 1, (path, old)
        text = text.replace(old, new)
    return text


def run_release(
    release: Path, program: str, *arguments: str, dsn: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a program of Python with a release's own rag_pg. dsn: its RAG_PG_DSN."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
    environment |= {"PYTHONPATH": str(release), "RAG_PG_HOME": str(release), "RAG_PG_DSN": dsn}
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment,
        cwd=release,
        capture_output=True,
        text=True,
    )
