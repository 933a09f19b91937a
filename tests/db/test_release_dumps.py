"""Databases of earlier releases, upgraded: equal tables, equal searches, equal answers.

A release's files are written by scripts/release.py when it is tagged.
"""

import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from release_dump import (
    RELEASES,
    answers,
    called_functions,
    held,
    observe,
    protocol,
    renew,
    restore,
)

from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer

FOLDERS = sorted(path.parent for path in RELEASES.glob("*/dump.sql.xz"))
if not FOLDERS:
    pytest.skip("no data: scripts/release.py has written down no release", allow_module_level=True)


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def release(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.param
    return folder


@pytest.fixture
def results(release: Path) -> dict[str, Any]:
    text = lzma.decompress((release / "results.json.xz").read_bytes())
    read: dict[str, Any] = json.loads(text)
    return read


def _undated(call: str, rows: Any) -> Any:
    """Rows without what `renew` changes."""
    key = "day" if "rag.usage_report(" in call else "lease_expires_at"
    return json.loads(re.sub(rf'("{key}": )"[^"]*"', r"\1null", json.dumps(rows)))


def test_a_filled_database_of_a_release_is_the_same_after_an_upgrade(
    release: Path,
    results: dict[str, Any],
    new_database: Callable[..., str],
    server_dsn: str,
    tmp_path: Path,
) -> None:
    with psycopg.connect(server_dsn) as connection:
        version = connection.info.server_version // 10000
    dsn = new_database()
    restore(
        EmbeddedServer(Path(), postgres_version=version),
        dsn,
        (release / "dump.sql.xz").read_bytes(),
    )
    schema.upgrade(dsn)
    assert schema.check(dsn) == []
    now = held(dsn, results["tables"])
    assert {name for name, table in results["tables"].items() if now[name] != table} == set()
    renew(dsn)
    found = observe(dsn, tmp_path, results["calls"])
    assert found["searches"] == results["searches"]
    assert found["evaluation"] == results["evaluation"]
    changed = {
        call: (was, found["calls"][call])
        for call, was in results["calls"].items()
        if _undated(call, found["calls"][call]) != _undated(call, was)
    }
    assert changed == {}
    from_stored, from_anew = answers(dsn, tmp_path)
    assert from_stored == from_anew and all(text for text, _ in from_stored)


def test_what_clients_of_a_release_call_is_there_while_they_are_served(
    results: dict[str, Any], dsn: str
) -> None:
    with psycopg.connect(dsn) as connection:
        (oldest,) = connection.execute("SELECT rag.min_api_version()").fetchone() or (0,)
    if results["api_version"] < oldest:
        return  # they are refused when they open
    present = protocol(dsn, results["protocol"])
    for name, (required, arguments, types, modes, returned) in results["protocol"].items():
        assert name in present, f"rag.{name} is gone: raise rag.min_api_version() a release later"
        now_required, now_arguments, now_types, now_modes, now_returned = present[name]
        assert now_required <= required, f"rag.{name} needs more arguments"
        now = {a: (t, m) for a, t, m in zip(now_arguments, now_types, now_modes, strict=True)}
        for argument, kind, mode in zip(arguments, types, modes, strict=True):
            assert now.get(argument) == (kind, mode), f"rag.{name}: {argument} is another"
        if "t" not in modes:
            assert now_returned == returned, f"rag.{name} returns another type"


@pytest.mark.minutes
def test_the_protocol_is_what_the_package_calls(results: dict[str, Any]) -> None:
    """Found in the sources, both as SQL and by name; some that must be among them."""
    called = set(called_functions())
    assert {"api_version", "min_api_version", "heartbeat", "take_jobs", "search"} <= called
    assert len(called) > 100
