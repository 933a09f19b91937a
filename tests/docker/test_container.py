"""The whole way on a PostgreSQL in a container, where an engine and its image are there."""

import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_pg.db import schema
from rag_pg.db.database import Database

IMAGE = os.environ.get("RAG_PG_TEST_IMAGE", "pgvector/pgvector:pg17")


@pytest.fixture(scope="module")
def container_dsn() -> Iterator[str]:
    if not os.environ.get("DOCKER_HOST") and not Path("/var/run/docker.sock").exists():
        pytest.skip("no engine: /var/run/docker.sock is not there and DOCKER_HOST is not set")
    docker: Any = importlib.import_module("docker")  # tests/docker has this name too

    try:
        client = docker.from_env(timeout=5)
        client.ping()
    except docker.errors.DockerException as exc:
        pytest.skip(f"no engine: {str(exc)[:80]}")
    try:
        client.images.get(IMAGE)
    except docker.errors.ImageNotFound:
        pytest.skip(
            f"no engine: the image {IMAGE} is not here: docker pull it, or set RAG_PG_TEST_IMAGE"
        )
    finally:
        client.close()
    os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
    os.environ.setdefault("TESTCONTAINERS_CONNECTION_MODE", "docker_host")
    from testcontainers.community.postgres import PostgresContainer

    with PostgresContainer(IMAGE, driver=None) as container:
        yield container.get_connection_url()


@pytest.mark.docker
def test_install_load_and_search_in_a_container(container_dsn: str) -> None:
    schema.upgrade(container_dsn)
    assert schema.check(container_dsn) == []
    database = Database(container_dsn)
    database.open()
    try:
        database.create_collection(
            "c", model="none", dimensions=3, distance="cosine", language="english",
            chunking={}, index_options={},
        )  # fmt: skip
        database.load_chunks(
            "c",
            [
                {"uri": "fish", "content": "red fish", "embedding": [1, 0, 0]},
                {"uri": "bird", "content": "blue bird", "embedding": [0, 1, 0]},
            ],
            3,
        )
        hits = database.search(
            "c", "fish", None, limit=5, filter={}, vector_weight=0.0,
            keyword_weight=1.0, candidate_limit=None,
        )  # fmt: skip
        assert [hit.uri for hit in hits] == ["fish"]
    finally:
        database.close()
