"""Where the checkout, its tests' helpers and a test's server are."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUPPORT = ROOT / "tests" / "support"
RECORDINGS = SUPPORT / "recordings"  # tables as other programs make them

MEMORY = Path("/dev/shm")
ENOUGH = 4 * 2**30  # bytes, for the servers of a whole run


def server_folder() -> Path:
    """Make a folder in memory where there is enough:
    a test's database is a thousand small files on a disk.

    Short, as a socket's path has 107 characters;
    open to others, as under root the server runs as another user.
    """
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH
    folder = Path(tempfile.mkdtemp(prefix="rag-pg-", dir=MEMORY if roomy else None))
    folder.chmod(0o755)
    return folder
