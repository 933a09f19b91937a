"""A database of every feature, what it holds and what it answers: before and after an upgrade.

`scripts/release.py` writes both down for a release, tests/db/test_release_dumps.py reads them.
"""

from __future__ import annotations

import ast
import hashlib
import json
import lzma
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
from fakes import HashEmbedder
from paths import ROOT
from psycopg import sql
from sql_calls import CALLS, fill

from rag_pg import Cache, Rag, Settings
from rag_pg.db.embedded import EmbeddedServer
from rag_pg.db.schema.packaged import packaged_routines

RELEASES = ROOT / "tests" / "db" / "releases"
# Written by every upgrade, or by each search; the words come with the program.
UNEQUAL = {
    "installed",
    "alembic_version",
    "collection_changes",
    "access_grants",
    "cache_uses",
    "ordinary_words",
}
# What tells which functions, versions, checks and steps there are.
OF_A_RELEASE = {
    "api_version",
    "audit",
    "audit_table",
    "collection_version",
    "doctor",
    "help",
    "maintenance_steps",
    "min_api_version",
    "status",
    "version",
}
QUESTIONS = ("When was the bridge built?", "Who was the mayor?", "How long is the river?")
TEXTS = {
    "bridge.md": "# The bridge\n\nThe old bridge was built in 1887. It has four arches of granite.",
    "mayor.md": "# The town\n\nAnna Berg was the mayor of the town from 1990 to 2002.",
    "river.md": "# The river\n\nThe river is 214 kilometres long and ends in the northern sea.",
    "fluss.md": "Der Fluss ist im Winter zugefroren, und die Kinder laufen darauf.",
}
# What is asked after an upgrade beside what only reads: (statements, the one that is compared).
EVALUATION = (
    "SELECT rag.evaluate_search('faq', 'docs', options => '{\"vector_weight\": 0}')",
    "SELECT m.* FROM rag.eval_metrics((SELECT max(r.run_id) FROM rag.eval_runs AS r)) AS m"
    " WHERE m.metric NOT LIKE 'latency%'",
)
PROTOCOL = """
SELECT p.proname, p.pronargs - p.pronargdefaults, coalesce(p.proargnames, '{}'),
       coalesce(p.proallargtypes, p.proargtypes::oid[])::regtype[]::text[],
       coalesce(p.proargmodes::text[], array_fill('i'::text, ARRAY[p.pronargs])),
       pg_get_function_result(p.oid)
FROM pg_proc AS p WHERE p.pronamespace = 'rag'::regnamespace AND p.proname = ANY (%s)
ORDER BY 1
"""


def client(dsn: str, home: Path) -> Rag:
    embedder = HashEmbedder("hash:32")
    return Rag(
        dsn, settings=Settings(home=home), cache=Cache(), embedders={"hash": lambda name: embedder}
    )


def fill_database(dsn: str, home: Path) -> None:
    """Give an installed database something of every feature."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        fill(connection)
        connection.execute("SELECT rag.grant_access('pg_monitor', 'reader')")
        for name in ("put_calibration", "measure_recall", "set_budget", "log_answer"):
            connection.execute(CALLS[name][1].encode())
    with client(dsn, home) as rag:
        towns = rag.collection("towns", model="hash:32", language="auto")
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(
                """SELECT rag.alter_collection('towns', description => 'Of a town',
                       keep_versions => '100 years', keep_answers => '100 years')"""
            )
        for uri, content in TEXTS.items():
            towns.add({"uri": uri, "content": content, "metadata": {"length": len(content)}})
        towns.add({"uri": "mayor.md", "content": TEXTS["mayor.md"] + " She built a school."})
        for question in QUESTIONS:
            towns.ask(question)


def observe(dsn: str, home: Path, calls: Iterable[str]) -> dict[str, Any]:
    """What the database holds, by table, and what it answers, by statement and question."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SET timezone TO 'UTC'; SET jit TO off")
        found = {"tables": _tables(connection), "calls": {}, "searches": {}}
        for call in calls:
            found["calls"][call] = _rows(connection, call)
        with connection.transaction(force_rollback=True):
            connection.execute(EVALUATION[0].encode())
            found["evaluation"] = _rows(connection, EVALUATION[1])
    with client(dsn, home) as rag:
        towns = rag.collection("towns")
        for question in QUESTIONS:
            found["searches"][question] = [
                [hit.uri, round(hit.score, 9)] for hit in towns.search(question)
            ]
    return json.loads(json.dumps(found, default=str))  # type: ignore[no-any-return]


def answers(dsn: str, home: Path) -> list[list[Any]]:
    """What is answered from the documents as they were stored, and from the same ones put anew:
    what this release answers is its own affair, and no affair of when they were stored."""
    with client(dsn, home) as rag:
        stored, anew = (
            rag.collection("towns"),
            rag.collection("anew", model="hash:32", language="auto"),
        )
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(
                """UPDATE rag.collections AS c SET chunking = t.chunking
                   FROM rag.collections AS t WHERE c.name = 'anew' AND t.name = 'towns'"""
            )
        for one in stored.list():
            content = stored.get(one.uri).content
            anew.add({"uri": one.uri, "content": content, "metadata": one.metadata})
        return [
            [
                [answer.text, [[c.uri, c.quote] for c in answer.citations]]
                for question in QUESTIONS
                for answer in [collection.ask(question, cache=False)]
            ]
            for collection in (stored, anew)
        ]


def reading_calls() -> list[str]:
    """The call of each public function that only reads, but for those that tell of the release."""
    return [
        call
        for name, (least, call) in CALLS.items()
        if least == "reader" and "CALL" not in call and name not in OF_A_RELEASE
    ]


def renew(dsn: str) -> None:
    """Let the jobs that were taken when the release was written down be held as they were then, and
    what was used be of the last days, of which a report tells."""
    with psycopg.connect(dsn) as connection:
        connection.execute(
            """UPDATE rag.jobs SET lease_expires_at = now() + interval '1 hour'
               WHERE lease_expires_at IS NOT NULL"""
        )
        connection.execute("UPDATE rag.usage SET day = (now() AT TIME ZONE 'UTC')::date")


def held(dsn: str, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The recorded tables as they are now: the columns that they had."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SET timezone TO 'UTC'")
        return {name: _table(connection, name, columns) for name, (columns, *_) in recorded.items()}


def protocol(dsn: str, names: Iterable[str]) -> dict[str, Any]:
    """How functions are called, by name: the number of arguments without a default, names, types
    and modes of all, what is returned."""
    with psycopg.connect(dsn) as connection:
        return {name: rest for name, *rest in connection.execute(PROTOCOL, [list(names)])}


def called_functions() -> list[str]:
    """The client protocol: the functions, public and internal, that the statements of rag_pg call,
    as SQL or by name."""
    routines = packaged_routines()
    files = [p for p in (ROOT / "rag_pg").rglob("*.py") if p.parent.name != "schema"]
    return sorted({name for path in files for name in _named(path) if name in routines})


def _named(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            for argument in node.args:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield argument.value
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield from re.findall(r"(?:\brag|\{rag\})\.(\w+)\s*\(", node.value)


def _tables(connection: psycopg.Connection[Any]) -> dict[str, Any]:
    rows = connection.execute(
        """SELECT c.relname, array_agg(a.attname::text ORDER BY a.attname)
           FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
               AND NOT a.attisdropped
           WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind IN ('r', 'p')
               AND NOT c.relispartition AND c.relname <> ALL (%s)
           GROUP BY c.relname ORDER BY c.relname""",
        [list(UNEQUAL)],
    ).fetchall()
    return {name: _table(connection, name, columns) for name, columns in rows}


def _table(connection: psycopg.Connection[Any], name: str, columns: list[str]) -> list[Any]:
    listed = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL("SELECT ROW({})::text FROM {}").format(listed, sql.Identifier("rag", name))
    rows = sorted(row for (row,) in connection.execute(statement))
    return [columns, len(rows), hashlib.sha256("\n".join(rows).encode()).hexdigest()]


def _rows(connection: psycopg.Connection[Any], call: str) -> Any:
    """The rows of a statement as JSON, or its SQLSTATE; what it writes is taken back."""
    try:
        with connection.transaction(force_rollback=True):
            return connection.execute(
                f"SELECT coalesce(jsonb_agg(to_jsonb(q)), '[]') FROM ({call}) AS q".encode()
            ).fetchone()
    except psycopg.Error as exc:
        return exc.sqlstate


def dump(server: EmbeddedServer, dsn: str) -> bytes:
    command: list[str | Path] = [server.program("pg_dump"), "--no-owner", "--no-acl"]
    done = subprocess.run(
        [*command, "--exclude-table-data=rag.ordinary_words", dsn], check=True, capture_output=True
    )
    return lzma.compress(done.stdout)


def restore(server: EmbeddedServer, dsn: str, dumped: bytes) -> None:
    command: list[str | Path] = [server.program("psql"), "-qX", "-v", "ON_ERROR_STOP=1", "-d", dsn]
    done = subprocess.run(command, input=lzma.decompress(dumped), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[:2000]
