"""Counts, facets and selections of documents, against the naive evaluator of filters."""

import asyncio
import datetime
import json
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
from fakes import HashEmbedder
from filter_oracle import MISSING, date, equal, matches
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from metadata_rows import fill, floats, new_collections, value_of
from random_filters import DECLARED, Json, filters, metadata
from rota import tries
from typer.testing import CliRunner

from rag_pg import AsyncRag, Facet, InvalidInput, InvalidQuery, Rag
from rag_pg.cli.app import app

Connection = psycopg.Connection[Any]

FIELDS = ["num", "txt", "day", "flag", "a", "n", "n.x", "q\\.r", "\\$x"]


@pytest.fixture(scope="module")
def prepared(new_database: Any, template: str) -> Iterator[Connection]:
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        new_collections(connection)
        yield connection


def tally(rows: Sequence[Json], field: str) -> list[list[Any]]:
    """Each value of a field and how many rows hold it, the most frequent first."""
    counts: list[list[Any]] = []
    for row in rows:
        value = value_of(row, field)
        held: list[Any] = []
        for one in value if isinstance(value, list) else [] if value is MISSING else [value]:
            if not any(equal(one, other) for other in held):
                held.append(one)
        for one in held:
            known = [pair for pair in counts if equal(pair[0], one)]
            if known:
                known[0][1] += 1
            else:
                counts.append([one, 1])
    return sorted(counts, key=lambda pair: -pair[1])


def same_tally(found: list[tuple[Any, int]], wanted: list[list[Any]]) -> bool:
    """Whether the counts stand in this order, and each is of the same values (equal ones
    in any order)."""
    return [n for _, n in found] == [n for _, n in wanted] and all(
        any(m == n and equal(value, other) for other, m in wanted) for value, n in found
    )


def place(value: Any, kind: str | None) -> tuple[Any, ...] | None:
    """Where a value stands in an order by a field declared as `kind`, or undeclared; None: last."""
    moment = date(value)
    if type(value) in (int, float):
        return (0, value) if kind in (None, "numeric") else None
    if moment and kind in (None, "timestamptz"):
        return (1, moment) if kind else (1, moment, value)
    if isinstance(value, str):
        return (2, value[:500]) if kind in (None, "text") else None
    return (3, value) if isinstance(value, bool) and kind in (None, "boolean") else None


def in_order(rows: Sequence[Json], field: str, kind: str | None, descending: bool) -> list[str]:
    """The uris of rows by a field: its types one after the other, what has no place last,
    ties by uri."""
    places = {f"{i:03}": place(value_of(row, field), kind) for i, row in enumerate(rows, 1)}
    found: list[str] = []
    for type_ in range(4):
        group = {uri: at for uri, at in places.items() if at is not None and at[0] == type_}
        found += sorted(group, key=lambda uri: group[uri], reverse=descending)
    return found + [uri for uri, at in places.items() if at is None]


@pytest.mark.longer
@settings(max_examples=tries(40, 12), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    rows=st.lists(metadata, min_size=1, max_size=12),
    wanted=st.lists(filters, min_size=6, max_size=6),
    field=st.sampled_from(FIELDS),
    descending=st.booleans(),
)
def test_counts_facets_and_selections_agree_with_the_oracle(
    prepared: Connection, rows: list[Json], wanted: list[Json], field: str, descending: bool
) -> None:
    fill(prepared, rows)
    for name in ("plain", "declared"):
        for one in wanted:
            passing = [row for row in rows if matches(row, one)]
            where = json.dumps(one)
            count = prepared.execute("SELECT rag.count_documents(%s, %s)", [name, where]).fetchone()
            assert count == (len(passing),), (one, rows)
            found = prepared.execute(
                "SELECT * FROM rag.facets(%s, %s, %s, 1000)", [name, field, where]
            ).fetchall()
            counted = tally(floats(json.dumps(passing)), field)
            assert {total for *_, total in found} <= {len(counted)}, (field, passing)
            assert same_tally([(v, n) for v, n, _ in found], counted), (field, passing)
            selected = prepared.execute(
                "SELECT uri, metadata FROM rag.select_documents(%s, %s, order_by => %s, descending"
                " => %s)",
                [name, where, field, descending],
            ).fetchall()
            kind = DECLARED.get(field) if name == "declared" else None
            order = [
                u for u in in_order(rows, field, kind, descending) if matches(rows[int(u) - 1], one)
            ]
            assert [uri for uri, _ in selected] == order, (field, descending, rows)


def test_each_value_of_a_facet_counts_what_a_filter_by_it_counts(prepared: Connection) -> None:
    rows: list[Json] = [
        {"a": "x"}, {"a": ["x", "y", "x"]}, {"a": 1}, {"a": 1}, {"a": "1"}, {"a": True},
        {"a": None}, {"a": []}, {}, {"a": {"b": 1}},
    ]  # fmt: skip
    fill(prepared, rows)
    found = prepared.execute(
        "SELECT value::text, documents FROM rag.facets('plain', 'a')"
    ).fetchall()
    assert dict(found) == {
        '"x"': 2,
        '"y"': 1,
        "1": 2,
        '"1"': 1,
        "true": 1,
        "null": 1,
        '{"b": 1}': 1,
    }
    for value, documents in found:
        where = f'{{"a": {{"$eq": {value}}}}}'
        assert prepared.execute("SELECT rag.count_documents('plain', %s)", [where]).fetchone() == (
            documents,
        )


def test_equal_counts_stand_by_value_and_the_limit_cuts(prepared: Connection) -> None:
    fill(prepared, [{"a": n} for n in (10, 9, 2, 10)])
    facets = "SELECT value, documents FROM rag.facets('plain', 'a', result_limit => %s)"
    assert prepared.execute(facets, [20]).fetchall() == [(10, 2), (2, 1), (9, 1)]
    assert prepared.execute(facets, [2]).fetchall() == [(10, 2), (2, 1)]


def test_pages_of_a_selection_make_the_whole(prepared: Connection) -> None:
    fill(prepared, [{"a": n % 3} for n in range(25)])
    select = """SELECT uri FROM rag.select_documents('plain', order_by => 'a', descending => true,
                                                     result_limit => %s, result_offset => %s)"""
    whole = prepared.execute(select, [25, 0]).fetchall()
    assert len(set(whole)) == 25
    assert [row for at in range(0, 30, 10) for row in prepared.execute(select, [10, at])] == whole


@pytest.mark.parametrize("descending", [False, True])
def test_equal_times_go_by_uri_however_they_are_written(
    connection: Connection, descending: bool
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    for uri, day in (("a", "2024-03-01T00:00:00"), ("b", "2024-03-01"), ("c", "x"), ("d", "y")):
        connection.execute(
            "SELECT rag.put_document('c', %s, 'text', metadata => %s)",
            [uri, json.dumps({"a%": day})],
        )
    found = connection.execute(
        "SELECT uri FROM rag.select_documents('c', order_by => 'a%%', descending => %s)",
        [descending],
    ).fetchall()
    assert "".join(uri for (uri,) in found) == ("abdc" if descending else "abcd")


def test_documents_sort_by_their_own_columns(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    for uri, title in (("b", "Ape"), ("a", "Bee"), ("c", "Ape")):
        connection.execute("SELECT rag.put_document('c', %s, 'text', title => %s)", [uri, title])
    for order, descending, wanted in (
        ("uri", False, "abc"),
        ("uri", True, "cba"),
        ("title", False, "bca"),
        ("title", True, "abc"),
        ("created_at", False, "bac"),
        ("updated_at", True, "cab"),
        ("created_at", None, "bac"),
    ):
        found = connection.execute(
            "SELECT uri FROM rag.select_documents('c', order_by => %s, descending => %s)",
            [order, descending],
        ).fetchall()
        assert "".join(uri for (uri,) in found) == wanted, (order, descending)
    row = connection.execute(
        "SELECT content, chunks, state FROM rag.select_documents('c', result_limit => 1)"
    ).fetchone()
    assert row == (None, 0, "pending")


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        ("count_documents('nowhere')", "RG002", "no collection 'nowhere'"),
        ("facets('nowhere', 'a')", "RG002", "no collection 'nowhere'"),
        ("select_documents('nowhere')", "RG002", "no collection 'nowhere'"),
        ("facets('c', '')", "RG001", "a field's name has 0 bytes"),
        ("facets('c', NULL)", "RG001", "a field's name has 0 bytes"),
        ("facets('c', repeat('x', 501))", "RG001", "a field's name has 501 bytes"),
        ("facets('c', 'a\\b')", "RG004", "a backslash that escapes nothing"),
        ("facets('c', 'a', result_limit => 0)", "RG004", "limit 0 is out of range"),
        ("select_documents('c', order_by => '')", "RG001", "a field's name has 0 bytes"),
        ("select_documents('c', order_by => NULL)", "RG001", "a field's name has 0 bytes"),
        ("select_documents('c', result_limit => 1001)", "RG004", "limit 1001 is out of range"),
        ("select_documents('c', result_offset => -1)", "RG004", "offset -1 is out of range"),
        ("count_documents('c', '[]')", "RG004", "the filter is a JSON array"),
        ("count_documents('c', NULL)", "RG004", "the filter is a JSON null"),
        ("list_documents('c', NULL)", "RG004", "the filter is a JSON null"),
        (
            "count_documents('c', '{\"a\": {\"$regex\": 1}}')",
            "RG004",
            r"unknown operator '\$regex'",
        ),
        ("facets('c', 'a', '{\"$x\": 1}')", "RG004", r"unknown operator or column '\$x'"),
        (
            "field_index_statement('c', 'a', 'text', 'jobs')",
            "RG001",
            "fields have no index on 'jobs'",
        ),
    ],
)
def test_a_wrong_argument_gets_one_line_and_a_hint(
    connection: Connection, call: str, code: str, message: str
) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    with pytest.raises(psycopg.Error, match=message) as caught:
        connection.execute(f"SELECT * FROM rag.{call} AS x".encode())
    assert caught.value.sqlstate == code and caught.value.diag.message_hint


def test_names_of_fields_break_out_of_nothing(prepared: Connection) -> None:
    fill(prepared, [{"it's": 1, '"; DROP': 2, "%s%L": 3}])
    for field, value in (("it's", 1), ('"; DROP', 2), ("%s%L", 3)):
        found = prepared.execute("SELECT * FROM rag.facets('plain', %s)", [field]).fetchall()
        assert found == [(value, 1, 1)]
        ordered = "SELECT count(*) FROM rag.select_documents('plain', order_by => %s)"
        assert prepared.execute(ordered, [field]).fetchone() == (1,)


def test_row_level_security_holds(prepared: Connection) -> None:
    fill(prepared, [{"owner": "ann"}, {"owner": "bob"}, {"owner": "bob"}])
    with prepared.transaction(force_rollback=True):
        prepared.execute(
            """DO $$ BEGIN CREATE ROLE document_reader; EXCEPTION WHEN duplicate_object THEN END $$;
               GRANT USAGE ON SCHEMA rag TO document_reader;
               GRANT SELECT ON ALL TABLES IN SCHEMA rag TO document_reader;
               GRANT EXECUTE ON ALL ROUTINES IN SCHEMA rag TO document_reader"""
        )
        prepared.execute(
            """ALTER TABLE rag.documents ENABLE ROW LEVEL SECURITY;
               CREATE POLICY own ON rag.documents FOR SELECT USING (metadata ->> 'owner' = 'bob')"""
        )
        prepared.execute("SET LOCAL ROLE document_reader")
        assert prepared.execute("SELECT rag.count_documents('plain')").fetchone() == (2,)
        assert prepared.execute("SELECT * FROM rag.facets('plain', 'owner')").fetchall() == [
            ("bob", 2, 1)
        ]
        uris = "SELECT uri FROM rag.select_documents('plain', order_by => 'owner')"
        assert prepared.execute(uris).fetchall() == [("002",), ("003",)]


def test_the_same_filter_finds_the_same_documents_by_search(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3)")
    for uri, own in (
        ("a", {"year": 2023, "tags": ["x", "y"]}),
        ("b", {"year": 2024}),
        ("c", {"year": 2025, "tags": "x"}),
        ("d", {}),
    ):
        chunks = json.dumps([{"content": "red fish"}, {"content": "fish", "metadata": {"page": 2}}])
        connection.execute(
            "SELECT rag.put_chunks('c', %s, %s, metadata => %s)", [uri, chunks, json.dumps(own)]
        )
    for where, uris in (
        ({}, "abcd"),
        ({"tags": "x"}, "ac"),
        ({"year": {"$gte": 2024}}, "bc"),
        ({"year": {"$not": {"$lt": 2025}}}, "cd"),
    ):
        hits = "SELECT DISTINCT uri FROM rag.search_keyword('c', 'fish', 100, %s) ORDER BY uri"
        documents = "SELECT uri FROM rag.select_documents('c', %s)"
        for statement in (hits, documents):
            found = connection.execute(statement.encode(), [json.dumps(where)]).fetchall()
            assert "".join(uri for (uri,) in found) == uris
    # What the chunks were given of their own is not the document's.
    count = connection.execute("SELECT rag.count_documents('c', '{\"page\": 2}')")
    assert count.fetchone() == (0,)


CONTRACTS = [
    {"uri": f"c{n}", "content": f"contract {n}", "title": f"Contract {n}",
     "metadata": {"kind": "contract", "signed": f"2024-0{n}-15", "parties": ["us", f"p{n % 2}"]}}
    for n in range(1, 8)
] + [{"uri": "memo", "content": "a memo", "metadata": {"kind": "memo"}}]  # fmt: skip


def test_python_counts_facets_and_selects(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(*CONTRACTS, wait=False)
    half = {"signed": {"$gte": datetime.date(2024, 4, 1)}}
    assert (docs.count(), docs.count(filter=half)) == (8, 4)
    assert docs.metadata.facets("kind") == [
        Facet(value="contract", documents=7),
        Facet(value="memo", documents=1),
    ]
    assert docs.metadata.facets("parties", filter=half, limit=1) == [Facet(value="us", documents=4)]
    latest = docs.metadata.select(
        filter={"kind": "contract"}, order_by="signed", descending=True, limit=5
    )
    assert [d.uri for d in latest] == ["c7", "c6", "c5", "c4", "c3"]
    assert latest[0].content is None and latest[0].state == "pending"
    assert [d.uri for d in docs.metadata.select(order_by="signed", limit=2, offset=6)] == [
        "c7",
        "memo",
    ]
    with pytest.raises(InvalidQuery, match="limit 0 is out of range"):
        docs.metadata.select(limit=0)
    with pytest.raises(InvalidInput, match="name has 0 bytes"):
        docs.metadata.facets("")


def test_the_asynchronous_client_asks_the_same(rag: Rag, embedder: HashEmbedder) -> None:
    rag.collection("docs", model="hash:32").add(*CONTRACTS, wait=False)

    async def ask() -> tuple[int, list[Facet], list[str]]:
        async with AsyncRag(
            rag.database.dsn, settings=rag.settings, embedders={"hash": lambda name: embedder}
        ) as other:
            docs = await other.collection("docs")
            selected = await docs.metadata.select(order_by="signed", limit=1)
            return (
                await docs.count(),
                await docs.metadata.facets("kind", limit=1),
                [d.uri for d in selected],
            )

    assert asyncio.run(ask()) == (8, [Facet(value="contract", documents=7)], ["c1"])


def test_the_command_line_counts_facets_and_orders(connection: Connection, dsn: str) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    connection.execute("SELECT rag.put_documents('docs', %s)", [json.dumps(CONTRACTS)])

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, [*arguments, "--dsn", dsn])
        assert result.exit_code == 0, result.output
        return result.stdout

    count, facets = (("call", name, "collection=docs") for name in ("count_documents", "facets"))
    assert run(*count) == "8\n"
    assert run(*count, "metadata_filter=kind=memo") == "1\n"
    first = run(*facets, "field=parties", "--json", "result_limit=2").splitlines()[0]
    assert json.loads(first) == {"value": "us", "documents": 7, "total_values": 3}
    assert "contract" in run(*facets, "field=kind") and run(*facets, "field=nowhere") == ""
    listed = run("documents", "--order-by", "signed", "--descending", "--limit", "2", "--json")
    assert [json.loads(line)["uri"] for line in listed.splitlines()] == ["c7", "c6"]
