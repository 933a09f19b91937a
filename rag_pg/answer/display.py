"""Sentences of a page as they are displayed: without markup, with the page's paragraphs, lists and
code."""

from __future__ import annotations

import html
import re
from collections.abc import Container, Sequence

from rag_pg.text import FENCES, Sentence, plain, plain_heading

_BULLET = re.compile(r"(?m)^([ \t]*)(?:>[ \t]*)*(?:[-*+•‣◦–]|(\d{1,3}[.)]|\(?[a-z]\)))[ \t]+\Z")
_HEADING = re.compile(r"(?m)^#{1,6}[ \t]+(.+)$")
_TAG = re.compile(r"</?(?:font|span|u|b|i|em|strong)\b[^>]*>")
_STYLED = re.compile(r"<(?:font|span|u)\s[^>]*>")
OPEN = (":", "：")


def display(sentence: Sentence) -> str:
    """Return one sentence, list item or code block without markup; cut code is fenced again."""
    if sentence.kind != "code":
        prose, gap, code = plain(sentence.text).partition("\n\n")
        return prose + gap + _clean_code(code) if code else prose
    text = _clean_code(sentence.text)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(FENCES)]
    fence = text.lstrip().split("\n", 1)[0]
    opening = fence if fence.startswith("```") else "```"
    return "\n".join([opening, *lines, "```"])


def _clean_code(code: str) -> str:
    """Colours that a page gave to a terminal's output are taken out; code that speaks of tags is
    left alone."""
    return html.unescape(_TAG.sub("", code)) if _STYLED.search(code) else code


def display_range(
    text: str, sentences: Sequence[Sentence], *, cited: Container[int] = (), number: int = 0
) -> str:
    """Return neighbouring sentences of `text` as displayed; [number] stands behind those in
    `cited`.

    cited: positions in `sentences`. Headings between two sentences stand on a line of their own.
    """
    shown = ""
    for position, sentence in enumerate(sentences):
        gap = text[sentences[position - 1].stop : sentence.start] if position else ""
        before = text[: sentence.start] if not position else gap
        bullet = _bullet(before[-80:] if not position else gap) if sentence.kind == "item" else ""
        words = display(sentence)
        if position in cited:
            words = mark(words, number)
        shown += (
            (_space(gap, bullet, sentences[position - 1], sentence) if position else "")
            + bullet
            + words
        )
    return shown


def mark(shown: str, number: int) -> str:
    """Return a displayed sentence in bold with its citation; of one that introduces code, the words
    alone."""
    if shown.startswith("```"):
        return f"{shown}\n[{number}]"
    words, gap, code = shown.partition("\n\n")
    return f"**{words}** [{number}]{gap}{code}"


def _bullet(before: str) -> str:
    """The mark of the list item that begins behind `before`, "" within an item or a table."""
    match = _BULLET.search(before)
    if not match:
        return ""
    return " " * (len(match[1].expandtabs(4)) // 2) + f"{match[2] or '-'} "


def _space(gap: str, bullet: str, before: Sentence, after: Sentence) -> str:
    heads = [plain_heading(found) for found in _HEADING.findall(gap)]
    if heads:
        return "\n\n" + heads[-1] + "\n\n"
    if "code" in (before.kind, after.kind) or "```" in before.text:
        return "\n\n"
    if bullet or after.text.startswith("|") or before.text.startswith("|"):
        return (
            "\n" if before.kind == "item" or before.text.rstrip("*_` ").endswith(OPEN) else "\n\n"
        )
    if "\n" in gap.strip(" \t"):
        return "\n\n" if gap.count("\n") > 1 else " "
    return " "
