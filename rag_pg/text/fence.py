"""A mark that a text cannot contain."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def fence_mark(texts: Iterable[str]) -> str:
    """Return a mark that ends quotations and that none of them can hold:
    a hash of them all."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
