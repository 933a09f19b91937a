"""The embedded server as a process: it survives its users, and its users survive it."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from paths import server_folder
from patience import BOUND, wait_until

from rag_pg import DatabaseUnavailable, Rag, Settings
from rag_pg.config import default_home
from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer, _library


@pytest.fixture
def home() -> Iterator[Path]:
    """A short path that other users may enter: under root the server runs as another one."""
    with server_folder() as folder:
        yield folder


# What a shell says of another server.
ELSEWHERE = {
    "PGHOST": "db.invalid",
    "PGHOSTADDR": "192.0.2.1",
    "PGPORT": "6000",
    "PGUSER": "nobody",
    "PGDATABASE": "mine",
    "PGPASSWORD": "none",
    "PGSSLMODE": "verify-full",
    "PGGSSENCMODE": "require",
    "PGCHANNELBINDING": "require",
    "PGOPTIONS": "-csearch_path=mine",
}


def test_without_a_dsn_a_server_is_started_and_the_schema_installed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ELSEWHERE.items():
        monkeypatch.setenv(name, value)
    settings = Settings(home=home)
    with Rag(settings=settings, embedders={"hash": HashEmbedder}) as rag:
        rag.collection("docs", model="hash:32").add({"uri": "a", "content": "red fish"})
        dsn = rag.dsn
    assert dsn is not None
    with monkeypatch.context() as changed:
        changed.setenv("PGSERVICE", "nowhere")
        with pytest.raises(DatabaseUnavailable, match='definition of service "nowhere" not found'):
            Rag(settings=settings).open()
    monkeypatch.undo()  # the port stays, and some of it counts for other programs
    with psycopg.connect(dsn) as other:  # it goes on running for other programs
        assert other.execute("SELECT uri FROM rag.search('docs', 'fish')").fetchall() == [("a",)]
    assert schema.check(dsn) == []
    server = EmbeddedServer(home / "postgres")
    assert server.start() == server._running_dsn() == dsn
    assert server.stop()
    assert not server.stop()
    assert server._running_dsn() is None
    with Rag(settings=settings, embedders={"hash": HashEmbedder}) as rag:
        assert rag.collection("docs").search("fish")[0].uri == "a"


@pytest.mark.minutes
def test_a_server_that_dies_in_the_middle_of_an_ingest_loses_nothing(home: Path) -> None:
    """In `make test` tests/ingest/test_killed.py kills a call before a statement of it, and
    tests/ingest/test_interrupt.py one that adds, twice."""
    embedder, dead = HashEmbedder("hash:32"), threading.Event()

    def hang(texts: Any) -> None:
        if len(embedder.seen) >= 60:
            dead.wait(BOUND)

    embedder.fail = hang
    settings = Settings(home=home)
    documents = [{"uri": f"d{i:03}", "content": f"red fish number {i}"} for i in range(300)]
    errors: list[BaseException] = []
    with Rag(settings=settings, embedders={"hash": lambda name: embedder}) as rag:
        docs = rag.collection("docs", model="hash:32")

        def add() -> None:
            try:
                docs.add(*documents)
            except BaseException as exc:
                errors.append(exc)

        adding = threading.Thread(target=add)
        adding.start()
        wait_until(lambda: docs.stats().embedded >= 60)
        postmaster = int((home / "postgres" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(postmaster, signal.SIGQUIT)  # an immediate shutdown: no checkpoint, as a crash
        dead.set()
        adding.join(timeout=BOUND)
        assert not adding.is_alive()
    (error,) = errors
    assert isinstance(error, DatabaseUnavailable)
    assert "\n" not in str(error)

    with Rag(settings=settings, embedders={"hash": lambda name: embedder}) as rag:
        docs = rag.collection("docs")
        half = docs.stats()
        assert 60 <= half.embedded < 300
        assert half.embedded == half.chunks
        with rag.database.connection() as connection:  # leases of the dead run out at once
            connection.execute(
                "UPDATE rag.jobs SET lease_expires_at = now() WHERE lease IS NOT NULL"
            )
        report = docs.add(*documents)
        assert report.failures == ()
        stats = docs.stats()
        assert (stats.documents, stats.chunks, stats.embedded) == (300, 300, 300)
        assert (stats.pending, stats.failed) == (0, 0)


def test_what_another_user_left_in_the_temporary_folder_shuts_nobody_out(
    home: Path, tmp_path: Path
) -> None:
    """The library's own lock is one file there; a folder in its place nobody can open, not root."""
    (tmp_path / ".lockfile").mkdir()
    program = """
import sys
from pathlib import Path
from rag_pg.db.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]) / "postgres")
server.start()
print(server.stop())
"""
    done = subprocess.run(
        [sys.executable, "-c", program, home],
        env=os.environ | {"TMPDIR": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "none")},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_run_that_is_killed_leaves_no_server_and_no_data() -> None:
    program = """
import sys
from rag_pg.testing import running_server
with running_server() as dsn:
    print(dsn, flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        dsn = run.stdout.readline().strip()
        with psycopg.connect(dsn) as connection:
            (data,) = connection.execute("SHOW data_directory").fetchone() or ("",)
        assert Path(data).is_dir()
        run.kill()
    wait_until(lambda: not Path(data).parent.exists(), "the end of its data")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(dsn)


def test_a_server_whose_programs_were_removed_is_started_anew(home: Path) -> None:
    server = EmbeddedServer(home / "postgres")
    options, pid = server.folder / "postmaster.opts", server.folder / "postmaster.pid"
    try:
        server.start()
        first = pid.read_text().splitlines()[0]
        server.start()
        assert pid.read_text().splitlines()[0] == first
        options.write_text(f'{home}/removed/bin/postgres "-D" "{server.folder}"\n')
        with psycopg.connect(server.start()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert pid.read_text().splitlines()[0] != first
    finally:
        server.stop()


def test_a_folder_that_cannot_hold_data_is_named(home: Path) -> None:
    (home / "file").write_text("not a folder")
    with pytest.raises(DatabaseUnavailable, match="RAG_PG_HOME"):
        EmbeddedServer(home / "file" / "postgres").start()


def test_why_a_server_does_not_start_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = EmbeddedServer(home / "postgres")
    server.start()
    server.stop()
    server.folder.chmod(0o755)
    monkeypatch.setattr("rag_pg.db.embedded.START_SECONDS", 0)
    with pytest.raises(DatabaseUnavailable, match=r"start: data directory .* invalid permissions"):
        server.start()
    server.folder.chmod(0o700)
    server.start()
    server.stop()


def modes(path: Path) -> list[int]:
    return [stat.S_IMODE(p.stat().st_mode) for p in (path, *path.parents)]


@pytest.mark.skipif(
    os.geteuid() != 0, reason="no root: under root alone the server runs as another user"
)
def test_under_root_a_closed_folder_is_refused_and_stays_closed(home: Path) -> None:
    (home / "closed" / "deep").mkdir(parents=True)
    for mode in (0o700, 0o711, 0o750):
        (home / "closed").chmod(mode)
        before = modes(home / "closed" / "deep")
        with pytest.raises(
            DatabaseUnavailable, match=r"may not enter \S+/closed \(mode 7\d\d\),.*RAG_PG_HOME"
        ):
            EmbeddedServer(home / "closed" / "deep" / "postgres").start()
        assert modes(home / "closed" / "deep") == before


@pytest.mark.skipif(
    os.geteuid() != 0, reason="no root: under root alone the server runs as another user"
)
def test_under_root_programs_in_a_closed_folder_are_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = _library()
    (home / "venv" / "bin").mkdir(parents=True)
    (home / "venv").chmod(0o700)
    monkeypatch.setattr(
        library.postgres_server, "POSTGRES_VERSIONS", {18: home / "venv" / "bin" / "programs"}
    )
    with pytest.raises(DatabaseUnavailable, match=r"programs lie; .*chmod go\+rx \S+/venv"):
        EmbeddedServer(home / "postgres").start()
    assert stat.S_IMODE((home / "venv").stat().st_mode) == 0o700


@pytest.mark.skipif(
    os.geteuid() != 0, reason="no root: under root alone the server runs as another user"
)
def test_under_root_a_path_too_long_for_a_socket_is_refused(home: Path) -> None:
    folder = home / ("long" * 25)
    with pytest.raises(DatabaseUnavailable, match=r"too long.*RAG_PG_HOME"):
        EmbeddedServer(folder / "postgres").start()


@pytest.mark.skipif(
    os.geteuid() != 0, reason="no root: under root alone the server runs as another user"
)
def test_under_root_a_strict_umask_does_not_close_the_folders_it_makes(home: Path) -> None:
    before = os.umask(0o077)
    try:
        EmbeddedServer(home / "made" / "postgres").start()
        assert EmbeddedServer(home / "made" / "postgres").stop()
    finally:
        os.umask(before)
    assert stat.S_IMODE((home / "made").stat().st_mode) == 0o755


def test_roots_own_data_lies_where_the_server_may_enter() -> None:
    assert (default_home() == Path("/var/lib/rag_pg")) == (os.geteuid() == 0)
