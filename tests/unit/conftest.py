"""Fixtures of the unit tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_gemini import FakeGemini


@pytest.fixture
def fake_gemini() -> Iterator[FakeGemini]:
    """A Gemini API on loopback, new for each test."""
    with FakeGemini() as fake:
        yield fake
