"""The files that a release carries: SQL functions and revisions."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from rag_pg.db.schema.name import OWN

PACKAGE = Path(__file__).parents[2]


def share(name: str) -> Path:
    """Return a folder or file that the wheel carries:
    in the package, else beside it in a checkout."""
    inside = PACKAGE / "_share" / name
    return inside if inside.exists() else PACKAGE.parent / name


def sql_files() -> list[Path]:
    """Return the files of SQL functions in the order of their application."""
    return sorted(share("sql").rglob("*.sql"))


def word_filters() -> list[Path]:
    """Return the files of ordinary words, one a language (rag_pg.db.schema.words)."""
    return sorted(share("sql").rglob("*.bloom"))


def file_name(path: Path) -> str:
    """A file of sql/ as it is named in rag.installed and in messages: its path below sql/."""
    return path.relative_to(share("sql")).as_posix()


def packaged_files() -> dict[str, str]:
    """Return the digest of each file of sql/ by its name in rag.installed."""
    files = {file_name(p): p.read_text(encoding="utf-8").encode() for p in sql_files()}
    files |= {file_name(p): p.read_bytes() for p in word_filters()}
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def revision_files() -> dict[str, str]:
    """Return the digest of each revision of the tables by the name of its file."""
    files = share("alembic").glob("versions/[0-9]*.py")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def packaged_routines() -> set[str]:
    """Return the names of the routines that the files make. No name has two."""
    texts = (path.read_text(encoding="utf-8") for path in sql_files())
    return {name for text in texts for name, _ in routines_of(text) if name}


def routines_of(text: str) -> list[tuple[str, str]]:
    """Cut a file of sql/ before each routine: (name, statements), of what stands before the first
    one ("", statements)."""
    begin = r"^CREATE OR REPLACE (?:FUNCTION|PROCEDURE) rag\.(\w+)"
    first, *parts = re.split(f"(?=({begin}))", text, flags=re.M)
    return [("", first), *((parts[i + 1], parts[i + 2]) for i in range(0, len(parts), 3))]


def quoted(name: str) -> str:
    """Return an identifier of letters, digits, spaces, `_`, `-`, `"` and escapes:
    it may stand in a literal or a format, and is not taken for our schema's name."""
    if re.fullmatch(r'[\w "-]*', name) and not OWN.search(name):
        return '"' + name.replace('"', '""') + '"'
    escaped = "".join(c if re.match(r"[a-qs-z0-9_ -]", c) else f"\\+{ord(c):06X}" for c in name)
    return f'U&"{escaped}"'


def read_sql(path: Path, vector_schema: str) -> str:
    return path.read_text(encoding="utf-8").replace("{vector}", quoted(vector_schema))
