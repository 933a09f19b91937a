"""An answer's text -> the citations in it, and the text without what only looks like one."""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rag_pg.text import code_spans

_NUMBERS = r"\d{1,6}(?:\s*[,;–-]\s*\d{1,6})*"
_ADDRESS = r"\((?:[^()]|\([^()]{0,500}\)){0,2000}\)"
_BEHIND = rf"(?:{_ADDRESS}|\[[^\]\n]*\])"  # of a link
_ONLY_A_MARKER = re.compile(rf"`+\s*\[?\[\^?{_NUMBERS}\]\]?\s*`+")
_COMMENT = re.compile(r"#|//|--|/\*")
_AT_LINE_END = re.compile(
    rf"(?m)(?<![ \t])[ \t]*\[({_NUMBERS})\](?=[ \t]*(?:\*/[ \t]*)?$)",
)
_DEFINITION = re.compile(
    r"""(?m)^(?:[ \t]|>|[-*+](?=[ \t])|\d{1,3}[.)])*(?:
      \[\s*\d{1,6}\s*\]:\s*(?:<[^>\n]*>|\S+)(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t]*(?:\n|\Z)
    | (?:\[\s*\^\d{1,6}\s*\])?:[ \t]+(?:<[^>\n]*>|\S+)[^\n]*(?:\n|\Z))""",
    re.VERBOSE,
)
_RAISED = re.compile(
    r"(?:(?<!\w)<sup\b[^>]{0,1000}>(?:\s|<a\b[^>]{0,1000}>|</a>|[\[\],\d]){1,60}</sup>"
    r"|(?<=[\s.,;:!?)\"”»\]>])[\u00b9\u00b2\u00b3\u2070\u2074-\u2079]+(?!\w))",
    re.IGNORECASE,
)
_ANCHOR = re.compile(r"<a\b[^>]{0,1000}>((?:(?!</?a\b).){0,80}?)</a\s*>", re.IGNORECASE | re.DOTALL)
_BESIDE = r"((?:(?![\[\]])(?:[^\n]|\n(?![ \t]*\n))){0,30})"
_NESTED = re.compile(rf"!?\[{_BESIDE}(\[[\d, ]+\]){_BESIDE}\]{_BEHIND}?")
_EMPTY = re.compile(rf"!?\[\s*\](?:{_ADDRESS}|\[\])")
_IN_CODE = re.compile(rf"!?\[\s*`+\s*\[?{_NUMBERS}\]?\s*`+\s*\]{_BEHIND}")
_OPENS = r"(?:\\?[\[［【〔〖⟦❲〚]|&(?:#0*91|#x0*5b|lbrack|lsqb);)"
_CLOSES = r"(?:\\?[\]］】〕〗⟧❳〛]|&(?:#0*93|#x0*5d|rbrack|rsqb);)"
_LABEL = re.compile(
    rf"(?<![ \t])[ \t]*!?{_OPENS}"
    rf"((?:(?!{_OPENS}|{_CLOSES})(?:[^\n]|\n(?![ \t]*\n))){{1,80}}?){_CLOSES}"
    rf"(?:{_ADDRESS})?",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"sources?|ref(?:erence)?s?|doc(?:ument)?s?|(?:foot)?notes?|cit[ae]\w*|nos?\b", re.IGNORECASE
)
_DECORATION = " \t\n*_~^#†‡§&,;.:|'\"`\\–—-、，；[]()【】"  # around the number in a label
_MARKER = re.compile(
    rf"((?<![ \t])[ \t]*)!?\[\^?({_NUMBERS})\]({_ADDRESS}|\[[^\]\n]*\](?:{_ADDRESS})?)?"
)
_CITATION = re.compile(r"\[(\d{1,6}(?:, \d{1,6})*)\]")
_ROUNDS = 8  # what is taken out may leave another one


@dataclass(frozen=True, kw_only=True, slots=True)
class Marker:
    """A citation: text[start:stop] is [n] or [n, m]. numbers: in their order."""

    start: int
    stop: int
    numbers: tuple[int, ...]


def find_markers(text: str) -> Iterator[Marker]:
    """Yield the citations of a text. In code only those that end a comment: others are indices."""
    codes = code_spans(text)
    starts = [start for start, _ in codes]
    comments = {
        start + match.end(1) + 1
        for start, stop in codes
        for match in _ends_of_comments(text[start:stop])
    }
    for match in _CITATION.finditer(text):
        before = bisect_right(starts, match.start())
        in_code = before > 0 and match.start() < codes[before - 1][1]
        if not in_code or match.end() in comments:
            numbers = tuple(int(number) for number in match[1].split(", "))
            yield Marker(start=match.start(), stop=match.end(), numbers=numbers)


def cited_numbers(text: str) -> set[int]:
    """Return the numbers of the sources that a text cites."""
    return {number for marker in find_markers(text) for number in marker.numbers}


def without_false_markers(text: str, numbers: Collection[int]) -> str:
    """Return a text whose only markers in brackets are those of `numbers`.

    A number that is the text of a link or an image loses its address, whatever it is; definitions
    of references and footnotes, raised numbers behind a sentence, and code that is nothing but a
    marker are taken out, and so is whatever else looks like a marker to a reader: in other
    brackets, escaped, with a word, an invisible character or emphasis inside. An index in code
    stays.
    """
    shown = text
    for _ in range(_ROUNDS):
        before, shown = shown, _once(shown, numbers)
        if shown == before:
            break
    return shown.strip() if shown != text else text


def _ends_of_comments(code: str) -> Iterator[re.Match[str]]:
    """Yield the markers at the end of a line of code that has a comment before them."""
    for match in _AT_LINE_END.finditer(code):
        if _COMMENT.search(code, code.rfind("\n", 0, match.start()) + 1, match.start()):
            yield match


def _without_comments(code: str, numbers: Collection[int]) -> str:
    """Return code without the markers at the end of comments that cite another number."""
    pieces, at = [], 0
    for match in _ends_of_comments(code):
        if not {int(n) for n in re.findall(r"\d+", match[1])} <= set(numbers):
            pieces.append(code[at : match.start()])
            at = match.end()
    return "".join([*pieces, code[at:]])


def _once(text: str, numbers: Collection[int]) -> str:
    text = _IN_CODE.sub("", text)
    shown, at = "", 0
    for start, stop in [*code_spans(text), (len(text), len(text))]:
        code = text[start:stop]
        shown += _prose(text[at:start], numbers)
        shown += "" if _ONLY_A_MARKER.fullmatch(code) else _without_comments(code, numbers)
        at = stop
    return shown


def _prose(text: str, numbers: Collection[int]) -> str:
    def marker(match: re.Match[str]) -> str:
        items = re.findall(r"\d+", match[2]) if re.fullmatch(r"[\d, ]+", match[2]) else ()
        good = [str(n) for n in map(int, items) if n in numbers]
        label = match[3] if match[3] and match[3].startswith("[") else ""
        more = _MARKER.sub(marker, label)  # a marker too, or the text of a link
        shown = f"{match[1]}[{', '.join(good)}]" if good else ""
        follows = match.string[match.end() : match.end() + 1] == "(" and not more
        if shown and (follows or (more and not _CITATION.fullmatch(more))):
            shown += " "  # no link
        return shown + (more if more != "[]" else "")

    def label(match: re.Match[str]) -> str:
        return match[0] if _MARKER.match(match[0]) or not _looks(match[1]) else ""

    def anchor(match: re.Match[str]) -> str:
        return re.sub("<[^>]*>", "", match[1]) if _looks(match[1]) else match[0]

    def nested(match: re.Match[str]) -> str:
        return match[2] if _looks(f"{match[1]}1{match[3]}") else match[0]

    text = _ANCHOR.sub(anchor, _RAISED.sub("", _DEFINITION.sub("", text)))
    return _MARKER.sub(marker, _LABEL.sub(label, _EMPTY.sub("", _NESTED.sub(nested, text))))


def _looks(label: str) -> bool:
    """Whether what stands in brackets looks like the number of a source."""
    plain = unicodedata.normalize("NFKC", html.unescape(re.sub("<[^>]*>", "", label)))
    # [1.5, 2.5], [-1, 1] and [123456789]
    if re.search(r"\d\.\d|(?<!\d)[-+\u2212]\s*\d|\d{7}", plain):
        return False
    seen = "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Mn", "Cc"))
    rest = _NAMES.sub("", re.sub(r"\d+", "", seen))
    return any(c.isdigit() for c in plain) and not rest.strip(_DECORATION)
