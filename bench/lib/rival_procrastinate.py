"""procrastinate's part of bench/jobs.py, run in a virtual environment of its own:
rates as JSON on stdout.

python bench/lib/rival_procrastinate.py DSN SINGLE JOBS
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import procrastinate
import psycopg

DSN, SINGLE, JOBS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


async def measure() -> dict[str, float]:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=DSN))

    @app.task(queue="bench")  # type: ignore[untyped-decorator]
    async def nothing() -> None:
        pass

    async def rate(count: int, action: Any) -> float:
        began = time.perf_counter()
        await action
        return count / (time.perf_counter() - began)

    async def one_by_one() -> None:
        for _ in range(SINGLE):
            await nothing.defer_async()

    async def at_once() -> None:
        for _ in range(JOBS // 1000):
            await nothing.batch_defer_async(*({} for _ in range(1000)))

    async with app.open_async():
        with psycopg.connect(DSN) as connection:
            installed = connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone()
        if installed == (None,):
            await app.schema_manager.apply_schema_async()
        found = {"enqueue, one by one": await rate(SINGLE, one_by_one())}
        with psycopg.connect(DSN, autocommit=True) as connection:
            connection.execute("TRUNCATE procrastinate_jobs CASCADE")
        found["enqueue, 1000 at once"] = await rate(JOBS, at_once())
        with psycopg.connect(DSN, autocommit=True) as connection:
            connection.execute("TRUNCATE procrastinate_jobs CASCADE")
        await nothing.batch_defer_async(*({} for _ in range(SINGLE)))
        worker = app.run_worker_async(
            queues=["bench"], wait=False, concurrency=32, delete_jobs="always", listen_notify=False
        )
        found["claim + finish, 32 at once"] = await rate(SINGLE, worker)
        with psycopg.connect(DSN, autocommit=True) as connection:
            left = connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchone()
            assert left == (0,), left
    return found


print(json.dumps(asyncio.run(measure())))
