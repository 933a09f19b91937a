"""The service's own routes give what the Python client gives."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import httpx2
import pytest
from http_service import app_over, request, with_service

from rag_pg import ProviderAuth, Rag
from rag_pg.answer import CALLERS_OPTIONS
from rag_pg.search import SearchOptions
from rag_pg.server.http.problem import problem_of
from rag_pg.server.http.request import answered
from rag_pg.server.http.shapes import AskBody, SearchBody
from rag_pg.types import StatementOptions, to_json


def events(text: str) -> list[tuple[str, Any]]:
    """Read server-sent events: the kind of each, and its data."""
    blocks = [block.splitlines() for block in text.split("\n\n") if block]
    read = [dict(line.split(": ", 1) for line in block if line[0] != ":") for block in blocks]
    return [(one.get("event", ""), json.loads(one["data"])) for one in read if one]


def test_the_options_of_a_search_are_those_of_the_client() -> None:
    asked = AskBody.model_fields.keys() - {"collection", "question", "stream", "rerank"}
    assert asked == CALLERS_OPTIONS
    searched = SearchBody.model_fields.keys() - {"collection", "query"}
    assert searched > StatementOptions.__optional_keys__
    of_a_call = SearchOptions.__optional_keys__ | {"max_tokens", "max_cost"}
    assert searched == of_a_call - {"rerank_timeout", "helper_llm", "now"}  # not for who asks


def test_a_search_gives_the_hits_of_the_client(filled: Rag) -> None:
    wanted = filled.get_collection("animals").search("bird 3", limit=4, filter={"kind": "bird"})
    body = {"collection": "animals", "query": "bird 3", "limit": 4, "filter": {"kind": "bird"}}
    found = request(app_over(filled), "POST", "/search", json=body)
    assert found.status_code == 200
    assert found.json()["hits"] == to_json([*wanted])
    assert found.json()["method"] == wanted.method
    assert found.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'self'" in found.headers["content-security-policy"]


def test_half_a_character_is_answered_by_a_mark() -> None:
    assert answered({"uri": "a\ud800b"}).body == b'{"uri": "a?b"}'


def test_a_refused_key_of_a_provider_is_not_asked_for_again() -> None:
    told = problem_of(ProviderAuth("openai refused the key"))["detail"]
    assert told == "a model did not answer (ProviderAuth); the log says why"


def test_an_answer_comes_whole_or_as_events_with_the_same_text(filled: Rag) -> None:
    body: dict[str, Any] = {"collection": "machines", "question": "When does the valve open?"}

    async def both(client: httpx2.AsyncClient) -> tuple[Any, str]:
        whole = await client.post("/ask", json=body)
        streamed = await client.post("/ask", json=body | {"stream": True})
        assert streamed.headers["content-type"].startswith("text/event-stream")
        return whole.json(), streamed.text

    whole, text = with_service(app_over(filled), both)
    told = events(text)
    assert whole["found"] and "three bar" in whole["text"]
    kind, last = told[-1]
    assert kind == "answer" and last["answer"]["text"] == whole["text"]
    assert {kind for kind, _ in told} >= {"search", "answer"}
    assert "".join(data["text"] for kind, data in told if kind == "token") in ("", whole["text"])


def test_documents_are_put_listed_read_and_deleted(rag: Rag) -> None:
    rag.collection("notes", model="own", dimensions=3)
    where = {"collection": "notes", "uri": "a/b c?.md"}

    async def life(client: httpx2.AsyncClient) -> None:
        body = {"content": "# Valve\n\nIt opens.", "metadata": {"kind": "machine"}}
        put = await client.put("/documents", params=where, json=body)
        assert (put.status_code, put.json()["added"]) == (200, 1), put.text
        again = await client.put("/documents", params=where, json=body)
        assert again.json()["document_ids"] == put.json()["document_ids"]
        read = (await client.get("/documents", params=where)).json()
        assert (read["content"], read["metadata"]) == (body["content"], body["metadata"])
        long = {"content": "z", "title": "z" * 201}
        put = await client.put("/documents", params=where | {"uri": "z"}, json=long)
        assert put.json()["notes"] == ["z: only 200 characters of its title are kept"]
        page = (await client.get("/documents", params={"collection": "notes", "limit": 1})).json()
        assert [one["uri"] for one in page["documents"]] == ["a/b c?.md"] and page["next"]
        page = {"collection": "notes", "after": page["next"]}
        rest = (await client.get("/documents", params=page)).json()
        assert [one["uri"] for one in rest["documents"]] == ["z"] and rest["next"] is None
        jobs = (await client.get("/jobs", params={"collection": "notes"})).json()
        assert {one["uri"] for one in jobs} == {"a/b c?.md", "z"}
        assert (await client.get(f"/jobs/{jobs[0]['job_id']}")).json()["state"] == "waiting"
        several = where | {"uri": ["a/b c?.md", "none", "z"]}
        assert (await client.delete("/documents", params=several)).json() == {"count": 2}
        assert (await client.delete("/documents", params=where)).json() == {"count": 0}
        gone = await client.get("/documents", params=where)
        assert gone.status_code == 404

    with_service(app_over(rag), life)


def test_a_model_that_does_not_answer_is_told_in_the_log(
    rag: Rag, logged: Callable[[], list[logging.LogRecord]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_PG_OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    chunk = {"uri": "valve", "content": "The valve opens at three bar.", "embedding": [1, 0, 0]}
    rag.collection("own", model="my-model", dimensions=3).add_chunks([chunk])

    async def ask(client: httpx2.AsyncClient) -> list[Any]:
        about: dict[str, Any] = {"collection": "own"}
        found = await client.post("/search", json=about | {"query": "valve"})
        asked = about | {"question": "When does the valve open?", "strategy": "single"}
        return [found.json(), (await client.post("/ask", json=asked)).json()]

    settings = replace(rag.settings, llm="openai:x")
    found, answer = with_service(app_over(Rag(rag.dsn, settings=settings)), ask)
    assert [hit["uri"] for hit in found["hits"]] == ["valve"] and found["skipped"] == ["vector"]
    assert "three bar" in answer["text"] and answer["strategy"] == "extractive"
    skipped = "vector search was skipped: unknown embedding model 'my-model'"
    told = [one.getMessage() for one in logged() if one.levelname == "WARNING"]
    assert [one.startswith(skipped) for one in told] in ([True, True, False], [True, False, True])
    assert any(one.startswith("single failed: cannot reach openai") for one in told)


def test_files_are_uploaded_and_their_originals_read(rag: Rag) -> None:
    rag.collection("notes", model="own", dimensions=3)
    script = b"<script>alert(1)</script><p>The valve opens.</p>"

    async def life(client: httpx2.AsyncClient) -> None:
        files = [("files", ("a.txt", b"The pump runs.")), ("files", ("b.html", script))]
        files += [("files", ("c.exe", b"\0\1"))]
        fields = {"collection": "notes", "keep_original": "true", "uri_prefix": "up/"}
        fields["metadata"] = '{"from": "tests"}'
        put = await client.post("/uploads", data=fields, files=files)
        assert put.status_code == 200, put.text
        assert sorted(put.json()["uris"]) == ["up/a.txt", "up/b.html"]
        (failure,) = put.json()["failures"]
        assert failure["uri"] == "up/c.exe"
        where = {"collection": "notes", "uri": "up/a.txt"}
        read = (await client.get("/documents", params=where)).json()
        assert read["metadata"]["from"] == "tests"
        original = await client.get("/documents/original", params=where)
        assert original.content == b"The pump runs."
        assert original.headers["content-disposition"].startswith("inline")
        page = await client.get("/documents/original", params=where | {"uri": "up/b.html"})
        assert page.content == script and page.headers["content-type"] != "text/html"
        assert page.headers["content-disposition"].startswith("attachment")
        assert page.headers["x-content-type-options"] == "nosniff"
        named = [(f"x.{one}", script) for one in ("svg", "xhtml", "xml", "htm", "md", "eml", "mht")]
        hostile = [("files", one) for one in named] + [("files", ("../../etc/x.txt", b"up"))]
        await client.post("/uploads", data=fields, files=hostile)
        for name in ("x.svg", "x.xhtml", "x.xml", "x.htm", "x.md", "x.eml", "x.mht"):
            found = await client.get("/documents/original", params=where | {"uri": f"up/{name}"})
            kind = found.headers["content-type"]
            assert found.status_code == 404 or kind.startswith(("application/octet-stream",
                "text/plain", "application/problem+json")), (name, kind)  # fmt: skip
        for uri in ("../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "up/../a.txt"):
            found = await client.get("/documents/original", params=where | {"uri": uri})
            assert found.status_code == 404, uri

    with_service(app_over(rag), life)


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PATCH", "/search", "POST"),
        ("POST", "/documents", "DELETE, GET, HEAD, PUT"),
        ("DELETE", "/jobs/7", "GET, HEAD"),
        ("POST", "/jobs/7", "GET, HEAD"),
        ("GET", "/v1/vector_stores/animals/search", "POST"),
        ("POST", "/", "GET, HEAD"),
        ("POST", "/app.js", "GET, HEAD"),
    ],
)
def test_a_method_that_a_path_has_not_is_told_which_it_has(
    filled: Rag, method: str, path: str, allow: str
) -> None:
    found = request(app_over(filled), method, path)
    assert found.status_code == found.json()["status"] == 405
    assert ", ".join(sorted(found.headers["allow"].split(", "))) == allow


@pytest.mark.parametrize("path", ["/health", "/app.js", "/collections", "/nowhere", "/search"])
def test_head_is_get_without_its_body(filled: Rag, path: str) -> None:
    head, got = (request(app_over(filled), method, path) for method in ("HEAD", "GET"))
    assert head.status_code == got.status_code and head.content == b"" != got.content
    assert head.headers["content-type"] == got.headers["content-type"]


def test_the_page_has_its_files_and_no_other(filled: Rag) -> None:
    async def ask(client: httpx2.AsyncClient) -> list[tuple[int, str]]:
        paths = ("/", "/index.html", "/app.js", "/style.css", "/no.js", "/../app.py", "/%2e%2e/x")
        found = [await client.get(path) for path in paths]
        return [(one.status_code, one.headers["content-type"].partition(";")[0]) for one in found]

    page, problem = (200, "text/html"), (404, "application/problem+json")
    kinds = with_service(app_over(filled), ask)
    assert kinds[:2] == [page, page] and kinds[3] == (200, "text/css")
    assert kinds[2][0] == 200 and kinds[2][1].endswith("/javascript")
    assert kinds[4:] == [problem] * 3


@pytest.mark.parametrize("range", ["bytes=99999999-", "bytes=x"])
def test_a_file_of_the_page_is_whole_whatever_range_is_asked_for(filled: Rag, range: str) -> None:
    async def ask(client: httpx2.AsyncClient) -> httpx2.Response:
        return await client.get("/", headers={"Range": range})

    found = with_service(app_over(filled), ask)
    assert found.status_code == 200 and found.text.endswith("</html>\n")


@pytest.mark.parametrize(
    ("method", "path", "more", "status", "told"),
    [
        ("POST", "/search", {"json": {"collection": "no", "query": "x"}}, 404, "'no'"),
        ("POST", "/search", {"json": {"collection": "animals", "query": "x", "limit": 0}}, 400,
         "limit"),
        ("POST", "/search", {"json": {"collection": "animals", "query": "x", "typo": 1}}, 422,
         "#/typo"),
        ("POST", "/search", {"json": {"collection": "animals"}}, 422, "#/query"),
        ("POST", "/search", {"content": b"{", "headers": {"content-type": "application/json"}},
         422, "#: the body is no JSON: Expecting property name enclosed in double quotes at char"),
        ("POST", "/search", {"content": b"{} {}", "headers": {"content-type": "application/json"}},
         422, "#: the body is no JSON: Extra data at character 3"),
        ("POST", "/search", {"content": b'{"collection": "animals", "query": "x", "query": "y"}',
         "headers": {"content-type": "application/json"}}, 400, "has the key 'query' twice"),
        ("PUT", "/documents?collection=animals&uri=a", {"content": b'{"content": "x", "metadata": '
         b'[{"a": 1, "\\u0061": 2}]}', "headers": {"content-type": "application/merge+json"}}, 400,
         "has the key 'a' twice; give it once"),
        ("POST", "/mcp", {"content": b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}',
         "headers": {"content-type": "application/json;charset=utf-8"}}, 400, "the key 'id' twice"),
        ("POST", "/search", {"content": b'{%s "0": 1}' % b"".join(b'"%d": 1,' % n for n in
         range(150_000)), "headers": {"content-type": "application/json"}}, 400, "the key '0' tw"),
        ("POST", "/ask", {"content": b"[" * 99_999, "headers": {"content-type":
         "application/json"}}, 400, "nested too deep"),
        ("POST", "/ask", {"content": b"9" * 9999, "headers": {"content-type": "application/json"}},
         400, "a number of thousands of digits"),
        ("GET", "/documents?collection=animals&filter=%7B%22a%22:1,%22a%22:2%7D", {}, 400,
         "filter: an object of JSON has the key 'a' twice"),
        ("POST", "/search", {"json": {"collection": "animals", "query": "x", "cache": 1}}, 422,
         "#/cache: 1 is no boolean"),
        ("POST", "/search", {"json": {}, "headers": {"content-encoding": "gzip"}}, 415, "'gzip'"),
        ("POST", "/uploads", {"data": {"collection": "animals"}, "files": {"files": ("a.md", b"x")},
         "headers": {"content-encoding": "br"}}, 415, "send it as it is, not compressed"),
        ("POST", "/search", {"json": {"collection": "animals", "query": "x", "rerank": True}}, 400,
         "no reranker"),
        ("POST", "/ask", {"json": {"collection": "animals", "question": "x", "stream": True,
         "strategy": "os:system"}}, 400, "strategy"),
        ("GET", "/documents?collection=animals&uri=no", {}, 404, "'no'"),
        ("GET", "/facets?collection=animals&field=kind&filter=%7B", {}, 400, "filter is no JSON"),
        ("GET", "/usage?until=0", {}, 422, "#/until: Invalid isoformat string: '0'"),
        ("GET", "/documents?collection=animals&limit=1&limit=2", {}, 422, "#/limit: is given"),
        ("GET", "/documents?collection=animals&filtre=x", {}, 422,
         "#/filtre: is no parameter; use collection, uri, limit, after, uri_prefix, filter"),
        ("POST", "/search?collection=animals", {"json": {"collection": "animals", "query": "x"}},
         422, "#/collection: is no parameter; there is none here"),
        ("DELETE", "/documents?collection=animals&collection=b&uri=a", {}, 422, "#/collection: is"),
        ("POST", "/uploads", {"data": {"collection": ["animals", "b"]}, "files": {"files":
         ("a.md", b"x")}}, 400, "given twice"),
        ("GET", "/nowhere", {}, 404, "/openapi.json lists them"),
        ("PATCH", "/search", {}, 405, "Allow names the methods"),
        ("POST", "/search", {"content": b"{}"}, 422, "content-type: application/json"),
        ("POST", "/search", {"json": []}, 422, "no JSON object"),
        ("POST", "/search", {"content": b'{"a": "\xff"}', "headers": {"content-type":
         "application/json"}}, 400, "UTF-8"),
        ("GET", "/jobs/9223372036854775807", {}, 404, "job"),
        ("GET", "/eval/runs/1", {}, 404, "run 1"),
        ("GET", "/eval/runs/1/results", {}, 404, "run 1"),
        ("GET", "/jobs?state=zzz", {}, 400, "unknown state 'zzz'; use waiting, running or dead"),
        ("PUT", "/documents?collection=animals&uri=caf%e9", {"json": {"content": "x"}}, 400,
         "no UTF-8; percent-encode UTF-8"),
        ("POST", "/v1/vector_stores/%ff/search", {"json": {"query": "x"}}, 400, "no UTF-8"),
        ("POST", "/search", {}, 422, "#: the body is no JSON object"),
        ("POST", "/uploads", {"data": {"collection": "animals", "files": "a.md"}}, 422,
         "#/files/0: send a file: -F files=@NAME"),
        ("POST", "/uploads", {"data": {"collection": "animals", "metdata": "{}"}, "files": {"files":
         ("a.md", b"x")}}, 400, "unknown field 'metdata'; use collection, files, keep_original"),
        ("POST", "/v1/rerank", {"json": {"query": "", "documents": ["a"]}}, 422, "#/query"),
        ("POST", "/v1/embeddings", {"json": {"model": "rag:animals", "input": [[1, 2]]}}, 400,
         "input holds token ids"),
        ("POST", "/search", {"content": b" " * 2_000_001}, 413, "2000000 bytes; see --max-body"),
        ("POST", "/search", {"json": {}, "headers": {"host": "evil.example.com"}}, 421,
         "evil.example.com"),
        ("POST", "/search", {"json": {}, "headers": {"origin": "https://evil.example.com"}}, 403,
         "another site"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_a_problem_with_the_words_of_the_client(
    filled: Rag, method: str, path: str, more: dict[str, Any], status: int, told: str
) -> None:
    found = request(app_over(filled), method, path, **more)
    assert (found.status_code, found.headers["content-type"]) == (
        status,
        "application/problem+json",
    ), found.text
    problem = found.json()
    assert problem["status"] == problem["error"]["code"] == status
    assert told in problem["detail"] and problem["error"]["message"] == problem["detail"]


def test_a_boolean_is_no_number_on_any_route(filled: Rag) -> None:
    app = app_over(filled)
    schemas = app.openapi()["components"]["schemas"]
    wrong = dict[str, set[str]]()
    for path, methods in app.openapi()["paths"].items():
        for told in methods.values():
            body = told.get("requestBody", {}).get("content", {}).get("application/json", {})
            fields = schemas.get(body.get("schema", {}).get("$ref", "").rpartition("/")[2], {})
            kinds = {name: json.dumps(one) for name, one in fields.get("properties", {}).items()}
            numbers = {n for n, k in kinds.items() if re.search('"(integer|number)"', k)}
            wrong[path] = {n for n in numbers if '"boolean"' not in kinds[n]}

    async def ask(client: httpx2.AsyncClient) -> None:
        for path, names in wrong.items():
            for name in names - {"input"}:
                found = await client.post(path.format(collection="animals"), json={name: True})
                faults = {one["pointer"]: one["detail"] for one in found.json()["errors"]}
                assert faults[f"#/{name}"] == "true is no number", (path, name)

    assert {"limit", "max_cost"} <= wrong["/search"] and wrong["/web_search"] == {"count"}
    with_service(app, ask)


def test_health_is_told_to_who_asks_for_the_head_alone(filled: Rag) -> None:
    app = app_over(filled)
    assert [request(app, "HEAD", path).status_code for path in ("/health", "/ready")] == [200, 200]


def test_what_does_not_begin_in_time_is_told_so(filled: Rag) -> None:
    body = {"collection": "animals", "query": "bird"}
    late = request(app_over(filled, timeout=0.0), "POST", "/search", json=body)
    assert (late.status_code, late.headers["content-type"]) == (504, "application/problem+json")
    assert "within 0 seconds" in late.json()["detail"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("origin", "http://127.0.0.1:8000")], 200),
        ([("origin", "https://rag.example.com")], 200),  # before which a proxy stands
        ([("origin", "http://127.0.0.1:3000")], 403),  # a page of another program
        ([("origin", "http://127.0.0.1")], 403),
        ([("origin", "https://rag.example.com:3000")], 403),
        ([("origin", "http://[::1")], 403),
        ([("origin", "null")], 403),
        ([("origin", "")], 403),
        ([("origin", "http://127.0.0.1:8000"), ("origin", "http://evil.example.com")], 403),
        ([("host", "127.0.0.1:8000"), ("host", "evil.example.com")], 421),
        ([("host", "\u00fc".encode())], 421),
        ([("host", "")], 421),
        ([("host", "127.0.0.1:8000@evil.example.com")], 421),
        ([("host", "127.0.0.1:")], 421),
        ([("host", "127.0.0.1.evil.example.com")], 421),
        ([("host", "[::1]:8000")], 200),
        ([("x-request-id", "\u2028\U0001f600".encode()), ("accept", b"\xff\xfe")], 200),
    ],
)
def test_only_its_own_pages_and_names_are_served(
    filled: Rag, headers: list[Any], status: int
) -> None:
    app = app_over(filled, allowed_hosts=["rag.example.com"])
    found = with_service(app, lambda client: client.get("/collections", headers=headers))
    assert found.status_code == status, found.text
    assert not [name for name in found.headers if name.startswith("access-control")]


def test_nothing_private_is_kept_by_caches(filled: Rag) -> None:
    async def ask(client: httpx2.AsyncClient) -> list[str]:
        where = {"collection": "animals", "uri": "animals/bird-01.md"}
        body = {"collection": "animals", "question": "bird?", "stream": True}
        found = [
            await client.get("/documents", params=where),
            await client.get("/documents", params=where | {"uri": "no"}),
            await client.post("/ask", json=body),
            await client.get("/app.js"),
        ]
        return [one.headers["cache-control"] for one in found]

    assert with_service(app_over(filled), ask) == ["no-store"] * 3 + ["no-cache"]


def test_every_route_answers_head_and_options(filled: Rag) -> None:
    app = app_over(filled)

    async def ask(client: httpx2.AsyncClient) -> dict[tuple[str, str], int]:
        paths = [*app.openapi()["paths"], "/", "/app.js", "/mcp", "/nowhere"]
        return {
            (method, path): (
                await client.request(method, re.sub(r"\{\w+\}", "1", path))
            ).status_code
            for path in paths
            for method in ("HEAD", "OPTIONS", "TRACE", "PROPFIND")
        }

    told = with_service(app, ask)
    assert len(told) > 150 and set(told.values()) <= {200, 400, 404, 405, 406, 422}


@pytest.mark.parametrize("kind", ["files", "fields", "deep", "deeper", "long number", "null"])
def test_what_is_made_to_be_too_much_is_refused(filled: Rag, kind: str) -> None:
    def part(name: str, number: int) -> str:
        return f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{number}\r\n'

    search = '{"collection": "animals", "query": "x", "filter": %s}'
    path, content, media_type = {
        "files": (
            "/uploads",
            "".join(part(f'files"; filename="{n}.txt', n) for n in range(2000)) + "--b--\r\n",
            "multipart/form-data; boundary=b",
        ),
        "fields": (
            "/uploads",
            "".join(part("collection", n) for n in range(2000)) + "--b--\r\n",
            "multipart/form-data; boundary=b",
        ),
        "deep": ("/search", search % ("[" * 100_000 + "]" * 100_000), "application/json"),
        "deeper": ("/search", search % ('{"$not":' * 900 + "{}" + "}" * 900), "application/json"),
        "long number": ("/search", search % ('{"years": ' + "9" * 5000 + "}"), "application/json"),
        "null": ("/search", search % '{"kind": "a\\u0000"}', "application/json"),
    }[kind]
    headers = {"content-type": media_type}
    found = request(app_over(filled), "POST", path, content=content, headers=headers)
    assert found.status_code in (400, 422), found.text
    assert found.headers["content-type"] == "application/problem+json"
    assert len(found.text) < 2000


def test_a_form_that_was_cut_off_stores_nothing(filled: Rag) -> None:
    field, file = (f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\nanimals\r\n'
                   for name in ("collection", 'files"; filename="cut.txt'))  # fmt: skip
    headers = {"content-type": "multipart/form-data; boundary=b"}
    sent = partial(request, app_over(filled), "POST", "/uploads", headers=headers)
    cut = sent(content=field + file + file.replace("cut", "lost")[:-1])
    assert cut.status_code == 400 and "last boundary" in cut.json()["detail"]
    assert filled.get_collection("animals").get_many(["cut.txt", "lost.txt"]) == []
    assert sent(content=field + file + "--b--\r\nbehind the form").status_code == 200


def test_a_body_that_does_not_come_is_told_so(filled: Rag) -> None:
    async def silent() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    late = request(app_over(filled, timeout=0.1), "POST", "/search", content=silent())
    assert (late.status_code, late.headers["connection"]) == (408, "close")
    assert "the body did not come" in late.json()["detail"]


def test_a_head_that_comes_at_once_has_a_bound_too(filled: Rag) -> None:
    headers = {f"x-{number}": "a" * 7000 for number in range(10)}
    found = request(app_over(filled), "GET", "/health", headers=headers)
    assert found.status_code == 431 and "65536 bytes" in found.json()["detail"]


@pytest.mark.parametrize(
    ("path", "media_type"),
    [("/search", "application/json"), ("/uploads", "multipart/form-data; boundary=b")],
)
def test_a_body_of_untold_length_is_counted_while_it_is_read(
    filled: Rag, path: str, media_type: str
) -> None:
    given = list[bytes]()

    async def endless() -> AsyncIterator[bytes]:
        yield b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
        while True:
            given.append(b" " * 1_000_000)
            yield given[-1]

    app = app_over(filled, max_body=100_000)
    headers = {"content-type": media_type}
    found = request(app, "POST", path, content=endless(), headers=headers)
    assert found.status_code == 413 and "bytes" in found.json()["detail"]
    assert found.headers["connection"] == "close" and len(given) < 30
