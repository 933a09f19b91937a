"""Run `rag-pg demo` and write what it prints to docs/demo.svg, the picture in README.md.

python scripts/record_demo.py    after a change of what the demo prints; on an embedded server
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "demo.svg"
WIDTH = 108


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="rag-pg-"))
    folder.chmod(0o755)  # under root the server runs as another user
    run = [sys.executable, "-m", "rag_pg"]
    environment = os.environ | {
        "RAG_PG_HOME": str(folder),
        "COLUMNS": str(WIDTH),
        "FORCE_COLOR": "1",
    }
    environment.pop("RAG_PG_DSN", None)
    try:
        done = subprocess.run(
            [*run, "demo"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    finally:
        subprocess.run([*run, "db", "stop"], env=environment, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)
    shown = done.stdout.replace(str(folder), "~/.local/share/rag_pg").strip()
    console = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False)
    console.print(Text.from_ansi(shown))
    console.save_svg(str(TARGET), title="make demo")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
