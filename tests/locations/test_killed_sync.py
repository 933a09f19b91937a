"""SIGKILL before any statement of a sync: the next one reads what is missing, loses nothing, has
nothing twice, and the one after it finds nothing to do.

Two places for each kind of location are tried here, all of them where `minutes` is run; S3 by
`make test-stores`. Folders are in tests/ingest/test_killed.py.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from killing import end_leases, final, program_of, run
from locations.buckets import NEEDS_MOTO, bucket
from locations.repositories import commit
from locations.website import html, serve
from psycopg.conninfo import conninfo_to_dict
from rota import in_turn

from rag_pg import Rag, Settings
from rag_pg.types import SyncReport

OLD = {"a.md": "Old fish.", "gone.md": "Gone.", "c.md": "C.", "d.md": "D."}
NEW = {"a.md": "New fish.", "new.md": "New.", "c.md": "C.", "e.md": "E.", "f.md": "F."}


@dataclass(frozen=True)
class Source:
    """Where the documents are, and what puts others there. environment: of who reads them."""

    location: str
    put: Callable[[Mapping[str, str]], object]
    private_hosts: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    pages: int = 0  # that it has beside the files


@pytest.fixture
def links() -> Iterator[Source]:
    with serve() as site:

        def put(files: Mapping[str, str]) -> None:
            site.pages = {
                "/docs/": html("Start.", *files),
                **{f"/docs/{n}": (200, {"Content-Type": "text/markdown"}, t.encode())
                   for n, t in files.items()},
            }  # fmt: skip

        host = f"127.0.0.1:{site.port}"
        yield Source(f"http://{host}/docs/", put, (host,), pages=1)


@pytest.fixture
def sitemap() -> Iterator[Source]:
    with serve() as site:
        host = f"127.0.0.1:{site.port}"

        def put(files: Mapping[str, str]) -> None:
            urls = "".join(f"<url><loc>http://{host}/{name}</loc></url>" for name in files)
            listed = f"<urlset>{urls}</urlset>".encode()
            site.pages = {
                "/sitemap.xml": (200, {"Content-Type": "text/xml"}, listed),
                **{f"/{n}": (200, {"Content-Type": "text/markdown"}, t.encode())
                   for n, t in files.items()},
            }  # fmt: skip

        yield Source(f"http://{host}/sitemap.xml", put, (host,))


@pytest.fixture
def git(tmp_path: Path) -> Source:
    folder = tmp_path / "handbook"
    return Source(f"git+file://{folder}", lambda files: commit(folder, files))


@pytest.fixture
def s3() -> Iterator[Source]:
    with bucket("handbook") as (store, environment):

        def put(files: Mapping[str, str]) -> None:
            for path in store.find("handbook/docs"):
                store.rm(path)
            for name, text in files.items():
                store.pipe_file(f"handbook/docs/{name}", text.encode())

        yield Source("s3://handbook/docs/", put, environment=environment)


def sync(dsn: str, folder: str) -> SyncReport:
    """Sync what the file `source` of a folder names."""
    location, private_hosts, environment = json.loads((Path(folder) / "source").read_text())
    os.environ.update(environment or {})
    settings = Settings(home=Path(folder) / "home", private_hosts=tuple(private_hosts))
    with Rag(dsn, settings=settings, embedders={"hash": HashEmbedder}) as rag:
        return rag.collection("docs", model="hash:32").sync(location)


CALLS = {"sync": sync}


@pytest.fixture(
    params=[*in_turn(["links", "sitemap", "git"], "links"), pytest.param("s3", marks=NEEDS_MOTO)]
)
def source(request: pytest.FixtureRequest) -> Source:
    found: Source = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def program() -> Iterator[subprocess.Popen[str]]:
    with program_of(__file__) as opened:
        yield opened


def healed(dsn: str, folder: Path) -> tuple[int, list[Any]]:
    """Sync again after one that was killed, and once more, which finds nothing to do; return how
    many documents that finds unchanged, and what is there then."""
    end_leases(dsn)
    report = sync(dsn, str(folder))
    assert not report.failures
    after = final(dsn)
    again = sync(dsn, str(folder))
    assert (again.changed, again.deleted) == (0, 0)
    assert final(dsn) == after
    with psycopg.connect(dsn, autocommit=True) as connection:
        statuses = connection.execute("SELECT DISTINCT status FROM rag.doctor()").fetchall()
    assert statuses == [("ok",)]
    return again.unchanged, after


@pytest.fixture
def begun(
    source: Source, program: Any, new_database: Any, template: str, tmp_path: Path
) -> tuple[Callable[[], str], Path, int, list[Any]]:
    """What makes a database as it is before the sync of the new files, how many statements that
    sync sends, and what is there after one that nobody disturbed."""
    options = [source.location, source.private_hosts, source.environment]
    (tmp_path / "source").write_text(json.dumps(options))
    filled = new_database(template)
    source.put(OLD)
    sync(filled, str(tmp_path))
    source.put(NEW)

    def make() -> str:
        made: str = new_database(str(conninfo_to_dict(filled)["dbname"]))
        return made

    dsn = make()
    count = run(program, "sync", dsn, tmp_path, 0)
    assert count > 6
    wanted = final(dsn)
    found = {uri.rpartition("/")[2]: content for uri, content, *_ in wanted[: len(NEW)]}
    assert source.pages or found == NEW
    return make, tmp_path, count, wanted


def test_a_killed_sync_is_done_by_the_next(source: Source, begun: Any, program: Any) -> None:
    make, folder, count, wanted = begun
    for place in (count // 2, count - 1):
        dsn = make()
        assert run(program, "sync", dsn, folder, place) == 0, "it was not killed"
        assert healed(dsn, folder) == (len(NEW) + source.pages, wanted)


@pytest.mark.minutes
def test_a_sync_killed_before_any_statement_is_done_by_the_next(
    source: Source, begun: Any, program: Any
) -> None:
    make, folder, count, wanted = begun
    for place in range(1, count + 1):
        dsn = make()
        if run(program, "sync", dsn, folder, place) == 0:  # who waits may ask once less
            assert healed(dsn, folder) == (len(NEW) + source.pages, wanted)
