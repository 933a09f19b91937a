"""What a search can be told is one list: in Python, in rag.search,
in what companions accept as options."""

import json
import re
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from rag_pg import Collection, InvalidInput, Rag
from rag_pg import sqlalchemy as tables
from rag_pg.search.options import SearchOptions, StatementOptions
from rag_pg.types import SHORT

QUESTION = {"collection", "query_text", "query_embedding", "expected_space"}
BY_NAME = {"result_limit", "metadata_filter"}  # what the companions take by name too
FILLED_IN = {"collection_id", "filter_sql", "filter_indexed", "filter_undeclared"}


def arguments(connection: Connection[Any], function: str) -> set[str]:
    row = connection.execute(
        "SELECT proargnames FROM pg_proc WHERE oid = to_regproc(%s)", [function]
    ).fetchone()
    assert row
    return set(row[0])


def test_the_options_of_a_search_are_the_same_everywhere(connection: Connection[Any]) -> None:
    searched = arguments(connection, "rag.search") - QUESTION
    python = {SHORT.get(name, name) for name in StatementOptions.__optional_keys__}
    fields = {
        name
        for (name,) in connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass('rag.search_arguments')"
        )
    }
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    with pytest.raises(psycopg.Error, match='no option "colour"') as caught:
        connection.execute("""SELECT rag.explain_search('c', 'x', options => '{"colour": 1}')""")
    assert caught.value.sqlstate == "RG004"
    hint = caught.value.diag.message_hint or ""
    accepted = set(hint.removeprefix("use ").split(", "))
    assert searched == python == accepted | BY_NAME
    assert fields == (searched | QUESTION | FILLED_IN) - {"collection", "expected_space"}
    in_table = set(tables.ARGUMENTS["search"]) - QUESTION
    assert {SHORT.get(name, name) for name in in_table} == searched


@pytest.mark.one_database
@pytest.mark.parametrize("function", ["rag.explain_search", "rag.why_not", "rag.search_text"])
def test_companions_take_the_rest_as_options(connection: Connection[Any], function: str) -> None:
    found = arguments(connection, function)
    assert BY_NAME | {"options"} <= found
    assert not found & {SHORT.get(n, n) for n in StatementOptions.__optional_keys__} - BY_NAME


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([1], "the options are a JSON array"),
        ({"rrf_k": 1.5}, r"option rrf_k is 1\.5"),
        ({"rrf_k": 10**10}, "option rrf_k is 10000000000"),
        ({"fusion": 1}, "option fusion is 1"),
        ({"boosts": {}}, r"option boosts is \{\}"),
        ({"duplicates": "yes"}, 'option duplicates is "yes"'),
        ({"collection_id": 1}, 'no option "collection_id"'),
        ({"result_limit": 1}, 'no option "result_limit"'),
        ({"fusion": "best"}, "unknown fusion 'best'"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_named(connection: Connection[Any], options: Any, message: str) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    for call in ("rag.explain_search('c', 'x'", "rag.why_not('c', 1, 'x'"):
        with pytest.raises(psycopg.Error, match=message) as caught, connection.transaction():
            connection.execute(f"SELECT {call}, options => %s)".encode(), [json.dumps(options)])
        assert caught.value.sqlstate == "RG004" and caught.value.diag.message_hint
    with pytest.raises(psycopg.Error, match=message) as caught, connection.transaction():
        connection.execute("SELECT rag._check_search_options(%s)", [json.dumps(options)])
        connection.execute(
            "SELECT rag._search_json('c', 'x', NULL, 5, '{}', %s)", [json.dumps(options)]
        )


def test_null_is_the_default_of_an_option(connection: Connection[Any]) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    everything = dict.fromkeys(
        {SHORT.get(n, n) for n in StatementOptions.__optional_keys__} - BY_NAME
    )
    asked = "SELECT rag.explain_search('c', 'x', options => %s)"
    assert (
        connection.execute(asked, [json.dumps(everything)]).fetchone()
        == connection.execute(asked, ["{}"]).fetchone()
    )


def test_a_misspelt_option_is_named_in_python(rag: Rag) -> None:
    docs: Collection = rag.collection("docs", model="hash:32")
    search: Any = docs.search
    ask: Any = docs.ask
    for call in (search, ask):
        with pytest.raises(InvalidInput, match="no option 'fillter'; did you mean 'filter'"):
            call("fish", fillter={})
        with pytest.raises(InvalidInput, match="no option 'zzz'; use .*boosts.*vector_weight"):
            call("fish", zzz=1)


def test_every_option_is_described() -> None:
    described = Collection.search.__doc__ or ""
    for name in SearchOptions.__optional_keys__:
        assert re.search(rf"\b{name}\b", described), name
