"""A service with keys: who has none, a wrong one or one for something else gets nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from http_service import BASE, app_over, with_service

from rag_pg import InvalidInput, Rag, Settings
from rag_pg.server.http import read_keys

OWNER, READER, TENANT, PAST, ASKER, NOBODY = (f"{n}" * 32 for n in "abcdef")
SECRET = "The other tenant's pump runs at nine bar."
SEARCH = {"collection": "notes", "query": "pump", "limit": 10, "vector_weight": 0}


@pytest.fixture(scope="module")
def notes(
    new_database: Callable[..., str], template: str, tmp_path_factory: Any
) -> Iterator[tuple[Rag, str]]:
    """Documents of two tenants, with a policy by a setting; yields the name of a role that it
    holds."""
    role = f"tenants_{os.getpid()}"
    dsn = new_database(template)
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        Rag(dsn, settings=Settings(home=tmp_path_factory.mktemp("home"))) as rag,
    ):
        docs = rag.collection("notes", model="own", dimensions=3)
        for tenant, text in (("7", "The pump runs at two bar."), ("8", SECRET)):
            docs.add_chunks(
                [
                    {
                        "uri": tenant,
                        "content": text,
                        "embedding": [1, 0, 0],
                        "metadata": {"tenant": tenant},
                    }
                ]
            )
        connection.execute(
            f"""CREATE ROLE {role}; SELECT rag.grant_access('{role}', 'reader');
                CREATE ROLE {role}_none;
                ALTER TABLE rag.documents ENABLE ROW LEVEL SECURITY;
                ALTER TABLE rag.chunks ENABLE ROW LEVEL SECURITY;
                CREATE POLICY tenant ON rag.documents TO {role}
                    USING (metadata ->> 'tenant' = current_setting('app.tenant', true));
                CREATE POLICY tenant ON rag.chunks TO {role}
                    USING (metadata ->> 'tenant' = current_setting('app.tenant', true))
            """.encode()
        )
        try:
            yield rag, role
        finally:
            connection.execute(
                f"""SELECT rag.revoke_access('{role}');
                    DROP OWNED BY {role} CASCADE;
                    DROP ROLE {role}, {role}_none""".encode()
            )


@pytest.fixture
def app(notes: tuple[Rag, str], tmp_path: Path) -> Any:
    rag, role = notes
    file = tmp_path / "keys"
    file.write_text(
        f"# of the tests\n{OWNER}\n"
        f"{READER} scopes=read\n"
        f"sha256:{hashlib.sha256(TENANT.encode()).hexdigest()} role={role} app.tenant=7\n"
        f"{PAST} expires=2026-01-01\n"
        f"{ASKER} scopes=ask\n"
        f"{NOBODY} role={role}_none\n"
    )
    return app_over(rag, keys=read_keys(file))


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


WRONG: dict[str, Any] = {
    "none": {},
    "empty": {"authorization": ""},
    "scheme alone": {"authorization": "Bearer"},
    "scheme and space": {"authorization": "Bearer "},
    "no scheme": {"authorization": OWNER},
    "another scheme": {"authorization": f"Basic {OWNER}"},
    "Token": {"authorization": f"Token {OWNER}"},
    "another header": {"x-api-key": OWNER},
    "a cookie": {"cookie": f"key={OWNER}"},
    "unknown": bearer("z" * 32),
    "shorter": bearer(OWNER[:-1]),
    "longer": bearer(OWNER + "a"),
    "in capitals": bearer(OWNER.upper()),
    "two keys in one": bearer(f"{OWNER}, {READER}"),
    "two headers": [("authorization", f"Bearer {OWNER}"), ("authorization", f"Bearer {READER}")],
    "its digest": bearer(hashlib.sha256(OWNER.encode()).hexdigest()),
    "as the file has it": bearer("sha256:" + hashlib.sha256(TENANT.encode()).hexdigest()),
    "a comment of the file": bearer("# of the tests"),
    "letters beyond ASCII": {"authorization": "Bearer ü".encode()},
    "a megabyte": bearer("a" * 1_000_000),
    "expired": bearer(PAST),
}


def test_wrong_keys_get_a_problem_and_no_row_on_any_route(app: Any) -> None:
    assert len(WRONG) >= 20
    paths = [
        (method.upper(), path.replace("{job_id}", "1").replace("{run_id}", "1"))
        for path, calls in app.openapi()["paths"].items()
        for method in calls
        if path not in ("/health", "/ready")
    ]

    async def ask(client: httpx2.AsyncClient) -> list[tuple[str, int, str]]:
        told = []
        for name, headers in WRONG.items():
            found = await client.post("/search", json=SEARCH, headers=headers)
            told.append((name, found.status_code, found.text))
            assert found.headers["www-authenticate"] == "Bearer", name
        for method, path in [*paths, ("POST", "/mcp"), ("GET", "/nowhere")]:
            found = await client.request(method, path, content=b"{")
            told.append((path, found.status_code, found.text))
        return told

    told = with_service(app, ask)
    assert [(name, status) for name, status, _ in told if status != 401] == []
    assert not [name for name, _, text in told if "bar" in text or "notes" in text]
    assert len(told) > 60


def test_a_key_has_the_rights_of_its_role_and_its_scopes(app: Any) -> None:
    async def ask(client: httpx2.AsyncClient) -> dict[str, Any]:
        async def found(key: str) -> Any:
            return await client.post("/search", json=SEARCH, headers=bearer(key))

        where = {"collection": "notes", "uri": "8"}
        question = {"collection": "notes", "question": "pump?"}
        return {
            "owner": [hit["uri"] for hit in (await found(OWNER)).json()["hits"]],
            "tenant": [hit["uri"] for hit in (await found(TENANT)).json()["hits"]],
            "nobody": (await found(NOBODY)).status_code,
            "asker": (await found(ASKER)).status_code,
            "asker asks": (
                await client.post(
                    "/ask", json=question | {"collection": "no"}, headers=bearer(ASKER)
                )
            ).status_code,
            "asker writes": (
                await client.delete("/documents", params=where, headers=bearer(ASKER))
            ).status_code,
            "again": [hit["uri"] for hit in (await found(OWNER)).json()["hits"]],
            "other": (
                await client.get("/documents", params=where, headers=bearer(TENANT))
            ).status_code,
            "write": (
                await client.delete("/documents", params=where, headers=bearer(READER))
            ).status_code,
            "deleted by the tenant": (
                await client.delete("/documents", params=where, headers=bearer(TENANT))
            ).status_code,
            "ask": (await client.post("/ask", json=question, headers=bearer(READER))).status_code,
            "jobs": (await client.get("/jobs", headers=bearer(READER))).status_code,
            "open": [(await client.get(path)).status_code for path in ("/health", "/ready")],
        }

    told = with_service(app, ask)
    assert sorted(told.pop("owner")) == sorted(told.pop("again")) == ["7", "8"]
    assert told == {
        "tenant": ["7"],
        "nobody": 403,
        "asker": 200,
        "asker asks": 404,
        "asker writes": 403,
        "other": 404,
        "write": 403,
        "deleted by the tenant": 403,
        "ask": 403,
        "jobs": 403,
        "open": [200, 200],
    }


def test_mcp_reads_with_the_rights_of_the_key(app: Any) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "count", "arguments": {"collection": "notes"}},
    }
    accept = {"accept": "application/json, text/event-stream", "host": "127.0.0.1"}

    async def ask(client: httpx2.AsyncClient) -> list[Any]:
        told = []
        for key in (OWNER, TENANT, READER):
            found = await client.post("/mcp", json=call, headers=bearer(key) | accept)
            told.append(found.json())
        return told

    owner, tenant, reader = with_service(app, ask)
    assert owner["result"]["structuredContent"]["documents"] == 2
    assert tenant["result"]["structuredContent"]["documents"] == 1
    assert reader["status"] == 403


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no key"),
        ("# a comment\n\n", "holds no key"),
        ("short", "fewer than 32 characters"),
        (f"{OWNER}\n{OWNER}", "a key twice"),
        (f"{OWNER} scopes=root", "scopes are some of read,ask,write,operate"),
        (f"{OWNER} expires=soon", "expires is no date"),
        (f"{OWNER} rôle=x", "use role=, scopes="),
        (f"{OWNER} role=", "use role=, scopes="),
        (f"{OWNER} search_path=x", "use role=, scopes="),
    ],
)
def test_a_file_of_keys_that_is_wrong_is_told_without_a_key(
    tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "keys"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=told) as raised:
        read_keys(file)
    assert OWNER not in str(raised.value)
    with pytest.raises(InvalidInput, match="cannot read"):
        read_keys(tmp_path / "nowhere")


def test_the_log_names_a_key_by_its_line(app: Any, caplog: Any) -> None:
    caplog.set_level("INFO", logger="rag_pg.access")
    with_service(app, lambda client: client.get("/collections", headers=bearer(OWNER)))
    assert '"key": "keys:2"' in caplog.text and OWNER not in caplog.text and BASE not in caplog.text
