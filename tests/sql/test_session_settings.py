"""What a session has set changes no result of any function."""

from __future__ import annotations

import json
import re
from typing import Any

import psycopg
from sql_calls import CALLS, fill

Connection = psycopg.Connection[Any]

ODD = {
    "DateStyle": "SQL, DMY",
    "IntervalStyle": "sql_standard",
    "TimeZone": "Pacific/Kiritimati",
    "bytea_output": "escape",
    "extra_float_digits": "0",
    "quote_all_identifiers": "on",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "search_path": "",
    "default_text_search_config": "pg_catalog.german",
    "plan_cache_mode": "force_generic_plan",
    "hnsw.ef_search": "1",
    "plpgsql.variable_conflict": "use_column",
    "client_encoding": "LATIN1",
    "rag.tenant": "acme",
    "rag.notes": "no JSON",
}
# Random, numbered anew, of this very moment, or a statement: only whether they succeed.
FRESH = {
    "attach_location", "collection_stats", "create_collection", "create_space", "doctor",
    "erase", "evaluate_search", "feedback", "field_index_statement", "job_stats",
    "list_spaces", "make_service_key", "measure_recall", "metrics", "request_answer",
    "start_eval_run", "status", "take_jobs",
}  # fmt: skip
MORE = {
    "views": "SELECT * FROM rag.query_view('kinds', filter => '{\"number\": {\"$gt\": 0.05}}')",
    "exports": "SELECT rag._export_settings('docs') #> '{spaces,0,similarity_mean}'",
}


def outcomes(connection: Connection, settings: dict[str, str]) -> dict[str, object]:
    """What each function gives, in a transaction that all have in common, so of one moment."""
    found: dict[str, object] = {}
    for name, call in {**{n: c for n, (_, c) in CALLS.items()}, **MORE}.items():
        *before, last = re.split(r";\s+", call)
        if last.startswith("CALL"):
            continue  # commits
        with connection.transaction(force_rollback=True):
            for setting, value in settings.items():
                connection.execute("SELECT set_config(%s, %s, true)", [setting, value])
            try:
                for one in before:
                    connection.execute(one.encode())
                rows = connection.cursor(binary=True).execute(last.encode()).fetchall()
            except psycopg.Error as exc:
                found[name] = exc.sqlstate
            else:
                found[name] = None if name in FRESH else rows
    return found


def test_no_result_depends_on_the_settings_of_a_session(connection: Connection) -> None:
    fill(connection)
    connection.execute(
        """CREATE TABLE app.kinds (number double precision, length interval, bytes bytea);
           INSERT INTO app.kinds VALUES (0.1 + 0.2, '-1 mon +2 days 03:04:05', 'a');
           SELECT rag.expose_view('app.kinds', 'Odd types', 'kinds')"""
    )
    priced = [{"uri": "x", "content": "a fish", "metadata": {"price": 0.1, "day": "2024-02-29"}}]
    connection.execute("SELECT * FROM rag.load_chunks('docs', %s)", [json.dumps(priced)])
    with connection.transaction(force_rollback=True):
        plain = outcomes(connection, {})
        odd = outcomes(connection, ODD)
        assert {name: (plain[name], odd[name]) for name in plain if plain[name] != odd[name]} == {}
    assert sum(type(result) is list for result in plain.values()) > 150
    assert not [name for name, result in plain.items() if type(result) is str]  # an error
