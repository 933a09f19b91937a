"""What another driver raised becomes an error of rag_pg's."""

from __future__ import annotations

from typing import get_type_hints

import psycopg
import pytest
import sqlalchemy

from rag_pg import NotFound, RagError
from rag_pg.errors import SQLSTATES


def test_a_code_of_the_database_becomes_the_error_it_stands_for() -> None:
    for code, kind in SQLSTATES.items():
        assert type(RagError.from_sqlstate(code, "m")) is kind
    found = RagError.from_sqlstate("RG002", "there is no collection 'x'")
    assert isinstance(found, NotFound) and str(found) == "there is no collection 'x'"
    codes: tuple[str | None, ...] = ("23505", None, "")
    for foreign in codes:
        other = RagError.from_sqlstate(foreign, "m")
        assert type(other) is RagError and other.sqlstate == foreign
    assert str(RagError.from_sqlstate("23505", "m")) == "m (SQLSTATE 23505)"
    assert get_type_hints(RagError.from_sqlstate)["return"] is RagError  # there is one to raise


class Raised(Exception):
    """As other drivers raise it."""

    pgcode = "RG002"
    hint = "look for another"


def test_what_a_driver_raised_becomes_an_error_to_raise(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement, kind, said in (
            ("SELECT rag.drop_collection('no')", NotFound, "there is no collection 'no'"),
            ("SELECT 1 / 0", RagError, "division by zero (SQLSTATE 22012)"),
        ):
            with pytest.raises(RagError) as caught:
                try:
                    connection.execute(statement)
                except psycopg.Error as exc:
                    raise RagError.from_sqlstate(exc) from exc
            assert type(caught.value) is kind and str(caught.value).startswith(said)
            assert caught.value.sqlstate and "CONTEXT" not in str(caught.value)
    engine = sqlalchemy.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))
    with engine.connect() as other, pytest.raises(sqlalchemy.exc.DBAPIError) as wrapped:
        other.execute(sqlalchemy.text("SELECT rag.drop_collection('no')"))
    engine.dispose()
    assert type(RagError.from_sqlstate(wrapped.value)) is NotFound
    assert str(RagError.from_sqlstate(Raised("gone"))) == "gone; look for another"
    assert type(RagError.from_sqlstate(Raised("gone"))) is NotFound
    assert type(RagError.from_sqlstate(OSError())) is RagError
