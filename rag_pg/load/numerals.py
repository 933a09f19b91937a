"""The numbers of lists: 3, c, C, iii, III."""

from __future__ import annotations

_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl"}
_ROMAN |= {10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"}
_HIGHEST = 3999


def numeral(number: int, kind: str) -> str:
    """Return a number of a list as its kind, "1", "a", "A", "i" or "I", writes it."""
    if kind not in ("a", "A", "i", "I") or not 0 < number <= _HIGHEST:
        return str(number)
    if kind in "aA":
        written = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
    else:
        written = ""
        for value, letters in _ROMAN.items():
            written += letters * (number // value)
            number %= value
    return written.upper() if kind.isupper() else written
