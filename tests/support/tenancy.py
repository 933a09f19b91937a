"""A database of several tenants, each with a collection of words that nobody else has."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

Connection = psycopg.Connection[Any]


def role(tenant: str) -> str:
    """The login role of a tenant, of this process: a server's databases share its roles."""
    return f"of_{tenant}_{os.getpid()}"


def collection(tenant: str) -> str:
    return f"docs-{tenant}"


def canary(tenant: str) -> str:
    """A word of this tenant alone, far from those of the others."""
    return f"zeb{tenant}bracanary"


def documents(tenant: str, count: int) -> list[dict[str, Any]]:
    return [
        {
            "uri": f"{canary(tenant)}-{number}",
            "content": f"alpha beta {'gamma ' * (number % 3)}{canary(tenant)} item{number}",
            "embedding": [1, number % 5, (number * 7) % 11],
            "metadata": {"owner": canary(tenant), "n": number},
        }
        for number in range(count)
    ]


def make_tenant(connection: Connection, tenant: str, count: int) -> None:
    """A collection with so many documents, a version that was replaced, an answer, a job."""
    run, name = connection.execute, collection(tenant)
    run("SELECT rag.create_collection(%s, 'none', 3)", [name])
    run(
        "SELECT rag.create_tenant(%(t)s), rag.set_tenant(%(c)s, %(t)s)",
        {"t": tenant, "c": name},
    )
    run(
        "SELECT rag.alter_collection(%s, keep_versions => '1 day', keep_answers => '1 day')",
        [name],
    )
    run("SELECT * FROM rag.load_chunks(%s, %s)", [name, json.dumps(documents(tenant, count))])
    run("SELECT rag.put_document(%s, 'replaced', %s)", [name, f"was {canary(tenant)}"])
    run("SELECT rag.put_document(%s, 'replaced', %s)", [name, f"is {canary(tenant)}"])
    run(
        """SELECT rag.log_answer(%s, gen_random_uuid(), %s, '{"text": "so"}'),
                  rag.keep_original(%s, 'replaced', 'a.txt', %s)""",
        [name, f"why {canary(tenant)}?", name, canary(tenant).encode()],
    )
    run(
        "SELECT rag._merge_keyword(c.collection_id) FROM rag.collections AS c WHERE c.name = %s",
        [name],
    )


def make_tenants(
    connection: Connection, tenants: list[str], *, access: str = "writer", documents: int = 5
) -> None:
    for number, tenant in enumerate(tenants):
        make_tenant(connection, tenant, documents + number)
        connection.execute(f"CREATE ROLE {role(tenant)} LOGIN".encode())
        connection.execute("SELECT rag.grant_tenant(%s, %s, %s)", [role(tenant), tenant, access])


def as_role(dsn: str, name: str) -> Connection:
    return psycopg.connect(make_conninfo(dsn, user=name), autocommit=True)


@contextmanager
def tenants_of(dsn: str, tenants: list[str], make: Callable[[Connection], None]) -> Iterator[str]:
    """A database that `make` fills; its roles go again, for a server's databases share them."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        make(connection)
        doors = connection.execute("SELECT (d).reader, (d).writer FROM rag._door_roles() AS d")
        ((reader, writer),) = doors.fetchall()
    yield dsn
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.revoke_tenant(t.role_name) FROM rag.tenant_roles AS t")
        for name in (reader, writer, *map(role, tenants)):
            connection.execute(
                sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(sql.Identifier(name))
            )
