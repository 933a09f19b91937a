"""The files that a release carries: SQL functions and revisions."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2]


def share(name: str) -> Path:
    """Return a folder or file that the wheel carries:
    in the package, else beside it in a checkout."""
    inside = PACKAGE / "_share" / name
    return inside if inside.exists() else PACKAGE.parent / name


def sql_files() -> list[Path]:
    """Return the files of SQL functions in the order of their application."""
    return sorted(share("sql").rglob("*.sql"))


def file_name(path: Path) -> str:
    """A file of sql/ as it is named in rag.installed and in messages: its path below sql/."""
    return path.relative_to(share("sql")).as_posix()


def packaged_files() -> dict[str, str]:
    """Return the digest of each file of sql/ by its name in rag.installed."""
    root = share("sql")
    return {
        path.relative_to(root).as_posix(): digest(path.read_text(encoding="utf-8"))
        for path in root.rglob("*.sql")
    }


def quoted(name: str) -> str:
    """Return an identifier of letters, digits, spaces, `_`, `-`, `"` and escapes:
    it may stand in a literal or a format."""
    if re.fullmatch(r'[\w "-]*', name):
        return '"' + name.replace('"', '""') + '"'
    escaped = "".join(c if re.match(r"[\w -]", c) else f"\\+{ord(c):06X}" for c in name)
    return f'U&"{escaped}"'


def read_sql(path: Path, vector_schema: str) -> str:
    return path.read_text(encoding="utf-8").replace("{vector}", quoted(vector_schema))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
