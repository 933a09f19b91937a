"""The benchmarks' files, which are run as scripts from their own folder."""

import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"


def test_no_benchmark_hides_a_module_of_the_standard_library() -> None:
    scripts = {path.stem for path in BENCH.glob("*.py")}
    assert len(scripts) > 10
    assert scripts & sys.stdlib_module_names == set()
