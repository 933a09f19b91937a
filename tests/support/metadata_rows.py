"""Documents that are nothing but metadata, in a collection with declared fields and one without."""

import json
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import psycopg
from filter_oracle import MISSING
from psycopg.types.json import set_json_loads
from random_filters import DECLARED, Json

Connection = psycopg.Connection[Any]
floats = partial(json.loads, parse_int=float)  # as 1e300 comes back from jsonb


def new_collections(connection: Connection) -> None:
    """Make collections plain (nothing declared) and declared,
    of documents that need nothing but metadata."""
    for name in ("plain", "declared"):
        connection.execute("SELECT rag.create_collection(%s, 'none', 3)", [name])
    for field, kind in DECLARED.items():
        connection.execute("SELECT rag.index_field('declared', %s, %s)", [field, kind])
    connection.execute(
        """ALTER TABLE rag.documents ALTER document_id SET DEFAULT gen_random_uuid(),
           ALTER title SET DEFAULT '',
           ALTER content SET DEFAULT '', ALTER media_type
           SET DEFAULT 'text/plain', ALTER content_hash SET DEFAULT ''"""
    )
    connection.execute("SET TimeZone = 'Asia/Kolkata'; SET DateStyle = 'SQL, DMY'")
    set_json_loads(floats, connection)


def fill(connection: Connection, rows: Sequence[Json]) -> None:
    """Make these the metadata of both collections' documents; their uris are their places."""
    connection.execute("DELETE FROM rag.documents")
    connection.execute(
        """INSERT INTO rag.documents (collection_id, uri, metadata)
           SELECT c, to_char(place, 'FM000'), value
           FROM unnest(ARRAY[1, 2]) AS c, jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS m
               (value, place)""",
        [json.dumps(rows)],
    )  # fmt: skip


def value_of(row: Json, field: str) -> Any:
    """What a dotted path leads to."""
    value: Any = row
    for step in re.findall(r"((?:[^.\\]|\\.)*)\.", field + "."):
        step = re.sub(r"\\(.)", r"\1", step)
        value = value.get(step, MISSING) if isinstance(value, dict) else MISSING
    return value
