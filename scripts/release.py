"""Write down a release for the tests of later ones: a filled database and what it answers.

python scripts/release.py      writes tests/db/releases/<version>, when a release is tagged

dump.sql.xz is a plain dump by PostgreSQL 16, which 16 and newer restore. results.json.xz has what
its tables hold, what each call that only reads returns, searches, evaluation, and how the functions
that the package calls are called. Calls whose results are not the same twice are left out.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from release_dump import (  # noqa: E402
    RELEASES,
    called_functions,
    dump,
    fill_database,
    observe,
    protocol,
    reading_calls,
    restore,
)

from rag_pg.db import Databases, schema  # noqa: E402
from rag_pg.db.connection import API_VERSION  # noqa: E402
from rag_pg.db.embedded import EmbeddedServer  # noqa: E402
from rag_pg.version import __version__  # noqa: E402


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rag-pg-release-") as name:
        home = Path(name)
        home.chmod(0o755)
        server = EmbeddedServer(home / "postgres", postgres_version=16)
        try:
            databases = Databases(server.start())
            filled = databases.create()
            schema.upgrade(filled)
            fill_database(filled, home)
            dumped = dump(server, filled)
            seen = []
            for _ in range(2):
                restored = databases.create()
                restore(server, restored, dumped)
                schema.upgrade(restored)
                seen.append(observe(restored, home, reading_calls()))
            first, second = seen
            first["calls"] = {
                call: rows for call, rows in first["calls"].items() if second["calls"][call] == rows
            }
            for part in ("tables", "searches", "evaluation"):
                assert first[part] == second[part], (part, first[part], second[part])
            first["api_version"] = API_VERSION
            first["protocol"] = protocol(filled, called_functions())
            databases.close()
        finally:
            server.stop()
    folder = RELEASES / __version__
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dump.sql.xz").write_bytes(dumped)
    text = json.dumps(first, indent=0, sort_keys=True).encode()
    (folder / "results.json.xz").write_bytes(lzma.compress(text))
    for path in sorted(folder.iterdir()):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")
    print(f"{len(first['calls'])} calls, {len(first['protocol'])} functions of the protocol")


if __name__ == "__main__":
    main()
