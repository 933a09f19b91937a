"""PDF files: the lines of each page in the order in which a reader reads them."""

from __future__ import annotations

import io
import logging
import re
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import chain, pairwise
from statistics import median
from typing import Any, NamedTuple

from rag_pg.errors import UnsupportedFile
from rag_pg.load.ocr import DPI, read_page
from rag_pg.load.tables import Span, _line, merged, rows_as_table

_PDFIUM = threading.Lock()  # it is not made for several threads
_MANY = 4  # pages from which on a head is told from text
_MOST_PAGES = 0.6  # of the pages have a running head
_PAGE = r"(?:page|p|seite|s|página|pag|pagina|стр)\W+"
_OF = r"(?:\W*(?:of|von|de|sur|/)\W*\d+)"
_NUMBERED = re.compile(rf"\W*{_PAGE}?(\d{{1,6}}){_OF}?\W*", re.IGNORECASE)
_BESIDE = re.compile(  # the number of a page beside other text; "Invoice 3" is none
    r"\A\W*(\d{1,6})(?!\w)"
    rf"|(?:\b{_PAGE}|\s[|·•–—-]\s*)(\d{{1,6}}){_OF}?\W*\Z|(?<!\w)(\d{{1,6}}){_OF}\W*\Z",
    re.IGNORECASE,
)
_SHARED = 0.3  # of their heights that two pieces of a row share at least
_ROWS = 5  # of lines that share their height, from which on a gutter is told from wide spaces
_COLUMNS = 4  # beside each other at most
_PROSE = 15, 3  # characters and words of a line of a column, unlike the cell of a table
_FULL = 0.75  # of the widest line of a column; half of its lines are at least as wide
_RULES = range(3, 20_000)  # across, and as many down, may rule a table; more are a drawing
_MOST_PIXELS = 40_000_000  # of one page; larger ones are rendered smaller
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
)  # an embedder's tokens have none
_UNSEEN = 2  # the flag of a field that is not shown
_RULE = 8  # points that a line of a table has at least
_PALE = 250  # of 255 in red, green and blue
_SLANT = 0.2  # of one side to the other; a page that was scanned askew has less


@dataclass(frozen=True, kw_only=True, slots=True)
class Pdf:
    """Lines by page; hidden: characters that were left out; ocr: whether pages were read by it."""

    pages: Sequence[Sequence[str]]
    title: str
    author: str
    hidden: int
    ocr: bool
    notes: Sequence[str]


class _Box(NamedTuple):
    """Where something stands, in points from the lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def height(self) -> float:
        return self.top - self.bottom

    def holds(self, other: _Box) -> bool:
        """Whether the middle of another lies in it."""
        x, y = (other.left + other.right) / 2, (other.bottom + other.top) / 2
        return self.left <= x <= self.right and self.bottom <= y <= self.top

    def meets(self, other: _Box) -> bool:
        """Whether they share anything."""
        across = self.left <= other.right and other.left <= self.right
        return across and self.bottom <= other.top and other.bottom <= self.top

    def joined(self, other: _Box) -> _Box:
        (a, b, c, d), (e, f, g, h) = self, other
        return _Box(min(a, e), min(b, f), max(c, g), max(d, h))


def read_pdf(data: bytes, ocr: str) -> Pdf:
    """Read a PDF file by pypdf; pages with columns, ruled tables or hidden text by where their
    pieces stand; pages without text by OCR in the language `ocr`, unless that is "".

    Raises: UnsupportedFile (encrypted, without text).
    """
    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    logging.getLogger("pdfminer").setLevel(logging.CRITICAL)
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnsupportedFile("is encrypted: remove its password first")
    notes: list[str] = []
    with closing(_Layout(_upright(reader, data))) as layout:
        try:
            found = [layout.read(number) for number in range(len(reader.pages))]
        except layout.Damaged as exc:
            found = [_Found()] * len(reader.pages)
            notes.append(f"it is damaged ({exc}): columns and tables are not told apart")
        pages = [
            [
                line.strip().translate(_LIGATURES)
                for line in chain(one.lines or _written(page, one.rows), _filled_in(page))
            ]
            for one, page in zip(found, reader.pages, strict=True)
        ]
        scanned = [n for n, lines in enumerate(pages) if not any(lines)]
        for number in scanned if ocr else ():
            pages[number] = read_page(layout.picture(number), ocr)
    if scanned and not any(map(any, pages)):
        remedy = "add it with ocr=True (--ocr), or run OCR over it first, for example ocrmypdf"
        raise UnsupportedFile(
            f"has no text on its {len(pages)} pages, only images: "
            + ("tesseract finds none in them" if ocr else remedy)
        )
    if not ocr and (pictures := [n + 1 for n in scanned if found[n].pictures]):
        notes.append(
            f"{len(pictures)} of {len(pages)} pages, the first page {pictures[0]}, are only images;"
            " add it with ocr=True (--ocr)"
        )
    about = reader.metadata
    return Pdf(
        pages=_without_running_heads(pages),
        title=_line(about.title if about else None),
        author=_line(about.author if about else None),
        hidden=sum(one.hidden for one in found),
        ocr=bool(ocr) and any(map(any, (pages[n] for n in scanned))),
        notes=notes,
    )


def _upright(reader: Any, data: bytes) -> bytes:
    """A file whose pages stand in it as they are shown, the file itself where that fails."""
    from pypdf import PdfWriter

    try:
        if not any(page.rotation for page in reader.pages):
            return data
        writer, turned = PdfWriter(clone_from=reader), io.BytesIO()
        for page in writer.pages:
            page.transfer_rotation_to_content()
        writer.write(turned)
        return turned.getvalue()
    except Exception:  # of a damaged file: pypdf raises whatever comes
        return data


def _written(page: Any, rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a page as they were written; cells of a row that are a line each are one."""
    lines = [" ".join(line.split()) for line in page.extract_text().strip().splitlines()]
    start = 0
    for row in rows:
        for at in range(start, len(lines) - len(row) + 1):
            if lines[at] == row[0] and lines[at : at + len(row)] == [*row]:
                lines[at : at + len(row)] = [" ".join(row)]
                start = at + 1
                break
    return lines


def _filled_in(page: Any) -> Iterator[str]:
    """Yield what stands in the fields of a form, behind their names."""
    for reference in page.get("/Annots") or ():
        one = reference.get_object()
        above = one["/Parent"].get_object() if "/Parent" in one else {}
        value = one.get("/V", above.get("/V"))
        name = next((its[key] for key in ("/TU", "/T") for its in (one, above) if key in its), "")
        is_seen = one.get("/Subtype") == "/Widget" and not int(one.get("/F", 0)) & _UNSEEN
        if is_seen and isinstance(value, str) and (text := _line(value)) not in ("", "/Off"):
            yield f"{_line(name)}: {text.removeprefix('/')}"


# --- running heads -------------------------------------------------------------------------------


def _without_running_heads(pages: list[list[str]]) -> list[list[str]]:
    """Return the lines of pages; a line that stands at the top or foot of most of them, or is
    the number of the page there, by itself or beside such a line, only where it stands first."""
    if len(pages) < _MANY:
        return pages
    for ends in (slice(0, 2), slice(-2, None)):
        named = [[_heads(line, n) for line in page[ends]] for n, page in enumerate(pages)]
        found = [set[str]().union(*names) for names in named]
        counts = Counter(chain.from_iterable(found))
        common = {head for head, count in counts.items() if count > _MOST_PAGES * len(pages)}
        seen: set[str] = set()
        for page, names, heads in zip(pages, named, found, strict=True):
            again = common & seen
            seen |= heads
            pairs = zip(page[ends], names, strict=True)
            page[ends] = [line for line, its in pairs if not its & again]
    return pages


def _heads(line: str, page: int) -> set[str]:
    """A line as it stands on other pages, too: numbers that count the pages are the same. A row of
    a table is none."""
    if not line or line.startswith("|"):
        return set()
    if len(line) <= 40 and (alone := _NUMBERED.fullmatch(line)):
        return {f"{int(alone[1]) - page}. page"}
    names = {line}
    for found in _BESIDE.finditer(line):
        number = int(found[found.lastindex or 0]) - page
        names.add(f"{line[: found.start()]}{number}. page{line[found.end() :]}")
    return names


# --- layout --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """lines: of a page that is not read as it was written, else none. rows: the texts of those that
    have several pieces."""

    lines: Sequence[str] = field(default=())
    rows: Sequence[Sequence[str]] = ()
    hidden: int = 0
    pictures: bool = False


class _Layout:
    """Where the texts and rules of a PDF file stand, by pdfium; its ruled tables by pdfplumber."""

    def __init__(self, data: bytes) -> None:
        import pypdfium2

        self.Damaged = pypdfium2.PdfiumError
        self._data = data
        self._opened: Any = None
        self._plumber: Any = None

    def close(self) -> None:
        with _PDFIUM:
            if self._opened is not None:
                self._opened.close()
        if self._plumber is not None:
            self._plumber.close()

    def _page(self, number: int) -> Any:
        import pypdfium2

        if self._opened is None:
            self._opened = pypdfium2.PdfDocument(self._data)
        return closing(self._opened[number])

    def picture(self, number: int) -> bytes:
        """A page as a picture in grey (PGM)."""
        with _PDFIUM, self._page(number) as page:
            width, height = page.get_size()
            scale = min(DPI / 72, (_MOST_PIXELS / max(width * height, 1)) ** 0.5)
            with closing(page.render(scale=scale, grayscale=True)) as bitmap:
                pixels = bitmap.to_numpy()
                picture: bytes = (
                    b"P5 %d %d 255\n" % (pixels.shape[1], pixels.shape[0]) + pixels.tobytes()
                )
                return picture

    def read(self, number: int) -> _Found:
        with _PDFIUM, self._page(number) as page, ExitStack() as opened:
            if page.get_rotation():  # `_upright` failed
                return _Found()
            text = opened.enter_context(closing(page.get_textpage()))
            unseen, slanted, rules, pictures = _drawn(page, text)
            hidden = sum(len(one.extract().strip()) for one in unseen)
            marks = " ".join(_line(one.extract()) for one in slanted)
            if unseen or slanted:
                _take_out([*unseen, *slanted])
                text = opened.enter_context(closing(page.get_textpage()))
            boxes = [_Box(*text.get_rect(n)) for n in range(text.count_rects())]
            at_origin = page.get_mediabox()[:2] == (0, 0)
            tables = self._tables(number) if rules in _RULES and at_origin else {}
            rows = _rows(box for box in boxes if not any(one.holds(box) for one in tables))
            beside = [row for row in rows if len(row) > 1]
            has_more = tables or hidden or len(beside) >= _ROWS
            texts = {box: _text(text, box) for row in (rows if has_more else beside) for box in row}
        gutters = _gutters(beside, texts) if has_more else []
        if not (gutters or tables or hidden):
            return _Found(rows=[[texts[box] for box in row] for row in beside], pictures=pictures)
        lines = [*_in_order(rows, texts, tables, gutters), *filter(None, [marks])]
        return _Found(lines=lines or [""], hidden=hidden, pictures=pictures)

    def _tables(self, number: int) -> dict[_Box, str]:
        from pdfplumber.pdf import PDF

        if self._plumber is None:
            self._plumber = PDF(io.BytesIO(self._data))
        page, found = self._plumber.pages[number].filter(_is_straight), {}
        for table in page.find_tables():
            rows = [[cell and _line(cell) for cell in row] for row in table.extract()]
            filled = sum(bool(cell) for row in rows for cell in row)
            if len(rows) > 1 and len(rows[0]) > 1 and filled * 2 >= len(rows) * len(rows[0]):
                left, top, right, bottom = table.bbox
                box = _Box(left, page.height - bottom, right, page.height - top)
                found[box] = rows_as_table([*merged(rows, _spans(table))])
        page.close()  # what it keeps of its characters
        return found


def _spans(table: Any) -> Iterator[Span]:
    """Yield the cells of a ruled table that reach over further rows or columns."""
    lefts, tops = (sorted({cell[axis] for cell in table.cells}) for axis in (0, 1))
    for left, top, right, bottom in table.cells:
        last, beside = bisect_left(tops, bottom), bisect_left(lefts, right) - 1
        span = Span(tops.index(top) + 1, last, lefts.index(left), beside)
        if span.last > span.first or span.right > span.left:
            yield span


def _drawn(page: Any, text: Any) -> tuple[list[Any], list[Any], int, bool]:
    """Return the texts of a page that are white, not painted or beside it, with nothing dark
    behind; those that stand aslant, as a watermark does; how many lines it has across and down, of
    which there are fewer; and whether it has pictures."""
    from pypdfium2 import raw

    grounds, pale, slanted, across, down = list[_Box](), list[Any](), list[Any](), 0, 0
    pictures, sheet = False, _Box(*page.get_cropbox())
    for one in page.get_objects(textpage=text):
        box, (a, b) = _placed(one)
        if one.type == raw.FPDF_PAGEOBJ_TEXT:
            mode = raw.FPDFTextObj_GetTextRenderMode(one)
            if mode == raw.FPDF_TEXTRENDERMODE_INVISIBLE or _is_pale(one) or not sheet.meets(box):
                pale.append((one, box))
            elif _is_aslant(a, b):
                slanted.append(one)
            continue
        pictures = pictures or one.type == raw.FPDF_PAGEOBJ_IMAGE
        if one.type == raw.FPDF_PAGEOBJ_FORM:
            continue  # what it holds comes next
        if one.type == raw.FPDF_PAGEOBJ_PATH:
            lines = max(1, raw.FPDFPath_CountSegments(one) // 4)
            across += lines * (box.right - box.left > _RULE)
            down += lines * (box.height > _RULE)
            filled, stroked = raw.c_int(), raw.c_int()
            raw.FPDFPath_GetDrawMode(one, filled, stroked)
            if not filled.value or _is_pale(one):
                continue
        if len(grounds) < _RULES.stop:
            grounds.append(box)
    unseen = [one for one, box in pale if not any(ground.holds(box) for ground in grounds)]
    return unseen, slanted, min(across, down), pictures


def _placed(one: Any) -> tuple[_Box, tuple[float, float]]:
    """Where an object stands on its page, and how it is turned: the first numbers of its matrix."""
    box, turned, around = one.get_bounds(), one.get_matrix(), one.container
    while around is not None:
        box, turned = around.get_matrix().on_rect(*box), turned.multiply(around.get_matrix())
        around = around.container
    return _Box(*box), turned.get()[:2]


def _take_out(texts: Sequence[Any]) -> None:
    from pypdfium2 import raw

    for one in texts:
        raw.FPDFPageObj_SetIsActive(one, False)


def _is_aslant(a: float, b: float) -> bool:
    """Whether a text runs neither across nor down, by the first numbers of its matrix."""
    return min(abs(a), abs(b)) > _SLANT * max(abs(a), abs(b))


def _is_straight(one: Mapping[str, Any]) -> bool:
    return one["object_type"] != "char" or not _is_aslant(*one["matrix"][:2])


def _is_pale(one: Any) -> bool:
    from pypdfium2 import raw

    color = [raw.c_uint() for _ in range(4)]
    known = raw.FPDFPageObj_GetFillColor(one, *color)
    red, green, blue, solid = (part.value for part in color)
    return bool(known) and (min(red, green, blue) >= _PALE or solid == 0)


def _text(text: Any, box: _Box) -> str:
    found = str(text.get_text_bounded(*box)).replace("\ufffe", "-").replace("\x02", "-")
    return " ".join(found.split())


def _rows(boxes: Iterable[_Box]) -> list[list[_Box]]:
    """Return pieces of text by rows, from the top, each from the left; neighbours are one."""
    rows: list[list[_Box]] = []
    for box in sorted(boxes, key=lambda b: (-(b.bottom + b.top), b.left)):
        first = rows[-1][0] if rows else box
        shared = min(box.top, first.top) - max(box.bottom, first.bottom)
        if rows and shared > _SHARED * min(box.height, first.height):
            rows[-1].append(box)
        else:
            rows.append([box])
    return [_joined(sorted(row)) for row in rows]


def _joined(row: Sequence[_Box]) -> list[_Box]:
    joined = [row[0]]
    for box in row[1:]:
        if box.left - joined[-1].right < max(box.height, joined[-1].height):
            joined[-1] = joined[-1].joined(box)
        else:
            joined.append(box)
    return joined


def _gutters(rows: Sequence[Sequence[_Box]], texts: dict[_Box, str]) -> list[float]:
    """Return where the gutters between columns of prose stand, from the left."""
    gaps = [(a, b) for row in rows for a, b in pairwise(row)]
    found: list[float] = []
    while len(gaps) >= _ROWS and len(found) < _COLUMNS - 1:
        middles = [(a.right + b.left) / 2 for a, b in gaps]
        beside = max(([(a, b) for a, b in gaps if a.right < x < b.left] for x in middles), key=len)
        gaps = [gap for gap in gaps if gap not in beside]
        if len(beside) < _ROWS:
            break
        left, right = zip(*beside, strict=True)
        if _is_prose(left, texts) and _is_prose(right, texts):
            found.append((max(b.right for b in left) + min(b.left for b in right)) / 2)
    return sorted(found)


def _is_prose(lines: Sequence[_Box], texts: dict[_Box, str]) -> bool:
    characters, words = _PROSE
    widths = [line.right - line.left for line in lines]
    return (
        median(len(texts[line]) for line in lines) >= characters
        and median(len(texts[line].split()) for line in lines) >= words
        and median(widths) >= _FULL * max(widths)
    )


def _in_order(
    rows: Sequence[Sequence[_Box]],
    texts: dict[_Box, str],
    tables: dict[_Box, str],
    gutters: Sequence[float],
) -> Iterator[str]:
    """Yield the lines of a page: columns one after the other, down to what stands across them."""
    items = [(row[0].top, row) for row in rows] + [(table.top, [table]) for table in tables]
    columns: list[list[str]] = [[] for _ in range(len(gutters) + 1)]
    for _, row in sorted(items, key=lambda item: -item[0]):
        parts: dict[int, list[str]] = {}
        for box in row:
            column = sum(x < (box.left + box.right) / 2 for x in gutters)
            across = any(box.left < x < box.right for x in gutters)
            shown = f"\n{tables[box]}\n" if box in tables else texts[box]
            parts.setdefault(-1 if across else column, []).append(shown)
        if -1 in parts:
            yield from _flushed(columns)
            yield from " ".join(chain.from_iterable(parts.values())).split("\n")
            continue
        for column, found in parts.items():
            columns[column] += " ".join(found).split("\n")
    yield from _flushed(columns)


def _flushed(columns: Sequence[list[str]]) -> Iterator[str]:
    for column in columns:
        yield from column
        column.clear()
