"""No test depends on chance, on the clock or on a quiet machine, as far as a program can tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import pytest
from paths import ROOT

TESTS = ROOT / "tests"
# They disturb or measure for as long as they are told; `make test` runs none of them.
TIMED = ("chaos/", "docker/", "fuzz/test_fuzz_concurrency.py")
OWN = ("support/patience.py", "support/fuzzing.py", "run.py")  # the clock and the seeds are theirs
CLOCK = {"sleep", "time", "monotonic", "perf_counter", "process_time", "thread_time"}
SEEDED = {"Random", "default_rng", "Generator", "RandomState"}
# What waits for another thread or process, and the shortest bound that no machine reaches.
WAITS = {"join", "wait", "result", "communicate", "Barrier"}
SHORTEST = 45


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def chance(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Random values that no seed gives again."""
    imported = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    shared = [
        ["np", "random"],
        ["numpy", "random"],
        *([["random"]] if "random" in imported else []),
    ]
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        *module, name = dotted(node.func).split(".")
        if module and module[-1] == "secrets":
            yield node.lineno, f"secrets.{name} has no seed"
        if module in shared and name not in SEEDED:
            yield node.lineno, f"{name} is of a generator that all share"
        if name in SEEDED - {"Generator"} and not node.args:
            yield node.lineno, f"{name}() has no seed"


def clock(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Sleeps, and clocks by which something could be measured."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and dotted(node) in {f"time.{name}" for name in CLOCK}:
            yield node.lineno, f"{dotted(node)}: wait by patience.wait_until"
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            yield node.lineno, "time is used by its full name"


def hurry(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Bounds that a busy machine reaches. A wait in the head of a loop is its pause."""
    heads = [n.test for n in nodes if isinstance(n, ast.While)]
    pauses = {id(call) for head in heads for call in ast.walk(head)}
    for node in nodes:
        if not isinstance(node, ast.Call) or id(node) in pauses:
            continue
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in WAITS:
            continue
        named = [k.value for k in node.keywords if k.arg == "timeout"]
        for value in named or node.args[:1] * (node.func.attr != "Barrier"):
            number = value.value if isinstance(value, ast.Constant) else None
            if isinstance(number, int | float) and number < SHORTEST:
                yield node.lineno, f"{number} s are reached on a busy machine: patience.BOUND"


def broken(text: str) -> Iterator[tuple[int, str]]:
    nodes = list(ast.walk(ast.parse(text)))
    for rule in (chance, clock, hurry):
        yield from rule(nodes)


def test_nothing_waits_by_sleeping_hurries_or_is_random_without_a_seed() -> None:
    found = []
    for path in sorted(TESTS.rglob("*.py")):
        name = path.relative_to(TESTS).as_posix()
        if not name.startswith(TIMED) and name not in OWN:
            found += [f"{name}:{line}: {why}" for line, why in broken(path.read_text())]
    assert "\n".join(found) == ""


@pytest.mark.parametrize(
    "text",
    [
        "import random; random.random()",
        "np.random.normal(3)",
        "Random()",
        "np.random.default_rng()",
        "secrets.randbelow(9)",
        "time.sleep(1)",
        "assert time.monotonic() - began < 10",
        "from time import sleep",
        "thread.join(20)",
        "process.wait(timeout=20)",
        "stop.wait(0.5)",
    ],
)
def test_each_kind_is_found(text: str) -> None:
    assert [line for line, _ in broken(text)] == [1]


@pytest.mark.parametrize(
    "text",
    [
        "import random; random.Random(7).random()",
        "random = Random(7); random.random()",
        "np.random.default_rng(seed)",
        "thread.join()",
        "thread.join(BOUND)",
        "process.communicate(timeout=600)",
        "while not stop.wait(0.01): work()",
        "', '.join(names)",
    ],
)
def test_what_is_bounded_or_seeded_is_left_alone(text: str) -> None:
    assert list(broken(text)) == []
