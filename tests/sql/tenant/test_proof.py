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
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
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
from rota import LONG, tries
from tenancy import as_role, canary, collection, make_tenants, role, tenants_of

from rag_pg.db import name_of

Connection = psycopg.Connection[Any]
# Two digits, none a 9.
TENANTS = [f"t{number // 9}{number % 9}" for number in range(50)][:: 1 if LONG else 12]
SEED = 20_261_123


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
        tenant: Things(
            tenant,
            chunks,
            str(document),
            str(answer),
            space,
            [*(f"{canary(tenant)}-{n}" for n in range(2)), "replaced"],
        )
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
    return door_functions(connection)


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
        if function != "feedback"  # each note has the next number
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
