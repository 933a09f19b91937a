"""Record tables as other libraries create and fill them;
tests/adopt/test_adopt.py adopts the recordings.

Run by hand when a library's layout changes, in an environment that has this library and psycopg 3,
against an empty database with pgvector:

    python tests/support/recordings/record.py LAYOUT postgresql:///scratch?host=/socket pg_dump >
    tests/support/recordings/LAYOUT.sql

LAYOUT            to install
langchain         langchain-postgres==0.0.19 (PGVectorStore)
langchain_old     the same (PGVector: langchain_pg_collection and langchain_pg_embedding)
llamaindex        llama-index-vector-stores-postgres==0.9.0 "sqlalchemy<2.1"
haystack          pgvector-haystack==8.1.2
pgai              pgai==0.12.1; its SQL makes the tables, and the rows are written as its worker
                  writes them, by COPY into the primary key, chunk_seq, chunk and embedding (the
                  worker calls a provider)
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from importlib.metadata import version
from typing import Any

DIMENSIONS = 8
BACKUP = [
    "Backups run every night at two.",
    "They are kept for thirty days.",
    "Ask support to restore one.",
]
LEAVE = ["Everybody has thirty days of holiday.", "Holidays are booked online."]


def vector(text: str) -> list[float]:
    digest = hashlib.sha256(text.encode()).digest()[:DIMENSIONS]
    return [round(byte / 128 - 1, 3) for byte in digest]


def pieces() -> list[tuple[str, int, str]]:
    """Path, number and text of each chunk; the documents take turns,
    so that order has to be restored."""
    both = (("handbook/backup.md", BACKUP), ("handbook/leave.md", LEAVE))
    return [(path, n, texts[n]) for n in range(3) for path, texts in both if n < len(texts)]


def langchain_texts() -> dict[str, Any]:
    starts = {"handbook/backup.md": [0, 32, 63], "handbook/leave.md": [0, 38]}
    return {
        "texts": [text for _, _, text in pieces()],
        "metadatas": [
            {"source": path, "start_index": starts[path][n], "lang": "en"}
            for path, n, _ in pieces()
        ],
    }


def langchain_embeddings() -> Any:
    from langchain_core.embeddings import Embeddings

    class Fixed(Embeddings):  # type: ignore[misc]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return vector(text)

    return Fixed()


def langchain(dsn: str) -> tuple[str, list[str]]:
    from langchain_postgres import Column, PGEngine, PGVectorStore

    engine = PGEngine.from_connection_string(url=dsn.replace("postgresql:", "postgresql+psycopg:"))
    engine.init_vectorstore_table(
        table_name="Hand Book",
        vector_size=DIMENSIONS,
        metadata_columns=[Column("lang", "TEXT"), Column("page", "INTEGER")],
    )
    store = PGVectorStore.create_sync(
        engine=engine,
        table_name="Hand Book",
        embedding_service=langchain_embeddings(),
        metadata_columns=["lang", "page"],
    )
    store.add_texts(
        ids=[f"00000000-0000-4000-8000-00000000000{9 - n}" for n in range(5)], **langchain_texts()
    )
    return "langchain-postgres", ['"Hand Book"']


def langchain_old(dsn: str) -> tuple[str, list[str]]:
    from langchain_postgres import PGVector

    other: dict[str, Any] = {"texts": ["Another collection."], "metadatas": [{}]}
    for name, texts in (("handbook", langchain_texts()), ("other", other)):
        PGVector.from_texts(
            embedding=langchain_embeddings(),
            collection_name=name,
            connection=dsn.replace("postgresql:", "postgresql+psycopg:"),
            ids=[f"{name}-{9 - n}" for n in range(len(texts["texts"]))],
            **texts,
        )
    return "langchain-postgres", ["langchain_pg_collection", "langchain_pg_embedding"]


def llamaindex(dsn: str) -> tuple[str, list[str]]:
    from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
    from llama_index.vector_stores.postgres import PGVectorStore

    for table, halfvec, by_path in (("handbook", False, True), ("half", True, False)):
        store = PGVectorStore.from_params(
            connection_string=dsn.replace("postgresql:", "postgresql+psycopg2:"),
            async_connection_string=dsn.replace("postgresql:", "postgresql+asyncpg:"),
            table_name=table,
            embed_dim=DIMENSIONS,
            use_halfvec=halfvec,
            use_jsonb=halfvec,
            hybrid_search=not halfvec,
        )
        store.add(
            [
                TextNode(
                    id_=f"node-{path[9:-3]}-{n}",
                    text=text,
                    metadata={"lang": "en"} | ({"file_path": path} if by_path else {}),
                    relationships={
                        NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"doc-{path[9:-3]}")
                    },
                    embedding=vector(text),
                )
                for path, n, text in pieces()
            ]
        )
    return "llama-index-vector-stores-postgres", ["data_handbook", "data_half"]


def haystack(dsn: str) -> tuple[str, list[str]]:
    from haystack import Document
    from haystack.dataclasses import ByteStream
    from haystack.utils import Secret
    from haystack_integrations.document_stores.pgvector import PgvectorDocumentStore

    store = PgvectorDocumentStore(
        connection_string=Secret.from_token(dsn),
        embedding_dimension=DIMENSIONS,
        create_extension=False,
    )
    last = "Ask support to restore one."  # was never embedded
    documents = [
        Document(
            id=f"{9 - place}{place}" * 32,
            content=text,
            meta={"lang": "en", "source_id": f"source-{path[9:-3]}", "split_id": n},
            embedding=None if text == last else vector(text),
        )
        for place, (path, n, text) in enumerate(pieces())
    ]
    image = Document(
        id="f" * 64, blob=ByteStream(b"\x89PNG", mime_type="image/png"), embedding=vector("image")
    )
    store.write_documents([*documents, image])
    return "pgvector-haystack", ["haystack_documents"]


def pgai(dsn: str) -> tuple[str, list[str]]:
    import pgai as library
    import psycopg

    library.install(dsn)
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "CREATE TABLE handbook (id int PRIMARY KEY, path text, lang text, body text)"
        )
        for number, path, body in (
            (1, "handbook/backup.md", BACKUP),
            (2, "handbook/leave.md", LEAVE),
        ):
            connection.execute(
                "INSERT INTO handbook VALUES (%s, %s, 'en', %s)", [number, path, " ".join(body)]
            )
        connection.execute(
            """SELECT ai.create_vectorizer('handbook'::regclass,
               loading => ai.loading_column('body'),
               embedding => ai.embedding_ollama('fixed', %s))""",
            [DIMENSIONS],
        )
        with connection.cursor().copy(
            "COPY handbook_embedding_store (id, chunk_seq, chunk, embedding) FROM STDIN"
        ) as copy:
            for path, n, text in reversed(pieces()):
                copy.write_row((1 if "backup" in path else 2, n, text, str(vector(text))))
    return "pgai", ["handbook", "handbook_embedding_store", "handbook_embedding"]


def dump(pg_dump: str, dsn: str, tables: list[str]) -> str:
    """Return the tables as plain SQL: what pg_dump says of sessions,
    owners and triggers is left out."""
    options = [
        "--inserts",
        "--no-owner",
        "--no-privileges",
        "--no-comments",
        *(f"--table={t}" for t in tables),
    ]
    done = subprocess.run([pg_dump, dsn, *options], capture_output=True, text=True, check=True)
    left_out = re.compile(
        r"(--.*|\\.*|SET .*|SELECT pg_catalog\.set_config.*|CREATE TRIGGER .*)?\n"
    )
    return "".join(
        line for line in done.stdout.splitlines(keepends=True) if not left_out.fullmatch(line)
    )


def main() -> None:
    layout, dsn, pg_dump = sys.argv[1:]
    import psycopg

    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    library, tables = globals()[layout](dsn)
    print(
        f"-- As {library} {version(library)} makes it; recorded by"
        " tests/support/recordings/record.py.\n"
    )
    sys.stdout.write(dump(pg_dump, dsn, tables))
    sys.stdout.flush()
    os._exit(0)  # some of the libraries leave threads running


if __name__ == "__main__":
    main()
