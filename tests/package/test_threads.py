"""Every thread of the package goes on in the context of who starts it."""

import ast
import threading
from contextvars import ContextVar

from paths import ROOT

from rag_pg.threads import Threads, start_thread, start_timer

OWN = {"threads.py"}
STARTERS = {"ThreadPoolExecutor", "Thread", "Timer", "start_new_thread", "to_thread"}
number: ContextVar[int] = ContextVar("number", default=0)


def test_nothing_else_starts_threads() -> None:
    found = set()
    for path in (ROOT / "rag_pg").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name in OWN or not any(name in text for name in STARTERS):
            continue
        for node in ast.walk(ast.parse(text)):
            called = node.func if isinstance(node, ast.Call) else None
            name = getattr(called, "attr", getattr(called, "id", None))
            if name in STARTERS:
                found.add(f"{path.name}: {name}")
    assert found == set()


def test_calls_that_outlive_their_caller_run_in_the_context_of_the_pool() -> None:
    number.set(7)
    with Threads(1, outlive=True) as threads:
        number.set(8)
        assert threads.submit(number.get).result() == 7
    number.set(0)


def test_pools_threads_and_timers_inherit_the_context() -> None:
    seen: list[int] = []
    ended = threading.Event()
    number.set(7)

    def see(_: object = None) -> int:
        seen.append(number.get())
        return number.get()

    with Threads(2) as threads:
        assert threads.submit(see).result() == 7
        assert list(threads.map(see, range(3))) == [7, 7, 7]
    start_thread(see, "one").join()

    def end() -> None:
        see()
        ended.set()

    start_timer(0.0, end)
    assert ended.wait(120) and set(seen) == {7}
    number.set(0)
