"""Keys of records that look like those with a meaning, and are metadata, are told."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

OWN = ["uri", "content", "title", "metadata", "media_type", "language"]


def mistaken(connection: psycopg.Connection[Any], *keys: str) -> dict[str, str]:
    rows = connection.execute("SELECT * FROM rag._mistaken_keys(%s, %s)", [[*keys], OWN])
    return dict(rows.fetchall())


def one_edit_away(word: str) -> set[str]:
    """What a word becomes by one typing error, from the definition."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    return {
        *(a + b[1:] for a, b in cuts if b),
        *(a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1),
        *(a + letter + b[1:] for a, b in cuts if b for letter in "aeqz"),
        *(a + letter + b for a, b in cuts if b for letter in "aeqz"),
    } - {word}


@pytest.mark.one_database
@pytest.mark.parametrize("own", ["content", "title", "metadata", "language"])
@pytest.mark.few(2)
def test_a_key_one_error_away_looks_like_its_own(
    connection: psycopg.Connection[Any], own: str
) -> None:
    edits = sorted(one_edit_away(own))
    assert len(edits) > 40
    assert mistaken(connection, *edits) == dict.fromkeys(edits, own)


@pytest.mark.one_database
def test_other_forms_of_a_name_look_like_it(connection: psycopg.Connection[Any]) -> None:
    told = {
        "meta": "metadata", "Metadata": "metadata", "META_DATA": "metadata", "titel": "title",
        "contents": "content", "Title": "title", "mediaType": "media_type", "URI": "uri",
        "media-type": "media_type", "lang": "language", "titles": "title",
    }  # fmt: skip
    assert mistaken(connection, *told) == told


@pytest.mark.one_database
def test_other_keys_are_metadata_without_a_word(connection: psycopg.Connection[Any]) -> None:
    others = [
        *OWN, "url", "year", "author", "tag", "kind", "type", "date", "id", "source", "text",
        "title2", "con", "met", "", "größe", "%", "_______", "subtitle", "total",
    ]  # fmt: skip
    assert mistaken(connection, *others) == {}


def test_puts_tell_of_them_once_with_their_number(connection: psycopg.Connection[Any]) -> None:
    connection.execute("SELECT rag.create_collection('docs', 'm', 3)")
    told: list[str] = []
    connection.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    documents = [{"uri": uri, "content": "x", "meta": {"a": 1}, "year": 1} for uri in "ab"]
    documents[0] |= {"titel": "T"}
    connection.execute("SELECT rag.put_documents('docs', %s)", [json.dumps(documents)])
    assert told == [
        "key 'meta' became metadata of 2 document(s): it looks like metadata",
        "key 'titel' became metadata of 1 document(s): it looks like title",
    ]
    told.clear()
    chunk = {"content": "x", "Heading": "H", "metadata": {"meta": 1}, "page": 1, "vector": [1]}
    connection.execute("SELECT rag.put_chunks('docs', 'c', %s)", [json.dumps([chunk])])
    assert told == [
        "key 'Heading' became metadata of 1 chunk(s): it looks like heading",
        "key 'vector' became metadata of 1 chunk(s): it looks like embedding",
    ]
    told.clear()
    connection.execute("SELECT rag.put_documents('docs', '[]')")
    kept = connection.execute("SELECT metadata FROM rag.get_document('docs', 'a')").fetchone()
    assert told == [] and kept == ({"meta": {"a": 1}, "titel": "T", "year": 1},)
