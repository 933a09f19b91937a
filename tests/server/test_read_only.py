"""Whatever the role may do, nothing is written; whatever it may not read, is not shown."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from mcp_client import call, data, text_of, with_client
from patience import BOUND
from psycopg import sql
from psycopg.conninfo import make_conninfo
from waiting import Door

from rag_pg import Rag, Settings
from rag_pg.server.mcp import make_server

READER, SHUT_OUT = "mcp_reader", "mcp_shut_out"
EVERY_CALL: list[tuple[str, dict[str, Any]]] = [
    ("search", {"query": "red fish", "detail": "full"}),
    ("fetch", {"id": "docs:1"}),
    ("ask", {"question": "What does the red fish do?"}),
    ("get_document", {"uri": "fish"}),
    ("list_collections", {"detail": "full"}),
    ("describe_metadata", {}),
    ("count", {"filter": {"kind": "a"}}),
    ("facets", {"field": "kind"}),
    ("facets", {"field": "kind", "text": "a"}),
    ("select", {"detail": "full"}),
    ("aggregate", {"aggregates": {"n": {"count": "*"}}}),
    ("list_views", {}),
    ("query_view", {"name": "calm"}),
]


@pytest.fixture(scope="module")
def owner(new_database: Callable[..., str], template: str) -> Iterator[str]:
    """The owner's connection string: documents, a reader with the grants of the guide, a view that
    would write."""
    dsn = new_database(template)
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name in (READER, SHUT_OUT):
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
        connection.execute("SELECT rag.grant_access(%s, 'reader')", [READER])
        connection.execute(
            """CREATE TABLE public.log (note text);
               CREATE FUNCTION public.write_log() RETURNS text LANGUAGE sql VOLATILE AS
                   $$ INSERT INTO public.log VALUES ('written') RETURNING note $$;
               CREATE VIEW public.eager AS SELECT public.write_log() AS note;
               CREATE VIEW public.calm AS SELECT 1 AS n;
               CREATE VIEW public.slow AS SELECT pg_sleep(600)::text AS note;
               GRANT SELECT ON public.calm, public.slow TO mcp_reader"""
        )
    with open_as(dsn) as rag:
        rag.collection("docs", model="hash:32").add(
            {"uri": "fish", "content": "A red fish swims.", "metadata": {"kind": "a"}}
        )
        rag.views.expose("public.calm", "calm")
        rag.views.expose("public.eager", "eager")
        rag.views.expose("public.slow", "slow", max_rows=5)
    yield dsn
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.revoke_access(%s)", [READER])
        for name in (READER, SHUT_OUT):
            connection.execute(
                sql.SQL("DROP OWNED BY {0} CASCADE; DROP ROLE {0}").format(sql.Identifier(name))
            )


def open_as(dsn: str, **options: Any) -> Rag:
    return Rag(dsn, embedders={"hash": lambda name: HashEmbedder()}, settings=Settings(**options))


def written(dsn: str) -> tuple[Any, ...]:
    """Return what the tables of schema rag and the log hold."""
    with psycopg.connect(dsn) as connection:
        tables = connection.execute(
            """SELECT c.oid::regclass::text FROM pg_class AS c
               WHERE c.relkind = 'r' AND c.relnamespace IN ('rag'::regnamespace,
                   'public'::regnamespace) ORDER BY 1"""
        ).fetchall()
        return tuple(
            (name, connection.execute(
                f"SELECT count(*), md5(string_agg(t::text, '|' ORDER BY t::text)) FROM {name} AS t"
                .encode()
            ).fetchone())
            for (name,) in tables
        )  # fmt: skip


@pytest.mark.parametrize("role", ["owner", READER])
def test_every_tool_works_for_a_reader_and_writes_nothing_for_an_owner(
    owner: str, role: str
) -> None:
    dsn = owner if role == "owner" else make_conninfo(owner, user=role)
    before = written(owner)
    with open_as(dsn) as rag:
        server = make_server(rag)
        for tool, arguments in EVERY_CALL:
            result = call(server, tool, **arguments)
            assert not result.is_error, text_of(result)
    assert written(owner) == before


def test_a_view_that_writes_is_refused_though_the_role_may_write(owner: str) -> None:
    before = written(owner)
    with open_as(owner) as rag:
        result = call(make_server(rag), "query_view", name="eager")
        assert (result.is_error and "writes" in text_of(result)) or "only reads" in text_of(result)
    assert written(owner) == before


def test_each_statement_is_in_a_read_only_transaction_with_a_timeout(owner: str) -> None:
    with open_as(owner) as rag:
        server = make_server(rag, timeout=7)
        reader = server.reader.rag.database
        settings = """SELECT pg_catalog.current_setting('transaction_read_only'),
                             pg_catalog.current_setting('statement_timeout')"""
        assert reader._execute(settings) == [("on", "7s")]
        assert rag.database._execute(settings)[0][0] == "off"


def test_a_role_without_rights_sees_nothing_and_is_told_so(owner: str) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("GRANT USAGE ON SCHEMA rag TO mcp_shut_out")
        connection.execute("GRANT EXECUTE ON ALL ROUTINES IN SCHEMA rag TO mcp_shut_out")
    with open_as(make_conninfo(owner, user=SHUT_OUT)) as rag:
        server = make_server(rag)
        for tool, arguments in EVERY_CALL:
            if tool == "list_views":
                continue
            result = call(server, tool, **arguments)
            assert result.is_error and "fish" not in text_of(result), tool
            assert "\n" not in text_of(result)


def test_rows_that_a_policy_hides_are_not_shown(owner: str) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(
            """ALTER TABLE rag.documents ENABLE ROW LEVEL SECURITY;
               ALTER TABLE rag.chunks ENABLE ROW LEVEL SECURITY;
               CREATE POLICY none ON rag.documents TO mcp_reader USING (false);
               CREATE POLICY none ON rag.chunks TO mcp_reader USING (false)"""
        )
    try:
        with open_as(make_conninfo(owner, user=READER)) as rag:
            server = make_server(rag)
            assert data(call(server, "count")) == {"documents": 0}
            assert data(call(server, "select"))["documents"] == []
            assert text_of(call(server, "search", query="red fish")) == '{"results":[]}'
            assert call(server, "get_document", uri="fish").is_error
    finally:
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute(
                """DROP POLICY none ON rag.documents; DROP POLICY none ON rag.chunks;
                   ALTER TABLE rag.documents DISABLE ROW LEVEL SECURITY;
                   ALTER TABLE rag.chunks DISABLE ROW LEVEL SECURITY"""
            )


def test_a_call_that_takes_too_long_ends_and_the_next_is_answered(owner: str) -> None:
    with open_as(owner) as rag:
        server = make_server(rag, timeout=1)

        async def ask(client: Any) -> Any:
            return await client.call_tool("query_view", {"name": "slow"}), await answered(client)

        slow, counted = with_client(server, ask)
        assert slow.is_error
        assert "too long" in text_of(slow) or "no answer within 1 seconds" in text_of(slow)
        assert data(counted) == {"documents": 1}


async def answered(client: Any) -> Any:
    """Count again and again: where a server gives up after a second, a machine may need more."""
    for _ in range(BOUND):
        counted = await client.call_tool("count", {})
        if not counted.is_error:
            break
        assert "too long" in text_of(counted) or "no answer within" in text_of(counted)
    return counted


def test_a_server_whose_connections_were_closed_answers_the_next_call(owner: str) -> None:
    with open_as(owner) as rag:
        server = make_server(rag)

        async def ask(client: Any) -> Any:
            await client.call_tool("count", {})
            with psycopg.connect(owner, autocommit=True) as connection:
                connection.execute(
                    """SELECT pg_terminate_backend(a.pid, 20000) FROM pg_stat_activity AS a
                       WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()"""
                )
            return await client.call_tool("count", {})

        assert data(with_client(server, ask)) == {"documents": 1}


def test_a_database_that_is_away_is_told_without_its_address(owner: str) -> None:
    with open_as(owner) as rag:
        server = make_server(rag)
        rag.close()
        rag.dsn = "postgresql://somebody:secret@nowhere.example/db"
        result = call(server, "count", collection="docs")
    assert result.is_error
    assert "secret" not in text_of(result) and "nowhere" not in text_of(result)
    assert "\n" not in text_of(result)


def test_calls_run_side_by_side(owner: str) -> None:
    together = threading.Barrier(2, timeout=BOUND)

    class Waiting(HashEmbedder):
        def embed_query(self, text: str) -> Any:
            together.wait()
            return super().embed_query(text)

    with Rag(owner, embedders={"hash": lambda name: Waiting()}) as rag:
        server = make_server(rag)

        async def ask(client: Any) -> list[Any]:
            import anyio

            found: list[Any] = []

            async def one(query: str) -> None:
                found.append(await client.call_tool("search", {"query": query}))

            async with anyio.create_task_group() as group:
                group.start_soon(one, "red")
                group.start_soon(one, "fish")
            return found

        assert [result.is_error for result in with_client(server, ask)] == [False, False]


def test_a_search_ends_while_more_answers_wait_than_may_run(owner: str) -> None:
    door = Door()

    class Slow(HashEmbedder):
        def embed_query(self, text: str) -> Any:
            if "slow" in text:
                door.wait()
            return super().embed_query(text)

    with Rag(owner, embedders={"hash": lambda name: Slow()}) as rag:
        server = make_server(rag, timeout=3600)

        async def ask(client: Any) -> Any:
            import anyio

            async with anyio.create_task_group() as group:
                for number in range(rag.settings.pool_size + 2):
                    group.start_soon(client.call_tool, "ask", {"question": f"a slow fish {number}"})
                await anyio.to_thread.run_sync(door.wait_for_arrivals, rag.settings.pool_size + 1)
                found = await client.call_tool("search", {"query": "red"})
                waited = not door.is_open
                door.open()
            return found, waited

        found, waited = with_client(server, ask)
    assert waited and not found.is_error


def test_an_answer_ends_at_its_time_out_though_its_model_goes_on(owner: str) -> None:
    going_on = threading.Event()

    class Slow(HashEmbedder):
        def embed_query(self, text: str) -> Any:
            going_on.wait(BOUND)
            return super().embed_query(text)

    with Rag(owner, embedders={"hash": lambda name: Slow()}) as rag:
        server = make_server(rag, timeout=1)

        async def ask(client: Any) -> Any:
            slow = await client.call_tool("search", {"query": "red"})
            going_on.set()
            return slow, await answered(client)

        slow, counted = with_client(server, ask)
    assert slow.is_error and "no answer within 1 seconds; ask for less" in text_of(slow)
    assert data(counted) == {"documents": 1}
