"""Objects of JSON that have each key once: of two, one value would be lost without a word."""

from __future__ import annotations

from typing import Any

from rag_pg.errors import InvalidInput


def unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, as `object_pairs_hook`. Raises: InvalidInput (a key twice)."""
    found = dict[str, Any]()
    for name, value in pairs:
        if name in found:
            raise InvalidInput(f"an object of JSON has the key {name[:60]!a} twice; give it once")
        found[name] = value
    return found
