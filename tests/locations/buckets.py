"""A bucket of a moto server on loopback, as S3 is spoken to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any
from unittest import mock

import pytest

NEEDS_MOTO = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("moto", "s3fs", "paramiko", "flask")),
    reason="no engine: make test-stores installs the servers",
)
SECRET = "hunter2-of-the-store"


@contextmanager
def bucket(name: str) -> Iterator[tuple[Any, Mapping[str, str]]]:
    """Give a file system with an empty bucket, and the environment, set meanwhile, that finds it
    with SECRET."""
    import fsspec
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
    }
    try:
        with mock.patch.dict(os.environ, environment):
            store = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
            with suppress(FileExistsError):
                store.mkdir(name)
            for path in store.find(name):  # the server's buckets outlive it in its process
                store.rm(path)
            yield store, environment
    finally:
        server.stop()
