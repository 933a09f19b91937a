"""The sources of an answer, with their dates and editions -> how current they are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from rag_pg.text import content_words, split_sentences
from rag_pg.types import CheckedQuote, Citation, Freshness

# Metadata that says from when a document holds, the surest first; until when; and that it does not.
DATES = (
    "effective_date", "effective", "valid_from", "version_date", "updated", "modified", "date",
    "published", "created",
)  # fmt: skip
UNTIL = ("valid_until", "valid_to", "expires", "expiry_date", "superseded_on")
REPLACED = ("superseded_by", "replaced_by")
STATES = ("superseded", "deprecated", "obsolete", "withdrawn", "archived", "expired")

ALIKE = (
    0.8  # share of two sentences' words, without their figures, to say the same of other figures
)
LEAST_WORDS = 4

_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


def find_freshness(
    checked: Sequence[tuple[Citation, CheckedQuote | None]], today: date
) -> Freshness | None:
    """Return how current the cited sources are; None where none was checked.

    Deterministic: by the status of the citations, by metadata (DATES, UNTIL, REPLACED, status), and
    for a conflict by two sources of different dates whose sentences have the same words and other
    figures.
    """
    known = [(citation, row) for citation, row in checked if row is not None]
    if not known:
        return None
    dates = {c.number: found for c, row in known if (found := document_date(row.metadata or {}))}
    outdated: list[str] = []
    for citation, row in known:
        if reason := _superseded(citation, row, today):
            outdated.append(f"source [{citation.number}] {reason}")
    conflicts = [*dict.fromkeys(_conflicts([c for c, _ in known], dates))]
    status = "conflicting" if conflicts else "superseded" if outdated else "current"
    return Freshness(
        status=status,  # type: ignore[arg-type]
        as_of=max(dates.values(), default=None),
        reasons=[*dict.fromkeys([*outdated, *conflicts])],
    )


def document_date(metadata: Mapping[str, Any]) -> date | None:
    """Return from when a document holds, by its metadata."""
    return next((found for key in DATES if (found := _date(metadata.get(key)))), None)


def _superseded(citation: Citation, row: CheckedQuote, today: date) -> str:
    metadata = row.metadata or {}
    if citation.status == "superseded":
        return "was replaced by another text after it was found"
    for key in REPLACED:
        if metadata.get(key):
            return f"is superseded by {str(metadata[key])[:200]}"
    for key in UNTIL:
        until = _date(metadata.get(key))
        if until is not None and until < today:
            return f"held until {until.isoformat()}"
    state = str(metadata.get("status", "")).lower()
    return f"has the status {state}" if state in STATES else ""


def _conflicts(citations: Sequence[Citation], dates: Mapping[int, date]) -> list[str]:
    """Return a sentence for each pair of sources of different dates that state other figures."""
    found = []
    for position, one in enumerate(citations):
        for other in citations[position + 1 :]:
            days = dates.get(one.number), dates.get(other.number)
            if one.number == other.number or None in days or days[0] == days[1]:
                continue
            for figures in _other_figures(one.quote, other.quote):
                old, new = (one, other) if days[0] < days[1] else (other, one)  # type: ignore[operator]
                mine, theirs = figures if old is one else figures[::-1]
                found.append(
                    f"source [{new.number}] of {dates[new.number]} states {theirs}, source "
                    f"[{old.number}] of {dates[old.number]} states {mine}"
                )
    return found


def _other_figures(one: str, other: str) -> list[tuple[str, str]]:
    """Return the figures of sentences that are alike but for them: one's and the other's."""
    found = []
    for here in split_sentences(one):
        for there in split_sentences(other):
            mine, theirs = _FIGURE.findall(here.text), _FIGURE.findall(there.text)
            if not mine or not theirs or sorted(mine) == sorted(theirs):
                continue
            words_here, words_there = (
                {word for word in content_words(_FIGURE.sub(" ", text)) if not word.isdigit()}
                for text in (here.text, there.text)
            )
            both = words_here | words_there
            if len(both) >= LEAST_WORDS and len(words_here & words_there) >= ALIKE * len(both):
                found.append((", ".join(mine), ", ".join(theirs)))
    return found


def _date(value: object) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    match = re.match(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?![\d])", str(value or ""))
    if match is None:
        return None
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        return None
