"""Characters that PostgreSQL cannot store."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> tuple[str, int]:
    """Return `text` without NUL and lone surrogates, which PostgreSQL cannot store, and how many
    there were."""
    return _UNSTORABLE.subn("", text)
