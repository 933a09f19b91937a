"""What an upgrade would do, and which locks it takes: it is run, and taken back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rag_pg.db.schema import inventory
from rag_pg.db.schema.packaged import share
from rag_pg.db.schema.release import installed_release, packaged_release
from rag_pg.db.schema.transaction import psycopg_connection, scalar

if TYPE_CHECKING:
    from sqlalchemy import Connection

PATIENCE = "2s"
# Locks that somebody notices, on tables that were there before.
LOCKS = """
SELECT format('%%I.%%I', n.nspname, c.relname), l.mode
FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE l.pid = pg_backend_pid() AND l.granted AND n.nspname <> 'pg_catalog'
    AND c.relkind IN ('r', 'p') AND l.relation::bigint = ANY (%s)
    AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
ORDER BY 1, 2
"""


def planned(connection: Connection, run: Callable[[], object]) -> list[str]:
    """Run an upgrade, take it back, and return what it did, a line each; empty for nothing.

    Its statements wait at most two seconds for a lock. Raises: as the upgrade.
    """
    raw = psycopg_connection(connection)
    with raw.transaction(force_rollback=True):
        raw.execute(f"SET LOCAL lock_timeout TO '{PATIENCE}'".encode())
        present = scalar(connection, "SELECT to_regclass('rag.installed') IS NOT NULL")
        before = inventory.functions(raw) if present else {}
        release = installed_release(raw).release if present else None
        revision = _revision(connection)
        tables = [oid for (oid,) in raw.execute("SELECT oid::bigint FROM pg_class")]
        run()
        own = packaged_release()
        lines = []
        if release is None:
            lines.append(f"install release {own.version}")
        elif release.version != own.version:
            lines.append(f"upgrade release {release.version} to {own.version}")
        paths = sorted(share("alembic").glob("versions/[0-9]*.py"))
        if release is not None:
            lines += [f"run revision {p.stem}" for p in paths if p.stem > revision]
            lines += _functions(before, inventory.functions(raw))
        lines += [
            f"lock table {name} in mode {_mode(mode)}"
            for name, mode in raw.execute(LOCKS, [tables])
        ]
    return lines


def _revision(connection: Connection) -> str:
    if not scalar(connection, "SELECT to_regclass('rag.alembic_version') IS NOT NULL"):
        return ""
    return str(scalar(connection, "SELECT version_num FROM rag.alembic_version") or "")


def _functions(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return [
        *(f"make function {name}" for name in sorted(after.keys() - before.keys())),
        *(
            f"replace function {name}"
            for name in sorted(after.keys() & before.keys())
            if after[name] != before[name]
        ),
        *(f"drop function {name}" for name in sorted(before.keys() - after.keys())),
    ]


def _mode(mode: str) -> str:
    """ShareRowExclusiveLock -> SHARE ROW EXCLUSIVE, as LOCK TABLE has it."""
    words = "".join(f" {c}" if c.isupper() else c for c in mode.removesuffix("Lock"))
    return words.strip().upper()
