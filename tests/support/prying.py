"""Calls of the door's functions that try to learn of others, and what they bring."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import psycopg
from tenancy import canary, collection, hidden

Connection = psycopg.Connection[Any]
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
    uris: list[str]


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
        [uri.replace(other.tenant, f"t{digits}") for uri in other.uris],
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
        "uri": lambda: quoted(choose.choice(of.uris)),
        "uris": lambda: quoted("{" + ",".join(of.uris) + "}"),
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
        "after_document": lambda: choose.choice(["NULL", "'80000000-0000-4000-8000-000000000000'"]),
        "after_version": lambda: choose.choice(["NULL", "1"]),
        "page_bytes": lambda: choose.choice(["1", "1000000"]),
        "kind": lambda: choose.choice(["'versions'", "'originals'"]),
        "options": lambda: choose.choice(["'{}'", """'{"per_document": 1}'"""]),
        "vector_ranks": lambda: "ARRAY[1, 2]::bigint[]",
        "vector_distances": lambda: "ARRAY[0.1, 0.2]",
        "keyword_ranks": lambda: "ARRAY[2, NULL]::bigint[]",
        "keyword_scores": lambda: "ARRAY[1.5, NULL]",
        "uri_prefix": lambda: choose.choice(["''", quoted(of.uris[0][:3])]),
        "needle": lambda: quoted(word[:6]),
        "aggregates": lambda: """'{"n": {"count": "*"}, "top": {"max": "owner"}}'""",
        "answer_id": lambda: quoted(of.answer),
        "wanted_space": lambda: str(of.space),
        "moment": lambda: "'infinity'",
        "old_version": lambda: "1",
        "new_version": lambda: "2",
        "citations": lambda: quoted(
            json.dumps([{"chunk_ids": chunks[:1], "quote": word, "uri": of.uris[0]}])
        ),
        "results": lambda: """'[{"chunk_id": 1, "uri": "a"}]'""",
        "result_limit": lambda: choose.choice(["1", "10", "1000"]),
        "timeout_seconds": lambda: "0",
        "wanted_state": lambda: choose.choice(["'dead'", "'waiting'"]),
        "match": lambda: choose.choice(["'any'", "'all'"]),
        "answer": lambda: quoted(json.dumps({"text": word, "retrieved": of.uris[:1]})),
        "rating": lambda: choose.choice(["1", "-1"]),
        "comment": lambda: quoted(word),
        "upto": lambda: choose.choice(["'document'", "'section'"]),
    }  # fmt: skip


def door_functions(
    connection: Connection, runs_as: str = "reader"
) -> dict[str, list[tuple[str, bool]]]:
    """Each such function of the door with its arguments, and whether they have a default."""
    rows = connection.execute(
        """SELECT p.proname, array_agg(a.name ORDER BY a.position),
               array_agg(a.position > p.pronargs - p.pronargdefaults ORDER BY a.position)
           FROM pg_proc AS p JOIN rag._door_functions() AS f ON f.function_name = p.proname
           LEFT JOIN LATERAL unnest(p.proargnames[1:p.pronargs]) WITH ORDINALITY
               AS a (name, position) ON true
           WHERE p.pronamespace = 'rag'::regnamespace AND f.runs_as = %s
           GROUP BY p.proname ORDER BY p.proname""",
        [runs_as],
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
    """Rows or the error, as text; what changes by itself is left out, what was written undone."""
    try:
        with connection.transaction(force_rollback=True):
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
        (f"{other.tenant}/", f"{never.tenant}/"),
        (hidden(other.tenant), hidden(never.tenant)),
        (canary(other.tenant)[:-1], canary(never.tenant)[:-1]),
        (collection(other.tenant), collection(never.tenant)),
        (other.document, never.document), (other.answer, never.answer),
        *zip(map(str, other.chunks), map(str, never.chunks), strict=False),
        (str(other.space), str(never.space)),
    ]  # fmt: skip
    for of_other, of_nobody in pairs:
        text = text.replace(of_other, of_nobody)
    return text
