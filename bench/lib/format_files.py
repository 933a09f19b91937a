"""Sixty files whose facts stand in columns, tables, charts, lists, scans and attachments, and two
questions about each."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import file_kinds as kinds
from pdfs import at, columns, pdf_of, ruled, scanned

BEGINNINGS = [
    "Ald",
    "Bram",
    "Cor",
    "Dun",
    "El",
    "Fen",
    "Gar",
    "Hol",
    "Ing",
    "Kel",
    "Lam",
    "Mar",
    "Nor",
    "Os",
    "Pel",
]
ENDS = ["bury", "ford", "ham", "wick"]
ITEMS = [
    "books",
    "films",
    "games",
    "maps",
    "toys",
    "cards",
    "bicycles",
    "boats",
    "tents",
    "lamps",
    "ladders",
    "drills",
]
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
]
PARTS = ["valve", "hatch", "pump", "lamp", "fuse", "door", "filter", "gauge", "cable", "lever"]
VERBS = ["open", "close", "check", "clean", "oil", "seal", "lock", "test", "turn", "label"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """parts: stand in this order in the text, in one line of it where is_row. page: of a PDF."""

    text: str
    uri: str
    parts: Sequence[str]
    is_row: bool = True
    page: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    kind: str
    name: str
    data: bytes
    questions: Sequence[Question]


Asked = tuple[str, tuple[str, ...], bool]
Made = tuple[str, bytes, list[Asked], int | None]


def files(seed: int = 26) -> Iterator[File]:
    """Yield the files; the same seed gives the same ones."""
    chance = random.Random(seed)
    places = [start + end for start in BEGINNINGS for end in ENDS]
    chance.shuffle(places)
    for number, (kind, make) in enumerate(_plan()):
        place = places[number]
        suffix, data, asked, page = make(place, chance)
        name = f"{number:02} {place}{suffix}"
        yield File(
            kind=kind,
            name=name,
            data=data,
            questions=[
                Question(text=text, uri=name, parts=parts, is_row=is_row, page=page)
                for text, parts, is_row in asked
            ],
        )


def _plan() -> list[tuple[str, Callable[[str, random.Random], Made]]]:
    counts = {
        ("PDF: columns", _columns): 8,
        ("PDF: ruled table", _ruled): 8,
        ("PDF: scan", _scan): 6,
        ("list of Word", _list): 6,
        ("table of Word", _word_table): 4,
        ("chart of PowerPoint", _chart): 8,
        ("sheet of Excel", _sheet): 4,
        ("attachment of a mail", _attached): 6,
        ("attachment of an attached mail", _nested): 4,
        ("table of OpenDocument", _odt): 2,
        ("notebook, XML, subtitles, e-book", _text): 4,
    }
    return [kind for kind, count in counts.items() for _ in range(count)]


# --- facts ---------------------------------------------------------------------------------------


def _fees(place: str, chance: random.Random) -> tuple[list[list[str]], list[Asked]]:
    """A table of fees, and two questions about it."""
    items = chance.sample(ITEMS, 8)
    values = chance.sample(range(110, 990), 8)
    rows = [
        [item, str(chance.randrange(2, 60)), f"{v / 100:.2f}"]
        for item, v in zip(items, values, strict=True)
    ]
    asked: list[Asked] = [
        (f"What is the fee for {item} in {place}?", (item, fee), True)
        for item, _, fee in chance.sample(rows, 2)
    ]
    return [["Item", "Days", "Fee"], *rows], asked


def _told(place: str, chance: random.Random) -> tuple[list[str], list[Asked]]:
    """The same as sentences."""
    rows, asked = _fees(place, chance)
    sentences = [
        f"Whoever borrows {item} in {place} for up to {days} days pays a fee, and the fee for"
        f" {item} is {fee} euros at each of the desks."
        for item, days, fee in rows[1:]
    ]
    return sentences, [
        (text, (f"the fee for {item} is {fee} euros",), False) for text, (item, fee), _ in asked
    ]


def _columns(place: str, chance: random.Random) -> Made:
    sentences, asked = _told(place, chance)
    left, right = (textwrap.wrap(" ".join(part), 44) for part in (sentences[:4], sentences[4:]))
    first = at(60, 700, f"Rules of {place}", 20)
    head = at(
        50, 760, f"What the town of {place} lends, to whom and at what fee, as of this spring"
    )
    return ".pdf", pdf_of(first, head + columns(left, right, y=720)), asked, 2


def _ruled(place: str, chance: random.Random) -> Made:
    rows, asked = _fees(place, chance)
    first = at(60, 700, f"Rules of {place}", 20)
    page = at(50, 760, f"Fees in {place}") + ruled(rows, y=740) + at(50, 500, "All fees in euros.")
    return ".pdf", pdf_of(first, page), asked, 2


def _scan(place: str, chance: random.Random) -> Made:
    sentences, asked = _told(place, chance)
    lines = [f"Fees in {place}", *textwrap.wrap(" ".join(sentences), 80)]
    return ".pdf", scanned(pdf_of(columns(lines))), asked, 1


def _steps(place: str, chance: random.Random) -> tuple[list[str], list[Asked]]:
    pairs = zip(chance.sample(VERBS, 8), chance.sample(PARTS, 8), strict=True)
    steps = [f"{verb} the {part} of {place}" for verb, part in pairs]
    chosen = chance.sample(range(8), 2)
    asked: list[Asked] = [
        (f"Which step is it to {steps[n]} at the start?", (f"{n + 1}.", steps[n]), True)
        for n in chosen
    ]
    return steps, asked


def _list(place: str, chance: random.Random) -> Made:
    steps, asked = _steps(place, chance)
    return (
        ".docx",
        kinds.docx(f"Start in {place}", "Do all of it, in this order:", items=steps),
        asked,
        None,
    )


def _word_table(place: str, chance: random.Random) -> Made:
    rows, asked = _fees(place, chance)
    return ".docx", kinds.docx(f"Fees in {place}", "In euros.", rows=rows), asked, None


def _chart(place: str, chance: random.Random) -> Made:
    months = MONTHS[:8]
    series = {year: [chance.randrange(1000, 9999) for _ in months] for year in ("2023", "2024")}
    asked: list[Asked] = [
        (
            f"How many visitors did {place} have in {month} 2024?",
            (month, str(series["2024"][months.index(month)])),
            True,
        )
        for month in chance.sample(months, 2)
    ]
    data = kinds.pptx(f"Visitors of {place}", "By month and year", series, months)
    return ".pptx", data, asked, None


def _sheet(place: str, chance: random.Random) -> Made:
    rows, asked = _fees(place, chance)
    return ".xlsx", kinds.xlsx(f"Fees in {place}", rows), asked, None


def _attached(place: str, chance: random.Random) -> Made:
    rows, asked = _fees(place, chance)
    table = "\n".join(map(",".join, rows)).encode()
    name, data = chance.choice(
        [("fees.csv", table), ("fees.docx", kinds.docx("Fees", "In euros.", rows=rows))]
    )
    found = kinds.mail(f"Fees in {place}", "Please see what is attached.", {name: data})
    return ".eml", found.as_bytes(), asked, None


def _nested(place: str, chance: random.Random) -> Made:
    rows, asked = _fees(place, chance)
    table = "\n".join(map(",".join, rows)).encode()
    inner = kinds.mail(f"Fees in {place}", "See the table.", {"fees.csv": table})
    found = kinds.mail(f"Forwarded: fees in {place}", "For your information.", {"m": inner})
    return ".eml", found.as_bytes(), asked, None


def _odt(place: str, chance: random.Random) -> Made:
    rows, asked = _fees(place, chance)
    return ".odt", kinds.odt(f"Fees in {place}", "In euros.", rows=rows), asked, None


def _text(place: str, chance: random.Random) -> Made:
    sentences, asked = _told(place, chance)
    suffix = chance.choice([".ipynb", ".xml", ".vtt", ".epub"])
    return suffix, kinds.WRITERS[suffix](f"Fees in {place}", " ".join(sentences)), asked, None
