"""Keys by which a language model cites sources: random, so that an invented one hits none."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable

_DIGITS = "0123456789"
_LETTERS = "bcdfghjklmnpqrstvwxyz"  # without vowels: no word looks like a key
KEY = re.compile(rf"[{_DIGITS}][{_LETTERS}]{{4}}[{_DIGITS}]")  # one of 19 million
_ANYWHERE = re.compile(rf"(?=({KEY.pattern}))")  # keys may overlap


def new_keys(count: int, texts: Iterable[str] = ()) -> list[str]:
    """Return so many keys, all different, none of which stands in the texts."""
    taken = {key for text in texts for key in _ANYWHERE.findall(text.lower())}
    keys: list[str] = []
    while len(keys) < count:
        letters = (secrets.choice(_LETTERS) for _ in range(4))
        key = f"{secrets.choice(_DIGITS)}{''.join(letters)}{secrets.choice(_DIGITS)}"
        if key not in taken:
            taken.add(key)
            keys.append(key)
    return keys
