"""A service with keys: who has none, a wrong one or one for something else gets nothing."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from http_service import BASE, app_over, with_service
from patience import BOUND
from tenancy import SHARED, canary, make_tenants, role, share, tenants_of
from typer.testing import CliRunner

from rag_pg import Rag, RagError, Settings
from rag_pg.cli.app import app as app_of_commands
from rag_pg.db import name_of
from rag_pg.server.http.guard import ACCESS
from rag_pg.types import ModelUsage, Usage

SECRET = "The other tenant's pump runs at nine bar."
SEARCH = {"collection": "notes", "query": "pump", "limit": 10, "vector_weight": 0}


KEYS = {
    "owner": "",
    "reader": ", scopes => '{read}'",
    "tenant": """, role_name => 'ROLE', settings => '{"app.tenant": "7"}'""",
    "past": ", expires_at => '2026-01-01'",
    "revoked": "",
    "asker": ", scopes => '{ask}'",
    "nobody": ", role_name => 'ROLE_none'",
    "roleless": ", role_name => 'ROLE_gone'",
    "twice": """, limits => '{"requests_per_day": 2}'""",
    "frugal": """, limits => '{"tokens_per_day": 100}'""",
    "poor": """, limits => '{"cost_per_day": 0.5}'""",
    "never": """, limits => '{"requests_per_minute": 0}'""",
    "silent": """, limits => '{"tokens_per_minute": 0}'""",
    "broke": """, limits => '{"cost_per_minute": 0}'""",
}


@pytest.fixture(scope="module")
def notes(
    new_database: Callable[..., str], template: str, tmp_path_factory: Any
) -> Iterator[tuple[Rag, dict[str, str]]]:
    """Documents of two tenants, with a policy by a setting; yields secrets by who has them."""
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
                CREATE ROLE {role}_gone;
                ALTER TABLE rag.documents ENABLE ROW LEVEL SECURITY;
                ALTER TABLE rag.chunks ENABLE ROW LEVEL SECURITY;
                CREATE POLICY tenant ON rag.documents TO {role}
                    USING (metadata ->> 'tenant' = current_setting('app.tenant', true));
                CREATE POLICY tenant ON rag.chunks TO {role}
                    USING (metadata ->> 'tenant' = current_setting('app.tenant', true))
            """.encode()
        )
        try:
            keys = {}
            for name, more in KEYS.items():
                made = f"SELECT rag.make_service_key('{name}'{more})".replace("ROLE", role)
                ((keys[name],),) = connection.execute(made.encode()).fetchall()
            connection.execute("SELECT rag.revoke_service_key('revoked')")
            connection.execute(f"DROP ROLE {role}_gone".encode())
            yield rag, keys
        finally:
            connection.execute(
                f"""SELECT rag.revoke_access('{role}');
                    DROP OWNED BY {role} CASCADE;
                    DROP ROLE {role}, {role}_none""".encode()
            )


@pytest.fixture
def app(notes: tuple[Rag, dict[str, str]]) -> Any:
    return app_over(notes[0], keys=True)


@pytest.fixture
def keys(notes: tuple[Rag, dict[str, str]]) -> dict[str, str]:
    """Secrets by who has them."""
    return notes[1]


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def wrong(keys: dict[str, str]) -> dict[str, Any]:
    return {
        "none": {},
        "empty": {"authorization": ""},
        "scheme alone": {"authorization": "Bearer"},
        "scheme and space": {"authorization": "Bearer "},
        "no scheme": {"authorization": keys["owner"]},
        "another scheme": {"authorization": f"Basic {keys['owner']}"},
        "Token": {"authorization": f"Token {keys['owner']}"},
        "another header": {"x-api-key": keys["owner"]},
        "a cookie": {"cookie": f"key={keys['owner']}"},
        "unknown": bearer("z" * 32),
        "shorter": bearer(keys["owner"][:-1]),
        "longer": bearer(keys["owner"] + "a"),
        "in capitals": bearer(keys["owner"].upper()),
        "two keys in one": bearer(f"{keys['owner']}, {keys['reader']}"),
        "two headers": [
            ("authorization", f"Bearer {keys['owner']}"),
            ("authorization", f"Bearer {keys['reader']}"),
        ],
        "its digest": bearer(hashlib.sha256(keys["owner"].encode()).hexdigest()),
        "with its digest's name": bearer(
            "sha256:" + hashlib.sha256(keys["tenant"].encode()).hexdigest()
        ),
        "its name": bearer("owner"),
        "letters beyond ASCII": {"authorization": "Bearer ü".encode()},
        "64,000 bytes": bearer("a" * 64_000),
        "expired": bearer(keys["past"]),
        "revoked": bearer(keys["revoked"]),
        "its role was dropped": bearer(keys["roleless"]),
    }


def test_wrong_keys_get_a_problem_and_no_row_on_any_route(app: Any, keys: dict[str, str]) -> None:
    assert len(wrong(keys)) >= 21
    paths = [
        (method.upper(), path.replace("{job_id}", "1").replace("{run_id}", "1"))
        for path, calls in app.openapi()["paths"].items()
        for method in calls
        if path not in ("/health", "/ready")
    ]

    async def ask(client: httpx2.AsyncClient) -> list[tuple[str, int, str]]:
        told = []
        for name, headers in wrong(keys).items():
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


def test_a_key_has_the_rights_of_its_role_and_its_scopes(app: Any, keys: dict[str, str]) -> None:
    async def ask(client: httpx2.AsyncClient) -> dict[str, Any]:
        async def found(key: str) -> Any:
            return await client.post("/search", json=SEARCH, headers=bearer(key))

        where = {"collection": "notes", "uri": "8"}
        question = {"collection": "notes", "question": "pump?"}
        return {
            "owner": [hit["uri"] for hit in (await found(keys["owner"])).json()["hits"]],
            "tenant": [hit["uri"] for hit in (await found(keys["tenant"])).json()["hits"]],
            "nobody": (await found(keys["nobody"])).status_code,
            "asker": (await found(keys["asker"])).status_code,
            "asker asks": (
                await client.post(
                    "/ask", json=question | {"collection": "no"}, headers=bearer(keys["asker"])
                )
            ).status_code,
            "asker writes": (
                await client.delete("/documents", params=where, headers=bearer(keys["asker"]))
            ).status_code,
            "again": [hit["uri"] for hit in (await found(keys["owner"])).json()["hits"]],
            "other": (
                await client.get("/documents", params=where, headers=bearer(keys["tenant"]))
            ).status_code,
            "write": (
                await client.delete("/documents", params=where, headers=bearer(keys["reader"]))
            ).status_code,
            "deleted by the tenant": (
                await client.delete("/documents", params=where, headers=bearer(keys["tenant"]))
            ).status_code,
            "ask": (
                await client.post("/ask", json=question, headers=bearer(keys["reader"]))
            ).status_code,
            "jobs": (await client.get("/jobs", headers=bearer(keys["reader"]))).status_code,
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


def test_mcp_reads_with_the_rights_of_the_key(app: Any, keys: dict[str, str]) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "count", "arguments": {"collection": "notes"}},
    }
    accept = {"accept": "application/json, text/event-stream", "host": "127.0.0.1"}

    async def ask(client: httpx2.AsyncClient) -> list[Any]:
        names = ("owner", "owner", "tenant", "reader")
        asked = (client.post("/mcp", json=call, headers=bearer(keys[n]) | accept) for n in names)
        return [found.json() for found in await asyncio.gather(*asked)]

    owner, at_once, tenant, reader = with_service(app, ask)
    assert owner["result"]["structuredContent"]["documents"] == 2
    assert at_once == owner
    assert tenant["result"]["structuredContent"]["documents"] == 1
    assert reader["status"] == 403


def test_beyond_its_limits_a_key_is_told_when_to_come_again(
    app: Any, notes: tuple[Rag, dict[str, str]]
) -> None:
    rag, keys = notes

    async def ask(client: httpx2.AsyncClient) -> dict[str, list[Any]]:
        told: dict[str, list[Any]] = {name: [] for name in ("twice", "frugal", "poor")}
        for name, seen in told.items():
            for _ in range(2):
                seen.append(await client.post("/search", json=SEARCH, headers=bearer(keys[name])))
                # What a model was asked for it, as answers are counted.
                call = ModelUsage(
                    kind="answer", model="m", calls=1, cost=0.3,
                    usage=Usage(prompt_tokens=50, answer_tokens=10),
                )  # fmt: skip
                digest = hashlib.sha256(keys[name].encode()).hexdigest()
                database = rag.with_settings({"rag.service_key": digest}).database
                database.record_usage("notes", "single", [call], answers=1)
            seen.append(await client.post("/search", json=SEARCH, headers=bearer(keys[name])))
            seen.append(await client.get("/nowhere", headers=bearer(keys[name])))
        return told

    told = with_service(app, ask)
    for name, limit in (
        ("twice", "requests_per_day"), ("frugal", "tokens_per_day"), ("poor", "cost_per_day"),
    ):  # fmt: skip
        assert [one.status_code for one in told[name]] == [200, 200, 429, 429], name
        beyond = told[name][2]
        assert limit in beyond.json()["detail"] and "bar" not in beyond.text
        assert 0 < int(beyond.headers["retry-after"]) <= 86_400
    used = {one.key_name: one for one in rag.database.list_service_keys()}
    assert (used["twice"].requests, used["poor"].tokens) == (2, 120)
    assert used["poor"].cost == pytest.approx(0.6)
    assert used["revoked"].requests == 0


def test_every_route_is_open_to_a_key_of_its_scope_alone(
    app: Any, notes: tuple[Rag, dict[str, str]]
) -> None:
    of_scopes = {
        scope: notes[0].database.make_service_key(
            f"only-{scope}", role_name=None, scopes=[scope], settings={}, limits={}
        )
        for scope in ("read", "ask", "write", "operate")
    }

    async def ask(client: httpx2.AsyncClient) -> dict[tuple[str, str], set[str]]:
        admitted: dict[tuple[str, str], set[str]] = {}
        for path, methods in app.openapi()["paths"].items():
            for method in methods:
                of_call = admitted.setdefault((method, path), set())
                for scope, secret in of_scopes.items():
                    address = re.sub(r"{\w+}", "1", path)
                    found = await client.request(method, address, headers=bearer(secret))
                    if "this key may not" not in found.text:
                        of_call.add(scope)
        return admitted

    admitted = with_service(app, ask)
    everybody = set(of_scopes)
    known = [{"read", "ask"}, {"ask"}, {"write"}, {"operate"}, everybody]
    assert not {call: scopes for call, scopes in admitted.items() if scopes not in known}
    assert admitted["put", "/documents"] == admitted["post", "/uploads"] == {"write"}
    assert admitted["post", "/collections"] == {"operate"}
    assert len([scopes for scopes in admitted.values() if scopes == everybody]) == 2  # health


def test_a_minute_has_limits_too(app: Any, keys: dict[str, str]) -> None:
    async def ask(client: httpx2.AsyncClient) -> list[httpx2.Response]:
        named = ("never", "silent", "broke")
        return [await client.post("/search", json=SEARCH, headers=bearer(keys[n])) for n in named]

    for found, limit in zip(with_service(app, ask), ("requests", "tokens", "cost"), strict=True):
        assert found.status_code == 429 and f"{limit}_per_minute" in found.json()["detail"]
        assert 0 < int(found.headers["retry-after"]) <= 60 and "bar" not in found.text


def test_a_key_with_a_tenants_role_sees_nothing_of_other_tenants(
    new_database: Callable[..., str], rag_template: str, tmp_path_factory: Any
) -> None:
    made = new_database(name_of(rag_template))
    with tenants_of(
        made, ["a", "b"], lambda connection: make_tenants(connection, ["a", "b"])
    ) as dsn:
        settings = Settings(home=tmp_path_factory.mktemp("home"))
        with Rag(dsn, settings=settings) as rag:  # as a superuser, who sees all
            secret = rag.database.make_service_key(
                "a", role_name=role("a"), scopes=["read", "ask", "write"], settings={}, limits={}
            )
            app = app_over(rag, keys=True)

            async def ask(client: httpx2.AsyncClient) -> dict[str, httpx2.Response]:
                def named(tenant: str) -> dict[str, Any]:
                    return {"collection": f"docs-{tenant}", "uri": f"{canary(tenant)}-0"}

                query, turn = SEARCH | {"query": "alpha"}, {"role": "user", "content": "alpha?"}
                head = bearer(secret)
                found = {}
                for one in ("a", "b"):
                    body = query | {"collection": f"docs-{one}"}
                    found[f"search {one}"] = await client.post("/search", json=body, headers=head)
                    found[f"get {one}"] = await client.get(
                        "/documents", params=named(one), headers=head
                    )
                found["delete b"] = await client.delete(
                    "/documents", params=named("b"), headers=head
                )
                found["models"] = await client.get("/v1/models", headers=head)
                found["chat b"] = await client.post(
                    "/v1/chat/completions", headers=head,
                    json={"model": "rag:docs-b", "messages": [turn]},
                )  # fmt: skip
                found["tenant by header"] = await client.post(
                    "/search", json=query | {"collection": "docs-b"},
                    headers=head | {"rag.tenant": "b", "role": "postgres"},
                )  # fmt: skip
                return found

            told = with_service(app, ask)
            assert {name: one.status_code for name, one in told.items()} == {
                "search a": 200, "get a": 200, "search b": 404, "get b": 404, "delete b": 404,
                "models": 200, "chat b": 404, "tenant by header": 404,
            }  # fmt: skip
            assert [one["id"] for one in told["models"].json()["data"]] == ["rag:docs-a"]
            assert told["search a"].json()["hits"]
            assert not [name for name, one in told.items() if canary("b") in one.text]


OWN = {"collection": "docs-b", "uri": f"{canary('b')}-0"}
PASSING = (
    r'"(?:\w*seconds|\w+_at|(?:trace_)?id|created|lag|bytes)": ?[^,}]*'  # which differs anyway
)
IN_COMMON = {"collection": SHARED, "uri": f"b/{canary('b')}-0"}


def calls_of(app: Any, named: dict[str, str]) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Every call of the service with these names: method, path, route, arguments of the client."""
    one, query = named["collection"], {"query": "alpha"}
    bodies: dict[str, dict[str, Any]] = {
        "/search": query | {"collection": one, "vector_weight": 0},
        "/ask": {"collection": one, "question": "alpha?"},
        "/collections": {"name": one},
        "/documents": {"content": "text"},
        "/why_not": query | {"collection": one, "chunk_id": named["chunk"]},
        "/feedback": {"collection": one, "answer_id": named["answer"], "rating": 1},
        "/jobs/retry": {"collection": one},
        "/eval/queries": {"set_name": named["set"], "queries": [{"id": "1", "question": "a?"}]},
        "/v1/chat/completions": {"model": one, "messages": [{"role": "user", "content": "a?"}]},
        "/v1/embeddings": {"model": one, "input": "alpha"},
        "/v1/vector_stores/{collection}/search": query,
        "/v1/rerank": query | {"documents": ["alpha"]},
        "/retrieval": {"knowledge_id": one, "retrieval_setting": {"top_k": 3}} | query,
        "/web_search": query,
    }
    values = named | {
        "model": one, "chunk_ids": named["chunk"], "job_id": named["job"], "run_id": "987654321",
        "run_a": "987654321", "run_b": "987654321", "set_name": named["set"], "old": "1",
        "new": "2", "field": "owner", "uri_prefix": named["uri"][:6], "metric": "mrr",
    }  # fmt: skip
    found = []
    for path, methods in app.openapi()["paths"].items():
        for method, told in methods.items():
            names = [p["name"] for p in told.get("parameters", ()) if p["in"] == "query"]
            more: dict[str, Any] = {"params": {n: values[n] for n in names if n in values}}
            if path == "/uploads":
                more = {"data": {"collection": one}, "files": {"files": (named["uri"], b"text")}}
            elif method in ("post", "put"):
                more["json"] = bodies[path]
            where = re.sub(r"\{(\w+)\}", lambda m: values[m[1]], path)
            found.append((method.upper(), where, path, more))
    return found


@pytest.mark.parametrize("of_another", [OWN, IN_COMMON], ids=["its own", "in a shared collection"])
def test_no_route_tells_what_is_anothers_from_what_never_was(
    new_database: Callable[..., str],
    rag_template: str,
    tmp_path: Path,
    of_another: dict[str, str],
) -> None:
    def make(connection: psycopg.Connection[Any]) -> None:
        connection.execute(  # ids that no other number is
            """SELECT setval(s.oid::regclass, 500000000) FROM pg_class AS s
               WHERE s.relkind = 'S' AND s.relnamespace = 'rag'::regnamespace"""
        )
        make_tenants(connection, ["a", "b"])
        share(connection, ["a", "b"])

    with tenants_of(new_database(name_of(rag_template)), ["a", "b"], make) as dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            secret, *ids = connection.execute(
                """SELECT rag.make_service_key('a', %s), c.chunk_id::text,
                    (SELECT a.answer_id::text FROM rag.answer_log AS a
                     WHERE a.question LIKE %s LIMIT 1),
                    (SELECT max(j.job_id)::text FROM rag.jobs AS j)
                   FROM rag.chunks AS c JOIN rag.documents AS d USING (collection_id, document_id)
                   WHERE d.uri = %s""",
                [role("a"), f"%{canary('b')}%", of_another["uri"]],
            ).fetchone() or ("",)  # fmt: skip
        other = of_another | dict(zip(("chunk", "answer", "job"), ids, strict=True))
        never = {
            "collection": of_another["collection"].replace("-b", "-q"),
            "uri": of_another["uri"].replace(canary("b"), "neverwas"),
            "chunk": "987654321", "answer": str(uuid.uuid4()), "job": "987654322",
        }  # fmt: skip
        with Rag(dsn, settings=Settings(home=tmp_path)) as rag:
            rag.evaluation.sets.put("set-b", [{"id": "1", "question": f"{canary('b')}?"}])
            app = app_over(rag, keys=True)

            async def ask(client: httpx2.AsyncClient) -> list[list[tuple[str, str, int, str]]]:
                told = []
                for named in (other | {"set": "set-b"}, never | {"set": "set-q"}):
                    found = []
                    for method, path, route, more in calls_of(app, named):
                        got = await client.request(method, path, headers=bearer(secret), **more)
                        text = re.sub(PASSING, "", got.text)
                        for name in ("uri", "collection", "chunk", "answer", "job", "set"):
                            text = text.replace(named[name], name)
                        found.append((method, route, got.status_code, text))
                    told.append(found)
                return told

            another, nobody = with_service(app, ask)
    assert [call[:2] for call in another if canary("b") in call[3]] == []
    assert [pair for pair in zip(another, nobody, strict=True) if pair[0] != pair[1]] == []
    assert len(another) >= 47 and not [call for call in another if call[2] in (422, 500)]


def test_where_nothing_can_be_written_only_keys_without_limits_are_served(
    notes: tuple[Rag, dict[str, str]],
) -> None:
    rag, keys = notes
    database = rag.with_settings({"transaction_read_only": "on"}).database
    digests = [hashlib.sha256(keys[name].encode()).digest() for name in ("owner", "past", "twice")]
    owner, past = map(database.use_service_key, digests[:2])
    assert owner is not None and owner.refused is None
    assert past is not None and past.refused == "expired"
    with pytest.raises(RagError, match="read-only"):
        database.use_service_key(digests[2])


def test_several_processes_share_the_limits_of_a_key(notes: tuple[Rag, dict[str, str]]) -> None:
    rag, _ = notes
    given: dict[str, Any] = {"scopes": ["read"], "settings": {}}
    secret = rag.database.make_service_key("shared", **given, limits={"requests_per_day": 10})
    digest = hashlib.sha256(secret.encode()).digest()

    def ask(_: int) -> str | None:
        with Rag(rag.dsn, settings=rag.settings) as other:
            found = [other.database.use_service_key(digest) for _ in range(5)]
        return " ".join(str(one and one.refused) for one in found)

    with ThreadPoolExecutor(4) as pool:
        told = " ".join(filter(None, pool.map(ask, range(4)))).split()
    assert sorted(told) == ["None"] * 10 + ["requests_per_day"] * 10


def ending(notes: tuple[Rag, dict[str, str]], how: str) -> tuple[str, Callable[[], object]]:
    """Make a key, and what ends it."""
    database, name = notes[0].database, f"ending-{uuid.uuid4().hex}"
    limits = {"tokens_per_day": 100.0, "requests_per_day": 1.0}
    secret = database.make_service_key(
        name, scopes=["ask", "write"], settings={}, limits=limits, role_name=None
    )
    digest = hashlib.sha256(secret.encode()).digest()
    if how == "revoked":
        return secret, lambda: database.value(bool, "revoke_service_key", key_name=name)
    return secret, lambda: database.use_service_key(digest, tokens=100 if how == "tokens" else 99)


ENDS = pytest.mark.parametrize(
    ("how", "status", "told"),
    [
        ("revoked", 401, "this key is revoked"),
        ("tokens", 429, "its limit tokens_per_day"),
        ("less", 200, ""),
    ],
)


@ENDS
def test_a_key_that_ends_while_its_answer_waits_gets_none(
    notes: tuple[Rag, dict[str, str]], how: str, status: int, told: str
) -> None:
    app = app_over(notes[0], keys=True, answers_at_once=1)
    secret, end = ending(notes, how)

    async def ask(client: httpx2.AsyncClient) -> httpx2.Response:
        gate = app.state.service.gate
        async with gate.turn(), asyncio.timeout(BOUND):
            body = {"collection": "notes", "question": "pump", "stream": True}
            asked = asyncio.create_task(client.post("/ask", json=body, headers=bearer(secret)))
            while not gate._free.statistics().tasks_waiting:
                await asyncio.sleep(0)
            await asyncio.to_thread(end)
        return await asked

    found = with_service(app, ask)
    assert (found.status_code, told in found.text) == (status, True), found.text


@ENDS
def test_what_comes_while_a_key_ends_is_not_stored(
    notes: tuple[Rag, dict[str, str]], how: str, status: int, told: str
) -> None:
    rag, (secret, end) = notes[0], ending(notes, how)

    async def slowly() -> Any:
        yield b'{"content": '
        await asyncio.to_thread(end)
        yield b'"The valve."}'

    async def put(client: httpx2.AsyncClient) -> httpx2.Response:
        headers = {**bearer(secret), "content-type": "application/json"}
        path = "/documents?collection=notes&uri=late"
        return await client.put(path, content=slowly(), headers=headers)

    found = with_service(app_over(rag, keys=True), put)
    assert (found.status_code, told in found.text) == (status, True), found.text
    assert rag.get_collection("notes").delete("late") == (status == 200)


def test_a_service_needs_execute_on_one_function(notes: tuple[Rag, dict[str, str]]) -> None:
    rag, keys = notes
    role = f"tenants_{os.getpid()}_none"
    assert rag.dsn is not None
    with psycopg.connect(rag.dsn) as connection:
        connection.execute(
            f"""GRANT USAGE ON SCHEMA rag TO {role};
                GRANT EXECUTE ON FUNCTION rag.use_service_key TO {role};
                SET ROLE {role}""".encode()
        )
        found = connection.execute(
            "SELECT key_name, refused FROM rag.use_service_key(sha256(%s))",
            [keys["owner"].encode()],
        ).fetchall()
        assert found == [("owner", None)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT FROM rag.service_keys")
        connection.rollback()
        stored = connection.execute("SELECT k::text FROM rag.service_keys AS k").fetchall()
        assert not [row for (row,) in stored for secret in keys.values() if secret in row]


def test_keys_are_made_listed_and_revoked_by_the_command_line(
    notes: tuple[Rag, dict[str, str]],
) -> None:
    def run(*arguments: str, exit_code: int = 0) -> str:
        done = CliRunner().invoke(app_of_commands, ["key", *arguments, "--dsn", str(notes[0].dsn)])
        assert done.exit_code == exit_code, done.output
        return done.stdout

    options = ("--scopes", "read,ask", "--setting", "app.tenant=7", "--limit", "cost_per_day=5")
    secret = run("make", "website", *options, "--expires", "2099-01-31").strip()
    (made,) = [one for one in notes[0].database.list_service_keys() if one.key_name == "website"]
    assert (made.scopes, made.settings, made.limits) == (
        ["read", "ask"], {"app.tenant": "7"}, {"cost_per_day": 5}
    )  # fmt: skip
    assert made.expires_at is not None and made.expires_at.year == 2099
    assert "website" in run("list") and secret not in run("list")
    run("revoke", "website")
    found = notes[0].database.use_service_key(hashlib.sha256(secret.encode()).digest())
    assert found is not None and found.refused == "revoked"
    run("revoke", "website", exit_code=1)
    run("make", "x", "--limit", "cost_per_day=much", exit_code=1)
    run("make", "x", "--setting", "app.tenant", exit_code=1)


def test_the_log_names_a_key_by_its_name(
    app: Any, keys: dict[str, str], caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", logger="rag_pg.access")
    monkeypatch.setattr(ACCESS, "propagate", True)

    async def ask(client: httpx2.AsyncClient) -> list[int]:
        names = ("owner", "twice", "twice", "twice")  # which may ask twice
        found = [await client.get("/collections", headers=bearer(keys[name])) for name in names]
        return [one.status_code for one in found]

    assert with_service(app, ask)[3] == 429
    told = [
        json.loads(record.getMessage()) for record in caplog.records if record.name == ACCESS.name
    ]
    assert [one["key"] for one in told] == ["owner", "twice", "twice", "twice"]
    assert BASE not in caplog.text and not any(key in caplog.text for key in keys.values())
