"""Characters that PostgreSQL cannot store, and bytes that are none."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ESCAPED = re.compile("[\udc80-\udcff]")


def clean_text(text: str) -> tuple[str, int]:
    """Return `text` without NUL and lone surrogates, which PostgreSQL cannot store, and how many
    there were."""
    return _UNSTORABLE.subn("", text)


def undecoded(text: str) -> str:
    """What is wrong with a line that was decoded with surrogateescape; "" where nothing is."""
    found = _ESCAPED.search(text)
    if found is None:
        return ""
    byte, before = ord(found[0]) - 0xDC00, text[max(0, found.start() - 20) : found.start()]
    return f"byte 0x{byte:02x} after {before!r} is no UTF-8: save the file as UTF-8"
