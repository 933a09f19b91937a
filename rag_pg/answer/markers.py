"""An answer's text -> the citations in it, and the text without what only looks like one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_NUMBERS = r"\d{1,6}(?:\s*[,;–-]\s*\d{1,6})*"
_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`)", re.DOTALL)
_ONLY_A_MARKER = re.compile(rf"`+\s*\[?\[\^?{_NUMBERS}\]\]?\s*`+")
_IN_COMMENT = re.compile(
    rf"(?m)((?:#|//|--|/\*)[^\n]*?)[ \t]*\[({_NUMBERS})\](?=[ \t]*(?:\*/)?[ \t]*$)"
)
_DEFINITION = re.compile(r"(?m)^[ \t]*(?:\[\^?\d{1,6}\])?:[ \t]+(?:<[^>\n]*>|\S+)[^\n]*(?:\n|\Z)")
_RAISED = re.compile(
    r"(?<=[\s.,;:!?)\"”»\]])(?:<sup\b[^>]*>\s*(?:<a\b[^>]*>)?\s*\[?\d{1,6}\]?\s*(?:</a>)?\s*</sup>"
    r"|[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]+(?!\w))",
    re.IGNORECASE,
)
_ANCHOR = re.compile(rf"<a\b[^>]*>\s*(\[{_NUMBERS}\])\s*</a>", re.IGNORECASE)
_MARKER = re.compile(
    rf"([ \t]*)!?\[\^?({_NUMBERS})\]"
    r"(\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\]\n]*\])?"
)


_CITATION = re.compile(r"\[(\d{1,6}(?:, \d{1,6})*)\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """A citation: text[start:stop] is [n] or [n, m]. numbers: in their order."""

    start: int
    stop: int
    numbers: tuple[int, ...]


def find_markers(text: str) -> Iterator[Marker]:
    """Yield the citations of a text. In code only those that end a comment: others are indices."""
    comments = {
        code.start() + match.end(1)
        for code in _CODE.finditer(text)
        for match in _IN_COMMENT.finditer(code[0])
    }
    codes = [(code.start(), code.end()) for code in _CODE.finditer(text)]
    for match in _CITATION.finditer(text):
        in_code = any(start <= match.start() < stop for start, stop in codes)
        if not in_code or len(text[: match.start()].rstrip(" \t")) in comments:
            numbers = tuple(int(number) for number in match[1].split(", "))
            yield Marker(start=match.start(), stop=match.end(), numbers=numbers)


def cited_numbers(text: str) -> set[int]:
    """Return the numbers of the sources that a text cites."""
    return {number for marker in find_markers(text) for number in marker.numbers}


def without_false_markers(text: str, numbers: Collection[int]) -> str:
    """Return a text whose only markers in brackets are those of `numbers`.

    A number that is the text of a link or an image loses its address, whatever it is; definitions
    of references and footnotes, raised numbers behind a sentence, and code that is nothing but a
    marker are taken out. An index in code stays.
    """

    def marker(match: re.Match[str]) -> str:
        items = [int(n) for n in re.findall(r"\d+", match[2])]
        good = [str(n) for n in items if n in numbers and re.fullmatch(r"[\d, ]+", match[2])]
        behind = match[3] or ""
        more = marker_behind(behind) if behind.startswith("[") else ""
        return (f"{match[1]}[{', '.join(good)}]" if good else "") + more

    def marker_behind(label: str) -> str:
        """A label behind a marker is a marker too, or the text of a link that is left alone."""
        return _MARKER.sub(marker, label)

    def comment(match: re.Match[str]) -> str:
        cited = {int(n) for n in re.findall(r"\d+", match[2])}
        return match[0] if cited <= set(numbers) else match[1]

    parts = _CODE.split(text)
    for position, part in enumerate(parts):
        if position % 2:
            parts[position] = (
                "" if _ONLY_A_MARKER.fullmatch(part) else _IN_COMMENT.sub(comment, part)
            )
            continue
        plain = _ANCHOR.sub(r"\1", _RAISED.sub("", _DEFINITION.sub("", part)))
        parts[position] = _MARKER.sub(marker, plain)
    return "".join(parts).strip() if "".join(parts) != text else text
