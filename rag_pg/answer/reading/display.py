"""Sentences of a page as they are displayed: without markup, with the page's paragraphs, lists and
code."""

from __future__ import annotations

import html
import re
from collections.abc import Container, Sequence
from textwrap import dedent

from rag_pg.text import (
    FENCES,
    Sentence,
    is_head,
    item_mark,
    plain,
    plain_heading,
    read_cells,
)

_HEADING = re.compile(r"(?m)^#{1,6}[ \t]+(.+)$")
_TAG = re.compile(r"</?(?:font|span|u|b|i|em|strong)\b[^>]*>")
_STYLED = re.compile(r"<(?:font|span|u)\s[^>]*>")
_DIRECTIVE = re.compile(r"(?m)^([ \t]*`{3,})\{[\w:.+-]+\}[ \t]*")
OPEN = (":", "：")


def display(sentence: Sentence) -> str:
    """Return one sentence, list item or code block without markup; cut code is fenced again."""
    if sentence.kind == "row":
        return " | ".join(filter(None, read_cells(sentence.text)))
    if sentence.kind != "code":
        lines = sentence.text.split("\n", sentence.terms)
        prose, gap, code = plain(":\n".join(lines)).partition("\n\n")
        return prose + gap + _clean_code(code) if code else prose
    text = _clean_code(sentence.text)
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(FENCES)]
    fence = text.lstrip().split("\n", 1)[0]
    opening = fence if fence.startswith("```") else "```"
    return "\n".join([opening, *lines, "```"])


def _clean_code(code: str) -> str:
    """Colours that a page gave to a terminal's output are taken out, code that speaks of tags is
    left alone; the indentation of its fences, as in a list, goes."""
    last = code.rpartition("\n")[2]
    if not code.lstrip().startswith(FENCES):
        code = dedent(code)
    elif indent := len(last) - len(last.lstrip(" ")):
        code = re.sub(rf"(?m)^ {{1,{indent}}}", "", code)
    code = _DIRECTIVE.sub(r"\1", code)
    return html.unescape(_TAG.sub("", code)) if _STYLED.search(code) else code


def display_range(
    text: str, sentences: Sequence[Sentence], *, cited: Container[int] = (), number: int = 0
) -> str:
    """Return neighbouring sentences of `text` as displayed; [number] stands behind those in
    `cited`.

    cited: positions in `sentences`. Headings between two sentences stand on a line of their own.
    """
    shown, in_table = "", False
    for position, sentence in enumerate(sentences):
        gap = text[sentences[position - 1].stop : sentence.start] if position else ""
        bullet = ""
        if sentence.kind == "item":
            bullet = item_mark(text[max(0, sentence.start - 80) : sentence.start]) or ""
        is_row = sentence.kind == "row"
        begins = not in_table and is_head(text, sentences, position)
        in_table = is_row and (begins or in_table)
        if in_table:
            words = _row(sentence, number if position in cited else 0)
            words += "\n" + re.sub(r"[^|]+", " --- ", words) if begins else ""
        else:
            words = display(sentence)
            words = mark(words, number) if position in cited else words
        space = _space(gap, bullet, sentences[position - 1], sentence) if position else ""
        shown += space + bullet + words
    return shown


def _row(sentence: Sentence, number: int) -> str:
    """A row of a table as Markdown, its cells in bold with a citation where it has one."""
    cells = [cell.replace("|", "\\|") for cell in read_cells(sentence.text)]
    if number:
        cells = [f"**{cell}**" if cell else "" for cell in cells]
        cells[-1] = f"{cells[-1]} [{number}]"
    return f"| {' | '.join(cells)} |"


def mark(shown: str, number: int) -> str:
    """Return a displayed sentence in bold with its citation; of one that introduces code, the words
    alone."""
    if shown.startswith("```"):
        return f"{shown}\n[{number}]"
    words, gap, code = shown.partition("\n\n")
    return f"**{words}** [{number}]{gap}{code}"


def _space(gap: str, bullet: str, before: Sentence, after: Sentence) -> str:
    heads = [plain_heading(found) for found in _HEADING.findall(gap)]
    if heads:
        return "\n\n" + heads[-1] + "\n\n"
    if "code" in (before.kind, after.kind) or "```" in before.text:
        return "\n\n"
    if "row" in (before.kind, after.kind) and before.kind != after.kind:
        return "\n\n"
    if bullet:
        return (
            "\n" if before.kind == "item" or before.text.rstrip("*_` ").endswith(OPEN) else "\n\n"
        )
    if gap.count("\n") > 1 and after.kind != "row":
        return "\n\n"
    return "\n" if after.kind == "row" else "  \n" if after.own_line else " "
