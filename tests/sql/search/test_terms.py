"""rag.match_terms: the terms of a question, how rare each is, and the texts that have it."""

import json
from typing import Any

import psycopg
import pytest
from psycopg.errors import DatabaseError

Connection = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def collection(connection: Connection) -> None:
    connection.execute("SELECT rag.create_collection('c', 'none', 2)")
    for number, text in enumerate(("Reset your password", "The password expires", "Lunch")):
        put(connection, f"doc{number}", text)


def put(connection: Connection, uri: str, text: str, language: str | None = None) -> None:
    connection.execute(
        "SELECT rag.put_chunks('c', %s, %s, language => %s::regconfig)",
        [uri, json.dumps([{"content": text, "embedding": [1, 0]}]), language],
    )


def terms(connection: Connection, question: str, *texts: str) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT word, term, df, chunk_count, found_in FROM rag.match_terms('c', %s, %s::text[])",
        [question, list(texts)],
    ).fetchall()


def test_each_term_has_its_word_its_frequency_and_its_texts(connection: Connection) -> None:
    found = terms(connection, "How are passwords reset?", "Resetting it.", "No.", "A password.")
    assert found == [
        ("passwords", "password", 2, 3, [3]),
        ("reset?", "reset", 1, 3, [1]),
    ]


def test_a_word_that_no_chunk_has_is_in_zero_chunks(connection: Connection) -> None:
    assert terms(connection, "captcha", "A captcha.") == [("captcha", "captcha", 0, 3, [1])]


def test_an_edit_counts_at_once(connection: Connection) -> None:
    put(connection, "doc1", "Nothing")
    assert terms(connection, "password")[0][2] == 1
    connection.execute("SELECT rag.delete_document('c', 'doc0')")
    assert terms(connection, "password")[0][2:4] == (0, 2)


def test_stop_words_and_marks_are_no_terms(connection: Connection) -> None:
    assert terms(connection, "what is the ?!", "what is the") == []
    assert terms(connection, "") == []
    assert terms(connection, "password")[0][4] == []


def test_texts_are_lexed_in_every_language_of_the_collection(connection: Connection) -> None:
    put(connection, "german", "Die Häuser", "pg_catalog.german")
    found = {row[1]: row[2:] for row in terms(connection, "Häuser", "Haus", "Das Haus dort")}
    assert found["haus"] == (1, 4, [1, 2])


def test_a_part_that_no_language_knows_is_told_beside_one_that_is(connection: Connection) -> None:
    put(connection, "german", "Die Pumpe P-100 und die Häuser", "pg_catalog.german")
    found = {row[1]: row[2] for row in terms(connection, "P-300")}
    assert found == {"300": 0, "p": 1}
    assert {row[1]: row[2] for row in terms(connection, "Häuser")} == {"haus": 1}


def test_pairs_of_characters_are_the_terms_of_unspaced_scripts(connection: Connection) -> None:
    put(connection, "chinese", "数据库在凌晨备份")
    found = {row[1]: row[2:] for row in terms(connection, "数据库", "数据", "午餐")}
    assert found == {"数据": (1, 4, [1]), "据库": (1, 4, [])}


def test_an_identifier_is_a_term_with_its_parts(connection: Connection) -> None:
    put(connection, "code", "Call read_file now")
    found = {row[1]: row[2] for row in terms(connection, "read_file")}
    assert found["read_file"] == 1 and found["read"] == 1


def test_a_pasted_page_has_at_most_256_terms(connection: Connection) -> None:
    assert len(terms(connection, " ".join(f"word{n}" for n in range(1000)), "word1")) == 256


def test_a_reader_may_call_it_and_writes_nothing(connection: Connection) -> None:
    connection.execute("SET TRANSACTION READ ONLY")
    assert terms(connection, "password")


def test_a_collection_that_does_not_exist_is_told(connection: Connection) -> None:
    with pytest.raises(DatabaseError, match="nowhere") as caught:
        connection.execute("SELECT * FROM rag.match_terms('nowhere', 'a', '{}')")
    assert caught.value.sqlstate == "RG002"
