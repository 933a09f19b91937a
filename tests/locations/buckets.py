"""A bucket of a moto server on loopback, as S3 is spoken to."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
        tell(environment["AWS_ENDPOINT_URL"], "reset", "")  # what it has outlives a server
        with mock.patch.dict(os.environ, environment):
            store = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
            store.mkdir(name)
            yield store, environment
    finally:
        server.stop()


@contextmanager
def guarded_bucket(
    name: str, files: Mapping[str, str]
) -> Iterator[tuple[Mapping[str, str], str, str]]:
    """Give the environment that finds a bucket with files below docs/, and the key and the secret
    of the one user who may read it."""
    import boto3

    with bucket(name) as (store, environment):
        for file, text in files.items():
            store.pipe_file(f"{name}/docs/{file}", text.encode())
        iam = boto3.client("iam")
        iam.create_user(UserName="reader")
        allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        iam.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=policy)
        made = iam.create_access_key(UserName="reader")["AccessKey"]
        address = environment["AWS_ENDPOINT_URL"]
        tell(address, "reset-auth", "0")
        try:
            others = ("AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL")
            with mock.patch.dict(os.environ):
                del os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
                known = {key: environment[key] for key in others}
                yield known, made["AccessKeyId"], made["SecretAccessKey"]
        finally:
            tell(address, "reset-auth", "inf")


def tell(address: str, what: str, value: str) -> None:
    """Set something of a moto server, such as how many calls it answers before it looks at
    signatures."""
    plain = {"Content-Type": "text/plain"}
    asked = urllib.request.Request(f"{address}/moto-api/{what}", value.encode(), plain)
    with urllib.request.urlopen(asked) as answer:
        answer.read()
