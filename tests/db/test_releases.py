"""Two releases beside one database: the newer upgrades it, the older goes on while it is served."""

import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest
from paths import ROOT
from patience import BOUND, wait_until
from releases import OPEN, PLAN, UPGRADE, make_release, run_release

from rag_pg import Rag, SchemaMismatch
from rag_pg.db import schema
from rag_pg.db.connection import API_VERSION
from rag_pg.db.database import Database
from rag_pg.db.schema.revisions import newest_revision
from rag_pg.version import __version__

BEFORE_RELEASES = "90696d9"
FUNCTIONS = (
    "SELECT oid, xmin::text FROM pg_proc WHERE pronamespace = 'rag'::regnamespace ORDER BY 1"
)
REVISION = '''"""A column that the next release adds."""

from alembic import op

revision = "9999_added"
down_revision = "HEAD"


def upgrade() -> None:
    op.execute("ALTER TABLE rag.collections ADD COLUMN added text NOT NULL DEFAULT ''")
'''
# A function returns a column more, a worker's takes an argument more, one is new.
CHANGES = {
    "sql/evaluation/set.sql": [
        ("sources text[], runs bigint)", "sources text[], runs bigint, added text)"),
        ("           coalesce(r.runs, 0)\n", "           coalesce(r.runs, 0), 'x'\n"),
    ],
    "sql/worker/worker.sql": [
        (
            "    job_rates jsonb DEFAULT '{}')\n",
            "    job_rates jsonb DEFAULT '{}', added text = '')\n",
        )
    ],
}
NEW = "CREATE OR REPLACE FUNCTION rag.added() RETURNS integer LANGUAGE sql RETURN 1;\n"
ADDED = {"sql/admin/writable.sql": [("-- What cannot", f"{NEW}-- What cannot")]}


class Work:
    """A worker of this release and a writer in SQL, at work until the block ends."""

    def __init__(self, rag: Rag, dsn: str) -> None:
        self.worker = rag.worker(lease_seconds=3)
        self.dsn = dsn
        self.ended: list[str] = []  # why the worker ended
        self.failed: list[BaseException] = []  # puts
        self.put = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=call) for call in (self._work, self._write)]

    def _work(self) -> None:
        try:
            self.worker.run()
        except SchemaMismatch as exc:
            self.ended.append(str(exc))

    def _write(self) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            while not self._stop.is_set():
                try:
                    connection.execute(
                        "SELECT rag.put_document('docs', %s, 'a fish')", [f"d{self.put % 50}"]
                    )
                except psycopg.Error as exc:
                    self.failed.append(exc)
                self.put += 1

    def goes_on(self) -> None:
        """Wait until more documents were put."""
        before = self.put
        wait_until(lambda: self.put > before + 20)

    def __enter__(self) -> "Work":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self.worker.stop.set()
        for thread in self._threads:
            thread.join(BOUND)


def found(rag: Rag, word: str) -> list[str]:
    return [hit.uri for hit in rag.collection("docs").search(word) if word in hit.content]


@pytest.mark.minutes
def test_a_worker_and_a_client_go_on_beside_the_next_release_and_not_the_one_after(
    rag: Rag, dsn: str, connection: psycopg.Connection[Any], tmp_path: Path
) -> None:
    """In `make test` the next one tells of two programs beside one database, and
    tests/db/test_upgrade.py which schemas a program refuses."""
    next_one = make_release(
        tmp_path / "0.2.0",
        "0.2.0",
        api=(API_VERSION, API_VERSION + 1),
        changes={**CHANGES, **ADDED},
        files={"alembic/versions/9999_added.py": REVISION.replace("HEAD", newest_revision())},
    )
    after = make_release(
        tmp_path / "0.3.0",
        "0.3.0",
        api=(API_VERSION + 1, API_VERSION + 2),
        files={"alembic/versions/9999_added.py": REVISION.replace("HEAD", newest_revision())},
    )

    rag.collection("docs", model="hash:32")
    connection.execute("SELECT rag.put_eval_set('questions')")
    with Work(rag, dsn) as work:
        work.goes_on()
        assert schema.plan(dsn) == []
        before = connection.execute(FUNCTIONS.encode()).fetchall()
        lines = run_release(next_one, PLAN, dsn).stdout.splitlines()
        assert lines[:3] == [
            f"upgrade release {__version__} to 0.2.0",
            "run revision 9999_added",
            "make function rag.added()",
        ]
        assert "replace function rag.list_eval_sets()" in lines
        assert [line for line in lines if line.startswith("lock table rag.c")] == [
            "lock table rag.collections in mode ACCESS EXCLUSIVE"
        ]
        assert connection.execute(FUNCTIONS.encode()).fetchall() == before
        done = run_release(next_one, UPGRADE, dsn)
        assert done.stdout == "9999_added\n", done.stderr
        work.goes_on()
        connection.execute("SELECT rag.put_document('docs', 'later', 'a later bird')")
        wait_until(lambda: found(rag, "later") == ["later"])  # this release's worker embedded it
        assert [one.name for one in rag.evaluation.sets.list()] == ["questions"]
        with Rag(dsn) as client:
            assert client.collections()[0].name == "docs"
        before = connection.execute(FUNCTIONS.encode()).fetchall()
        with pytest.raises(SchemaMismatch, match="release 0.2.0.*install rag-pg 0.2.0 or newer"):
            schema.upgrade(dsn)
        schema.ensure(dsn, connection)
        assert connection.execute(FUNCTIONS.encode()).fetchall() == before
        assert work.ended == []

        done = run_release(after, UPGRADE, dsn)
        assert done.returncode == 0, done.stderr
        wait_until(lambda: work.ended)
        work.goes_on()
    assert work.failed == []
    assert "upgrade rag-pg" in work.ended[0]
    with pytest.raises(SchemaMismatch, match="serves programs of api version.*upgrade rag-pg"):
        Database(dsn).open()


@pytest.mark.minutes
def test_two_programs_of_one_version_do_not_install_in_turn(
    dsn: str, connection: psycopg.Connection[Any], tmp_path: Path
) -> None:
    other = make_release(
        tmp_path / "other",
        __version__,
        changes=ADDED,
    )
    here = connection.execute(FUNCTIONS.encode()).fetchall()
    assert run_release(other, OPEN, dsn).returncode == 0
    theirs = connection.execute(FUNCTIONS.encode()).fetchall()
    assert theirs != here
    for _ in range(2):
        schema.ensure(dsn, connection)
        assert run_release(other, OPEN, dsn).returncode == 0
        assert connection.execute(FUNCTIONS.encode()).fetchall() == theirs
    schema.upgrade(dsn)  # who asks for it gets it, and then the other one leaves it
    mine = connection.execute(FUNCTIONS.encode()).fetchall()
    assert run_release(other, OPEN, dsn).returncode == 0
    assert connection.execute(FUNCTIONS.encode()).fetchall() == mine
    assert schema.check(dsn) == []


def wheel(source: Path, folder: Path) -> Path:
    """Build a wheel and unpack it: what pip would install."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    shutil.unpack_archive(built, folder / "unpacked", "zip")
    return folder / "unpacked"


@pytest.mark.minutes
def test_wheels_of_two_releases_beside_one_database(
    rag: Rag, dsn: str, connection: psycopg.Connection[Any], tmp_path: Path
) -> None:
    present = wheel(ROOT, tmp_path / "present")
    assert run_release(present, UPGRADE, dsn).stdout == f"{newest_revision()}\n"
    assert schema.check(dsn) == []  # it carries the files of the tree
    source = tmp_path / "source"
    for part in ("rag_pg", "sql", "alembic", "docs"):
        shutil.copytree(ROOT / part, source / part)
    for name in ("README.md", "LICENSE", "pyproject.toml"):
        shutil.copy(ROOT / name, source)
    changed = make_release(tmp_path / "0.2.0", "0.2.0", changes={**CHANGES, **ADDED})
    shutil.copytree(changed / "rag_pg" / "_share" / "sql", source / "sql", dirs_exist_ok=True)
    shutil.copy(changed / "rag_pg" / "version.py", source / "rag_pg")
    newer = wheel(source, tmp_path / "newer")
    rag.collection("docs", model="hash:32")
    with Work(rag, dsn) as work:
        work.goes_on()
        assert run_release(newer, UPGRADE, dsn).returncode == 0
        work.goes_on()
        refused = run_release(present, UPGRADE, dsn)
        assert "install rag-pg 0.2.0 or newer; nothing was changed" in refused.stderr
        assert run_release(present, OPEN, dsn).returncode == 0
        work.goes_on()
    assert (work.ended, work.failed) == ([], [])


@pytest.mark.minutes
@pytest.mark.parametrize(
    "arguments, line",
    [
        ("worker --once", f"api version {API_VERSION}, this program needs 1: upgrade rag-pg"),
        ("status", f"api version {API_VERSION}, this program needs 1: upgrade rag-pg"),
        ("db upgrade", "knows revisions up to 0018 .*install a newer rag_pg; nothing was changed"),
    ],
)
def test_the_wheel_before_the_first_release_is_told_what_to_do(
    dsn: str, tmp_path_factory: pytest.TempPathFactory, arguments: str, line: str
) -> None:
    folder = tmp_path_factory.getbasetemp() / BEFORE_RELEASES
    if not folder.exists():
        archive = tmp_path_factory.mktemp("archive") / "source.tar"
        cut = subprocess.run(["git", "archive", "-o", archive, BEFORE_RELEASES], cwd=ROOT)
        if cut.returncode:
            pytest.skip("no data: this clone has no commits that old")
        (folder / "source").mkdir(parents=True)
        subprocess.run(["tar", "-xf", archive, "-C", folder / "source"], check=True)
        wheel(folder / "source", folder / "wheel")
    main = "import sys; sys.argv[0] = 'rag-pg'; from rag_pg.cli.app import main; main()"
    done = run_release(folder / "wheel" / "unpacked", main, *arguments.split(), dsn=dsn)
    assert done.returncode != 0
    assert re.search(line, done.stderr), done.stderr
    assert schema.check(dsn) == []
