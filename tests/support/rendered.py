"""What a reader sees of an answer: its Markdown rendered by a library, and read for citations."""

from __future__ import annotations

import re
import unicodedata
from html.parser import HTMLParser

from markdown_it import MarkdownIt

_BRACKETS = str.maketrans("【〔〖⟦❲〚】〕〗⟧❳〛", "[[[[[[]]]]]]")
_MARKER = re.compile(r"\[[^\[\]]{1,60}\]")
_WORDS = re.compile(r"source|ref|doc|note|cite|no\b|†", re.IGNORECASE)


def seen(text: str) -> str:
    """A text without what is not seen, its brackets of one kind."""
    plain = unicodedata.normalize("NFKC", text).translate(_BRACKETS)
    return "".join(
        c for c in plain if unicodedata.category(c) not in ("Cf", "Mn", "Cc") or c == "\n"
    )


def numbers_of(label: str) -> list[int] | None:
    """The numbers of what looks like the label of a citation; None for another text."""
    rest = re.sub(r"[\W_]", "", _WORDS.sub("", re.sub(r"\d+", "", label)))
    found = [int(n) for n in re.findall(r"\d+", label)]
    return found if found and not rest else None


class Rendered(HTMLParser):
    """`markers`: the numbers of each citation that is seen outside code; `links`: texts of links
    and images that look like one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.markers: list[list[int]] = []
        self.links: list[str] = []
        self._text = ""
        self._link: str | None = None
        self._raised: str | None = None
        self._code = 0
        html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
        self.feed(html)
        self.close()
        for label in _MARKER.findall(seen(self._text)):
            if (found := numbers_of(label)) is not None:
                self.markers.append(found)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "code":
            self._code += 1
        elif tag == "a":
            self._link = ""
        elif tag == "sup" and not self._text[-1:].isalnum():  # 10² is none
            self._raised = ""
        elif tag == "img":
            alt = dict(attrs).get("alt") or ""
            if numbers_of(seen(alt)) is not None:
                self.links.append(alt)

    def handle_endtag(self, tag: str) -> None:
        if tag == "code":
            self._code -= 1
        elif tag == "a" and self._link is not None:
            if numbers_of(seen(self._link)) is not None:
                self.links.append(self._link)
            self._link = None
        elif tag == "sup" and self._raised is not None:
            if numbers_of(seen(self._raised)) is not None:
                self.links.append(self._raised)
            self._raised = None

    def handle_data(self, data: str) -> None:
        if self._link is not None:
            self._link += data
        if self._raised is not None:
            self._raised += data
        self._text += " code " if self._code else data
