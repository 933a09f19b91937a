"""explain_search, why_not, more_like and expand."""

import json
from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def filled(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 3, language => 'english')")
    for uri, content, vector, lang in [
        ("a", "red fishes swim", [1, 0, 0], "en"),
        ("b", "a red bird", [0, 1, 0], "en"),
        ("c", "ein roter Fisch", [0.9, 0.1, 0], "de"),
        ("d", "stone", None, "en"),
    ]:
        chunk = {"content": content, "metadata": {"lang": lang}}
        connection.execute(
            "SELECT rag.put_chunks('c', %s, %s)",
            [uri, json.dumps([chunk | ({"embedding": vector} if vector else {})])],
        )


def chunk(connection: Connection, uri: str) -> int:
    row = connection.execute(
        "SELECT c.chunk_id FROM rag.chunks AS c JOIN rag.documents AS d USING (document_id) WHERE"
        " d.uri = %s",
        [uri],
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_an_explanation_shows_legs_terms_plan_and_filter(connection: Connection) -> None:
    row = connection.execute(
        "SELECT rag.explain_search('c', 'red fish', '[1, 0, 0]', metadata_filter => '{\"lang\":"
        ' "en"}\')'
    ).fetchone()
    assert row is not None
    explained = row[0]
    assert explained["filter"]["indexed"] is True
    assert "exact" in explained["vector"]["method"]
    assert {t["term"]: t["df"] for t in explained["keyword"]["terms"]} == {"red": 2, "fish": 1}
    assert 0 < explained["fusion"]["vector_share"] < 1
    hits = connection.execute(
        "SELECT uri, score FROM rag.search('c', 'red fish', '[1, 0, 0]', metadata_filter =>"
        ' \'{"lang": "en"}\')'
    ).fetchall()
    assert [(h["uri"], h["score"]) for h in explained["hits"]] == hits
    first = explained["hits"][0]
    assert {t["term"] for t in first["keyword"]["terms"]} == {"red", "fish"}
    assert sum(t["contribution"] for t in first["keyword"]["terms"]) == pytest.approx(
        first["keyword"]["score"], abs=1e-3
    )


def test_an_explanation_of_nothing_has_no_hits(connection: Connection) -> None:
    row = connection.execute("SELECT rag.explain_search('c', 'unheard')").fetchone()
    assert row is not None
    assert row[0]["hits"] == []
    assert row[0]["vector"] is None


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("uri", "options", "failed", "said"),
    [
        ("a", "", [], "it is hit 1"),
        ("c", "", ["filter", "vector", "keyword", "result"], "does not pass"),
        ("d", "", ["vector", "keyword", "result"], "no vector yet"),
        ("d", "", ["vector", "keyword", "result"], "none of the query's lexemes: 'fish', 'red'"),
        (
            "b",
            ", result_limit => 1, options => '{\"candidate_limit\": 1}'",
            ["vector", "keyword", "result"],
            "exact rank 2",
        ),
        ("b", ", result_limit => 1", ["result"], "the last hit has"),
    ],
)
@pytest.mark.few(3)
def test_why_not_names_the_step_that_a_chunk_fails(
    connection: Connection, uri: str, options: str, failed: list[str], said: str
) -> None:
    found = connection.execute(
        f"""SELECT * FROM rag.why_not('c', %s, 'red fish', '[1, 0, 0]',
            metadata_filter => '{{"lang": "en"}}'{options})""".encode(),
        [chunk(connection, uri)],
    ).fetchall()
    assert [check for check, passed, _ in found if not passed] == failed
    assert any(said in detail for *_, detail in found)


def test_why_not_of_a_chunk_that_does_not_exist(connection: Connection) -> None:
    assert connection.execute("SELECT * FROM rag.why_not('c', 0, 'x')").fetchall() == [
        ("stored", False, "collection 'c' has no chunk 0")
    ]


def test_more_like_a_chunk_is_its_neighbours_without_itself(connection: Connection) -> None:
    ask = "SELECT uri FROM rag.more_like('c', %s, {})"
    found = connection.execute(ask.format("1").encode(), [chunk(connection, "a")]).fetchall()
    assert found == [("c",)]
    filtered = connection.execute(
        ask.format('5, \'{"lang": "en"}\'').encode(), [chunk(connection, "a")]
    ).fetchall()
    assert filtered == [("b",)]
    other = connection.execute(
        ask.format("same_document => false").encode(), [chunk(connection, "a")]
    ).fetchall()
    assert other == [("c",), ("b",)]


@pytest.mark.one_database
@pytest.mark.parametrize(("uri", "message"), [("d", "has no vector yet"), (None, "does not exist")])
def test_more_like_needs_a_vector(connection: Connection, uri: str | None, message: str) -> None:
    with pytest.raises(psycopg.Error, match=message) as caught:
        connection.execute(
            "SELECT * FROM rag.more_like('c', %s)", [chunk(connection, uri) if uri else 0]
        )
    assert caught.value.sqlstate == "RG002"
