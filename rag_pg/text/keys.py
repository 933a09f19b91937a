"""Keys by which a language model cites sources: random, so that an invented one hits none."""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection

_DIGITS = "0123456789"
_LETTERS = "bcdfghjklmnpqrstvwxyz"  # without vowels: no word looks like a key
KEY = re.compile(rf"[{_DIGITS}][{_LETTERS}]{{4}}[{_DIGITS}]")  # one of 19 million


def new_key(taken: Collection[str] = (), texts: str = "") -> str:
    """Return a key that is not taken and does not stand in the texts, which are in lower case."""
    while True:
        key = (
            secrets.choice(_DIGITS)
            + "".join(secrets.choice(_LETTERS) for _ in range(4))
            + secrets.choice(_DIGITS)
        )
        if key not in taken and key not in texts:
            return key
