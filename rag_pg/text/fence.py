"""A mark that a text cannot contain."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def fence_mark(said: Iterable[str]) -> str:
    """Return a mark that ends quotations and that none of them can hold:
    a hash of what all of them say."""
    return hashlib.sha256("\0".join(said).encode()).hexdigest()[:16]
