"""Locations that collections are synced with: attached without credentials, taken by one worker."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

Connection = psycopg.Connection[Any]
ATTACH = "SELECT rag.attach_location('docs', %s, options => %s)"
TAKE = "SELECT location_id, location FROM rag._take_location(%s, %s)"
EVERYTHING = ["s3://", "https://"]


@pytest.fixture
def docs(connection: Connection) -> Connection:
    connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    return connection


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("location", "options"),
    [
        ("https://user:PASSWORD@host/", "{}"),
        ("https://PASSWORD@host/", "{}"),
        ("git+https://PASSWORD@host/x.git", "{}"),
        ("sftp://user:PASSWORD@host/", "{}"),
        ("sftp://user:PASSWORD/x@host/", "{}"),
        ("https://host/?access_token=PASSWORD", "{}"),
        ("s3://box/?X-Amz-Signature=PASSWORD", "{}"),
        ("https://host/?a=1&sig=PASSWORD", "{}"),
        ("https://host/?a=1;api_key=PASSWORD", "{}"),
        ("https://host/?tok%65n=PASSWORD", "{}"),
        ("https://host/#access_token=PASSWORD", "{}"),
        ("https://host/a;jsessionid=PASSWORD", "{}"),
        ("s3://box/", '{"secret": "PASSWORD"}'),
        ("s3://box/", '{"endpoint_url": "http://PASSWORD/"}'),
        ("s3://box/", '{"client_kwargs": {"a": 1}}'),
        ("s3://box/", '["PASSWORD"]'),
        ("/etc/PASSWORD", "{}"),
        ("https://host/ PASSWORD", "{}"),
        ("", "{}"),
    ],
)
def test_no_credential_and_no_folder_is_attached(
    connection: Connection, location: str, options: str
) -> None:
    connection.execute(
        "SELECT rag.create_collection('docs', 'none', 3) WHERE NOT EXISTS"
        " (SELECT FROM rag.list_collections())"
    )
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(ATTACH, [location, options])
    assert caught.value.sqlstate == "RG001"
    assert "PASSWORD" not in f"{caught.value} {caught.value.diag.message_hint}"
    assert connection.execute("SELECT * FROM rag.locations").fetchall() == []


def test_a_location_is_taken_once_and_again_when_its_lease_has_ended(docs: Connection) -> None:
    docs.execute(ATTACH, ["s3://box/docs/", "{}"])
    assert docs.execute(TAKE, ["one", ["https://"]]).fetchall() == []
    ((number, location),) = docs.execute(TAKE, ["one", EVERYTHING]).fetchall()
    assert location == "s3://box/docs/"
    assert docs.execute(TAKE, ["two", EVERYTHING]).fetchall() == []
    docs.execute("UPDATE rag.locations SET lease_expires_at = now()")
    assert docs.execute(TAKE, ["two", EVERYTHING]).fetchall() == [(number, location)]
    assert docs.execute("SELECT rag._extend_location(%s, 'one')", [number]).fetchone() == (False,)
    finish = "SELECT rag._finish_location(%s, %s, %s, %s)"
    assert docs.execute(finish, [number, "one", "{}", None]).fetchone() == (False,)
    assert docs.execute(finish, [number, "two", None, "no"]).fetchone() == (True,)
    state = "SELECT state, last_error, result FROM rag.list_locations('docs')"
    assert docs.execute(state).fetchall() == [("broken", "no", None)]
    assert docs.execute(TAKE, ["two", EVERYTHING]).fetchall() == []  # in an hour
    docs.execute(ATTACH, ["s3://box/docs/", "{}"])
    docs.execute(TAKE, ["two", EVERYTHING])
    docs.execute(finish, [number, "two", '{"changed": 1}', None])
    assert docs.execute(state).fetchall() == [("waiting", None, {"changed": 1})]
    assert docs.execute("SELECT rag.detach_location('docs', 's3://box/docs/')").fetchone() == (
        True,
    )
    assert docs.execute(state).fetchall() == []


def test_a_dropped_collection_takes_its_locations_along(docs: Connection) -> None:
    docs.execute(ATTACH, ["s3://box/docs/", "{}"])
    docs.execute("SELECT rag.drop_collection('docs')")
    assert docs.execute("SELECT * FROM rag.locations").fetchall() == []


def test_two_sessions_at_once_take_two_locations(docs: Connection, dsn: str) -> None:
    for name in ("s3://box/a/", "s3://box/b/"):
        docs.execute(ATTACH, [name, "{}"])
    with psycopg.connect(dsn) as other, docs.transaction():
        first = docs.execute(TAKE, ["one", EVERYTHING]).fetchall()
        second = other.execute(TAKE, ["two", EVERYTHING]).fetchall()
    assert sorted(location for _, location in first + second) == ["s3://box/a/", "s3://box/b/"]


def test_a_word_that_begins_as_that_of_a_credential_is_none(docs: Connection) -> None:
    location = "https://host/guests?author=ann&keywords=fish&authors_of=x"
    docs.execute(ATTACH, [location, "{}"])
    assert docs.execute("SELECT location FROM rag.list_locations()").fetchall() == [(location,)]
