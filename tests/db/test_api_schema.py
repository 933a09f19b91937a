"""Schema rag_api: called as PostgREST calls it, by roles with the fewest rights that do."""

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from postgrest import rpc
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner

from rag_pg import NotReady, RagError
from rag_pg.cli.app import app
from rag_pg.db import schema
from rag_pg.db.schema.api import NAMES, STATUS
from rag_pg.errors import SQLSTATES
from rag_pg.server.http.problem import problem_of

Connection = psycopg.Connection[Any]
GATE, READER, WRITER, STRANGER = (
    f"web_{name}_{os.getpid()}" for name in ("gate", "reader", "writer", "stranger")
)
DOCUMENTS = [
    {"uri": f"{who}.md", "content": f"The pump of {who} runs.", "metadata": {"owner": who}}
    for who in ("ann", "bob")
]


def fill(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('notes', 'none', 3)")
    chunks = [one | {"embedding": [1, 0, 0]} for one in DOCUMENTS]
    connection.execute("SELECT rag.load_chunks('notes', %s)", [json.dumps(chunks)])


@pytest.fixture
def web(dsn: str) -> Iterator[tuple[str, Connection]]:
    """A database with rag_api for a reader, a writer and a stranger, and the connection of the
    role that PostgREST logs in as, which is each of them and has no right of its own."""
    with psycopg.connect(dsn, autocommit=True) as owner:
        fill(owner)
        owner.execute(f"CREATE ROLE {GATE} LOGIN NOINHERIT".encode())
        for name in (READER, WRITER, STRANGER):
            owner.execute(f"CREATE ROLE {name}; GRANT {name} TO {GATE}".encode())
    try:
        schema.make_api(dsn, [READER], "reader")
        schema.make_api(dsn, [WRITER], "writer")
        schema.make_api(dsn, [STRANGER])
        with psycopg.connect(make_conninfo(dsn, user=GATE), autocommit=True) as gate:
            yield dsn, gate
    finally:
        with psycopg.connect(dsn, autocommit=True) as owner:
            for name in (GATE, READER, WRITER, STRANGER):
                owner.execute(
                    f"SELECT rag.revoke_tenant('{name}'); DROP OWNED BY {name} CASCADE;"
                    f"DROP ROLE {name}".encode()
                )


def uris(answer: tuple[int, Any]) -> list[str]:
    status, rows = answer
    assert status == 200, rows
    return sorted(row["uri"] for row in rows)


def test_its_functions_are_those_of_schema_rag_and_run_with_their_callers_rights(
    web: tuple[str, Connection],
) -> None:
    with psycopg.connect(web[0]) as connection:
        rows = connection.execute(
            """SELECT a.proname, a.prosecdef, a.provolatile = r.provolatile,
                   has_function_privilege('public', a.oid, 'EXECUTE'),
                   pg_get_function_arguments(a.oid) = pg_get_function_arguments(r.oid),
                   pg_get_function_result(a.oid) = pg_get_function_result(r.oid),
                   starts_with(obj_description(r.oid), obj_description(a.oid)),
                   '' <> ALL (coalesce(a.proargnames, '{}'))
               FROM pg_proc AS a LEFT JOIN pg_proc AS r
                   ON r.proname = a.proname AND r.pronamespace = 'rag'::regnamespace
               WHERE a.pronamespace = 'rag_api'::regnamespace ORDER BY 1"""
        ).fetchall()
    # no overloads: each name once
    right = (False, True, False, True, True, True)
    assert [row[:-1] for row in rows] == [(name, *right) for name in sorted(NAMES)]
    assert [row[0] for row in rows if not row[-1]] == []


def test_a_reader_reads_by_get_and_post_and_a_writer_puts(web: tuple[str, Connection]) -> None:
    gate = web[1]
    search = {"collection": "notes", "query_text": "pump", "query_embedding": [1, 0, 0]}
    for verb in ("GET", "POST"):
        assert uris(rpc(gate, "search", search, role=READER, verb=verb)) == ["ann.md", "bob.md"]
    filtered = search | {"metadata_filter": {"owner": "ann"}, "result_limit": 5}
    assert uris(rpc(gate, "search", filtered, role=READER)) == ["ann.md"]
    keyword = {"collection": "notes", "query_text": "pump ann", "match": "all"}
    assert uris(rpc(gate, "search_keyword", keyword, role=READER)) == ["ann.md"]
    assert uris(rpc(gate, "list_documents", {"collection": "notes"}, role=READER)) == [
        "ann.md", "bob.md",
    ]  # fmt: skip
    one = {"collection": "notes", "uri": "ann.md"}
    assert uris(rpc(gate, "get_document", one, role=READER)) == ["ann.md"]
    found = rpc(gate, "list_chunks", {"collection": "notes", "uris": ["ann.md"]}, role=READER)
    (chunk,) = found[1]
    quote = {"collection": "notes", "chunk_id": chunk["chunk_id"], "quote": chunk["content"]}
    checked = rpc(gate, "check_citation", quote, role=READER)
    assert checked[0] == 200 and checked[1][0]["status"] == "exact"
    status, values = rpc(gate, "facets", {"collection": "notes", "field": "owner"}, role=READER)
    assert (status, {row["value"] for row in values}) == (200, {"ann", "bob"})
    for name, given in (
        ("count_documents", {"collection": "notes"}), ("list_collections", {}),
        ("describe_metadata", {"collection": "notes"}),
    ):  # fmt: skip
        assert rpc(gate, name, given, role=READER)[0] == 200, name

    put = {"collection": "notes", "uri": "new.md", "content": "New.", "language": "english"}
    assert rpc(gate, "put_document", put, role=READER)[0] == 403
    assert rpc(gate, "put_document", put, role=WRITER, verb="GET")[0] == 405
    assert rpc(gate, "put_document", put, role=WRITER)[0] == 200
    many = {"collection": "notes", "documents": [{"uri": "b.md", "content": "B"}]}
    assert rpc(gate, "put_documents", many, role=WRITER)[0] == 200
    gone = {"collection": "notes", "uris": ["new.md", "b.md"]}
    assert rpc(gate, "delete_documents", gone, role=READER)[0] == 403
    assert rpc(gate, "delete_documents", gone, role=WRITER)[1] == [2]


def test_a_question_is_left_for_a_worker_and_its_answer_read(web: tuple[str, Connection]) -> None:
    gate = web[1]
    question = {"collection": "notes", "question": "What runs?"}
    status, rows = rpc(gate, "request_answer", question, role=READER)
    assert status == 200
    request = {"request": rows[0]}
    assert rpc(gate, "answer_of", request, role=READER, verb="GET")[1] == [{"state": "pending"}]
    assert rpc(gate, "feedback", {"answer_id": request["request"], "rating": 1}, role=READER)[
        0
    ] in (200, 404)


def test_who_has_no_rights_in_schema_rag_has_none_here(web: tuple[str, Connection]) -> None:
    given = {
        "collection": "notes", "query_text": "x", "uri": "x", "uris": [], "field": "x",
        "chunk_id": 1, "quote": "x", "question": "x", "request": None, "answer_id": None,
        "rating": 1, "content": "x", "documents": [],
    }  # fmt: skip
    with psycopg.connect(web[0]) as connection:
        names: dict[str, list[str]] = dict(
            connection.execute(
                """SELECT p.proname, coalesce(p.proargnames[1:p.pronargs - p.pronargdefaults], '{}')
                   FROM pg_proc AS p WHERE p.pronamespace = 'rag_api'::regnamespace"""
            ).fetchall()
        )
    for name, required in names.items():
        arguments = {one: given[one] for one in required}
        status, told = rpc(web[1], name, arguments, role=STRANGER)
        assert (status, told["code"]) == (403, "42501"), name


def test_errors_have_the_status_of_the_service(web: tuple[str, Connection]) -> None:
    gate = web[1]
    status, told = rpc(gate, "search", {"collection": "no", "query_text": "x"}, role=READER)
    assert (status, told["code"], told["details"]) == (404, "PT404", "RG002")
    assert (told["message"], told["hint"]) == (
        "there is no collection 'no'", "collections here: notes",
    )  # fmt: skip
    put = {"collection": "notes", "uri": "ann.md", "content": "x", "existing": "error"}
    status, told = rpc(gate, "put_document", put, role=WRITER)
    assert (status, told["details"]) == (409, "RG012")
    for wrong in ({"result_limit": -1}, {"metadata_filter": {"a": {"$no": 1}}}):
        search = {"collection": "notes", "query_text": "x", **wrong}
        status, told = rpc(gate, "search", search, role=READER)
        assert status == 400 and told["code"].startswith("RG"), told
    assert rpc(gate, "search", {"collection": "notes", "query": "x"}, role=READER)[0] == 404

    expected = {code: problem_of(SQLSTATES[code]("x"))["status"] for code in SQLSTATES}
    assert {code: STATUS.get(code, 400) for code in SQLSTATES if code != "42501"} == {
        code: status for code, status in expected.items() if code != "42501"
    }


def test_a_policy_sees_the_claims_of_the_token(web: tuple[str, Connection]) -> None:
    dsn, gate = web
    owned = "metadata ->> 'owner' = current_setting('request.jwt.claims', true)::jsonb ->> 'sub'"
    with psycopg.connect(dsn, autocommit=True) as owner:
        for table in ("documents", "chunks"):
            owner.execute(
                f"""ALTER TABLE rag.{table} ENABLE ROW LEVEL SECURITY;
                    CREATE POLICY owned ON rag.{table} TO {READER} USING ({owned})""".encode()
            )
    for who in ("ann", "bob"):
        search = {"collection": "notes", "query_text": "pump"}
        assert uris(rpc(gate, "search", search, role=READER, claims={"sub": who})) == [f"{who}.md"]
    assert uris(rpc(gate, "list_documents", {"collection": "notes"}, role=READER)) == []


def test_a_tenant_is_chosen_by_the_token_and_sees_its_own_alone(
    web: tuple[str, Connection],
) -> None:
    dsn, gate = web
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(
            f"""SELECT rag.revoke_access('{READER}'), rag.revoke_access('{WRITER}');
                SELECT rag.create_tenant('acme'), rag.set_tenant('notes', 'acme');
                SELECT rag.create_collection('others', 'none', 3), rag.create_tenant('globex'),
                    rag.set_tenant('others', 'globex');
                SELECT rag.grant_tenant('{GATE}', '*'), rag.grant_tenant('{READER}', '*');
                CREATE FUNCTION public.choose_tenant() RETURNS void LANGUAGE sql AS $$
                    SELECT set_config('rag.tenant', coalesce(
                        current_setting('request.jwt.claims', true)::jsonb ->> 'tenant', ''), true)
                $$""".encode()
        )
    search = {"collection": "notes", "query_text": "pump"}

    def found(claims: dict[str, str], before: str | None = "public.choose_tenant") -> Any:
        return rpc(gate, "search", search, role=READER, claims=claims, before=before)

    assert uris(found({"tenant": "acme"})) == ["ann.md", "bob.md"]
    for other in ({"tenant": "globex"}, {"tenant": "*"}, {"tenant": "{*}"}, {}):
        status, told = found(other)
        assert status == 404 and "notes" not in str(told["hint"]), told
    assert found({"tenant": "acme"}, None)[0] == 404
    assert rpc(gate, "list_collections", {}, role=READER)[1] == []


@pytest.mark.minutes
def test_an_upgrade_renews_it_and_its_grants(web: tuple[str, Connection]) -> None:
    dsn, gate = web
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(
            """DROP FUNCTION rag_api.facets;
               CREATE FUNCTION rag_api.facets(old integer) RETURNS integer
                   LANGUAGE sql RETURN old;
               CREATE FUNCTION rag_api.mine() RETURNS integer LANGUAGE sql RETURN 1"""
        )
    schema.upgrade(dsn)
    facets = {"collection": "notes", "field": "owner"}
    assert rpc(gate, "facets", facets, role=READER)[0] == 200
    with psycopg.connect(dsn) as owner:
        assert owner.execute("SELECT rag_api.mine()").fetchone() == (1,)
    assert schema.check(dsn) == []


def test_a_schema_of_that_name_that_is_anothers_stays(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(
            "CREATE SCHEMA rag_api; CREATE FUNCTION rag_api.search() RETURNS integer"
            " LANGUAGE sql RETURN 1"
        )
        with pytest.raises(NotReady, match="did not make"):
            schema.make_api(dsn)
        schema.upgrade(dsn)
        assert owner.execute("SELECT rag_api.search()").fetchone() == (1,)


def test_a_role_that_is_not_there_changes_nothing(dsn: str) -> None:
    for access in (None, "reader"):
        with pytest.raises(RagError, match='"?no_such"?'):
            schema.make_api(dsn, ["no_such"], access)
    with psycopg.connect(dsn) as owner:
        assert owner.execute("SELECT to_regnamespace('rag_api')").fetchone() == (None,)


def test_the_commands_make_it_and_print_its_types(
    dsn: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("RAG_PG_DSN", dsn)
    monkeypatch.setenv("RAG_PG_HOME", str(tmp_path))

    def run(*arguments: str, exit_code: int = 0) -> str:
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == exit_code, done.output
        return done.output

    assert CliRunner().invoke(app, ["types"]).exit_code == 1
    assert run("api-schema") == f"schema rag_api has {len(NAMES)} functions\n"
    told = run("types")
    assert re.findall(r"^      (\w+): \{ Args", told, re.MULTILINE) == sorted(NAMES)
    (facets,) = re.findall(r"^      facets: (.*)$", told, re.MULTILINE)
    assert facets == (
        "{ Args: { collection: string; field: string; metadata_filter?: Json | null;"
        " result_limit?: number | null }; Returns: ({ value: Json | null; documents: number | null;"
        " total_values: number | null })[] };"
    )
    rag = run("types", "--schema", "rag", "--bigint", "string")
    assert "      create_space: {" in rag and "_require" not in rag
    (facets,) = re.findall(r"^      facets: (.*)$", rag, re.MULTILINE)
    assert "documents: string | null" in facets
    with psycopg.connect(dsn) as own:  # of the application: without a comment, without names
        own.execute('CREATE FUNCTION rag_api."a b" (int, c text) RETURNS int RETURN $1')
    assert '      "a b": { Args: { "$1": number; c: string }; Returns: number };' in run("types")


def test_overloaded_functions_are_one_key_of_the_types(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(
            "CREATE SCHEMA shop;"
            "CREATE FUNCTION shop.pick(id int) RETURNS int LANGUAGE sql RETURN id;"
            "CREATE FUNCTION shop.pick(name text) RETURNS text LANGUAGE sql RETURN name"
        )
    told = " ".join(schema.typescript(dsn, schema="shop").split())
    assert (
        "pick: { Args: { id: number }; Returns: number }"
        " | { Args: { name: string }; Returns: string };"
    ) in told and told.count("pick:") == 1
