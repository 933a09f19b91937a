"""The citations that an answer's text carries, read whole or while the text is still being
written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rag_pg.answer.prompt import MARKER
from rag_pg.answer.reading.markers import is_value
from rag_pg.text import KEY

_WORDS = MARKER.replace("_", "[_ ]")
_LEADING = re.compile(rf"[*_`\"'\[(]{{0,9}}{_WORDS}[*_`\"'\])]*[:.,–—-]*\s*")
_LATER = re.compile(rf"[*_\"'\[(]{{0,9}}{_WORDS}[*_\"'\])]*[:.,–—-]*\s*")
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.DOTALL)
_ITEM = rf"(?:{KEY.pattern}|\d{{1,6}}(?:\s*[-–]\s*\d{{1,6}})?)"
_SEPARATORS = "[,;，、；&]"
_CITATION = re.compile(
    rf"([ \t]*)[\[［【]{{1,2}}(?:\^|sources?:?\s+)?"
    rf"({_ITEM}(?:\s*{_SEPARATORS}\s*{_ITEM})*)[\]］】]{{1,2}}",
    re.IGNORECASE,
)
_ALONE = re.compile(  # a key without brackets, or in those of code
    rf"(?<![A-Za-z0-9])(?:\(({KEY.pattern})\)|\[({KEY.pattern})\]|({KEY.pattern})(?![A-Za-z0-9]))",
    re.IGNORECASE,
)
_KEY_IN = re.compile(KEY.pattern, re.IGNORECASE)
_LETTER = "b-df-hj-np-tv-z"  # of a key
_UNFINISHED = re.compile(rf"\s*[\[［【(][\d{_LETTER}\s,;-]*$", re.IGNORECASE)  # max_tokens cut it


def _beginnings(word: str) -> str:
    """Return a pattern of all beginnings of a word, "" among them."""
    pattern = ""
    for letter in reversed(word):
        pattern = f"(?:{'[_ ]' if letter == '_' else letter}{pattern})?"
    return pattern


# What stands at the end of a text and may be the beginning of a citation, of the marker or of code.
_OPEN = re.compile(
    rf"""\s*(?:[\[［【]{{1,2}}(?:\^?|{_beginnings("sources")}:?\s*)[\d{_LETTER}\s,;，、；&–-]*
        [\]］】]?)?$""",
    re.IGNORECASE | re.VERBOSE,
)
_OPEN_KEY = re.compile(rf"(?<![A-Za-z0-9])[(\[]?(?:\d[{_LETTER}]{{0,4}}\d?)?$", re.IGNORECASE)
_OPEN_LEADING = re.compile(rf"[*_`\"'\[(]{{0,9}}{_beginnings(MARKER)}")
_OPEN_LATER = re.compile(rf"\s*[*_\"'\[(]{{0,9}}{_beginnings(MARKER)}$")
_SPACES = re.compile(r"(?<!\s)(\s{100})\s+")  # models that lose their way write them without end
_OPEN_CODE = re.compile(r"`[^`\n]*$")

# Between two lines that read the same alone as together, where no code stands.
_LINE_END = re.compile(r"(?<=[.!?\]])(?:[ \t]*\n)+(?=\S)")

_OPENING = "[［【(*_\"' \t\n"  # marks and spaces that something may begin with
_MOST_OPEN = 50  # beginnings, one behind the other


class CitedText:
    """A text whose citations are read while it comes.

    text: what can be shown of it by now, a beginning of what can be shown of the whole: no marker
    in part, whatever the pieces are. cited: the numbers of sources in it. raw: all that came.

    Args:
        keys: of the sources 1, 2, …: the model cites [key], and the text shows [n]. Whatever else
            stands in brackets as a citation does, such as a number, is taken out, into `dropped`.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.found = False  # the model has not begun with the marker that says so
        self.text = ""
        self.cited: set[int] = set()
        self.dropped: list[str] = []
        self._numbers = {key: number for number, key in enumerate(keys, 1)}
        self.raw = ""
        # what reads the same whatever follows is read once, in whole lines: all before `_rest`
        self._rest = ""
        self._lines: str | None = None
        self._cited: set[int] = set()
        self._dropped: list[str] = []

    def feed(self, piece: str) -> None:
        """Take the next piece of the text."""
        self.raw += piece
        self._rest += piece
        if self._lines is not None or not _OPEN_LEADING.fullmatch(self._rest.lstrip()):
            body = self._body()
            if (settled := _settled(body)) is not None:
                self._read(body[:settled])
                self._keep_lines(body, settled)

    def close(self, *, was_cut: bool = False) -> None:
        """Take what is open as it is. was_cut: the text ends in the middle; half a citation is left
        out."""
        body = self._body()
        self._read(_UNFINISHED.sub("", body) if was_cut else body)
        self.found = self.found and bool(self.text)

    def _body(self) -> str:
        text = _SPACES.sub(r"\1", self._rest)
        if self._lines is not None:
            return text
        text = text.lstrip()
        leading = _LEADING.match(text)
        self.found = leading is None
        return text[leading.end() :] if leading else text

    def _read(self, body: str) -> None:
        self.cited, self.dropped = set(self._cited), list(self._dropped)
        read = _read_citations(body, self._numbers, self.cited, self.dropped)
        self.text = ((self._lines or "") + read).strip()

    def _keep_lines(self, body: str, settled: int) -> None:
        ends = [match.end() for match in _LINE_END.finditer(body, 0, settled)]
        code = [match.span() for match in _CODE.finditer(body, 0, settled)] if ends else ()
        while ends and any(start < ends[-1] <= stop for start, stop in code):
            ends.pop()
        if ends:
            cited, dropped = set(self._cited), list(self._dropped)
            lines = _read_citations(body[: ends[-1]], self._numbers, cited, dropped)
            if lines.endswith("\n"):  # else the marker at its end takes all blanks behind it along
                self._lines, self._rest = (self._lines or "") + lines, body[ends[-1] :]
                self._cited, self._dropped = cited, dropped


def show_numbers(text: str, keys: Sequence[str]) -> str:
    """Return a text with the numbers of sources instead of their keys."""
    numbers = {key: number for number, key in enumerate(keys, 1)}
    return _read_citations(text, numbers, set(), []).strip()


def _settled(raw: str) -> int | None:
    """Return how much of a text reads the same whatever follows; None where so much is open at its
    end that no model means it."""
    raw = raw[: len(raw.rstrip(_OPENING))]
    for _ in range(_MOST_OPEN):
        code = [*_CODE.finditer(raw)]
        last = code[-1] if code else None
        if last is not None and last.end() == len(raw) and _is_open_fence(last[0]):
            key = _OPEN_KEY.search(raw)
            return min(len(raw.rstrip("`").rstrip()), key.start() if key else len(raw))
        ends = [len(raw.rstrip("`"))]
        if (match := _OPEN_CODE.search(raw, last.end() if last else 0)) is not None:
            ends.append(match.start())
        ends += [
            match.start()
            for p in (_OPEN, _OPEN_KEY, _OPEN_LATER)
            if (match := p.search(raw)) is not None
        ]
        if min(ends) == len(raw):
            return len(raw)
        raw = raw[: min(ends)]
    return None


def _is_open_fence(code: str) -> bool:
    return code.startswith("```") and (len(code) < 6 or not code.endswith("```"))


def _read_citations(
    text: str, numbers: Mapping[str, int], cited: set[int], dropped: list[str]
) -> str:
    """Return the text with [n] instead of the keys of `numbers`; add the numbers to `cited`, what
    was taken out to `dropped`.

    Takes the marker out. Reads [key], [key, key], [source key], (key), a key alone, and brackets of
    full width. Of code only keys are read: a number in brackets is an index there.
    """

    def bracketed(match: re.Match[str]) -> str:
        if not _KEY_IN.search(match[2]) and is_value(match.string, match.end(1)):
            return match[0]
        items = [item.lower() for item in re.findall(_ITEM, match[2], re.IGNORECASE)]
        good = list(dict.fromkeys(numbers[item] for item in items if item in numbers))
        cited.update(good)
        dropped.extend(i for i in dict.fromkeys(items) if i not in (*numbers, *dropped))
        return f"{match[1]}[{', '.join(map(str, good))}]" if good else ""

    def alone(match: re.Match[str]) -> str:
        number = numbers.get((match[1] or match[2] or match[3]).lower())
        if number is None:
            return match[0]
        cited.add(number)
        return f"[{number}]"

    parts = _CODE.split(text)
    parts[::2] = [_CITATION.sub(bracketed, _LATER.sub("", part)) for part in parts[::2]]
    return "".join(_ALONE.sub(alone, part) for part in parts)
