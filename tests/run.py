"""Run the suite on PostgreSQL 18 and, beside it, what may differ by version on 16; one summary.

python tests/run.py [--times N] [options of pytest]      `make test`, `make test-repeat`
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
# What of upgrades asks the server: roles, extensions, search paths, what depends on what.
UPGRADES_ON_16 = (
    "test_a_fresh_install_checks_clean_and_a_second_upgrade_changes_nothing",
    "test_pgvector_in_another_schema_under_an_odd_search_path",
    "test_an_owner_who_is_no_superuser_can_install_and_work",
    "test_a_role_without_rights_gets_one_clear_line",
    "test_functions_whose_bodies_name_each_other_are_replaced_and_removed",
    "test_an_upgrade_leaves_what_the_files_make_whatever_its_transaction_made[made0]",
    "test_what_of_others_depends_on_an_old_function_is_named",
    "test_check_finds_hand_patched_missing_and_foreign_functions",
    "test_a_schema_in_which_others_may_create_is_refused",
)
# What may differ by the version of the server: what holds for the whole schema (its catalogue, the
# rights of every function, each called with right arguments), installing and upgrading, errors by
# their SQLSTATE, the views of the system that functions read, and each way to search once. Plans of
# 20,000 chunks, locks, names, any arguments, growth, oracles, histories, a replica, rag.help(), the
# queue, what a query is read as and what Python does are told by 18 alone; `make test-16` runs all
# of tests/sql and tests/db, as `.ci/run` does in turn.
ON_18 = {
    f"test_{name}.py"
    for name in (
        *("plans", "locks", "names", "any_argument", "growth", "slots", "help"),
        "many_in_one_call",
    )
}
ON_16 = (
    *sorted(
        path.relative_to(ROOT).as_posix()
        for folder in ("tests/sql", "tests/sql/admin")
        for path in (ROOT / folder).glob("test_*.py")
        if path.name not in ON_18
    ),
    *("tests/sql/search/test_search.py", "tests/sql/filter/test_columns.py"),
    "tests/db/test_fault.py::test_the_servers_errors_are_somebodys_fault",
    *(f"tests/db/test_upgrade.py::{name}" for name in UPGRADES_ON_16),
)
HALVES: dict[str, tuple[str, ...]] = {"18": (), "16": ON_16}


def start_half(
    version: str, options: Sequence[str], folder: Path, output: IO[bytes] | None
) -> subprocess.Popen[bytes]:
    """Start pytest on one version. output: where it prints to, None as this program."""
    report = folder / version
    report.unlink(missing_ok=True)
    environment = {"RAG_PG_TEST_POSTGRES": version, "RAG_PG_TEST_REPORT": str(report)}
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *options],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=output,
        stderr=output and subprocess.STDOUT,
    )


def summary(version: str, status: int, seconds: float, folder: Path) -> str:
    """What the summary says of a half that ended with that status."""
    report = folder / version
    counted, *failed = report.read_text().splitlines() if report.exists() else ["it did not end"]
    state = "passed" if status == 0 else f"FAILED with status {status}"
    first = f"PostgreSQL {version} {state}: {counted}, {seconds:.0f} s"
    return "\n".join([first, *(f"    {line}" for line in failed)])


def share_of(options: Sequence[str], number: int) -> list[str]:
    """The options of a half, of whose processes the first half has three quarters and the second
    one the rest, each at least one."""
    if "--numprocesses" not in options:
        return list(options)
    place = options.index("--numprocesses") + 1
    rest = max(1, int(options[place]) // 4)
    count = rest if number else max(1, int(options[place]) - rest)
    return [*options[:place], str(count), *options[place + 1 :]]


def run_halves(
    options: Sequence[str], halves: Mapping[str, Sequence[str]], folder: Path
) -> list[tuple[bool, str]]:
    """Run all halves at once, the first one seen, what the others print when they have ended;
    return for each whether all passed, and what the summary says."""
    began = time.monotonic()
    started = []
    with contextlib.ExitStack() as stack:
        for number, (version, chosen) in enumerate(halves.items()):
            output = stack.enter_context(tempfile.TemporaryFile()) if number else None
            half = start_half(version, [*share_of(options, number), *chosen], folder, output)
            started.append((version, stack.enter_context(half), output))
        ended = []
        for version, half, output in started:
            print(f"\n--- PostgreSQL {version}", flush=True)
            status = half.wait()
            if output is not None:
                output.seek(0)
                print(output.read().decode(errors="replace"), flush=True)
            ended.append((version, status, time.monotonic() - began))
    return [(status == 0, summary(version, status, s, folder)) for version, status, s in ended]


def main(arguments: list[str], halves: Mapping[str, Sequence[str]] = HALVES) -> int:
    times = 1
    if arguments[:1] == ["--times"]:
        times, arguments = int(arguments[1]), arguments[2:]
    with tempfile.TemporaryDirectory() as folder:
        runs = [run for _ in range(times) for run in run_halves(arguments, halves, Path(folder))]
    print("\n--- summary", *(told for _, told in runs), sep="\n")
    return 0 if all(passed for passed, _ in runs) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
