"""What the HTTP service costs beyond the client's call, and many answers at once: server CPU of a
search over HTTP and in process, streams whose model thinks, a search beside them, what is left
when readers go away; the first words of an answer without a model; how long unknown keys take that
are near to one or far from it; the first paint of the page, where playwright and a Chromium are.

python bench/service.py [SEARCHES]
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import psycopg
from lib.service import filled_service

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from fake_openai import FakeOpenAI

THINKS = 2.0  # seconds
QUESTION = {"collection": "docs", "question": "How do I restore a backup?", "strategy": "single"}
SEARCH = {"collection": "docs", "query": "restore a backup"}


def cpu_of(pid: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def search_overhead(url: str, pid: int, rag: Any, count: int) -> None:
    docs = rag.get_collection("docs")
    with httpx2.Client(base_url=url) as web:
        for _ in range(20):
            web.post("/search", json=SEARCH).raise_for_status()
            docs.search(SEARCH["query"])
        before = cpu_of(pid)
        for _ in range(count):
            web.post("/search", json=SEARCH)
        served = (cpu_of(pid) - before) / count
        before = time.process_time()
        for _ in range(count):
            docs.search(SEARCH["query"])
        called = (time.process_time() - before) / count
    print(
        f"CPU of a search: service {1000 * served:.2f} ms, client {1000 * called:.2f} ms,"
        f" overhead {1000 * (served - called):.2f} ms"
    )


async def streams(url: str, fake: FakeOpenAI, count: int, thinks: float) -> None:
    """Read so many answers at once, with searches beside them."""
    limits = httpx2.Limits(max_connections=count + 4)
    async with httpx2.AsyncClient(base_url=url, timeout=300, limits=limits) as web:

        async def timed_search() -> float:
            began = time.perf_counter()
            (await web.post("/search", json=SEARCH)).raise_for_status()
            return time.perf_counter() - began

        # The first answer of a process waits for the provider's library to be imported.
        (await web.post("/ask", json=QUESTION)).raise_for_status()
        alone = statistics.median([await timed_search() for _ in range(20)])
        for _ in range(3 * count):
            fake.delay(thinks)

        async def read(number: int) -> tuple[float, bool]:
            last, gap, whole = time.perf_counter(), 0.0, False
            body = QUESTION | {"question": f"{QUESTION['question']} {number}", "stream": True}
            async with web.stream("POST", "/ask", json=body) as response:
                response.raise_for_status()
                async for line in response.aiter_lines():
                    if line.startswith("event"):
                        now = time.perf_counter()
                        gap, last = max(gap, now - last), now
                        whole = whole or line == "event: answer"
            return gap, whole

        began = time.perf_counter()
        reading, beside = asyncio.gather(*map(read, range(count))), list[float]()
        while not reading.done():  # over the whole time, not at the moment when all of them begin
            beside.append(await timed_search())
            await asyncio.sleep(0.05)
        done = await reading
        print(
            f"{count} streams, model thinks {thinks:g} s: {time.perf_counter() - began:.1f} s,"
            f" {sum(whole for _, whole in done)} whole, longest gap"
            f" {max(gap for gap, _ in done) - thinks:.2f} s beyond the model's;"
            f" search alone {1000 * alone:.0f} ms, beside {1000 * statistics.median(beside):.0f} ms"
            f" (median)"
        )


async def leave(url: str, fake: FakeOpenAI, busy: Callable[[], int]) -> None:
    """Let twelve readers go away while their models think."""
    left = fake.left
    for _ in range(12):
        fake.delay(60)
    async with httpx2.AsyncClient(base_url=url, timeout=300) as web:

        async def read() -> None:
            async with web.stream("POST", "/ask", json=QUESTION | {"stream": True}) as response:
                async for _ in response.aiter_bytes():
                    pass

        readers = [asyncio.create_task(read()) for _ in range(12)]
        while fake.thinking < 12:
            await asyncio.sleep(0.01)
        for reader in readers:
            reader.cancel()
        began = time.perf_counter()
        while fake.left < left + 12 or busy():
            await asyncio.sleep(0.01)
        print(f"12 readers gone: all is freed after {time.perf_counter() - began:.2f} s")


def first_words(url: str) -> None:
    """Ask without a model: how long after its search the answer is there."""
    waited = []
    with httpx2.Client(base_url=url, timeout=300) as web:
        for number in range(10):
            body = QUESTION | {"strategy": "extractive", "stream": True, "cache": False}
            body["question"] = f"How do I restore a backup, step {number}?"
            with web.stream("POST", "/ask", json=body) as response:
                searched = 0.0
                for line in response.iter_lines():
                    if line == "event: search":
                        searched = time.perf_counter()
                    elif line in ("event: token", "event: answer"):
                        waited.append(time.perf_counter() - searched)
                        break
    middle, most = statistics.median(waited), max(waited)
    print(f"first words {1000 * middle:.0f} ms after the search (median), {1000 * most:.0f} (most)")


def key_times(rag: Any, count: int) -> None:
    """Look digests up in turn: that of a key, some that begin as it does, others."""
    secret = rag.database.make_service_key("bench", scopes=["read"], settings={}, limits={})
    digest = hashlib.sha256(secret.encode()).digest()
    other = bytes(255 - one for one in digest)
    unknown = {n: digest[:n] + other[n:] for n in (0, 1, 16, 31)}  # bytes that are the same
    took: dict[int, list[float]] = {n: [] for n in unknown}
    for _ in range(count):
        for n, one in unknown.items():
            began = time.perf_counter()
            assert rag.database.use_service_key(one) is None
            took[n].append(time.perf_counter() - began)
    told = ", ".join(f"{n}: {1000 * statistics.median(times):.3f}" for n, times in took.items())
    print(f"ms of an unknown key by the bytes of its digest that are those of a key: {told}")


def first_paint(url: str) -> None:
    """Open the page five times in Chromium, each time with nothing kept from before."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        print("first paint: playwright is not installed")
        return
    asked = "performance.getEntriesByType('paint').find((one) => one.name.includes('contentful'))"
    painted, whole = [], []
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for _ in range(5):
            context = browser.new_context()
            page = context.new_page()
            began = time.perf_counter()
            page.goto(f"{url}/#/ask?c=docs")
            page.wait_for_selector("#field")
            whole.append(time.perf_counter() - began)
            painted.append(page.evaluate(f"{asked}.startTime"))
            context.close()
        browser.close()
    print(
        f"first paint {statistics.median(painted):.0f} ms, the screen is there after"
        f" {1000 * statistics.median(whole):.0f} ms (median of 5)"
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    with FakeOpenAI() as fake:
        environment = {
            "RAG_PG_LLM": "openai:some",
            "OPENAI_API_KEY": fake.key,
            "RAG_PG_OPENAI_BASE_URL": f"{fake.url}/v1",
        }
        with filled_service(**environment) as (url, pid, rag):
            search_overhead(url, pid, rag, count)
            first_words(url)
            key_times(rag, 5 * count)
            first_paint(url)
            asyncio.run(streams(url, fake, 12, THINKS))
            asyncio.run(streams(url, fake, 100, 0.1))
            with psycopg.connect(rag.dsn or "", autocommit=True) as connection:

                def busy() -> int:
                    row = connection.execute(
                        "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle'"
                        " AND datname = current_database() AND pid <> pg_backend_pid()"
                    ).fetchone()
                    return int(row[0]) if row else 0

                fake.reset()
                asyncio.run(leave(url, fake, busy))


if __name__ == "__main__":
    main()
