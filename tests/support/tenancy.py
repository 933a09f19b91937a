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


SHARED = "common"


def hidden(tenant: str) -> str:
    """A word of documents of this tenant that its role, which is in no such group, may not read."""
    return f"hid{tenant}dencanary"


def shared_documents(tenants: list[str], each: int) -> list[dict[str, Any]]:
    """Of each tenant: for all of it, for group legal, for group sales; nobody's; everybody's."""
    rows = []
    for number in range(each):
        for tenant in tenants:
            word = hidden(tenant) if number % 3 == 2 else canary(tenant)
            rows.append((f"{tenant}/{word}-{number}", tenant, word, number))
        rows.append((f"nobody-{number}", "", "nobodyscanary", number))
        rows.append((f"everybody-{number}", "*", "delta", number))
    return [
        {
            "uri": uri,
            "content": f"alpha beta {'gamma ' * (number % 3)}{word} item{number}",
            "embedding": [1, number % 5, (number * 7 + len(rows)) % 11],
            "metadata": {"owner": word, "of": owner or "nobody", "n": number},
        }
        for uri, owner, word, number in rows
    ]


def share(connection: Connection, tenants: list[str], *, each: int = 9) -> None:
    """A collection of all tenants: with versions, answers, files and jobs of each."""
    run = connection.execute
    run("SELECT rag.create_collection(%s, 'none', 3), rag.set_tenant(%s, '*')", [SHARED, SHARED])
    run(
        "SELECT rag.alter_collection(%s, keep_versions => '1 day', keep_answers => '1 day')",
        [SHARED],
    )
    rows = shared_documents(tenants, each)
    run("SELECT * FROM rag.load_chunks(%s, %s)", [SHARED, json.dumps(rows)])
    run("SELECT rag.set_access(%s, '*', metadata_filter => '{\"of\": \"*\"}')", [SHARED])
    for tenant in tenants:
        for number, groups in enumerate((None, ["legal"], ["sales"])):
            given = [
                r["uri"] for r in rows
                if r["metadata"]["of"] == tenant and r["metadata"]["n"] % 3 == number
            ]  # fmt: skip
            run("SELECT rag.set_access(%s, %s, %s, %s)", [SHARED, tenant, groups, given])
        uri = f"{tenant}/replaced"
        for text in ("was", "is"):
            run("SELECT rag.put_document(%s, %s, %s)", [SHARED, uri, f"{text} {canary(tenant)}"])
            run("SELECT rag.set_access(%s, %s, uris => %s)", [SHARED, tenant, [uri]])
        run(
            """SELECT rag.log_answer(%s, gen_random_uuid(), %s, '{"text": "so"}'),
                      rag.keep_original(%s, %s, 'a.txt', %s)""",
            [SHARED, f"why {canary(tenant)}?", SHARED, uri, canary(tenant).encode()],
        )
    run(
        "SELECT rag._merge_keyword(c.collection_id) FROM rag.collections AS c WHERE c.name = %s",
        [SHARED],
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
