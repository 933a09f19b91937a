"""A session whose search_path has a schema of others before pg_catalog."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from fakes import HashEmbedder
from paths import ROOT
from psycopg.conninfo import make_conninfo
from shadows import make_shadow_types, make_shadows

from rag_pg import Rag, Settings
from rag_pg.db import schema
from rag_pg.db.schema import inventory


@pytest.fixture
def hostile_dsn(new_database: Callable[..., str]) -> str:
    dsn = new_database()
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute(
            """CREATE TABLE public.foreign_vectors (
                   id text PRIMARY KEY, content text, meta jsonb, embedding public.vector(32),
                   blob_data bytea, blob_meta jsonb, blob_mime_type text)"""
        )
        connection.execute(
            """INSERT INTO foreign_vectors
               SELECT n, 'text ' || n, '{}',
                   ARRAY(SELECT random() FROM generate_series(1, 32))::real[]::vector
               FROM generate_series(1, 5) AS n"""
        )
        make_shadows(connection)
        make_shadow_types(connection)
    return make_conninfo(dsn, options="-c search_path=public,pg_catalog")


def test_the_client_calls_nothing_of_a_schema_before_pg_catalog(
    hostile_dsn: str, tmp_path: Path
) -> None:
    schema.upgrade(hostile_dsn)
    with psycopg.connect(hostile_dsn, autocommit=True) as looking:
        schema.ensure(hostile_dsn, looking)
    assert schema.check(hostile_dsn) == []
    (tmp_path / "page.md").write_text("# Page\n\nA page about fish.\n", encoding="utf-8")
    embedders = {"hash": HashEmbedder, "other": lambda name: HashEmbedder(name)}
    settings = Settings(home=tmp_path)
    with Rag(hostile_dsn, settings=settings, embedders=embedders) as rag:
        docs = rag.collection("docs", model="hash:32", language="german")
        document = {"uri": "fish", "content": "A red fish swims.", "metadata": {"n": 1}}
        assert docs.add(document, tmp_path / "page.md").failures == ()
        chunk = {"uri": "bird", "content": "A blue bird flies.", "embedding": [0.5] * 32}
        assert docs.add_chunks([chunk]) == 1
        ready = [{"content": "A green tree stands."}]
        rag.database.call(
            "put_chunks", collection="docs", uri="tree", chunks=ready, title="", metadata={}
        )
        rag.worker(["docs"]).drain()
        hits = docs.search("fish", filter={"n": {"$gte": 1}})
        assert docs.chunks.snippets("fish", hits) == ["A red <b>fish</b> swims."]
        assert [hit.uri for hit in hits] == ["fish"]
        assert docs.ask("What swims?", llm="extractive").found is not None
        docs.metadata.index("n", "numeric")
        assert (
            docs.count(filter={"n": 1})
            == len(docs.metadata.select(filter={"n": 1}, order_by="n"))
            == 1
        )
        assert docs.metadata.facets("n")
        assert docs.stats().pending == 0 and docs.spaces.list() and rag.database.doctor()
        assert docs.rechunk({"max_tokens": 64}) == 4
        docs.spaces.create("other:32", activate=True)
        docs.spaces.compare([{"query": "fish", "relevant": ["fish"]}])
        assert rag.database.list_jobs(None, None, 10) == [] and rag.database.job_stats()
        rag.database.value(int, "retry_jobs", collection="docs", job_ids=[1])
        rag.database.maintain()
        adopted = rag.adopt("foreign_vectors", "adopted", layout="haystack", model="hash:32")
        assert adopted.documents == 5
        assert docs.delete("fish")
        rag.drop_collection("adopted")
        rag.database.remove_dropped()
    with psycopg.connect(hostile_dsn) as connection:
        found = connection.execute("SELECT is_called FROM public.hijacked").fetchone()
    assert found == (False,)


def test_the_clients_statements_write_the_schema_of_types_and_functions() -> None:
    """All of them, also those that the life above does not come by."""
    files = list((ROOT / "rag_pg" / "db").glob("*.py"))  # those of schema/ set a search_path
    assert len(files) > 10
    for path in files:
        statements = "\n".join(literals(path))
        short = r"::(?!pg_catalog\.|bigint|integer|boolean|numeric|double precision|\s)\w+"
        assert re.findall(short, statements) == [], path.name
        # coalesce is syntax, not a function
        calls = re.findall(r"(?<![\w.%])(?:FROM|SELECT|,)\s+(?!coalesce\b)(\w+)\(", statements)
        assert calls == [], path.name
        # With its schema it is an ordinary function, of one array; ROWS FROM joins several.
        plain = re.sub(r"%\(\w+\)s", "%s", statements)
        assert re.findall(r"pg_catalog\.unnest\([^()]*,[^()]*\)", plain) == [], path.name


def literals(path: Path) -> list[str]:
    """The texts in a Python file that are SQL: docstrings and messages are not."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [text for text in texts if isinstance(text, str) and "SELECT" in text]


def test_reading_what_is_installed_leaves_the_transactions_settings(dsn: str) -> None:
    settings = "SELECT name, setting FROM pg_settings ORDER BY name"
    with psycopg.connect(dsn) as connection:
        connection.execute("SET search_path TO rag, public")
        before = connection.execute(settings).fetchall()
        assert inventory.tables(connection) and inventory.functions(connection)
        assert connection.execute(settings).fetchall() == before
