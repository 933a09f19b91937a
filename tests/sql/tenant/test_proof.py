"""Random calls of every function of the door by many tenants: nothing of others in what they get.

Three proofs of each call. Nothing that it returns holds a word, name, id or number of another
tenant. A thing of another tenant gives what one that there is not gives. And what is told of one's
own stays the same whatever the others do.

`make test` goes through a part of the calls with few tenants; `make test-long` through 10,000 with
fifty.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import psycopg
import pytest
from rota import LONG, tries
from tenancy import as_role, canary, collection, make_tenants, role, tenants_of

from rag_pg.db import name_of

Connection = psycopg.Connection[Any]
# Two digits, none a 9.
TENANTS = [f"t{number // 9}{number % 9}" for number in range(50)][:: 1 if LONG else 12]
SEED = 20_261_123
FORGED = (
    "SELECT 1",
    "SET rag.tenant = '{other}'",
    "SET rag.tenant = '*'",
    "SET row_security = on",
    "SET search_path TO public, rag",
    "SET enable_indexscan = off",
    "SET plan_cache_mode = force_generic_plan",
    "SET hnsw.ef_search = 1000",
    "SET client_min_messages = debug1",
)
# What changes by itself: sizes of tables and times. Ids of jobs are counted for all together.
VOLATILE = {"bytes", "lag", "job_id", "rate", "eta", "worker_seen_at", "lease_expires_at"}


class Things(NamedTuple):
    """What a tenant has, by which calls name it."""

    tenant: str
    chunks: list[int]
    document: str
    answer: str
    space: int
    version: int = 1


class Call(NamedTuple):
    function: str
    arguments: dict[str, str]

    def statement(self) -> str:
        given = ", ".join(f"{name} => {value}" for name, value in self.arguments.items())
        return f"SELECT r.* FROM rag.{self.function}({given}) AS r"


def nobody_like(other: Things, me: str) -> Things:
    """A tenant that is not there, whose name is as near to one's own as the other's is, so that
    what goes by the letters of words tells nothing of it."""
    digits = "".join("9" if a != b else a for a, b in zip(other.tenant[1:], me[1:], strict=True))
    return Things(
        f"t{digits}", list(range(10**15, 10**15 + len(other.chunks))),
        "6a1c1c1e-0000-4000-8000-00000000dead", "6a1c1c1e-0000-4000-8000-00000000beef", 10**8,
    )  # fmt: skip


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def values(of: Things, name: str, choose: random.Random) -> Mapping[str, Callable[[], str]]:
    """How each argument of the door's functions is written, of the things of one tenant.

    name: the collection that is called; it need not be the one that the things are in.
    """
    word = canary(of.tenant)
    texts = (word, word[:-1], word + "x", "alpha", f"beta {word}", f'"{word}"')
    chunks = of.chunks
    return {
        "collection": lambda: quoted(name),
        "name": lambda: quoted(name),
        "uri": lambda: quoted(choose.choice([f"{word}-1", "replaced"])),
        "uris": lambda: quoted(f"{{{word}-0,{word}-1,replaced}}"),
        "document_id": lambda: quoted(of.document),
        "document_ids": lambda: quoted(f"{{{of.document}}}"),
        "chunk_id": lambda: str(choose.choice(chunks)),
        "chunk_ids": lambda: f"ARRAY{choose.sample(chunks, 2)}::bigint[]",
        "query_text": lambda: quoted(choose.choice(texts)),
        "query": lambda: quoted(choose.choice(texts)),
        "query_texts": lambda: quoted(f"{{{word},alpha}}"),
        "question": lambda: quoted(choose.choice(texts)),
        "content": lambda: quoted(choose.choice(texts)),
        "text": lambda: quoted(choose.choice(texts)),
        "texts": lambda: f"ARRAY[{quoted(word)}]",
        "quote": lambda: quoted(word),
        "query_embedding": lambda: quoted(f"[1, {choose.randrange(5)}, {choose.randrange(11)}]"),
        "metadata_filter": lambda: quoted(
            choose.choice(["{}", json.dumps({"owner": word}), '{"n": {"$lt": 3}}'])
        ),
        "field": lambda: quoted(choose.choice(["owner", "n"])),
        "needle": lambda: quoted(word[:6]),
        "aggregates": lambda: """'{"n": {"count": "*"}, "top": {"max": "owner"}}'""",
        "answer_id": lambda: quoted(of.answer),
        "wanted_space": lambda: str(of.space),
        "moment": lambda: "'infinity'",
        "old_version": lambda: "1",
        "new_version": lambda: "2",
        "citations": lambda: quoted(
            json.dumps([{"chunk_ids": chunks[:1], "quote": word, "uri": f"{word}-0"}])
        ),
        "results": lambda: """'[{"chunk_id": 1, "uri": "a"}]'""",
        "result_limit": lambda: choose.choice(["1", "10", "1000"]),
        "timeout_seconds": lambda: "0",
        "wanted_state": lambda: choose.choice(["'dead'", "'waiting'"]),
        "match": lambda: choose.choice(["'any'", "'all'"]),
        "upto": lambda: choose.choice(["'document'", "'section'"]),
    }  # fmt: skip


def fill(connection: Connection) -> None:
    # Ids that stand in no other number.
    connection.execute("ALTER SEQUENCE rag.chunk_ids RESTART WITH 7000000000")
    connection.execute("ALTER TABLE rag.spaces ALTER space_id RESTART WITH 80000000")
    make_tenants(connection, TENANTS)


@pytest.fixture(scope="module")
def template(new_database: Callable[..., str], rag_template: str) -> Iterator[str]:
    made = new_database(name_of(rag_template))
    with tenants_of(made, TENANTS, fill) as dsn:
        yield name_of(dsn)


@pytest.fixture
def things(connection: Connection) -> dict[str, Things]:
    found = {
        tenant: Things(tenant, chunks, str(document), str(answer), space)
        for tenant, chunks, document, answer, space in connection.execute(
            """SELECT k.tenant,
                   ARRAY(SELECT c.chunk_id FROM rag.chunks AS c
                         WHERE c.collection_id = k.collection_id ORDER BY 1),
                   (SELECT d.document_id FROM rag.documents AS d
                    WHERE d.collection_id = k.collection_id ORDER BY d.uri LIMIT 1),
                   (SELECT a.answer_id FROM rag.answer_log AS a
                    WHERE a.collection_id = k.collection_id),
                   (SELECT s.space_id FROM rag.spaces AS s
                    WHERE s.collection_id = k.collection_id)
               FROM rag.collections AS k WHERE k.tenant <> ''"""
        )
    }
    return found


@pytest.fixture
def functions(connection: Connection) -> dict[str, list[tuple[str, bool]]]:
    """Each reading function of the door with its arguments, and whether they have a default."""
    rows = connection.execute(
        """SELECT p.proname, array_agg(a.name ORDER BY a.position),
               array_agg(a.position > p.pronargs - p.pronargdefaults ORDER BY a.position)
           FROM pg_proc AS p JOIN rag._door_functions() AS f ON f.function_name = p.proname
           LEFT JOIN LATERAL unnest(p.proargnames[1:p.pronargs]) WITH ORDINALITY
               AS a (name, position) ON true
           WHERE p.pronamespace = 'rag'::regnamespace AND f.runs_as = 'reader'
           GROUP BY p.proname ORDER BY p.proname"""
    ).fetchall()
    return {
        name: [(a, bool(d)) for a, d in zip(names, optional, strict=True) if a is not None]
        for name, names, optional in rows
    }


def make_call(
    function: str, arguments: list[tuple[str, bool]], given: Mapping[str, Callable[[], str]],
    choose: random.Random,
) -> Call:  # fmt: skip
    """A call with each argument that it needs, and some of the others that are known here."""
    return Call(
        function,
        {
            name: given[name]()
            for name, optional in arguments
            if not optional
            or name == "timeout_seconds"
            or (name in given and choose.random() < 0.6)
        },
    )


def outcome(connection: Connection, statement: str) -> str:
    """Rows or the error, as text; what changes by itself is left out."""
    try:
        cursor = connection.execute(statement.encode())
    except psycopg.Error as exc:
        return f"{exc.sqlstate} {exc.diag.message_primary} {exc.diag.message_hint}"
    names = [column.name for column in cursor.description or ()]
    return "\n".join(
        str([v for n, v in zip(names, row, strict=True) if n not in VOLATILE]) for row in cursor
    )


def as_if_never(text: str, other: Things, never: Things) -> str:
    """The text with the names and ids that were given as those of nobody."""
    pairs = [
        (canary(other.tenant)[:-1], canary(never.tenant)[:-1]),
        (collection(other.tenant), collection(never.tenant)),
        (other.document, never.document), (other.answer, never.answer),
        *zip(map(str, other.chunks), map(str, never.chunks), strict=False),
        (str(other.space), str(never.space)),
    ]  # fmt: skip
    for of_other, of_nobody in pairs:
        text = text.replace(of_other, of_nobody)
    return text


@pytest.mark.longer
def test_random_calls_tell_nothing_of_others(
    dsn: str, things: dict[str, Things], functions: dict[str, list[tuple[str, bool]]]
) -> None:
    choose = random.Random(SEED)
    sessions = {tenant: as_role(dsn, role(tenant)) for tenant in TENANTS}
    words = {tenant: canary(tenant) for tenant in TENANTS}
    kinds: dict[tuple[str, str], int] = {}
    answered: set[str] = set()
    try:
        for number in range(tries(10_000, 480)):
            function = list(functions)[number % len(functions)]
            me, other = choose.sample(TENANTS, 2)
            session = sessions[me]
            kind = choose.choice(["own", "own", "their collection", "their things"])
            forged = choose.choice(FORGED).format(other=other)
            session.execute(forged.encode())
            state = choose.getstate()
            at = collection(other if kind == "their collection" else me)
            of = things[me if kind == "own" else other]
            never = nobody_like(things[other], me)
            call = make_call(function, functions[function], values(of, at, choose), choose)
            got = outcome(session, call.statement())
            context = (number, me, other, kind, forged, call)
            if kind == "own":
                answered |= set() if re.match("[0-9A-Z]{5} ", got) else {function}
            else:
                choose.setstate(state)
                at = collection(never.tenant if kind == "their collection" else me)
                twin = make_call(function, functions[function], values(never, at, choose), choose)
                nobody = outcome(session, twin.statement())
                if twin.arguments != call.arguments:
                    assert as_if_never(got, of, never) == nobody, context
            given = json.dumps(call.arguments)
            for tenant, word in words.items():
                for one in (word, collection(tenant)):
                    assert tenant == me or one in given or one not in got, context
            kinds[kind, got[:5]] = kinds.get((kind, got[:5]), 0) + 1
            session.execute("RESET ALL")
    finally:
        for session in sessions.values():
            session.close()
    assert functions.keys() - answered <= {"wait_until_searchable"}  # no worker is there
    assert (
        kinds["their collection", "RG002"]
        > 0
        < sum(count for (kind, _), count in kinds.items() if kind == "their things")
    )


@pytest.mark.longer
def test_what_is_told_of_ones_own_is_the_same_whatever_others_do(
    dsn: str,
    connection: Connection,
    things: dict[str, Things],
    functions: dict[str, list[tuple[str, bool]]],
) -> None:
    choose = random.Random(SEED)
    me, other = TENANTS[0], TENANTS[1]
    given = values(things[me], collection(me), choose)
    calls = [
        make_call(function, functions[function], given, choose)
        for function in functions
        for _ in range(tries(40, 4))
    ]
    with as_role(dsn, role(me)) as session:
        before = [outcome(session, call.statement()) for call in calls]
        assert before == [outcome(session, call.statement()) for call in calls]
        more = [
            {"uri": f"more-{n}", "content": f"alpha {canary(me)} {n}", "embedding": [1, n % 3, 1],
             "metadata": {"owner": canary(me), "n": n}}
            for n in range(300)
        ]  # fmt: skip
        run = connection.execute
        run("SELECT * FROM rag.load_chunks(%s, %s)", [collection(other), json.dumps(more)])
        run("SELECT rag.put_document(%s, 'waits', 'alpha')", [collection(other)])
        run("SELECT rag.delete_document(%s, 'replaced')", [collection(other)])
        run("SELECT rag.create_collection('another', 'none', 3), rag.create_tenant('another')")
        run("SELECT rag.index_field(%s, 'n', 'numeric')", [collection(other)])
        run("SELECT rag._merge_keyword(c.collection_id) FROM rag.collections AS c")
        after = [outcome(session, call.statement()) for call in calls]
    changed = {call: pair for call, *pair in zip(calls, before, after, strict=True)
               if pair[0] != pair[1]}  # fmt: skip
    assert not changed
