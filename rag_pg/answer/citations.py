"""The citations that an answer's text carries, read whole or while the text is still being written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag_pg.answer.prompt import MARKER

_WORDS = MARKER.replace("_", "[_ ]")
_LEADING = re.compile(rf"[*_`\"'\[(]*{_WORDS}[*_`\"'\])]*[:.,–—-]*\s*")
_LATER = re.compile(rf"[*_\"'\[(]*{_WORDS}[*_\"'\])]*[:.,–—-]*\s*")
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
_NUMBERS = r"\d{1,6}(?:\s*[-–]\s*\d{1,6})?"
_CITATION = re.compile(
    rf"([ \t]*)[\[［【](?:\^|sources?:?\s+)?({_NUMBERS}(?:\s*[,;，、；&]\s*{_NUMBERS})*)[\]］】]",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(r"\s*[\[［【][\d\s,;-]*$")  # a citation that max_tokens cut


def _beginnings(word: str) -> str:
    """Return a pattern of all beginnings of a word, "" among them."""
    pattern = ""
    for letter in reversed(word):
        pattern = f"(?:{'[_ ]' if letter == '_' else letter}{pattern})?"
    return pattern


# What stands at the end of a text and may be the beginning of a citation, of the marker or of code.
_OPEN = re.compile(
    rf"""\s*(?:[\[［【](?:\^?|{_beginnings("sources")}:?\s*)[\d\s,;，、；&–-]*)?$""", re.IGNORECASE
)
_OPEN_LEADING = re.compile(rf"[*_`\"'\[(]*{_beginnings(MARKER)}")
_OPEN_LATER = re.compile(rf"\s*[*_\"'\[(]*{_beginnings(MARKER)}$")
_OPEN_CODE = re.compile(r"`[^`\n]*$")


class CitedText:
    """A text whose citations are read while it comes.

    `feed` yields what can be shown of it: pieces of text, and each number of a source after the piece that
    cites it first. A marker is never shown in part, whatever the pieces are.

    Args:
        sources: how many there are; citations are [n] with 1 <= n <= sources, others are taken out.
    """

    def __init__(self, sources: int) -> None:
        self.found = False  # the model has not begun with the marker that says so
        self.text = ""
        self.cited: set[int] = set()
        self.dropped: list[int] = []
        self._sources = sources
        self.raw = ""
        self._shown = ""

    def feed(self, piece: str) -> Iterator[str | int]:
        """Take the next piece of the text; yield what is certain by now."""
        self.raw += piece
        text = self.raw.lstrip()
        if not _OPEN_LEADING.fullmatch(text):
            body = self._body(text)
            yield from self._show(body[: _settled(body)])

    def close(self, *, was_cut: bool = False) -> Iterator[str | int]:
        """Yield the rest. was_cut: the text ends in the middle; half a citation is left out."""
        body = self._body(self.raw.lstrip())
        yield from self._show(_UNFINISHED.sub("", body) if was_cut else body)
        self.found = self.found and bool(self.text)

    def _body(self, text: str) -> str:
        leading = _LEADING.match(text)
        self.found = leading is None
        return text[leading.end() :] if leading else text

    def _show(self, body: str) -> Iterator[str | int]:
        before = set(self.cited)
        self.text, self.cited, self.dropped = _read_citations(body, self._sources)
        if self.text.startswith(self._shown) and self.text != self._shown:
            yield self.text[len(self._shown) :]
            self._shown = self.text
        yield from sorted(self.cited - before)


def _settled(raw: str) -> int:
    """Return how much of a text reads the same whatever follows."""
    code = [*_CODE.finditer(raw)]
    last = code[-1] if code else None
    if last is not None and last.end() == len(raw) and _is_open_fence(last[0]):
        return len(raw.rstrip("`").rstrip())
    ends = [len(raw.rstrip("`"))]
    if (match := _OPEN_CODE.search(raw, last.end() if last else 0)) is not None:
        ends.append(match.start())
    ends += [match.start() for p in (_OPEN, _OPEN_LATER) if (match := p.search(raw)) is not None]
    end = min(ends)
    return end if end == len(raw) else _settled(raw[:end])


def _is_open_fence(code: str) -> bool:
    return code.startswith("```") and (len(code) < 6 or not code.endswith("```"))


def _read_citations(text: str, sources: int) -> tuple[str, set[int], list[int]]:
    """Return the text with [n] for 1 <= n <= sources only, the numbers cited, those taken out.

    Takes the marker out. Reads [1], [1, 3], [2][5], [1-3], full-width brackets and digits; leaves code alone.
    """
    cited: set[int] = set()
    dropped: list[int] = []

    def rewrite(match: re.Match[str]) -> str:
        good, bad = _numbers(match[2], sources)
        cited.update(good)
        dropped.extend(number for number in bad if number not in dropped)
        return f"{match[1]}[{', '.join(map(str, good))}]" if good else ""

    parts = _CODE.split(text)
    parts[::2] = [_CITATION.sub(rewrite, _LATER.sub("", part)) for part in parts[::2]]
    return "".join(parts).strip(), cited, dropped


def _numbers(listed: str, sources: int) -> tuple[list[int], list[int]]:
    """Return the numbers of a citation such as "1, 3-5" that are sources, and those that are not."""
    good: list[int] = []
    bad: list[int] = []
    for item in re.findall(_NUMBERS, listed):
        ends = [int(number) for number in re.findall(r"\d+", item)]
        good += [n for n in range(max(ends[0], 1), min(ends[-1], sources) + 1) if n not in good]
        bad += [n for n in ends if not 1 <= n <= sources and n not in bad]
    return good, bad
