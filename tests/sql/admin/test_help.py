"""rag.help() names every public function, each with an example that runs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from rota import tries
from sql_calls import fill, public_names

STAGED = """CREATE TEMP TABLE staged_chunks (position bigint, uri text, title text, heading text,
            content text, metadata jsonb, embedding public.halfvec) ON COMMIT DROP"""
# What has to be there before: a table that the caller fills, another space that was active.
BEFORE = {
    "load_staged": STAGED,
    "set_chunking": "SELECT rag.drop_gate('docs', 'gated')",
    "rollback_space": "SELECT rag.activate_space(2, force => true)",
    "score_answers": """CREATE FUNCTION pg_temp.judge(text, text, text[], text[]) RETURNS float8
        LANGUAGE sql RETURN 1""",
}


def help_rows(connection: psycopg.Connection[Any], about: str | None = None) -> list[Any]:
    return connection.execute("SELECT * FROM rag.help(%s)", [about]).fetchall()


def test_help_lists_every_public_function_once(connection: psycopg.Connection[Any]) -> None:
    listed = [function for _, function, *_ in help_rows(connection)]
    assert sorted(listed) == sorted(f"rag.{name}" for name in public_names())


def test_help_begins_with_the_twelve_functions_one_needs(
    connection: psycopg.Connection[Any],
) -> None:
    rows = help_rows(connection)
    assert [name for _, name, *_ in rows[:12]] == [
        "rag.create_collection", "rag.put_document", "rag.wait_until_searchable",
        "rag.search_text", "rag.search", "rag.ask", "rag.put_chunks", "rag.index_field",
        "rag.attach_source", "rag.delete_document", "rag.status", "rag.doctor",
    ]  # fmt: skip
    circles = [circle for *_, circle in rows[12:]]
    assert [circle for circle, _ in itertools.groupby(circles)] == [
        "application", "worker", "client",
    ]  # fmt: skip
    assert {circle for *_, circle in help_rows(connection, "worker")} == {"worker"}


def test_help_is_asked_by_topic_or_by_name(connection: psycopg.Connection[Any]) -> None:
    assert {topic for topic, *_ in help_rows(connection, "jobs")} == {"Jobs"}
    assert {function for _, function, *_ in help_rows(connection, "search_")} == {
        "rag.search_keyword", "rag.search_vector", "rag.search_variants", "rag.search_text",
    }  # fmt: skip
    assert help_rows(connection, "rag.ask")[0][1] == "rag.ask"
    assert {topic for topic, *_ in help_rows(connection, "CALIBRATION")} == {"Calibration"}


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("words", "function"),
    [
        ("citation", "check_citation"),
        ("check a quotation", "check_citation"),
        ("filters", "index_field"),
        ("how many pass a filter", "count_documents"),
        ("metadata", "describe_metadata"),
        ("how do I delete a document?", "delete_document"),
        ("neighbouring", "more_like"),
        ("Schlüssel bm25", "search_keyword"),
    ],
)
def test_help_is_asked_in_words(
    connection: psycopg.Connection[Any], words: str, function: str
) -> None:
    """In any form of a word, and any of several."""
    found = [name for _, name, *_ in help_rows(connection, words)]
    assert f"rag.{function}" in found[:5], found
    assert len(found) == len(set(found)) < len(public_names())


@pytest.mark.longer
@pytest.mark.one_database
def test_every_function_is_found_by_its_name_and_its_purpose_in_words(
    connection: psycopg.Connection[Any],
) -> None:
    """In `make test` every fourth."""
    missed = []
    for topic, name, purpose, *_ in help_rows(connection)[:: tries(1, 4)]:
        words = f"{name.removeprefix('rag.').replace('_', ' ')} {purpose}"
        if name not in [found for _, found, *_ in help_rows(connection, words)][:5]:
            missed.append((topic, name))
    assert missed == []


@pytest.mark.one_database
@pytest.mark.parametrize("words", ["xyzzy", "the of", "'", "\\", "%", "&!|(", "\u00e9\u4e2d"])
def test_help_on_what_nobody_speaks_of_says_so(
    connection: psycopg.Connection[Any], words: str
) -> None:
    told: list[str] = []
    connection.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    assert help_rows(connection, words) == []
    assert told == [f"no function speaks of {words}; SELECT * FROM rag.help() lists them all"]


@pytest.mark.one_database
@pytest.mark.parametrize("words", ["grant", "granted roles", "permission", "privileges", "users"])
def test_help_speaks_of_rights(connection: psycopg.Connection[Any], words: str) -> None:
    assert help_rows(connection, words)


def test_help_fits_the_screen_when_rows_are_expanded(connection: psycopg.Connection[Any]) -> None:
    rows = help_rows(connection)
    assert [function for _, function, purpose, _, _ in rows if not purpose[0].isupper()] == []
    wide = {
        function: line
        for _, function, purpose, example, _ in rows
        for line in (purpose, *example.split("\n"))
        if len(line) > 69
    }
    assert wide == {}


def test_every_example_calls_its_function_and_runs(
    new_database: Callable[..., str], template: str
) -> None:
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        fill(connection)
        connection.execute("UPDATE rag.jobs SET lease = NULL WHERE worker = 'held'")
        connection.execute("SET search_path TO public, pg_catalog")
        rows = help_rows(connection)
        failed = []
        for _, function, _, example, _ in sorted(rows, key=lambda row: row[3].startswith("CALL")):
            name = function.removeprefix("rag.")
            assert f"{function}(" in example
            try:
                run(connection, name, example)
            except psycopg.Error as exc:
                failed.append((function, str(exc)))
        assert failed == []


def run(connection: psycopg.Connection[Any], name: str, example: str) -> None:
    if name in ("search_text", "ask", "embed_query"):
        with pytest.raises(psycopg.DatabaseError, match="no worker answered"):
            connection.execute(example.replace(")", ", timeout => 0.01)").encode())
    elif example.startswith("CALL"):
        connection.execute(example.encode())
    else:
        with connection.transaction(force_rollback=True):
            if name in BEFORE:
                connection.execute(BEFORE[name].encode())
            cursor = connection.execute(example.encode())
            assert cursor.rowcount > 0 or "take_jobs" not in example, name
