"""The sources of an answer, with their dates and editions -> how current they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from rag_pg.answer.reading.figures import COUNTS, MONTH, MONTHS
from rag_pg.text import content_words, is_function_word, split_sentences, words
from rag_pg.types import CheckedQuote, Citation, Freshness, Hit

# Metadata that says from when a document holds, the surest first; until when; and that it does not.
EFFECTIVE = ("effective_date", "effective", "valid_from")
DATES = (
    *EFFECTIVE, "version_date", "updated", "modified", "date",
    "published", "created",
)  # fmt: skip
UNTIL = ("valid_until", "valid_to", "expires", "expiry_date", "superseded_on")
REPLACED = ("superseded_by", "replaced_by")
STATES = ("superseded", "deprecated", "obsolete", "withdrawn", "archived", "expired")

ALIKE = (
    0.8  # share of two sentences' words, without their figures, to say the same of other figures
)
LEAST_WORDS = 4
LONGEST_LINE = 100  # characters of what a page says of itself
LEAST_OF_EDITIONS = 2  # where the documents have one title
SHARED = 0.7  # share of a passage's words that the later edition of its document has as well

_IN_A_NAME = re.compile(
    r"(?<!\d)((?:19|20)\d\d)(?:[-_.]?(0[1-9]|1[0-2])(?:[-_.]?([0-2]\d|3[01]))?)?(?!\d)"
)
_FIGURE = re.compile(  # a day with its month is one, and so is a number in a word
    rf"\d+(?:[.,]\d+)*(?:\.?\s+(?:{MONTH})\b)?|\b(?:{MONTH})\s+\d+|\b(?:{'|'.join(COUNTS)})\b",
    re.IGNORECASE,
)
_WRITTEN = """updated modified revised amended reviewed published posted issued released created
dated date stand aktualisiert geändert erlassen veröffentlicht publié actualizado publicado"""
_OF_ITSELF = re.compile(
    r"(?:\b(?:updated|effective|valid|revised|dated|published|as of|in force|version|edition|date"
    r"|stand|gültig ab|fassung|mise à jour|actualizado)"
    rf"|(?m:^)\W*(?:{'|'.join(_WRITTEN.split())}))\b[^\n.!?\d]{{0,20}}?"
    r"(?:(\d{4})-(\d\d)-(\d\d)|(\d{1,2})\.(\d{1,2})\.(\d{4})"
    rf"|(\d{{1,2}})\.?\s+({MONTH})\s+(\d{{4}})|\b({MONTH})\s+(\d{{1,2}}),?\s+(\d{{4}}))(?!\d)",
    re.IGNORECASE,
)
_OF_PAGES = frozenset(words(f"{_WRITTEN} last minute minutes min read zuletzt mis mise jour"))
_BY = re.compile(  # by Ann Lee, Author: the IT group
    r"(?:^|\s)(?i:by|von|par|por)(?:\s+(?:[A-ZÀ-Þ][\w.'’-]*,?|and|und|et|y|&))+"
    r"|\b(?i:auth?ors?|auteurs?|autore?s?|autora):[^,;.]*"
)
_DAY = re.compile(rf"\b(?:{MONTH})\b|\d{{4}}-\d\d|\d\.\d{{1,2}}\.\d", re.IGNORECASE)
_OF_A_ROW = re.compile(r"[^;\n]{0,20};\s[^;:\n]{1,60}:\s")  # date: 2024-05-01; event: …
_EDITION = re.compile(  # "v2.1", "Version 3", "rev. 4", "2nd edition", "3. Auflage"
    r"\b(?:v|ver|version|rev|revision|ed|edition|auflage)\.?\s*(\d+(?:\.\d+)*)\b"
    r"|\b(\d+)(?:st|nd|rd|th|\.)\s+(?:ed|edition|auflage)\b",
    re.IGNORECASE,
)
_REPLACES = re.compile(r"(?i)\W*\b(?:replac|supersed|ersetzt|remplace|reemplaza|sustituye).*")
_ASKED_YEAR = re.compile(
    r"(?:\b(?:(?P<before>before|prior\s+to|earlier\s+than|vor|avant|antes\s+de)"
    r"|(?P<from>since|after|from|as\s+of|later\s+than|seit|nach|ab|depuis|après|dès|desde|después\s+de))"
    rf"\s+(?:\S+\s+){{0,2}}?)?\b(?:(?P<month>{MONTH})\s+)?(?P<year>(?:19|20)\d\d)\b(?![.,]?\d)",
    re.IGNORECASE,
)
_DECADE = re.compile(r"(\d{3})0(?:['’]?s|er)", re.IGNORECASE)
_YEAR = re.compile(r"(?<![\d.,])[12]\d{3}(?![\d.,]*\d)")
_ASKED_NOW = re.compile(
    r"\b(latest|newest|currently|nowadays|neueste[nrs]?|derzeit|aktuelle?[nrs]?|actuellement"
    r"|actualmente|current(?=\s+(?!of\b|in\b|is\b|does\b|do\b|at\b|for\b|and\b)\w))\b",
    re.IGNORECASE,
)


def find_freshness(
    checked: Sequence[tuple[Citation, CheckedQuote | None]],
    today: date,
    retrieved: Sequence[Hit] = (),
) -> Freshness | None:
    """Return how current the cited sources are; None where none was checked.

    Deterministic: by the status of the citations, by metadata (DATES, UNTIL, REPLACED, status), by
    a later edition (see `_later_edition`) among the hits that were retrieved for the answer, and
    for a conflict by two sources of different dates whose sentences have the same words and other
    figures.
    """
    known = [(citation, row) for citation, row in checked if row is not None]
    if not known:
        return None
    dates = {
        c.number: found
        for c, row in known
        if (found := c.as_of or source_date(row.metadata or {}, f"{c.title}\n{c.uri}", c.quote))
    }
    outdated: list[str] = []
    for citation, row in known:
        reason = _outdated(row.metadata or {}, today)
        if citation.status == "superseded":
            reason = "was replaced by another text after it was found"
        if reason := reason or _later_edition(citation, row, retrieved, today):
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


def source_date(metadata: Mapping[str, Any], name: str, text: str) -> date | None:
    """Return from when a source holds: by its metadata, else by its name (title, uri), else by what
    its text says of itself ("Last updated: 2024-05-01", "Stand: 1. Mai 2024"), which may tell the
    day where the name has the year alone."""
    by_name = max(_IN_A_NAME.finditer(name), key=lambda m: sum(map(bool, m.groups())), default=None)
    written = "-".join(filter(None, by_name.groups())) if by_name else ""
    of_itself = _of_itself(text) if len(written) < len("2024-05") else ""
    if of_itself.startswith(written):
        written = of_itself or written
    return document_date(metadata) or _date(written)


def _of_itself(text: str) -> str:
    """The date that a text says is its own; "" where it says none."""
    found = _OF_ITSELF.finditer(text)
    match = next((m for m in found if not _OF_A_ROW.match(text, m.end())), None)
    if match is None:
        return ""
    parts = [part for part in match.groups() if part]
    if len(parts[0]) == 4 and parts[0].isdigit():
        year, month, day = parts
    elif parts[0].isdigit():
        day, month, year = parts
    else:
        month, day, year = parts
    return f"{year}-{int(MONTHS.get(month.casefold(), month)):02}-{int(day):02}"


def is_of_page(line: str) -> bool:
    """Whether a line says no more than when or by whom a page was written, or how long it takes to
    read."""
    rest, names = _BY.subn(" ", line[:LONGEST_LINE])
    has_day = _DAY.search(rest) is not None
    left = [w for w in words(_DAY.sub(" ", rest)) if not (w.isdigit() or is_function_word(w))]
    is_told = names > 0 or has_day or (bool(left) and any(map(str.isdigit, rest)))
    return len(line) < LONGEST_LINE and is_told and _OF_PAGES.issuperset(left)


def other_figures(one: Hit, sentence: str, other: Hit, against: str) -> bool:
    """Whether two sentences of documents of different dates say the same but for their figures."""
    least = _least(one, other)
    return one.document_id != other.document_id and bool(_other_figures(sentence, against, least))


def is_changed(sentence: str, against: str) -> bool:
    """Whether two sentences of editions in one document, as of a program, say the same but for
    their figures."""
    return bool(_other_figures(sentence, against, LEAST_OF_EDITIONS))


def _least(one: Hit | Citation, other: Hit | Citation) -> int:
    return LEAST_OF_EDITIONS if are_editions(one, other) else LEAST_WORDS


def asked_until(question: str) -> date | None:
    """Return the last day of the time that a question asks of by a year, with a month or without
    (in 2023, before March 2024; since 2023 it has no end); None where it names none or several."""
    found = [*_ASKED_YEAR.finditer(question)]
    if len(found) != 1:
        return None
    if found[0]["from"]:
        return date.max
    year, month = int(found[0]["year"]), MONTHS.get((found[0]["month"] or "").casefold(), 0)
    if found[0]["before"]:
        return date(year, month or 1, 1) - timedelta(days=1)
    month = month or 12
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


def is_of_time(word: str) -> bool:
    """Whether a word is a year or the name of a month."""
    return word.casefold() in MONTHS or _ASKED_YEAR.fullmatch(word) is not None


def spells_years(word: str, text: str) -> bool:
    """Whether a word is a decade or a century (1990s, the 1700s) of which a text has a year."""
    match = _DECADE.fullmatch(word)
    return match is not None and any(
        year.startswith(match[1].removesuffix("0")) for year in _YEAR.findall(text)
    )


def words_of_now(question: str) -> set[str]:
    """Return the words of a question that ask for what holds now, which no text needs to have: the
    latest, the current price (not the current of a motor)."""
    return {match[1].casefold() for match in _ASKED_NOW.finditer(question)}


def holds_since(metadata: Mapping[str, Any]) -> date | None:
    """Return from when on a document holds, by its metadata, until another replaces it."""
    return next((found for key in EFFECTIVE if (found := _date(metadata.get(key)))), None)


def are_editions(one: Hit | Citation, other: Hit | Citation) -> bool:
    """Whether two documents have one title, but for its figures and what it replaces."""
    titles = (_REPLACES.sub(" ", hit.title) for hit in (one, other))
    mine, theirs = (re.sub(r"[\W\d_]+", " ", _FIGURE.sub(" ", title)) for title in titles)
    return mine.casefold().strip() == theirs.casefold().strip() != ""


def is_restated(one: Hit, sentence: str, other: Hit, against: str) -> bool:
    """Whether a sentence of another edition of a document, whose title has other figures alone, has
    most of the words of a sentence of it."""
    first, again = (set(content_words(_FIGURE.sub(" ", text))) for text in (sentence, against))
    return (
        one.document_id != other.document_id
        and are_editions(one, other)
        and len(first) >= LEAST_WORDS
        and len(first & again) >= ALIKE * len(first)
    )


def _outdated(metadata: Mapping[str, Any], today: date) -> str:
    """Return why a document does not hold, by its metadata; "" where they do not say so."""
    for key in REPLACED:
        if metadata.get(key):
            return f"is superseded by {str(metadata[key])[:200]}"
    for key in UNTIL:
        until = _date(metadata.get(key))
        if until is not None and until < today:
            return f"held until {until.isoformat()}"
    state = str(metadata.get("status", "")).lower()
    return f"has the status {state}" if state in STATES else ""


def _later_edition(
    citation: Citation, row: CheckedQuote, retrieved: Sequence[Hit], today: date
) -> str:
    """Return that a later edition of the citation's document was retrieved; "" where none was.

    A later edition is another document of the same title, but for the numbers of versions and
    editions, which may not fall; of a later date, not after today; that its metadata do not call
    outdated; and whose hits have at least SHARED of the words of the passage that is cited. A year
    in a title is kept: the reports of two years are two documents. A title of which more than half
    of the documents have other words ("Overview") names no document.
    """
    dated = document_date(row.metadata or {})
    title, version = _read_title(citation.title)
    if dated is None or not title:
        return ""
    namesakes: dict[str, list[Hit]] = {}
    for hit in retrieved:
        if hit.uri != citation.uri and _read_title(hit.title)[0] == title:
            namesakes.setdefault(hit.uri, []).append(hit)
    cited = {citation.chunk_id, *citation.chunk_ids}
    passage = _words_of(hit for hit in retrieved if hit.chunk_id in cited)
    alike = [
        hits[0]
        for hits in namesakes.values()
        if len(passage & _words_of(hits)) >= SHARED * len(passage)
    ]
    if len(passage) < LEAST_WORDS or 2 * len(alike) < len(namesakes):
        return ""
    editions = []
    for hit in alike:
        found, other = document_date(hit.metadata), _read_title(hit.title)[1]
        falls = version and other and other < version
        if found is None or not dated < found <= today:
            continue
        if not falls and not _outdated(hit.metadata, today):
            editions.append((found, hit.uri))
    if not editions:
        return ""
    day, uri = max(editions)
    return f"of {dated.isoformat()} has a later edition of {day.isoformat()}: {uri}"


def _read_title(title: str) -> tuple[str, list[int]]:
    """Return a title in plain words without the number of its edition, and that number."""
    match = _EDITION.search(title)
    number = (match[1] or match[2]) if match else ""
    plain = re.sub(r"\W+", " ", _EDITION.sub(" ", title)).strip().casefold()
    return plain, [int(part) for part in number.split(".") if part]


def _words_of(hits: Iterable[Hit]) -> set[str]:
    return {word for hit in hits for word in content_words(hit.content)}


def _conflicts(citations: Sequence[Citation], dates: Mapping[int, date]) -> list[str]:
    """Return a sentence for each pair of sources of different dates that state other figures."""
    found = []
    for position, one in enumerate(citations):
        for other in citations[position + 1 :]:
            days = dates.get(one.number), dates.get(other.number)
            if one.number == other.number or None in days or days[0] == days[1]:
                continue
            for figures in _other_figures(one.quote, other.quote, _least(one, other)):
                old, new = (one, other) if days[0] < days[1] else (other, one)  # type: ignore[operator]
                mine, theirs = figures if old is one else figures[::-1]
                found.append(
                    f"source [{new.number}] of {dates[new.number]} states {theirs}, source "
                    f"[{old.number}] of {dates[old.number]} states {mine}"
                )
    return found


def _other_figures(one: str, other: str, least: int) -> list[tuple[str, str]]:
    """Return the figures of sentences of `least` words that are alike but for them: one's and the
    other's."""
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
            if len(both) >= least and len(words_here & words_there) >= ALIKE * len(both):
                pairs = ((mine, theirs), (theirs, mine))
                old, new = (", ".join(f for f in a if f not in b) for a, b in pairs)
                found.append((old, new) if old and new else (", ".join(mine), ", ".join(theirs)))
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
