"""Addresses: where they stand in a text, and whether two are the same."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from urllib.parse import quote, urlsplit

from rag_pg.text import find_markup

_COLON = r"(?:\\?:|&colon;|&\#0*58;?|&\#x0*3a;?|%3a)"
_SLASH = r"(?:\\?/|\\|&sol;|&bsol;|&\#0*(?:47|92);?|&\#x0*(?:2f|5c);?|%2f|%5c)"
_HOST = r"[^\W_](?:[\w-]{0,62}\.)+"
# Top-level names that a program which makes links of plain text takes for one by themselves
# (markdown-it's linkify), with others that are no words of programs (user.id, main.py).
_TOP = (
    r"(?:biz|com|edu|gov|net|org|info|aero|asia|coop|museum|xn--[a-z0-9-]{1,59}|xyz|top|site|online"
    r"|club|shop|click|zip|mov|io|ai|co|tv|ru|cn|uk|de|fr|nl|eu|ch|jp|br)"
)
# Top-level names that are words of programs too: where a path follows.
_TOP_OF_PATH = r"(?:[a-z]{2}|dev|app|link|page|live|store|cloud|tech|pro|name|web|run|space|world)"
_IP = r"(?:\d{1,3}\.){3}\d{1,3}"
_BEGINS = re.compile(
    rf"""(?:
        (?<![a-z0-9])[^\W\d_][\w+.-]{{0,30}}{_COLON}{_SLASH}{{2}}             # https://
      | (?<![\w/\\:])//(?=[\w-]+\.[^\s/]|\[|\w[^\s/]*@)                          # //host.example
      | (?<![\w.@/-])www\.(?=\w)
      | (?<![a-z0-9])(?:mailto|javascript|vbscript|sms|tel){_COLON}(?=[^\s)\]}}"'`.,;:!?])
      | (?<![a-z0-9])data{_COLON}(?=[a-z]+/|[;,]\S)
      | (?<![\w.+-])[\w.+-]{{1,64}}@{_HOST}[a-z]{{2,}}
      | (?<![\w.@/-]){_HOST}(?:{_TOP}(?![\w-]|\.\w)|{_TOP_OF_PATH}(?=[/?]\w|:\d+/|/\?))
      | (?<![\w.@/-]){_IP}(?=(?::\d{{1,5}})?[/?]\w)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# What may stand behind an address without being a part of it.
_CLOSES = re.compile(
    r"(?:\[\d{1,6}(?:,[ ]?\d{1,6})*(?:\]|,?\Z)|[)\]}>\"'*_~.,;:!?`|\\]|\W(?<![\x00-\x7f]))*\Z"
)
_ENDS = re.compile(r"[()\]}\"'|`]|[^\w\x00-\x7f]")  # an address is over here, whatever follows
_RUN = re.compile(r"[^\s<>]{0,4096}")  # what is longer is no address that anybody opens
_WIDE = re.compile(  # what ends an address; a full stop before a letter is one of a host
    r"(?![\u3002\uff0e\uff61][a-z0-9])"
    r"[\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_MOST_ENDS = 20
_LONGEST_CLOSE = 200  # characters of what stands behind an address


def normal_address(address: str) -> str:
    """Return an address in the form in which equal ones are equal: http and https are one, the host
    is in lower case, letters that need a percent sign have one. What has a percent sign without
    need differs: which letters have one could tell something."""
    address = _ESCAPED.sub(r"\1", html.unescape(address).strip())
    address = re.sub(r"^(?:https?:)?//", "//", address, flags=re.IGNORECASE)
    if re.match(r"www\.", address, re.IGNORECASE):
        address = f"//{address}"
    try:
        parts = urlsplit(address)
        host = parts.netloc.encode("idna").decode() if not parts.netloc.isascii() else parts.netloc
    except (ValueError, UnicodeError):
        return address
    scheme = f"{parts.scheme.lower()}:" if parts.scheme else ""
    rest = address[len(parts.scheme) + 1 :] if parts.scheme else address
    if rest.startswith("//"):
        rest = f"//{host.lower()}{rest[2 + len(parts.netloc) :]}"
        if rest.count("/") == 2:
            rest = re.sub(r"(?=[?#])|\Z", "/", rest, count=1)
    return scheme + quote(rest, safe="/:?#[]@!$&'()*+,;=%~")


class Known:
    """What sources say. `address in known`: whether an address stands there."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = [*texts]

    def __contains__(self, address: object) -> bool:
        if not isinstance(address, str) or not address.strip():
            return False
        return normal_address(address) in self._addresses

    def says(self, words: str) -> bool:
        """Whether words stand there, in any case."""
        return words.casefold() in self._words

    @cached_property
    def _addresses(self) -> frozenset[str]:
        found = (address for text in self._texts for address in _all_addresses(text))
        return frozenset(map(normal_address, found))

    @cached_property
    def _words(self) -> str:
        return "\n".join(self._texts).casefold()


NOTHING = Known()


def _all_addresses(text: str) -> Iterator[str]:
    """Yield the addresses of a source in each form in which somebody may write them down."""
    for markup in find_markup(text):
        for link in markup.links:
            yield link.address
            yield link.address.partition("#")[0]
    for match in re.finditer(r"""\b(?:href|src)\s*=\s*["']?([^\s"'<>]+)""", text, re.IGNORECASE):
        yield match[1]
    for match in _BEGINS.finditer(text):
        run = _run(text, match.start())
        for end in _ends(run):
            yield run[:end]
            yield run[:end].partition("#")[0]


def bare_addresses(text: str, start: int, stop: int) -> Iterator[tuple[int, str]]:
    """Yield the offset of each address in text[start:stop] that stands there as words do, with all
    that follows it to the next space."""
    at = start
    while match := _BEGINS.search(text, at, stop):
        yield match.start(), _run(text, match.start())[: stop - match.start()]
        at = max(match.end(), match.start() + 1)


def _run(text: str, start: int) -> str:
    match = _RUN.match(text, start)
    assert match is not None
    return match[0]


def _ends(run: str) -> Iterator[int]:
    """Yield the lengths of what of a run may be an address, the longest first."""
    ends = [len(run)]
    closes = _closes(run)
    ends += range(len(run) - 1, max(closes, len(run) - _MOST_ENDS) - 1, -1)
    opened = 0
    for match in _ENDS.finditer(run):
        if match[0] == "(":
            opened += 1
            continue
        if match[0] != ")" or opened <= 0:  # a bracket that was opened in the address is of it
            ends.append(match.start())
        opened -= match[0] == ")"
    return iter(sorted(set(ends), reverse=True)[:_MOST_ENDS])


def known_length(run: str, known: Known) -> int:
    """Return how much of a run is an address that is known, 0 for none: the run but for what closes
    a sentence, or up to a character that is no part of an address."""
    return next((end for end in _ends(run) if run[:end] in known), 0)


def foreign_length(run: str) -> int:
    """Return how much of a run is an address, without the marks that close a sentence."""
    closes = _closes(run)
    wide = _WIDE.search(run)
    return min(closes, wide.start() if wide else closes) or len(run)


def _closes(run: str) -> int:
    """The offset of what stands behind an address."""
    last = _CLOSES.search(run, max(0, len(run) - _LONGEST_CLOSE))
    return last.start() if last else len(run)


def is_closed(rest: str) -> bool:
    """Whether what follows an address only closes a sentence."""
    return bool(_CLOSES.match(rest))
