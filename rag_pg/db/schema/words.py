"""The ordinary words of languages: a filter for each in sql/text/ordinary_words, a row in
rag.ordinary_words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_pg.db.schema.packaged import word_filters
from rag_pg.db.schema.transaction import psycopg_connection

if TYPE_CHECKING:
    from sqlalchemy import Connection


def store_words(connection: Connection) -> None:
    """Make the rows those of the files; what is there already is not written again."""
    raw = psycopg_connection(connection)
    filters = {path.stem: path.read_bytes() for path in word_filters()}
    present = raw.execute("SELECT o.language, o.filter FROM rag.ordinary_words AS o")
    for language, stored in present.fetchall():
        if filters.get(language) == stored:
            del filters[language]
        else:
            raw.execute("DELETE FROM rag.ordinary_words WHERE language = %s", [language])
    raw.cursor().executemany(
        "INSERT INTO rag.ordinary_words (language, filter) VALUES (%s, %s)", list(filters.items())
    )
