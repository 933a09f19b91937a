"""Times and durations as people write them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from rag_pg.errors import InvalidInput

_UNITS = {"minute": 60, "hour": 3600, "day": 86400, "week": 604800, "year": 31557600}  # seconds
_DURATION = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(minute|hour|day|week|year)s?\s*")
LONGEST = timedelta(days=365250)  # a thousand years


def parsed_duration(text: str) -> timedelta:
    """Read "30 days", "12 hours", or "0". Raises: InvalidInput."""
    if text.strip() == "0":
        return timedelta(0)
    found = _DURATION.fullmatch(text)
    if not found:
        raise InvalidInput(
            f"{text!r} is no duration; write a number and {', '.join(_UNITS)}: '30 days', or 0"
        )
    seconds = float(found[1]) * _UNITS[found[2]]
    if seconds > LONGEST.total_seconds():
        raise InvalidInput(f"{text!r} is longer than a thousand years; use less")
    return timedelta(seconds=seconds)


def parsed_moment(text: str) -> datetime:
    """Read an ISO time, local where it names no zone, or how long ago: "7 days".
    Raises: InvalidInput."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        pass
    try:
        return datetime.now().astimezone() - parsed_duration(text.removesuffix(" ago"))
    except (InvalidInput, OverflowError) as exc:
        raise InvalidInput(
            f"{text!r} is no time; write 2026-03-31, 2026-03-31T12:00+02:00, or how long ago:"
            " '7 days'"
        ) from exc


def local_time(moment: datetime) -> str:
    """Return a time for people, in the zone of this computer."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")
