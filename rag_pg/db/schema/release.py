"""The release that installed schema rag beside this program's: which of the two is newer.

The release stands in rag.installed: its version, and a digest of the files that it carries. Of two
programs of one version and other files, as two states of development are, the newer is the one
that was not there yet: what was replaced is written down, and never comes back by itself.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any

import psycopg

from rag_pg.db.schema.packaged import packaged_files, revision_files
from rag_pg.errors import SchemaMismatch
from rag_pg.version import __version__


@dataclass(frozen=True)
class Release:
    """What a program installs: its version and the digest of all its files."""

    version: str
    digest: str


@dataclass(frozen=True)
class Installed:
    """What is installed. `replaced`: digests of the same version that were installed before;
    `moved`: pgvector is in another schema by now."""

    release: Release | None
    replaced: frozenset[str]
    moved: bool


def packaged_release() -> Release:
    files = {**packaged_files(), **revision_files()}
    text = "\n".join(f"{name} {files[name]}" for name in sorted(files))
    return Release(__version__, hashlib.sha256(text.encode()).hexdigest())


def installed_release(connection: psycopg.Connection[Any]) -> Installed:
    """Raises psycopg's UndefinedTable where nothing is installed."""
    rows = connection.execute(
        """
        WITH extension AS MATERIALIZED (
            SELECT n.nspname FROM pg_catalog.pg_extension AS e
            JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
            WHERE e.extname OPERATOR(pg_catalog.=) 'vector'
        )
        SELECT i.kind, i.name, i.digest FROM rag.installed AS i
        WHERE i.kind OPERATOR(pg_catalog.=) ANY ('{release,replaced}'::pg_catalog.text[])
        UNION ALL
        SELECT 'moved', i.name, '' FROM rag.installed AS i
        WHERE i.kind OPERATOR(pg_catalog.=) 'pgvector' AND NOT EXISTS (
            SELECT FROM extension AS e WHERE e.nspname OPERATOR(pg_catalog.=) i.name)
        """
    ).fetchall()
    release = next(
        (Release(name, digest) for kind, name, digest in rows if kind == "release"), None
    )
    replaced = frozenset(name for kind, name, _ in rows if kind == "replaced")
    return Installed(release, replaced, any(kind == "moved" for kind, _, _ in rows))


def newer_release(installed: Installed) -> str | None:
    """Where the schema is of a newer release than this program, the line that says so."""
    found = installed.release
    if found is None or _order(found.version) <= _order(__version__):
        return None
    return (
        f"schema rag is of release {found.version}, this program is {__version__}: install rag-pg"
        f" {found.version} or newer"
    )


def check_not_newer(connection: psycopg.Connection[Any]) -> None:
    """Raise SchemaMismatch where a newer release installed the schema."""
    if connection.execute("SELECT to_regclass('rag.installed')").fetchone() == (None,):
        return
    if problem := newer_release(installed_release(connection)):
        raise SchemaMismatch(f"{problem}; nothing was changed")


def replaced_by(own: Release, installed: Installed) -> frozenset[str]:
    """The digests of this version that are replaced once `own` is installed."""
    before = installed.release
    if before is None or before.version != own.version:
        return frozenset()
    return (installed.replaced | {before.digest}) - {own.digest}


def _order(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Orders versions: 0.1.0rc1 < 0.1.0 < 0.1.1 < 0.2.0."""
    numbers, rest = re.fullmatch(r"([0-9.]*[0-9])(.*)", version).groups()  # type: ignore[union-attr]
    return tuple(int(number) for number in numbers.split(".")), not rest, rest
