"""Run the suite on PostgreSQL 18, and what may differ by version on 16: both always, one summary.

python tests/run.py [--times N] [options of pytest]      `make test`, `make test-repeat`
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What may differ by the version of the server: what holds for the whole schema (its catalogue, the
# plans and rights of every function, each called with right and with any arguments),
# installing and upgrading, errors by their SQLSTATE, a replica, the views of the system that
# functions read, and each way to search once. Locks, oracles, histories and what Python does are
# told by 18 alone; `make test-16` runs all of tests/sql and tests/db, as `.ci/run` does in turn.
ON_16 = (
    *sorted(
        path.relative_to(ROOT).as_posix()
        for path in ROOT.glob("tests/sql/test_*.py")
        if path.name != "test_locks.py"
    ),
    *("tests/sql/admin", "tests/sql/job", "tests/sql/vector/test_vector.py"),
    *("tests/sql/keyword/test_keyword.py", "tests/sql/search/test_search.py"),
    *("tests/sql/filter/test_columns.py", "tests/sql/document/test_bulk_load.py"),
    *("tests/db/test_upgrade.py", "tests/db/test_fault.py", "tests/db/test_replica.py"),
)
HALVES: dict[str, tuple[str, ...]] = {"18": (), "16": ON_16}


def run_half(version: str, options: Sequence[str], folder: Path) -> tuple[bool, str]:
    """Run pytest on one version; return whether all passed, and what the summary says."""
    report = folder / version
    report.unlink(missing_ok=True)
    environment = {"RAG_PG_TEST_POSTGRES": version, "RAG_PG_TEST_REPORT": str(report)}
    began = time.monotonic()
    print(f"\n--- PostgreSQL {version}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=ROOT,
        env=os.environ | environment,
    )
    seconds = time.monotonic() - began
    counted, *failed = report.read_text().splitlines() if report.exists() else ["it did not end"]
    state = "passed" if done.returncode == 0 else f"FAILED with status {done.returncode}"
    told = f"PostgreSQL {version} {state}: {counted}, {seconds:.0f} s"
    return done.returncode == 0, "\n".join([told, *(f"    {line}" for line in failed)])


def main(arguments: list[str], halves: Mapping[str, Sequence[str]] = HALVES) -> int:
    times = 1
    if arguments[:1] == ["--times"]:
        times, arguments = int(arguments[1]), arguments[2:]
    with tempfile.TemporaryDirectory() as folder:
        runs = [
            run_half(version, [*arguments, *chosen], Path(folder))
            for _ in range(times)
            for version, chosen in halves.items()
        ]
    print("\n--- summary", *(told for _, told in runs), sep="\n")
    return 0 if all(passed for passed, _ in runs) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
