"""What a collection says about itself."""

from typing import Any

import psycopg
import pytest

from rag_pg import InvalidInput, NotFound
from rag_pg.db.database import Database

Connection = psycopg.Connection[Any]


@pytest.fixture
def collection(connection: Connection) -> str:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    return "docs"


def test_a_description_stands_in_every_list(
    database: Database, connection: Connection, collection: str
) -> None:
    assert database.get_collection(collection).description == ""
    database.call("alter_collection", collection=collection, description="Manuals of pumps.")
    assert database.get_collection(collection).description == "Manuals of pumps."
    assert [c.description for c in database.list_collections()] == ["Manuals of pumps."]
    line = connection.execute(
        "SELECT detail FROM rag.status('{collection}') WHERE name = 'docs'"
    ).fetchone()
    assert line is not None and line[0].endswith("; Manuals of pumps.")


def test_null_leaves_a_description_and_an_empty_text_removes_it(
    database: Database, collection: str
) -> None:
    database.call("alter_collection", collection=collection, description="Manuals.")
    database.call("alter_collection", collection=collection, description=None)
    assert database.get_collection(collection).description == "Manuals."
    database.call("alter_collection", collection=collection, description="")
    assert database.get_collection(collection).description == ""


def test_a_description_has_at_most_1000_characters(database: Database, collection: str) -> None:
    database.call("alter_collection", collection=collection, description="ä" * 1000)
    with pytest.raises(InvalidInput, match="the description has 1001 characters; say it in at"):
        database.call("alter_collection", collection=collection, description="ä" * 1001)


def test_a_collection_that_is_not_there_is_named(database: Database) -> None:
    with pytest.raises(NotFound, match="there is no collection 'nothing'"):
        database.call("alter_collection", collection="nothing", description="x")


def test_a_collection_dropped_and_made_again_has_no_description(
    database: Database, connection: Connection, collection: str
) -> None:
    database.call("alter_collection", collection=collection, description="Manuals.")
    database.drop_collection(collection)
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    assert database.get_collection(collection).description == ""
