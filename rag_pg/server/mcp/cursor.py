"""Where the next page of a tool's answer begins, as a text that a client hands back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from rag_pg.errors import InvalidInput

_CURSOR = re.compile(r"([0-9a-f]{1,7})-([0-9a-f]{12})")


def fingerprint(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return 12 hexadecimal digits for a call, without its cursor: pages of one call share them."""
    given = {name: value for name, value in arguments.items() if name != "cursor"}
    text = json.dumps([tool, given], sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def encode(call: str, position: int) -> str:
    """Return the cursor of a position, in rows or characters from 0, of the call with this
    fingerprint."""
    return f"{position:x}-{call}"


def decode(call: str, cursor: str | None) -> int:
    """Return a cursor's position, 0 where there is none.

    Raises: InvalidInput for what is no cursor, and for that of a call with other arguments.
    """
    if not cursor:
        return 0
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidInput(
            f"{cursor!r:.60} is no cursor; hand back next_cursor as it was, or leave it out to"
            " begin anew"
        )
    if match[2] != call:
        raise InvalidInput(
            "the cursor is of a call with other arguments; repeat those, or leave it out to begin"
            " anew"
        )
    return int(match[1], 16)
