"""What must hold for every function of schema rag, read from the catalogue."""

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from rag_pg.db.schema import sql_files
from rag_pg.errors import SQLSTATES

Connection = psycopg.Connection[Any]

ROUTINES = """
    SELECT p.oid::regprocedure::text AS name, l.lanname, p.prosecdef, p.proconfig, p.provolatile,
           obj_description(p.oid, 'pg_proc') AS comment, p.proname, p.prokind,
           p.prosrc LIKE '%COMMIT;%' OR p.prosrc LIKE '%rag._call_worker%' AS commits,
           has_function_privilege('nobody_at_all', p.oid, 'EXECUTE') AS open_to_all
    FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
    WHERE p.pronamespace = 'rag'::regnamespace
"""


@pytest.fixture
def routines(connection: Connection) -> list[Any]:
    connection.execute(
        "DO $$ BEGIN CREATE ROLE nobody_at_all; EXCEPTION WHEN duplicate_object THEN END $$"
    )
    with connection.cursor(row_factory=psycopg.rows.namedtuple_row) as cursor:
        return cursor.execute(ROUTINES).fetchall()


def test_no_name_has_to_be_quoted(connection: Connection) -> None:
    """Neither a column of a result nor a parameter is a word that SQL reserves."""
    rows = connection.execute(
        """SELECT p.proname, n.name FROM pg_proc AS p, unnest(p.proargnames) AS n (name)
           WHERE p.pronamespace = 'rag'::regnamespace
               AND (quote_ident(n.name) <> n.name
                    AND n.name IN (SELECT word FROM pg_get_keywords() WHERE catcode = 'R'))"""
    ).fetchall()
    assert rows == []


def test_every_routine_is_commented(routines: list[Any]) -> None:
    assert [r.name for r in routines if not r.comment] == []


def test_plpgsql_carries_its_search_path_and_formulas_do_not(routines: list[Any]) -> None:
    for routine in routines:
        path = [c for c in routine.proconfig or [] if c.startswith("search_path=")]
        if routine.proname == "_as_timestamptz":
            assert not path  # runs once per row: setting a path would double its cost
        elif routine.commits and routine.proname != "_refused_commit":  # to hear the refusal
            # PostgreSQL forbids it a SET clause
            assert routine.prokind == "p" and not path, routine.name
        elif routine.lanname == "plpgsql":
            assert path and path[0].startswith("search_path=pg_catalog, rag"), routine.name
        else:
            assert not path, routine.name


def test_no_routine_is_security_definer_or_open_to_public(routines: list[Any]) -> None:
    named = {r.proname: (r.prosecdef, r.open_to_all) for r in routines}
    assert named.pop("use_service_key") == (True, False)  # reads tables that are the owner's alone
    assert [name for name, flags in named.items() if any(flags)] == []


def test_searches_are_stable(routines: list[Any]) -> None:
    searches = [
        r for r in routines if r.prokind == "f" and r.proname.startswith(("search", "_rank_"))
    ]
    assert len(searches) >= 4
    assert {r.provolatile for r in searches} == {"s"}


def modifying(body: str) -> Iterator[str]:
    """The statements of a body that update or delete, each to its end or that of its brackets."""
    body = re.sub(r"--.*|'[^']*'", "", body)
    for start in re.finditer(r"\b(?:UPDATE|DELETE FROM) rag\.", body):
        depth = 0
        for end in re.finditer(r"[();]|\Z", body[start.start() :]):
            depth += {"(": 1, ")": -1}.get(end.group(), 0)
            if depth < 0 or end.group() in ";":
                yield body[start.start() :][: end.start()]
                break


def test_what_updates_or_deletes_calls_nothing_volatile(connection: Connection) -> None:
    """Citus refuses such a statement, also where all rows are on the node itself."""
    volatile = {
        name
        for (name,) in connection.execute(
            """SELECT p.proname FROM pg_proc AS p WHERE p.provolatile = 'v'
               AND p.pronamespace IN ('rag'::regnamespace, 'pg_catalog'::regnamespace)"""
        )
    }
    bodies = connection.execute(
        "SELECT p.proname, p.prosrc FROM pg_proc AS p WHERE p.pronamespace = 'rag'::regnamespace"
    ).fetchall()
    found = [(name, statement) for name, body in bodies for statement in modifying(body)]
    assert len(found) > 50
    assert [
        (name, called)
        for name, statement in found
        for called in re.findall(r"(\w+)\(", statement)
        if called in volatile
    ] == []


def test_no_function_is_called_by_the_planner_too(connection: Connection) -> None:
    """It asks how long the array of unnest() is, and what a column is compared with: a STABLE
    function of what is known then is called for that and again for the rows, in the first five
    executions of a plan at least; for a comparison, it may be, once a row."""
    rows = connection.execute(
        r"""SELECT p.proname, f.proname
            FROM pg_proc AS p, regexp_matches(p.prosrc,
                '(.{8})(?:unnest\(|ANY \(|\.\w+ = \()(?:[^()]*,)?\s*rag\.(\w+)', 'g') AS m
            JOIN pg_proc AS f ON f.proname = m[2] AND f.pronamespace = 'rag'::regnamespace
            JOIN pg_type AS t ON t.oid = f.prorettype AND t.typcategory = 'A'
            WHERE p.pronamespace = f.pronamespace AND f.provolatile = 's' AND m[1] <> 'LATERAL '"""
    ).fetchall()
    assert rows == []


def test_no_name_is_overloaded(routines: list[Any]) -> None:
    names = [r.proname for r in routines]
    assert sorted(names) == sorted(set(names))


def test_sql_functions_read_no_table() -> None:
    for path in sql_files():
        for part in path.read_text().split("CREATE OR REPLACE ")[1:]:
            if "LANGUAGE sql" in part:
                body = part.split("LANGUAGE sql")[1].split("COMMENT ON")[0]
                assert "FROM rag." not in body, part[:80]


def test_every_error_code_has_a_python_class_and_a_hint() -> None:
    text = "".join(path.read_text() for path in sql_files())
    codes = {code.split("'")[0] for code in text.split("ERRCODE = '")[1:]}
    # a snapshot that is too old is PostgreSQL's own
    assert codes - {"40001"} <= SQLSTATES.keys()
    for raised in text.split("RAISE EXCEPTION")[1:]:
        assert "HINT" in raised.split("END IF")[0].split(";\n")[0], raised[:120]


def test_growing_tables_are_keyed_by_collection_or_space(connection: Connection) -> None:
    rows = connection.execute(
        """
        SELECT c.relname, a.attname
        FROM pg_class AS c JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisunique
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
        WHERE c.relnamespace = 'rag'::regnamespace AND c.relkind = 'p'
        """
    ).fetchall()
    assert len(rows) >= 3
    assert {column for _, column in rows} <= {"collection_id", "space_id"}


def test_partitions_are_the_only_tables_that_a_routine_makes(connection: Connection) -> None:
    """One that a put made, also a temporary one, would be known to others and to the guides."""
    rows = connection.execute(
        r"""SELECT proname FROM pg_proc WHERE pronamespace = 'rag'::regnamespace
            AND prosrc ~ '(?i)create\s+(unlogged\s+|temp\w*\s+)?(table|sequence|view)'"""
    ).fetchall()
    assert rows == [("_attach_partition",)]


def test_jobs_and_partitioned_tables_have_no_foreign_keys_or_triggers(
    connection: Connection,
) -> None:
    assert connection.execute(
        """SELECT count(*) FROM pg_constraint WHERE contype = 'f'
           AND connamespace = 'rag'::regnamespace"""
    ).fetchone() == (0,)
    assert connection.execute(
        """SELECT t.tgname, c.relname FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
           WHERE c.relnamespace = 'rag'::regnamespace"""
    ).fetchall() == [("date_commit", "version_commits")]  # which is no partitioned table


def literals(code: str) -> Iterator[tuple[str, str]]:
    """(prefix, text) of each string in SQL or PL/pgSQL; what is quoted by dollars is code again."""
    pattern = re.compile(
        r"--[^\n]*|/\*.*?\*/|(?P<tag>\$\w*\$)(?P<inner>.*?)(?P=tag)|\"(?:[^\"]|\"\")*\""
        r"|\b[eE]'(?P<escaped>(?:[^'\\]|\\.|''|'\s*\n\s*')*)'|'(?P<text>(?:[^']|'')*)'",
        re.S,
    )
    for found in pattern.finditer(code):
        if found["inner"] is not None:
            yield from literals(found["inner"])
        elif found["escaped"] is not None:
            yield "E", found["escaped"]
        elif found["text"] is not None:
            yield "", found["text"]


def test_no_string_of_a_function_depends_on_standard_conforming_strings(
    connection: Connection,
) -> None:
    """A body is read when it first runs, by the settings of the session."""
    assert list(literals(r"a E'\\' -- 'x\'" "\n" r"b '\d' $q$ c 'y\z' $q$ ''''")) == [
        ("E", r"\\"), ("", r"\d"), ("", r"y\z"), ("", "''"),
    ]  # fmt: skip
    sources = connection.execute(
        """SELECT oid::regprocedure::text, prosrc FROM pg_proc
           WHERE pronamespace = 'rag'::regnamespace AND prosqlbody IS NULL"""
    ).fetchall()
    assert len(sources) > 100
    found = [
        (name, text)
        for name, source in sources
        for prefix, text in literals(source)
        if not prefix and "\\" in text
    ]
    assert found == []
