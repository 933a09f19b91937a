"""What is done to the workers and the database while they run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from rag_pg.db.embedded import EmbeddedServer

WORKER = Path(__file__).with_name("worker.py")


class Workers:
    """Worker processes; one that is killed is replaced at once."""

    def __init__(self, arguments: list[str], count: int, log: Path) -> None:
        self._arguments = arguments
        self._log = log.open("ab")
        self._processes = [self._start() for _ in range(count)]

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
        return subprocess.Popen(
            [sys.executable, str(WORKER), *self._arguments], stderr=self._log, env=environment
        )

    def kill(self, place: int) -> None:
        process = self._processes[place]
        process.kill()
        process.wait()
        self._processes[place] = self._start()

    def freeze(self, place: int, seconds: float) -> None:
        process = self._processes[place]
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)

    def ended(self) -> list[int]:
        """The exit codes of those that ended of themselves."""
        return [code for p in self._processes if (code := p.poll()) is not None]

    def stop(self) -> list[int]:
        """End them by SIGTERM. Returns their exit codes."""
        for process in self._processes:
            process.terminate()
        try:
            return [process.wait(60) for process in self._processes]
        finally:
            for process in self._processes:
                process.kill()
                process.wait()
            self._log.close()


class Faults:
    """Draws a fault every few seconds until told to stop; `done` counts them."""

    def __init__(
        self,
        server: EmbeddedServer,
        dsn: str,
        workers: Workers,
        *,
        count: int,
        lease: float,
        pause: float,
        seed: int,
    ) -> None:
        self.done: Counter[str] = Counter()
        self.down: list[float] = []  # seconds the database was away
        self._server, self._dsn, self._workers = server, dsn, workers
        self._count, self._lease, self._pause = count, lease, pause
        self._chance = random.Random(seed)
        self._kinds: dict[str, tuple[int, Callable[[], Any]]] = {
            "worker killed (SIGKILL)": (3, self._kill_worker),
            "worker frozen beyond its lease": (2, self._freeze_worker),
            "backend terminated": (3, self._terminate_backend),
            "backend killed (SIGKILL)": (1, self._kill_backend),
            "statements canceled for a second": (2, self._cancel),
            "server stopped (immediate) and started": (1, self._restart),
            "database read-only for a while": (1, self._refuse_writes),
            "clock of run_at stepped": (2, self._step_clock),
        }

    def run(self, stop: threading.Event) -> None:
        kinds = list(self._kinds)
        weights = [self._kinds[kind][0] for kind in kinds]
        order = self._chance.sample(kinds, len(kinds))  # each at least once, where time allows
        while not stop.wait(self._pause * self._chance.uniform(0.5, 1.5)):
            kind = order.pop() if order else self._chance.choices(kinds, weights)[0]
            try:
                self._kinds[kind][1]()
            except (psycopg.Error, ProcessLookupError):
                continue  # the database, or the process, is away already
            self.done[kind] += 1

    def _place(self) -> int:
        return self._chance.randrange(self._count)

    def _kill_worker(self) -> None:
        self._workers.kill(self._place())

    def _freeze_worker(self) -> None:
        self._workers.freeze(self._place(), self._lease * 1.5)

    def _backend(self) -> int | None:
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            rows = connection.execute(
                """SELECT pid FROM pg_stat_activity WHERE datname = current_database()
                   AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""
            ).fetchall()
        return self._chance.choice(rows)[0] if rows else None

    def _terminate_backend(self) -> None:
        if pid := self._backend():
            with psycopg.connect(self._dsn, autocommit=True) as connection:
                connection.execute("SELECT pg_terminate_backend(%s)", [pid])

    def _cancel(self) -> None:
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            for _ in range(20):
                self._others(connection, "pg_cancel_backend")
                time.sleep(0.05)

    def _refuse_writes(self) -> None:
        """As after a failover, while the address still leads to the server that was the primary."""
        setting = (
            f'ALTER DATABASE "{conninfo_to_dict(self._dsn)["dbname"]}" SET'
            " default_transaction_read_only = "
        )
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            connection.execute(setting + "on")
            self._others(connection, "pg_terminate_backend")
            time.sleep(self._lease / 2)
            connection.execute(setting + "off")
            self._others(connection, "pg_terminate_backend")

    def _others(self, connection: psycopg.Connection[Any], function: str) -> None:
        connection.execute(
            f"""SELECT {function}(pid) FROM pg_stat_activity WHERE datname = current_database()
                AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""
        )

    def _kill_backend(self) -> None:
        """The server then ends every other backend and recovers, as after any crash."""
        if pid := self._backend():
            began = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
            self._server.start()
            self.down.append(time.monotonic() - began)

    def _restart(self) -> None:
        began = time.monotonic()
        self._server.stop(immediate=True)
        self._server.start()
        self.down.append(time.monotonic() - began)

    def _step_clock(self) -> None:
        step = self._chance.choice(["1 hour", "-10 seconds", "-1 hour"])  # of the clock
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            connection.execute(
                "UPDATE rag.jobs SET run_at = run_at - %s::interval WHERE state = 'waiting'", [step]
            )
        if step == "-1 hour":  # and it is put right again
            time.sleep(1)
            with psycopg.connect(self._dsn, autocommit=True) as connection:
                connection.execute(
                    "UPDATE rag.jobs SET run_at = CURRENT_TIMESTAMP WHERE run_at >"
                    " clock_timestamp() + interval '10 min'"
                )
