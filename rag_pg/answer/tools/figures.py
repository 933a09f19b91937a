"""The numbers of a text that nothing it was made from has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:[,'’\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_CITATION = re.compile(r"\[\d+(?:, \d+)*\]")
_LISTED = re.compile(r"(?m)^\s*\d{1,3}[.)]\s")  # the number of a list's item
_GROUPS = re.compile("[,'’\u00a0\u202f]")


def unfounded_figures(text: str, known: Iterable[str]) -> list[str]:
    """Return the numbers of `text`, as they are written, that none of the texts has, nor rounds to.

    Numbers of citations and of list items are none.
    """
    plain = _LISTED.sub("", _CITATION.sub("", text))
    values = {_value(match[0]) for other in known for match in _NUMBER.finditer(other)}
    found = dict.fromkeys(match[0] for match in _NUMBER.finditer(plain))
    return [written for written in found if not _is_known(_value(written), values)]


def _value(written: str) -> Decimal:
    return Decimal(_GROUPS.sub("", written))


def _is_known(value: Decimal, values: set[Decimal]) -> bool:
    if value in values:
        return True
    exponent = value.as_tuple().exponent
    step = Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
    return any(abs(other - value) * 2 <= step for other in values)
