"""Model files: what a file is known by, and files that are written whole."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from uuid import uuid4


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's content in hexadecimal digits. Raises: OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def identity(path: Path) -> str:
    """Return 32 hexadecimal digits of a file's path, size and modification time."""
    status = path.stat()
    text = f"{path.resolve()}|{status.st_size}|{status.st_mtime_ns}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def write_whole(target: Path, content: bytes) -> None:
    """Write `target` whole or not at all, also when several processes do so at once."""
    temporary = target.with_name(f"{target.name}.{uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
