"""The embedded server's library: what rag_pg takes from it beyond its documented functions.

A new version of the library that fails here needs a look
at rag_pg/db/embedded.py before it is admitted.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from rag_pg.db.embedded import DEFAULT_VERSION, EmbeddedServer, _library

library = _library()
postgres_server = library.postgres_server
PostgresServer = postgres_server.PostgresServer


@pytest.mark.parametrize(
    ("function", "used"),
    [
        (library.get_server, {"cleanup_mode", "postgres_version", "start"}),
        (postgres_server.pgexec, {"bin_path", "subprocess_kwargs"}),
        (postgres_server.pgdata_version, set()),
        (PostgresServer.get_uri, set()),
    ],
)
def test_functions_take_what_they_are_given(function: object, used: set[str]) -> None:
    assert callable(function)
    assert used <= set(inspect.signature(function).parameters)


def test_both_versions_bring_their_programs() -> None:
    versions = postgres_server.POSTGRES_VERSIONS
    assert {16, DEFAULT_VERSION} <= versions.keys()
    assert all((versions[v] / "pg_ctl").is_file() for v in (16, DEFAULT_VERSION))


def test_a_started_server_is_kept_by_its_folder_until_it_is_forgotten(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    handle = object.__new__(PostgresServer)  # start() would need a server
    assert isinstance(PostgresServer._instances, dict)
    assert "self._instances[self.pgdata] = self" in inspect.getsource(PostgresServer.start)
    assert "atexit.register(self._cleanup)" in inspect.getsource(PostgresServer.start)
    PostgresServer._instances[folder.resolve()] = handle
    EmbeddedServer(folder)._forget(library)
    assert folder.resolve() not in PostgresServer._instances
