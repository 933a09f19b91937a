"""No credential stands in a table, a log or an error, whether it opens a location or is refused.

Each is given by the environment and by a file, right and wrong. What is searched: the dump of the
database, all that is logged by a worker and a sync in both formats, what rag-pg writes, errors.
S3 and SFTP are tried by `make test-stores`.
"""

from __future__ import annotations

import base64
import io
import logging
import os
import shutil
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock
from urllib.parse import quote

import psycopg
import pytest
from command_line import run
from dumps import dump
from fakes import HashEmbedder
from locations.buckets import NEEDS_MOTO, guarded_bucket
from locations.files_server import serve_files
from locations.repositories import commit
from locations.repository_server import certificate
from locations.repository_server import serve as serve_repository
from locations.website import html, serve

from rag_pg import LocationUnavailable, Rag, RagError, Settings
from rag_pg.cli.logs import JsonLines, Text

USER, SECRET, WRONG = "reader-ada", "hunter2/of the=store?", "tiger3/of the=thief?"
FILES = {"a.md": "Red fish.", "b.md": "Blue fish."}


@dataclass(frozen=True)
class Door:
    """A location, and the environment of who has the right and who has a wrong credential."""

    location: str
    right: Mapping[str, str]
    wrong: Mapping[str, str]
    secrets: tuple[str, ...]
    private_hosts: tuple[str, ...] = ()


def forms(secret: str) -> set[str]:
    """How a secret may be written."""
    pair = base64.b64encode(f"{USER}:{secret}".encode()).decode()
    return {secret, quote(secret), quote(secret, safe=""), repr(secret)[1:-1], pair}


def of_git(way: str, folder: Path, host: str, password: str) -> dict[str, str]:
    """The environment in which git finds a password in one of its ways."""
    if way == "program":
        program = folder / "ask"
        program.write_text(f'#!/bin/sh\ncase "$1" in User*) echo {USER};; *) echo "$PW";; esac\n')
        program.chmod(0o755)
        return {"GIT_ASKPASS": str(program), "PW": password}
    user = f"https://{USER}:{quote(password, safe='')}@{host}"
    if way == "file":
        path = folder / f"passwords-{password[:5]}"
        path.write_text(f"{user}\n")
        setting = ("credential.helper", f"store --file={path}")
    elif way == "address":
        setting = (f"url.{user}/.insteadOf", f"https://{host}/")
    else:
        pair = base64.b64encode(f"{USER}:{password}".encode()).decode()
        setting = ("http.extraHeader", f"Authorization: Basic {pair}")
    return dict(
        zip(("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"), ("1", *setting),
            strict=True)
    )  # fmt: skip


@contextmanager
def git_door(way: str, folder: Path) -> Iterator[Door]:
    repository = folder / "handbook"
    commit(repository, FILES)
    pem = certificate(folder)
    with serve_repository(repository, USER, SECRET, pem) as host:
        own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        trust = {**own, "GIT_SSL_CAINFO": str(folder / "certificate")}
        right, wrong = [trust | of_git(way, folder, host, one) for one in (SECRET, WRONG)]
        yield Door(f"git+https://{host}/handbook.git", right, wrong, (SECRET, WRONG), (host,))


@contextmanager
def s3_door(way: str, folder: Path) -> Iterator[Door]:
    with guarded_bucket("handbook", FILES) as (environment, key, secret):
        wrong = secret[::-1]

        def of(given: str) -> dict[str, str]:
            names = {"aws_access_key_id": key, "aws_secret_access_key": given}
            if way == "program":
                return {**environment, **{name.upper(): value for name, value in names.items()}}
            path = folder / f"aws-{given == secret}"
            lines = [f"{name} = {value}" for name, value in names.items()]
            path.write_text("\n".join(["[default]", *lines]))
            return {**environment, "AWS_SHARED_CREDENTIALS_FILE": str(path)}

        yield Door("s3://handbook/docs/", of(secret), of(wrong), (secret, wrong))


@contextmanager
def sftp_door(way: str, folder: Path) -> Iterator[Door]:
    (folder / "served" / "docs").mkdir(parents=True)
    for name, text in FILES.items():
        (folder / "served" / "docs" / name).write_text(text)
    with serve_files(folder / "served", SECRET) as port:
        home = {"HOME": str(folder)}
        right, wrong = [home | {"FSSPEC_SFTP_PASSWORD": one} for one in (SECRET, WRONG)]
        yield Door(f"sftp://{USER}@127.0.0.1:{port}/docs/", right, wrong, (SECRET, WRONG))


KINDS = {"git": git_door, "s3": s3_door, "sftp": sftp_door}
NEEDS_OPENSSL = pytest.mark.skipif(
    shutil.which("openssl") is None or shutil.which("git") is None,
    reason="no engine: openssl and git",
)
WAYS = [
    *(pytest.param("git", way, marks=NEEDS_OPENSSL)
      for way in ("program", "file", "address", "header")),
    pytest.param("s3", "program", marks=NEEDS_MOTO),
    pytest.param("s3", "file", marks=NEEDS_MOTO),
    pytest.param("sftp", "program", marks=NEEDS_MOTO),
]  # fmt: skip


@pytest.fixture
def said() -> Iterator[io.StringIO]:
    """All that is logged, by whichever library, in both formats."""
    told = io.StringIO()
    root = logging.getLogger()
    handlers = [logging.StreamHandler(told) for _ in range(2)]
    formats = (Text("%(asctime)s %(levelname)s %(name)s %(message)s"), JsonLines())
    for handler, one in zip(handlers, formats, strict=True):
        handler.setFormatter(one)
        root.addHandler(handler)
    level = root.level
    root.setLevel(logging.INFO)  # as that of a worker
    yield told
    root.setLevel(level)
    for handler in handlers:
        root.removeHandler(handler)


@contextmanager
def opened(dsn: str, home: Path, *hosts: str, beginning: str) -> Iterator[Rag]:
    settings = Settings(home=home, private_hosts=hosts, locations=(beginning,))
    with Rag(dsn, settings=settings, embedders={"hash": HashEmbedder}) as rag:
        rag.collection("docs", model="hash:32")
        yield rag


def worked(rag: Rag, dsn: str, location: str) -> tuple[str, str | None]:
    """Attach a location and let a worker sync it: its state, and the error that is kept."""
    with psycopg.connect(dsn) as connection:
        connection.execute("SELECT rag.attach_location('docs', %s)", [location])
    worker = rag.worker()
    assert worker.locations is not None
    worker.locations.act()
    worker.drain()
    with psycopg.connect(dsn) as connection:
        [found] = connection.execute("SELECT state, last_error FROM rag.list_locations()")
    return found


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("kind", "way"), WAYS)
@pytest.mark.few(4)
def test_no_credential_is_kept_or_told(
    kind: str, way: str, dsn: str, tmp_path: Path, said: io.StringIO
) -> None:
    with KINDS[kind](way, tmp_path) as door:
        texts: list[str] = []
        beginning = door.location
        with opened(dsn, tmp_path / "home", *door.private_hosts, beginning=beginning) as rag:
            for environment in (door.wrong, door.right):
                everything = {
                    **environment,
                    "PATH": os.environ["PATH"],
                    "RAG_PG_DSN": dsn,
                    "RAG_PG_PRIVATE_HOSTS": ",".join(door.private_hosts),
                }
                with mock.patch.dict(os.environ, environment), fsspec_settings():
                    told = run(
                        "sync", door.location, "-c", "docs", "--dry-run",
                        environment=everything, cwd=tmp_path,
                    )  # fmt: skip
                    texts += [told.stdout, told.stderr]
                    state, error = worked(rag, dsn, door.location)
                    texts.append(str(error))
                    if environment is door.right:
                        assert (state, error, told.returncode) == ("waiting", None, 0), told.stderr
                        assert rag.collection("docs").count() == 2
                        continue
                    assert (state, told.returncode) == ("broken", 1)
                    with pytest.raises(LocationUnavailable) as caught:
                        rag.collection("docs").sync(door.location)
                    texts += traceback.format_exception(caught.value)
        texts += [said.getvalue(), dump(dsn)]
        assert "location 1 of docs" in said.getvalue() and door.location in texts[-1]
        for secret in door.secrets:
            for form in forms(secret):
                assert not [text for text in texts if form in text]


@contextmanager
def fsspec_settings() -> Iterator[None]:
    """fsspec reads its variables when it is imported, which here was long ago."""
    from fsspec.config import conf, set_conf_env

    with mock.patch.dict(conf, clear=True):
        set_conf_env(conf)
        yield


TOKENS = (
    "?token=SECRET", "?a=1&sig=SECRET", "?X-Amz-Signature=SECRET", "?tok%65n=SECRET",
    "#access_token=SECRET", ";jsessionid=SECRET", "?a=1;api_key=SECRET",
)  # fmt: skip
MARK = "hunter2ofthepage"


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.one_database
@pytest.mark.few(3)
def test_an_address_with_a_credential_is_refused_before_it_is_kept(
    dsn: str, tmp_path: Path, said: io.StringIO, token: str
) -> None:
    token = token.replace("SECRET", MARK)
    texts: list[str] = []
    for start in ("https://docs.example/a", "s3://box/docs/", "git+https://git.example/x.git"):
        environment = {"PATH": os.environ["PATH"], "RAG_PG_DSN": dsn}
        with opened(dsn, tmp_path / "home", beginning=start) as rag:
            told = run("sync", start + token, "-c", "docs", environment=environment, cwd=tmp_path)
            assert told.returncode != 0
            texts += [told.stdout, told.stderr]
            with pytest.raises(RagError) as caught:
                rag.collection("docs").sync(start + token)
            texts += traceback.format_exception(caught.value)[-1:]
            with psycopg.connect(dsn) as connection, pytest.raises(psycopg.Error) as refused:
                connection.execute("SELECT rag.attach_location('docs', %s)", [start + token])
            texts.append(str(refused.value))
    texts += [said.getvalue(), dump(dsn)]
    assert not [text for text in texts if MARK in text]


def test_a_page_that_leads_to_an_address_with_a_credential_is_not_followed(
    dsn: str, tmp_path: Path, said: io.StringIO
) -> None:
    with serve() as site:
        host = f"127.0.0.1:{site.port}"
        tokens = [token.replace("SECRET", MARK) for token in TOKENS]
        away = {f"/r{n}": (302, {"Location": f"/a{token}"}, b"") for n, token in enumerate(tokens)}
        away["/out"] = (302, {"Location": f"https://{USER}:{MARK}@other.example/?t={MARK}"}, b"")
        listed = [*away, *(f"/a{token}" for token in tokens), "/a", "/guests?author=ann&keywords=x"]
        urls = "".join(
            f"<url><loc>http://{host}{path.replace('&', '&amp;')}</loc></url>" for path in listed
        )
        site.pages = {
            "/sitemap.xml": (200, {}, f"<urlset>{urls}</urlset>".encode()),
            "/guests?author=ann&keywords=x": html("Guests."),
            **{f"/a{token.partition('#')[0]}": html("Red fish.") for token in ("", *tokens)},
            **away,
        }  # fmt: skip
        location = f"http://{host}/sitemap.xml"
        with opened(dsn, tmp_path / "home", host, beginning="http://127.0.0.1") as rag:
            assert worked(rag, dsn, location) == ("waiting", None)
            report = rag.collection("docs").sync(location)
            found = [one.uri for one in rag.collection("docs").list()]
        assert found == [f"http://{host}/a", f"http://{host}/guests?author=ann&keywords=x"]
        assert report.skipped["refused"] == len(listed) - 3  # two pages, and one by a # to them
        assert not [path for path in site.asked if MARK in path]
        texts = [said.getvalue(), dump(dsn), repr(report)]
        assert not [text for text in texts if MARK in text]


def test_a_sitemap_with_a_credential_is_not_read(dsn: str, tmp_path: Path) -> None:
    with serve() as site:
        host = f"127.0.0.1:{site.port}"
        inner = f"http://{host}/private/map.xml?token={MARK}"
        index = f"<sitemapindex><sitemap><loc>{inner}</loc></sitemap></sitemapindex>"
        site.pages = {
            "/sitemap.xml": (200, {"Content-Type": "text/xml"}, index.encode()),
            "/robots.txt": (200, {}, b"User-agent: *\nDisallow: /private/\n"),
        }
        for robots in (b"User-agent: *\nDisallow: /private/\n", b""):
            site.pages["/robots.txt"] = (200, {}, robots)
            with (
                opened(dsn, tmp_path / "home", host, beginning="http://127.0.0.1") as rag,
                pytest.raises(RagError) as caught,
            ):
                rag.collection("docs").sync(f"http://{host}/sitemap.xml")
            assert MARK not in str(caught.value)


@pytest.mark.parametrize(
    "location",
    [f"ada:{MARK}@git.example:handbook.git", f"https:/ada:{MARK}@h/x", f"https:/h/x?token={MARK}"],
)
@pytest.mark.one_database
def test_a_mistyped_address_is_told_without_its_credential(
    dsn: str, tmp_path: Path, location: str
) -> None:
    environment = {"PATH": os.environ["PATH"], "RAG_PG_DSN": dsn}
    with opened(dsn, tmp_path / "home", beginning="https://") as rag:
        told = run("sync", location, "-c", "docs", environment=environment, cwd=tmp_path)
        with pytest.raises(RagError) as caught:
            rag.collection("docs").sync(location)
    assert told.returncode != 0 and "is not a folder" in told.stderr
    assert MARK not in told.stdout + told.stderr + str(caught.value)
