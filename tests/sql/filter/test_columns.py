"""Filters of a document's columns ($uri, $title …) against what the documents hold, in every
function that takes a filter; what cannot be asked; the plans."""

import datetime
import json
import random
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from filter_oracle import matches

from rag_pg import InvalidQuery, Rag

Connection = psycopg.Connection[Any]
DAY = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def filled(new_database: Any, template: str) -> Iterator[Connection]:
    """Sixty documents with two chunks each, in English and German, one a day."""
    with psycopg.connect(new_database(template), autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('c', 'none', 2)")
        for n in range(60):
            connection.execute(
                "SELECT rag.put_chunks('c', %s, %s, title => %s, metadata => %s, language =>"
                " %s::regconfig)",
                [
                    f"{'guide' if n % 3 else 'a_b%'}/{n:02}",
                    json.dumps(
                        [
                            {"content": f"common word{n}", "embedding": [1, n]},
                            {"content": f"common other{n}", "embedding": [n, 1]},
                        ]
                    ),
                    f"Title {n % 7}",
                    json.dumps({"uri": f"of {n}", "n": n}),
                    "german" if n % 5 == 0 else None,
                ],
            )
            connection.execute(
                "UPDATE rag.documents SET created_at = %s, updated_at = %s, media_type = %s WHERE"
                " uri LIKE %s",
                [
                    DAY + datetime.timedelta(days=n),
                    DAY - datetime.timedelta(days=n),
                    "text/markdown" if n % 4 else "text/plain",
                    f"%/{n:02}",
                ],
            )
        connection.execute("CALL rag.maintain()")
        yield connection


def documents(connection: Connection) -> dict[str, dict[str, Any]]:
    """What each document is, as the oracle takes it:
    its metadata, and its columns under their names."""
    rows = connection.execute(
        """SELECT uri, metadata, title, media_type, coalesce(language, 'english'), created_at,
           updated_at
           FROM rag.documents"""
    ).fetchall()
    return {
        uri: {**metadata, "$uri": uri, "$title": title, "$media_type": kind, "$language": language,
              "$created_at": created.isoformat(), "$updated_at": updated.isoformat()}
        for uri, metadata, title, kind, language, created, updated in rows
    }  # fmt: skip


def random_condition(chance: random.Random, rows: list[dict[str, Any]]) -> dict[str, Any]:
    name = chance.choice(
        ["$uri", "$title", "$media_type", "$language", "$created_at", "$updated_at"]
    )
    some = [chance.choice(rows)[name] for _ in range(chance.choice([1, 2, 5]))]
    if name.endswith("_at"):
        return {name: {chance.choice(["$gt", "$gte", "$lt", "$lte"]): some[0]}}
    text = some[0].replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    wanted = chance.choice([
        some[0], {"$eq": some[0]}, {"$ne": some[0]}, {"$in": some}, {"$nin": some},
        {"$like": text[:5] + "%"}, {"$like": "%" + text[-1:]}, {"$like": "a_b%"},
        {"$ilike": text[:5].upper() + "%"}, {"$ilike": "%" + text[-3:].title()},
        {chance.choice(["$gt", "$lte"]): some[0]}, {"$gte": some[0][:3], "$ne": some[0]},
        {"$in": []}, {"$not": {"$in": some}}, {"$not": some[0]},
    ])  # fmt: skip
    return {name: wanted}


def random_filter(
    chance: random.Random, rows: list[dict[str, Any]], depth: int = 0
) -> dict[str, Any]:
    kind = chance.random() if depth < 2 else 1
    inner = [random_filter(chance, rows, depth + 1) for _ in range(2)] if kind < 0.5 else []
    if kind < 0.2:
        return {"$or": inner}
    if kind < 0.35:
        return {"$and": inner}
    if kind < 0.5:
        return {"$not": inner[0]}
    if kind < 0.65:
        return {"n": {"$gte": chance.randrange(60)}, **random_condition(chance, rows)}
    return random_condition(chance, rows)


def as_oracle(wanted: Any) -> Any:
    """The filter with the columns' names as keys of the metadata."""
    if isinstance(wanted, dict):
        return {
            "\\" + k
            if k[1:] in ("uri", "title", "media_type", "language", "created_at", "updated_at")
            and k[0] == "$"
            else k: as_oracle(v)
            for k, v in wanted.items()
        }
    return [as_oracle(one) for one in wanted] if isinstance(wanted, list) else wanted


CALLS = (
    "rag.search_keyword('c', 'common', 1000, %s)",
    "rag.search_vector('c', '[1, 1]', 1000, %s)",
    "rag.search_vector('c', '[1, 1]', 1000, %s, exact_below => 0)",
    "rag.search('c', 'common', '[1, 1]', 1000, %s)",
    "rag.select_documents('c', %s, result_limit => 1000)",
    "rag.list_documents('c', %s, 1000)",
)


def test_columns_are_filtered_alike_in_searches_counts_and_lists(filled: Connection) -> None:
    chance = random.Random(7)
    stored = documents(filled)
    for number in range(60):
        wanted = random_filter(chance, list(stored.values()))
        truth = {uri for uri, row in stored.items() if matches(row, as_oracle(wanted))}
        for call in CALLS if number % 3 == 0 else (chance.choice(CALLS),):
            rows = filled.execute(
                f"SELECT uri FROM {call}".encode(), [json.dumps(wanted)]
            ).fetchall()
            assert {uri for (uri,) in rows} == truth, (call, wanted)
            assert len(rows) == len(truth) * (1 if "documents" in call else 2)
        count = filled.execute("SELECT rag.count_documents('c', %s)", [json.dumps(wanted)])
        assert count.fetchone() == (len(truth),)


def test_a_plain_key_is_metadata(filled: Connection) -> None:
    for wanted, count in (
        ({"uri": "of 7"}, 1),
        ({"uri": "guide/07"}, 0),
        ({"$uri": "guide/07"}, 1),
    ):
        found = filled.execute("SELECT rag.count_documents('c', %s)", [json.dumps(wanted)])
        assert found.fetchone() == (count,)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"$url": "x"}, r"unknown operator or column '\$url'"),
        ({"$uri": {"$regex": "x"}}, r"\$uri cannot be asked for '\$regex'"),
        ({"$uri": {"$contains": "x"}}, r"\$uri cannot be asked for '\$contains'"),
        ({"$title": {"$exists": True}}, r"\$title cannot be asked for '\$exists'"),
        ({"$title": 5}, r"\$title cannot be asked for '\$eq' 5"),
        ({"$title": None}, r"\$title cannot be asked for '\$eq' null"),
        ({"$title": {"$in": "x"}}, r"\$title cannot be asked for '\$in'"),
        ({"$title": {"$in": ["x", ["y"]]}}, r"\$title cannot be asked for '\$in'"),
        ({"$uri": {"$like": "x\\"}}, r"\$like of field '\$uri' takes a pattern"),
        ({"$created_at": "2024-02-29"}, r"\$created_at cannot be asked for '\$eq'"),
        ({"$updated_at": {"$gte": 2024}}, r"\$updated_at cannot be asked for '\$gte' 2024"),
        ({"$updated_at": {"$gte": "soon"}}, r"\$updated_at cannot be asked for '\$gte'"),
    ],
)
def test_what_cannot_be_asked_is_named(filled: Connection, wanted: Any, message: str) -> None:
    with pytest.raises(psycopg.Error, match=message) as caught:
        filled.execute("SELECT rag.count_documents('c', %s)", [json.dumps(wanted)])
    assert caught.value.sqlstate == "RG004" and caught.value.diag.message_hint


def test_columns_are_listed_as_facets_and_order_documents(filled: Connection) -> None:
    facets = filled.execute("SELECT * FROM rag.facets('c', '$language')").fetchall()
    assert facets == [("english", 48, 2), ("german", 12, 2)]
    first = filled.execute(
        "SELECT uri FROM rag.select_documents('c', order_by => '$updated_at', result_limit => 1)"
    )
    assert first.fetchone() == ("guide/59",)
    for call in ("facets('c', '$url')", "select_documents('c', order_by => '$url')"):
        with pytest.raises(psycopg.Error, match=r"unknown operator or column '\$url'"):
            filled.execute(f"SELECT * FROM rag.{call}".encode())
    with pytest.raises(psycopg.Error, match=r"'\$uri' is no field of the metadata"):
        filled.execute("SELECT rag.index_field('c', '$uri', 'text')")


def test_what_columns_hold_breaks_out_of_nothing(filled: Connection) -> None:
    for value in (
        "'",
        "''; DROP TABLE rag.chunks; --",
        "\\",
        "$1",
        "%s",
        "{",
        '"',
        ",",
        "a b",
        "NULL",
    ):
        for name in ("$uri", "$title"):
            for wanted in (
                value,
                {"$in": [value, "x"]},
                {"$gte": value},
                {"$like": "%" + value.replace("\\", "\\\\")},
            ):
                filled.execute("SELECT rag.count_documents('c', %s)", [json.dumps({name: wanted})])
    assert filled.execute("SELECT count(*) FROM rag.chunks").fetchone() == (120,)


def test_a_uri_is_found_by_its_key_and_nothing_is_joined_without_a_column(
    filled: Connection,
) -> None:
    def plan(wanted: Any) -> tuple[str, bool]:
        condition, indexed = filled.execute(
            "SELECT condition, indexed FROM rag._compile_filter(1, %s)", [json.dumps(wanted)]
        ).fetchone() or ("", False)
        lines = filled.execute(
            "EXPLAIN SELECT c.chunk_id FROM rag.chunks AS c WHERE c.collection_id = 1 AND"
            f" {condition}".encode()
        ).fetchall()
        return "\n".join(line for (line,) in lines), indexed

    filled.execute("SET enable_seqscan = off")  # the table is small
    by_uri, indexed = plan({"$uri": {"$in": ["guide/07", "guide/08"]}})
    assert "chunks_1_collection_id_document_id" in by_uri and indexed
    assert "documents" not in by_uri
    by_title, indexed = plan({"$title": "Title 3"})
    assert "documents_1" in by_title and not indexed
    assert "documents_2" not in by_title
    assert "documents" not in plan({"n": 5})[0]
    filled.execute("RESET enable_seqscan")


def test_python_asks_for_columns(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    docs.add(*({"uri": f"d{n}", "content": f"red fish {n}", "title": f"T{n}"} for n in range(3)))
    assert [hit.uri for hit in docs.search("fish", filter={"$uri": "d1"})] == ["d1"]
    assert docs.count(filter={"$title": {"$in": {"T0", "T2"}}}) == 2
    first = min(document.created_at for document in docs.list())
    assert docs.count(filter={"$created_at": {"$gte": first}}) == 3
    assert docs.count(filter={"$created_at": {"$lt": first}}) == 0
    assert [d.uri for d in docs.list(filter={"$uri": {"$like": "d%"}})] == ["d0", "d1", "d2"]
    with pytest.raises(InvalidQuery, match=r"unknown operator or column '\$url'.*\$uri"):
        docs.count(filter={"$url": "d1"})


def test_boosts_take_columns(filled: Connection) -> None:
    boosts = json.dumps([{"filter": {"$uri": "guide/07"}, "add": 5}])
    best = filled.execute("SELECT uri FROM rag.search('c', 'common', boosts => %s)", [boosts])
    assert best.fetchone() == ("guide/07",)


def test_recency_goes_by_a_documents_own_times(filled: Connection) -> None:
    for column, best in (("$created_at", "guide/59"), ("$updated_at", "a_b%/00")):
        boosts = json.dumps([{"recency": column, "half_life": "1000 days", "weight": 1}])
        found = filled.execute(
            "SELECT uri FROM rag.search('c', query_embedding => '[1, 1]', candidate_limit => 1000,"
            " boosts => %s)",
            [
                json.dumps(
                    [{"filter": {}, "multiply": 0}, {"filter": {}, "add": 1}, *json.loads(boosts)]
                )
            ],
        ).fetchone()
        assert found == (best,)
    with pytest.raises(psycopg.Error, match="needs a field and a half_life") as caught:
        filled.execute(
            'SELECT rag.search(\'c\', \'x\', boosts => \'[{"recency": "$uri", "half_life": "1'
            " day\"}]')"
        )
    assert caught.value.sqlstate == "RG004"


def test_a_search_without_a_vector_says_so_in_its_columns_and_explanation(
    filled: Connection,
) -> None:
    for arguments, options, note in (
        ("'common'", "{}", "query_embedding is NULL: only keywords were searched"),
        (
            "'common', '[1, 1]'",
            '{"vector_weight": 0}',
            "vector_weight is 0: only keywords were searched",
        ),
        ("NULL, '[1, 1]'", "{}", "query_text is empty: only vectors were searched"),
        (
            "'common', '[1, 1]'",
            '{"keyword_weight": 0}',
            "keyword_weight is 0: only vectors were searched",
        ),
        ("'common', '[1, 1]'", "{}", None),
    ):
        (notes,) = filled.execute(
            f"""SELECT rag.explain_search('c', {arguments},
                options => '{options}') -> 'notes'""".encode()
        ).fetchone() or (None,)
        assert notes == ([note] if note else []), (arguments, options)
        named = "".join(f", {name} => {value}" for name, value in json.loads(options).items())
        skipped = filled.execute(
            "SELECT bool_and(vector_rank IS NULL), bool_and(keyword_rank IS NULL) FROM"
            f" rag.search('c', {arguments}{named})".encode()
        ).fetchone()
        assert skipped == (
            note is not None and "keywords" in note,
            note is not None and "vectors" in note,
        )
