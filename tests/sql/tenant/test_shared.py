"""A collection that tenants share: each sees its own documents, by its groups, and no others.

`make test` goes through a part of the calls with few tenants; `make test-long` through 10,000 with
fifty.
"""

import json
import random
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from pooler import transaction_pooler
from prying import (
    FORGED,
    Things,
    as_if_never,
    door_functions,
    make_call,
    nobody_like,
    outcome,
    values,
)
from psycopg.conninfo import make_conninfo
from rota import LONG, tries
from tenancy import (
    SHARED,
    as_role,
    canary,
    hidden,
    make_tenants,
    role,
    share,
    tenants_of,
)

from rag_pg import InvalidInput, NotReady, Rag, Settings
from rag_pg.db import name_of

Connection = psycopg.Connection[Any]
TENANTS = [f"t{number // 9}{number % 9}" for number in range(50)][:: 1 if LONG else 12]
APPLICATION = "app"
SEED = 20_261_124
REFUSED = {"_export_rows", "explain_search"}
# By how often words stand in the whole collection; the guide tells of it.
OF_FREQUENCIES = re.compile(r"(score|fused score|idf) -?[0-9.]+")
SCORES = {"score", "keyword_score"}


def fill(connection: Connection) -> None:
    # Ids that stand in no other number.
    connection.execute("ALTER SEQUENCE rag.chunk_ids RESTART WITH 7000000000")
    make_tenants(connection, TENANTS)
    for tenant in TENANTS:
        connection.execute(
            "SELECT rag.grant_tenant(%s, %s, 'writer', '{legal}')", [role(tenant), tenant]
        )
    connection.execute(f"CREATE ROLE {role(APPLICATION)} LOGIN".encode())
    connection.execute("SELECT rag.grant_tenant(%s, '*', 'writer')", [role(APPLICATION)])
    share(connection, TENANTS)


@pytest.fixture(scope="module")
def template(new_database: Callable[..., str], rag_template: str) -> Iterator[str]:
    made = new_database(name_of(rag_template))
    with tenants_of(made, [*TENANTS, APPLICATION], fill) as dsn:
        yield name_of(dsn)


def seen_by(tenant: str) -> str:
    """What a tenant's role sees, from the definition: SQL on alias d of rag.documents."""
    return (
        f"(d.tenant = '{tenant}' AND (d.acl IS NULL OR '{tenant}/legal' = ANY (d.acl))"
        " OR d.tenant = '*')"
    )


@pytest.fixture
def things(connection: Connection) -> dict[str, Things]:
    """What each tenant has in the shared collection, what it does not see of its own included."""
    found = {}
    for tenant in TENANTS:
        (row,) = connection.execute(
            """SELECT array_agg(c.chunk_id ORDER BY c.chunk_id),
                   (array_agg(d.document_id ORDER BY d.uri))[1],
                   array_agg(d.uri ORDER BY c.chunk_id),
                   (SELECT a.answer_id FROM rag.answer_log AS a
                    WHERE a.collection_id = min(d.collection_id)
                        AND a.question LIKE '%%' || %s || '%%')
               FROM rag.documents AS d
               LEFT JOIN rag.chunks AS c USING (collection_id, document_id)
               WHERE d.tenant = %s""",
            [canary(tenant), tenant],
        )
        chunks, document, uris, answer = row
        found[tenant] = Things(
            tenant,
            [c for c in chunks if c is not None],
            str(document),
            str(answer),
            99_999_999,
            [*uris, *[f"{tenant}/replaced"] * 9],
        )
    return found


@pytest.fixture
def functions(connection: Connection) -> dict[str, list[tuple[str, bool]]]:
    return door_functions(connection)


def ids_of(connection: Connection, condition: str) -> set[str]:
    return {
        str(value)
        for row in connection.execute(
            "SELECT d.document_id, c.chunk_id FROM rag.documents AS d"
            " LEFT JOIN rag.chunks AS c USING (collection_id, document_id)"
            " JOIN rag.collections AS k USING (collection_id)"
            f" WHERE {condition}"
        ).fetchall()
        for value in row
        if value is not None
    }


def strange(got: str, given: str, foreign: set[str]) -> list[str]:
    """Words, names and ids of what the caller does not see in what it got."""
    told = re.findall(r"70000\d{5}|[0-9a-f]{8}-[0-9a-f-]{27}|(?:zeb|hid)t\d\d\w*|nobod\w*", got)
    return [word for word in told if word in foreign and word not in given]


def pry(
    dsn: str, connection: Connection, things: dict[str, Things],
    functions: dict[str, list[tuple[str, bool]]], calls: int, *, compare: bool = True,
) -> tuple[dict[tuple[str, str], int], set[str], int]:  # fmt: skip
    """Random calls in the shared collection. How many of each kind and result there were, which
    functions answered, and in how many calls scores told that a word is there."""
    choose = random.Random(SEED)
    kinds: dict[tuple[str, str], int] = {}
    answered: set[str] = set()
    scored = 0
    foreign: dict[str, set[str]] = {}
    for me in TENANTS:
        foreign[me] = ids_of(connection, f"k.name = '{SHARED}' AND NOT {seen_by(me)}") | ids_of(
            connection, f"k.tenant NOT IN ('*', '{me}')"
        )
        foreign[me] |= {hidden(t) for t in TENANTS} | {"nobodyscanary", "nobody"}
        foreign[me] |= {canary(t) for t in TENANTS if t != me}
    sessions = {tenant: as_role(dsn, role(tenant)) for tenant in TENANTS}
    try:
        for number in range(calls):
            function = list(functions)[number % len(functions)]
            me, other = choose.sample(TENANTS, 2)
            kind = choose.choice(["own", "their things", "hidden things"])
            if number // len(functions) % 2 == 0:
                kind = "own"
            of = things[other if kind == "their things" else me]
            if kind == "hidden things":
                of = of._replace(
                    uris=[uri for uri in of.uris if hidden(me) in uri],
                    chunks=sorted(map(int, (foreign[me] & set(map(str, of.chunks))))),
                )
            forged = choose.choice((*FORGED, "SET rag.groups = 'sales,legal'")).format(other=other)
            sessions[me].execute(forged.encode())
            state = choose.getstate()
            call = make_call(function, functions[function], values(of, SHARED, choose), choose)
            got = outcome(sessions[me], call.statement())
            context = (number, me, other, kind, forged, call, got[:500])
            given = json.dumps(call.arguments)
            assert not strange(got, given, foreign[me]), context
            failed = re.match("[0-9A-Z]{5} ", got)
            kinds[kind, got[:5]] = kinds.get((kind, got[:5]), 0) + 1
            if kind == "own" and not failed:
                answered |= {function}
            elif kind == "their things" and compare:
                choose.setstate(state)
                never = nobody_like(of, me)
                twin = make_call(
                    function, functions[function], values(never, SHARED, choose), choose
                )
                nobody = outcome(sessions[me], twin.statement())
                if twin.arguments != call.arguments:
                    got = as_if_never(got, of, never)
                    scored += got != nobody
                    got, nobody = unscored(got), unscored(nobody)
                    assert got == nobody, (*context, nobody)
            sessions[me].execute("RESET ALL")
    finally:
        for session in sessions.values():
            session.close()
    return kinds, answered, scored


def unscored(text: str) -> str:
    return OF_FREQUENCIES.sub("", re.sub(r"\d\.\d{6,}(e-\d+)?", "", text))


@pytest.mark.longer
def test_random_calls_tell_nothing_of_others(
    dsn: str, connection: Connection, things: dict[str, Things],
    functions: dict[str, list[tuple[str, bool]]],
) -> None:  # fmt: skip
    kinds, answered, scored = pry(dsn, connection, things, functions, tries(10_000, 520))
    assert functions.keys() - answered <= {
        "wait_until_searchable", "replay_answer", "feedback", *REFUSED,
    }  # fmt: skip
    assert sum(count for (kind, _), count in kinds.items() if kind == "their things") > 50
    print("calls in which a score told that a word is there:", scored)


# A layer that fails, and the functions that read what it alone keeps apart.
FAILING = {
    "the scope": (
        """CREATE OR REPLACE FUNCTION rag._scope(collection_id integer) RETURNS text
           LANGUAGE sql IMMUTABLE AS $$ SELECT NULL::text $$""",
        REFUSED,
    ),
    "policies on chunks": ("ALTER TABLE rag.chunks DISABLE ROW LEVEL SECURITY", set()),
    "policies on documents": (
        "ALTER TABLE rag.documents DISABLE ROW LEVEL SECURITY",
        {"list_jobs"},  # what belongs to a document is told by its policy
    ),
}


@pytest.mark.parametrize("layer", FAILING)
def test_where_one_layer_fails_another_holds(
    dsn: str, connection: Connection, things: dict[str, Things],
    functions: dict[str, list[tuple[str, bool]]], layer: str,
) -> None:  # fmt: skip
    sabotage, apart = FAILING[layer]
    connection.execute(sabotage.encode())
    left = {name: given for name, given in functions.items() if name not in apart}
    pry(dsn, connection, things, left, tries(2_000, 200), compare=False)


def test_the_proof_sees_where_both_layers_fail(
    dsn: str, connection: Connection, things: dict[str, Things],
    functions: dict[str, list[tuple[str, bool]]],
) -> None:  # fmt: skip
    for layer in ("the scope", "policies on chunks", "policies on documents"):
        connection.execute(FAILING[layer][0].encode())
    with pytest.raises(AssertionError):
        pry(dsn, connection, things, functions, 100, compare=False)


def rows(connection: Connection, call: str) -> list[Any]:
    return connection.execute(f"SELECT to_jsonb(r) FROM rag.{call} AS r".encode()).fetchall()


def test_a_tenant_finds_what_the_owner_finds_with_a_filter(
    dsn: str, connection: Connection
) -> None:
    """The same rows, ranks and scores: the filter names what the tenant sees by its definition."""
    choose = random.Random(SEED)
    for tenant in TENANTS[: tries(10, 3)]:
        uris = [
            uri
            for (uri,) in connection.execute(
                "SELECT d.uri FROM rag.documents AS d JOIN rag.collections AS k"
                f" USING (collection_id) WHERE k.name = '{SHARED}' AND {seen_by(tenant)}"
            )
        ]
        seen = {"$uri": {"$in": uris}}
        with as_role(dsn, role(tenant)) as session:
            (mine,) = session.execute(
                "SELECT array_agg(chunk_id) FROM rag.search_vector(%s, '[1, 1, 1]', 1000)",
                [SHARED],
            ).fetchone() or ([],)
            for _ in range(tries(60, 12)):
                more = choose.choice(
                    [None, None, {"n": {"$lt": 4}}, {"owner": canary(tenant)}, {"of": "*"}]
                )
                text = choose.choice(["alpha", "gamma", f"alpha {canary(tenant)}", "delta item3"])
                vector = f"[1, {choose.randrange(5)}, {choose.randrange(11)}]"
                limit = choose.choice([1, 5, 20])
                for call in (
                    f"search('{SHARED}', '{text}', '{vector}', {limit}, %f, typo_tolerance => "
                    "false)",
                    f"search_keyword('{SHARED}', '{text}', {limit}, %f, typo_tolerance => false)",
                    f"search_vector('{SHARED}', '{vector}', {limit}, %f)",
                    f"more_like('{SHARED}', {choose.choice(mine)}, {limit}, %f)",
                    f"facets('{SHARED}', 'owner', %f)",
                    f"count_documents('{SHARED}', %f)",
                    f"select_documents('{SHARED}', %f, 'n', true, {limit})",
                    f"aggregate_documents('{SHARED}', '{{\"s\": {{\"sum\": \"n\"}}}}', '{{of}}',"
                    " %f)",
                    f"describe_metadata('{SHARED}', %f)",
                    f"list_documents('{SHARED}', %f)",
                ):
                    by_owner = json.dumps({"$and": [seen, more]} if more else seen)
                    expected = rows(connection, call.replace("%f", f"'{by_owner}'"))
                    got = rows(session, call.replace("%f", f"'{json.dumps(more or {})}'"))
                    assert got == expected, (tenant, call, more)
            assert rows(session, f"collection_stats('{SHARED}')")[0][0]["documents"] == len(uris)
            counted = session.execute(
                "SELECT word, df, chunk_count FROM rag.match_terms(%s, %s, '{}')",
                [SHARED, f"gamma {canary(tenant)} {hidden(tenant)} nobodyscanary unheard"],
            ).fetchall()
            texts = connection.execute(
                "SELECT c.content FROM rag.chunks AS c JOIN rag.collections AS k"
                " USING (collection_id) JOIN rag.documents AS d USING (collection_id, document_id)"
                f" WHERE k.name = '{SHARED}' AND {seen_by(tenant)}"
            ).fetchall()
            assert len(counted) == 5
            for word in ("nobodyscanary", "unheard"):  # a word that others have, and none
                counted += session.execute(
                    "SELECT word, df, chunk_count FROM rag.match_terms(%s, %s, '{}')",
                    [SHARED, word],
                ).fetchall()
            for word, df, chunks in counted:
                assert (df, chunks) == (sum(word in text for (text,) in texts), len(texts)), word


@pytest.mark.longer
def test_what_a_tenant_writes_touches_nothing_of_others(
    dsn: str, connection: Connection, things: dict[str, Things]
) -> None:
    choose = random.Random(SEED)
    state = (
        "SELECT d.uri, d, array_agg(c ORDER BY c.chunk_id) FROM rag.documents AS d"
        " LEFT JOIN rag.chunks AS c USING (collection_id, document_id)"
        " JOIN rag.collections AS k USING (collection_id)"
        " WHERE k.name = '{}' AND NOT (d.tenant = '{}' AND (d.acl IS NULL OR '{}' = ANY (d.acl)))"
        " GROUP BY d.uri, d ORDER BY d.uri"
    )
    me, other = TENANTS[:2]
    of = state.format(SHARED, me, f"{me}/legal")
    before = connection.execute(of.encode()).fetchall()
    functions = door_functions(connection, "writer")
    done: set[str] = set()
    with as_role(dsn, role(me)) as session:
        for number in range(tries(3_000, 200)):
            function = list(functions)[number % len(functions)]
            owner = choose.choice([me, other, "nobody"])
            uri = choose.choice(
                [f"{me}/new{number}", *things[me].uris, *things[other].uris, "nobody-1",
                 "everybody-0", f"{other}/new"]
            )  # fmt: skip
            one = {"uri": uri, "content": "stolen"}
            written = {
                "collection": f"'{SHARED}'",
                "uri": f"'{uri}'",
                "uris": f"'{{{uri}}}'",
                "content": "'alpha stolen'",
                "chunks": f"'{json.dumps([one | {'embedding': [1, 1, 1]}])}'",
                "documents": f"'{json.dumps([one])}'",
                "metadata_filter": "'" + json.dumps({"of": owner}) + "'",
                "states": f"'{json.dumps({uri: {'seen': 1}})}'",
                "patch": """'{"stolen": true}'""",
                "existing": choose.choice(["'replace'", "'skip'", "'error'"]),
                "tenant": f"'{owner}'",
                "groups": "'{legal}'",
                "file_name": "'a'",
                "data": "'b'::bytea",
                "media_type": "'text/plain'",
                "everything": "true",
            }
            if function == "set_access":
                written.pop(choose.choice(["uris", "metadata_filter"]))
            call = make_call(
                function,
                [(name, name not in written or opt) for name, opt in functions[function]],
                {name: partial(str, value) for name, value in written.items()},
                choose,
            )
            session.execute(choose.choice(FORGED).format(other=other).encode())
            got = outcome(session, call.statement())
            assert canary(other) not in got or canary(other) in str(call.arguments), call
            if not re.match("[0-9A-Z]{5} ", got):
                done |= {function}
            session.execute("RESET ALL")
        assert connection.execute(of.encode()).fetchall() == before
    assert functions.keys() == done


def test_no_tenant_brings_a_configuration_that_fails_for_others(
    dsn: str, connection: Connection
) -> None:
    """Of its session, in a schema of its own, and one that it owns where everybody reaches it; nor
    does one that is there already stop anybody."""
    me, other = TENANTS[:2]
    connection.execute(
        f"""CREATE SCHEMA mine AUTHORIZATION {role(me)};
            CREATE TEXT SEARCH CONFIGURATION public.mine (COPY = pg_catalog.english);
            ALTER TEXT SEARCH CONFIGURATION public.mine OWNER TO {role(me)};
            CREATE TEXT SEARCH CONFIGURATION public.common (COPY = pg_catalog.english)""".encode()
    )
    puts = (
        "put_document(%(c)s, %(u)s, 'delta', language => %(l)s::text::regconfig)",
        'put_chunks(%(c)s, %(u)s, \'[{"content": "delta", "embedding": [1, 0, 0]}]\','
        " language => %(l)s::text::regconfig)",
        "put_documents(%(c)s, jsonb_build_array(jsonb_build_object("
        "'uri', %(u)s::text, 'content', 'delta', 'language', %(l)s::text)))",
    )
    with as_role(dsn, role(me)) as session, as_role(dsn, role(other)) as others:
        for name in ("pg_temp.mine", "mine.mine"):
            session.execute(
                f"CREATE TEXT SEARCH CONFIGURATION {name} (COPY = pg_catalog.english)".encode()
            )
        for language in ("pg_temp.mine", "mine.mine", "public.mine"):
            for put in puts:
                with pytest.raises(psycopg.Error, match="text search configuration") as caught:
                    session.execute(
                        f"SELECT rag.{put}".encode(),
                        {"c": SHARED, "u": f"{me}/spoken", "l": language},
                    )
                assert caught.value.sqlstate == "RG001", (language, put)
        for put in puts:
            values = {"c": SHARED, "u": f"{me}/spoken", "l": "public.common"}
            session.execute(f"SELECT rag.{put}".encode(), values)
        connection.execute(
            """INSERT INTO rag.keyword_languages (collection_id, language)
               SELECT c.collection_id, n.nspname || '.mine' FROM rag.collections AS c,
                   pg_ts_config AS t JOIN pg_namespace AS n ON n.oid = t.cfgnamespace
               WHERE t.cfgname = 'mine' AND c.name = %s""",
            [SHARED],
        )
        for call in (f"search_keyword('{SHARED}', 'delta')",
                     f"search('{SHARED}', 'delta', '[1, 0, 0]')",
                     f"match_terms('{SHARED}', 'delta', '{{delta}}')"):  # fmt: skip
            assert rows(others, call) and rows(session, call), call


def test_access_is_changed_at_once_and_nothing_is_embedded_again(
    dsn: str, connection: Connection
) -> None:
    me, other = TENANTS[:2]
    uri = f"{me}/{hidden(me)}-2"
    run = connection.execute
    jobs = run("SELECT count(*) FROM rag.jobs").fetchone()
    vectors = run("SELECT array_agg(e ORDER BY e.chunk_id) FROM rag.embeddings AS e").fetchone()
    find = "SELECT uri FROM rag.search_keyword(%s, %s)"

    def found(session: Connection) -> bool:
        return session.execute(find, [SHARED, hidden(me)]).fetchall() != []

    with as_role(dsn, role(me)) as mine, as_role(dsn, role(other)) as theirs:
        assert not found(mine) and not found(theirs)
        run("SELECT rag.set_access(%s, %s, '{legal}', %s)", [SHARED, me, [uri]])
        assert found(mine) and not found(theirs)
        run("SELECT rag.set_access(%s, '*', uris => %s)", [SHARED, [uri]])
        assert found(mine) and found(theirs)
        run("SELECT rag.set_access(%s, '', uris => %s)", [SHARED, [uri]])
        assert not found(mine) and not found(theirs)
        # of its own documents a tenant says it itself, to none but itself
        own = f"{me}/{canary(me)}-0"
        said = "SELECT rag.set_access(%s, %s, %s, %s)"
        assert mine.execute(said, [SHARED, me, ["sales"], [own]]).fetchone() == (1,)
        assert mine.execute("SELECT rag.get_document(%s, %s)", [SHARED, own]).fetchall() == []
        assert mine.execute(said, [SHARED, me, None, [own, uri]]).fetchone() == (0,)
        for tenant in (other, "*", "", "no-such"):
            with pytest.raises(psycopg.Error, match="there is no tenant") as caught:
                mine.execute(said, [SHARED, tenant, None, [own]])
            assert caught.value.sqlstate == "RG002"
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="is shared"):
            mine.execute("SELECT rag.explain_search(%s, 'alpha')", [SHARED])
    assert run("SELECT count(*) FROM rag.jobs").fetchone() == jobs
    assert (
        vectors
        == run("SELECT array_agg(e ORDER BY e.chunk_id) FROM rag.embeddings AS e").fetchone()
    )


def test_a_trusted_application_names_the_groups_of_who_asks(dsn: str) -> None:
    me, other = TENANTS[:2]
    with as_role(dsn, role(APPLICATION)) as application:

        def sees(tenant: str, groups: str) -> tuple[bool, bool]:
            with application.transaction():
                application.execute(
                    "SELECT set_config('rag.tenant', %s, true), set_config('rag.groups', %s, true)",
                    [tenant, groups],
                )
                uris = [
                    uri
                    for (uri,) in application.execute(
                        "SELECT uri FROM rag.list_documents(%s)", [SHARED]
                    )
                ]
            assert all(uri.startswith((f"{tenant}/", "everybody")) for uri in uris)
            return f"{me}/{canary(me)}-1" in uris, f"{me}/{hidden(me)}-2" in uris

        assert sees(me, "") == (False, False)
        assert sees(me, "legal") == (True, False)
        assert sees(me, "sales,legal") == (True, True)
        assert sees(me, f"{other}/legal,*,{me}/legal") == (False, False)
        assert sees(other, "sales,legal") == (False, False)
        with pytest.raises(psycopg.Error, match="there is no collection"):
            application.execute("SELECT rag.count_documents(%s)", [SHARED])


SEEN = "SELECT uri FROM rag.list_documents('common', result_limit => 1000)"


def tenants_in(connection: Connection) -> set[tuple[str, bool]]:
    """Of whom the documents are that are seen, and whether there are hidden ones."""
    uris = [uri for (uri,) in connection.execute(SEEN).fetchall()]
    return {(uri.partition("/")[0].partition("-")[0], "/hid" in uri) for uri in uris}


def test_who_takes_the_role_of_a_tenant_sees_what_it_sees(dsn: str, connection: Connection) -> None:
    me, other = TENANTS[:2]
    mine = {(me, False), ("everybody", False)}
    connection.execute(f"SET ROLE {role(me)}".encode())
    assert tenants_in(connection) == mine
    connection.execute("SET rag.groups = 'sales'; SET rag.tenant = '*'")
    assert tenants_in(connection) == mine
    connection.execute("RESET ROLE")
    connection.execute(f"GRANT {role(me)} TO {role(APPLICATION)}, {role(other)}".encode())
    chosen = f"SET rag.tenant = '{me}'; SET rag.groups = 'legal,sales'; SET ROLE {role(me)}"
    with as_role(dsn, role(APPLICATION)) as session:
        session.execute(chosen.encode())
        assert tenants_in(session) == mine
        session.execute(f"SET rag.tenant = '{other}'".encode())
        with pytest.raises(psycopg.Error, match="there is no collection"):
            session.execute(SEEN)
    with as_role(dsn, role(other)) as session:
        session.execute(chosen.encode())
        with pytest.raises(psycopg.Error, match="there is no collection"):
            session.execute(SEEN)


def test_behind_a_pooler_each_transaction_sees_its_own_choice(dsn: str) -> None:
    """PgBouncer in transaction mode: many clients share few sessions, nothing stays on one."""
    with transaction_pooler(make_conninfo(dsn, user=role(APPLICATION))) as pooled:
        clients = [psycopg.connect(pooled, prepare_threshold=None) for _ in range(9)]
        choose = random.Random(SEED)
        try:
            for number in range(tries(900, 90)):
                client = choose.choice(clients)
                tenant, groups = choose.choice(TENANTS), choose.choice(["", "legal", "sales"])
                if number % 3:
                    client.execute(
                        "SELECT set_config('rag.tenant', %s, true),"
                        " set_config('rag.groups', %s, true)",
                        [tenant, groups],
                    )
                    assert tenants_in(client) == {("everybody", False), (tenant, False)} | (
                        {(tenant, True)} if groups == "sales" else set()
                    ), number
                else:
                    with pytest.raises(psycopg.Error, match="there is no collection"):
                        client.execute(SEEN)
                client.rollback()
        finally:
            for client in clients:
                client.close()


def test_roles_of_grant_access_see_all_of_a_shared_collection(
    dsn: str, connection: Connection
) -> None:
    reader = role("beside")
    connection.execute(f"CREATE ROLE {reader} LOGIN".encode())
    try:
        connection.execute("SELECT rag.grant_access(%s, 'reader')", [reader])
        with as_role(dsn, reader) as session:
            for call in (f"count_documents('{SHARED}')", f"search_keyword('{SHARED}', 'alpha')",
                         f"list_answers('{SHARED}')",
                         f"list_versions('{SHARED}', '{TENANTS[0]}/replaced')",
                         f"list_jobs('{SHARED}')"):  # fmt: skip
                found = rows(session, call)
                assert found and found == rows(connection, call), call
    finally:
        connection.execute("SELECT rag.revoke_access(%s)", [reader])
        connection.execute(f"DROP OWNED BY {reader}; DROP ROLE {reader}".encode())


def test_policies_come_with_the_first_shared_collection_and_go_with_the_last(
    connection: Connection,
) -> None:
    protected = (
        "SELECT count(*) FILTER (WHERE c.relrowsecurity), (SELECT count(*) FROM pg_policy"
        " WHERE polname = 'tenant') FROM pg_class AS c WHERE c.oid IN ('rag.documents'::regclass,"
        " 'rag.chunks'::regclass, 'rag.jobs'::regclass)"
    )
    assert connection.execute(protected.encode()).fetchone() == (3, 7)
    assert connection.execute("SELECT * FROM rag.check_tenants()").fetchall() == []
    connection.execute("SELECT rag.set_tenant(%s, %s)", [SHARED, TENANTS[0]])
    assert connection.execute(protected.encode()).fetchone() == (0, 1)
    for call, code in (("set_access('common', '*', uris => '{a}')", "RG007"),
                       ("set_access('common', '*')", "RG001"),
                       ("set_access('common', 'nope', uris => '{a}')", "RG002"),
                       ("set_access('common', '*', '{a b}', '{a}')", "RG001"),
                       (f"grant_tenant('{role(APPLICATION)}', '*', groups => '{{a}}')", "RG001"),
                       (f"grant_tenant('{role(TENANTS[0])}', '{TENANTS[0]}', groups => '{{a/b}}')",
                        "RG001")):  # fmt: skip
        with pytest.raises(psycopg.Error) as caught:
            connection.execute(f"SELECT rag.{call}".encode())
        assert caught.value.sqlstate == code, call


def test_the_client_asks_with_the_tenants_rights(dsn: str, tmp_path: Path) -> None:
    me, other = TENANTS[:2]
    options: dict[str, Any] = {
        "settings": Settings(home=tmp_path),
        "embedders": {"hash": lambda name: HashEmbedder("hash:32")},
    }
    with Rag(dsn, **options) as owner:
        shelf = owner.collection("shelf", model="hash:32")
        for uri, colour in (
            (f"{me}/all", "green"),
            (f"{me}/sales", "blue"),
            (f"{other}/all", "red"),
        ):
            shelf.add({"uri": uri, "content": f"The {colour} grass is {colour}."})
        call = owner.database.call
        call("set_tenant", collection="shelf", tenant="*")
        for tenant, groups, uri in ((me, None, f"{me}/all"), (me, ["sales"], f"{me}/sales"),
                                    (other, None, f"{other}/all")):  # fmt: skip
            call("set_access", collection="shelf", tenant=tenant, groups=groups, uris=[uri])
    trusted = make_conninfo(dsn, user=role(APPLICATION))
    asked: list[tuple[str, list[str], list[str]]] = [
        (APPLICATION, [], ["all"]), (APPLICATION, ["sales"], ["all", "sales"]), (me, [], ["all"]),
    ]  # fmt: skip
    for user, named, found in asked:
        with Rag(make_conninfo(dsn, user=role(user)), tenant=me, groups=named, **options) as rag:
            docs = rag.get_collection("shelf")
            assert sorted(hit.uri for hit in docs.search("grass")) == [f"{me}/{f}" for f in found]
            assert sorted(document.uri for document in docs.list()) == [f"{me}/{f}" for f in found]
            answer = docs.ask("Which colour is the grass?")
            assert answer.text and other not in str(answer) and "red" not in str(answer)
            docs.add({"uri": f"{me}/more", "content": "More grass."}, wait=False)
            report = docs.add({"uri": f"{other}/more", "content": "More grass."}, wait=False)
            assert "does not begin with" in str(report.failures)
            assert docs.delete(f"{me}/more") and not docs.delete(f"{other}/all")
    for groups in (["a,b"], ["*"], [""], ["a/b"]):
        with pytest.raises(InvalidInput, match="group name"):
            Rag(trusted, tenant=me, groups=groups).open()
    with pytest.raises(InvalidInput, match="groups are of a tenant"):
        Rag(trusted, groups=["sales"])


def test_what_a_tenant_adds_is_waited_for_until_the_operators_worker_is_done(
    dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {
        "settings": Settings(home=tmp_path),
        "embedders": {"hash": lambda name: HashEmbedder("hash:32")},
    }
    tenant = Rag(make_conninfo(dsn, user=role(TENANTS[0])), **options)
    with Rag(dsn, **options) as owner, tenant, ThreadPoolExecutor() as pool:
        owner.collection("drawer", model="hash:32")
        owner.database.call("set_tenant", collection="drawer", tenant=TENANTS[0])
        docs = tenant.get_collection("drawer")
        with monkeypatch.context() as patch:
            patch.setattr("rag_pg.ingest.wait.PATIENCE_SECONDS", 0.1)
            with pytest.raises(
                NotReady, match="1 documents wait: this role may not work the queue"
            ):
                docs.add({"uri": "a", "content": "Green grass."})
        added = pool.submit(docs.add, {"uri": "b", "content": "Blue grass."})
        while not added.done():
            owner.worker(["drawer"]).drain()
        assert added.result().added == 1
        assert sorted(hit.uri for hit in docs.search("grass")) == ["a", "b"]
