"""Write the table of CONTRIBUTING.md that shows where ten public SQL functions are, in SQL,
in Python and in the tests.

python scripts/generate_contributing.py    `make docs` runs it; a test compares what it would write
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
FUNCTIONS = (
    "create_collection",
    "create_space",
    "put_documents",
    "count_documents",
    "search",
    "snippet",
    "take_jobs",
    "store_chunks",
    "block_provider",
    "doctor",
)
TABLE = re.compile(r"(?<=<!-- written by make docs -->\n).*?(?=<!-- end -->)", re.DOTALL)


def table() -> str:
    """One row per function: the file that creates it, the file that calls it,
    the file that tests it."""
    rows = ["| function | SQL | Python | tests |", "| --- | --- | --- | --- |"]
    for name in FUNCTIONS:
        created = re.compile(rf"CREATE OR REPLACE (FUNCTION|PROCEDURE) rag\.{name}\(")
        tested = re.compile(rf"\brag\.{name}\(")
        called = re.compile(rf'"{name}"|\{{rag\}}\.{name}\(')
        made = _most(created, (ROOT / "sql").rglob("*.sql"))
        folder = made.parent.name
        files = (
            made,
            _most(called, _callers(called), f"{made.stem}.py"),
            _most(tested, (ROOT / "tests" / "sql" / folder).glob("*.py"), f"test_{made.stem}.py"),
        )
        shown = " | ".join(f"`{file.relative_to(ROOT).as_posix()}`" for file in files)
        rows.append(f"| `rag.{name}` | {shown} |")
    return "\n".join(rows) + "\n"


def _callers(called: re.Pattern[str]) -> list[Path]:
    """The files of the database that call it, else those that do so by name alone."""
    files = [p for p in sorted((ROOT / "rag_pg").rglob("*.py")) if p.name != "__init__.py"]
    found = [path for path in files if called.search(path.read_text())]
    return [path for path in found if path.parent.name == "db"] or found


def _most(pattern: re.Pattern[str], files: Iterable[Path], name: str = "") -> Path:
    """Of the files with a match the one of this name, else the one with most matches."""
    counted = [(len(pattern.findall(file.read_text())), file) for file in files]
    found = [(file.name != name, -count, file) for count, file in counted if count]
    if not found:
        raise LookupError(f"no file has {pattern.pattern}")
    return min(found)[2]


def written(page: str) -> str:
    """The page with the table as it is now."""
    return TABLE.sub(lambda _: table(), page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
