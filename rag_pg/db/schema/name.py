"""The name of the schema: files, revisions and statements say rag, an installation may be named
otherwise.

Several installations are in one database by names of their own. What bears the schema's name
outside of it is named after it, too: settings of a transaction (rag.notes), channels (rag_jobs),
triggers of sources (rag_source_…) and roles of the door (rag_door_…).
"""

from __future__ import annotations

import re
from typing import Any

import psycopg

from rag_pg.errors import InvalidInput

WRITTEN = "rag"
# Not rag_pg, the program rag-pg, nor a part of another word.
OWN = re.compile(rf"(?<![\w-]){WRITTEN}(?=_(?!pg)|(?![\w-]))")
NAME = re.compile(r"[a-z][a-z0-9_]{0,30}")
UPGRADE = re.compile(r"rag-pg db upgrade\b(?! --schema)")


def check_name(schema: str) -> str:
    """Return the name. Raises InvalidInput for one that cannot stand wherever rag does."""
    if not NAME.fullmatch(schema) or schema.startswith("pg_"):
        raise InvalidInput(
            f"schema {schema!r:.100} cannot be used: name it with 1 to 31 small letters, digits and"
            " _, a letter first, not pg_…"
        )
    if schema in ("public", "information_schema") or OWN.sub("", schema) == "rag_pg":
        raise InvalidInput(f"schema {schema} is another's: name one for rag_pg alone")
    return schema


def named(text: str, schema: str) -> str:
    """Return a text about schema rag as one about another."""
    if schema == WRITTEN:
        return text
    return OWN.sub(schema, UPGRADE.sub(rf"\g<0> --schema {schema}", text))


def use_schema(connection: psycopg.Connection[Any], schema: str) -> None:
    """Let the connection's statements that are texts mean this schema where they say rag.

    Those that are composed are sent as they are: they hold names that the database told.
    """
    if schema == WRITTEN:
        return

    def meant(query: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else query
        return named(text, schema) if isinstance(text, str) else query

    class Named(psycopg.Cursor[Any]):
        def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
            return super().execute(meant(query), *args, **kwargs)

        def executemany(self, query: Any, *args: Any, **kwargs: Any) -> None:
            super().executemany(meant(query), *args, **kwargs)

    connection.cursor_factory = Named
