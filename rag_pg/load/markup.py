"""Notebooks, subtitles, XML and Rich Text as Markdown, by the standard library alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any
from xml.etree.ElementTree import Element, ParseError, fromstring
from xml.parsers import expat

from rag_pg.errors import UnsupportedFile

_DEEPEST = 200  # elements of XML within each other
_OUTPUT = 10_000  # characters of one output of a notebook
_PAUSE = 30  # seconds of subtitles that stand in one paragraph


# --- notebooks -----------------------------------------------------------------------------------


def notebook_to_markdown(text: str) -> tuple[str, Mapping[str, Any]]:
    """Return (Markdown, metadata) of a Jupyter notebook: text as it is, code and what it printed in
    blocks; pictures and errors' colours are left out. Raises: UnsupportedFile."""
    try:
        found = json.loads(text)
        cells = found["cells"] if "cells" in found else found["worksheets"][0]["cells"]
        about = found.get("metadata", {})
        language = str(about.get("language_info", {}).get("name") or "python")
        blocks = [block for cell in cells for block in _cell_blocks(cell, language)]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as exc:
        raise UnsupportedFile(
            f"is no notebook that can be read: {type(exc).__name__}; open and save it anew"
        ) from exc
    return "\n\n".join(filter(None, blocks)), {"programming_language": language}


def _cell_blocks(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    source = _joined(cell.get("source", cell.get("input", "")))
    if cell["cell_type"] != "code":
        yield source.strip()
        return
    yield fenced(source, language)
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        printed = output.get("text") or data.get("text/markdown") or data.get("text/plain")
        yield fenced(_joined(printed or "")[:_OUTPUT], "")


def _joined(lines: object) -> str:
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines)


def fenced(text: str, language: str) -> str:
    """Return code as a block of Markdown, whatever fences stand in it; "" where there is none."""
    if not (text := text.strip("\n")).strip():
        return ""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


# --- subtitles -----------------------------------------------------------------------------------

_TIME = re.compile(
    r"(?:(\d+):)?(\d\d?):(\d\d)[.,]\d{1,3}[ \t]*-->[ \t]*(?:\d+:)?\d\d?:\d\d[.,]\d{1,3}"
)
_VOICE = re.compile(r"<v(?:\.[^ <>\n]*)?[ \t]([^<>\n]+)>")
_UNPARTED = re.compile(rf"(?<=\S)\n(?=\d+[ \t]*\n[ \t]*{_TIME.pattern})")
_TAG = re.compile(r"</?[a-zA-Z0-9.:_-]+(?:[ \t][^<>\n]*)?>|\{\\[^{}\n]*\}")


def subtitles_to_text(text: str) -> str:
    """Return what is spoken in a .vtt or .srt file: paragraphs of up to half a minute that begin
    with their time; who speaks stands before it. Lines that a caption repeats are written once."""
    paragraphs: list[tuple[int, str, list[str]]] = []
    last = ""
    for block in re.split(r"\n[ \t]*\n", _UNPARTED.sub("\n\n", text)):
        lines = [line.strip() for line in block.split("\n")]
        at = next((n for n, line in enumerate(lines[:3]) if _TIME.match(line)), None)
        if at is None:
            continue  # a head, a note or a style
        hours, minutes, seconds = _TIME.match(lines[at]).groups(default="0")  # type: ignore[union-attr]
        start = int(hours) * 3600 + int(minutes) * 60 + int(seconds)
        for line in lines[at + 1 :]:
            voice = _VOICE.match(line)
            spoken = " ".join(unescape(_TAG.sub("", _VOICE.sub("", line))).split())
            if not spoken or spoken == last:
                continue
            last = spoken
            speaker = voice[1].strip() if voice else ""
            began, before, told = paragraphs[-1] if paragraphs else (0, "", [])
            if not told or start - began > _PAUSE or (speaker and speaker != before):
                paragraphs.append((start, speaker, [spoken]))
            else:
                told.append(spoken)
    return "\n\n".join(
        f"[{at // 3600}:{at // 60 % 60:02}:{at % 60:02}] {who}{': ' * bool(who)}{' '.join(told)}"
        for at, who, told in paragraphs
    )


# --- XML -----------------------------------------------------------------------------------------


def parse_xml(data: bytes) -> Element:
    """Return the root of an XML file that declares no entities and is not too deep.

    Raises: UnsupportedFile.
    """
    depth = 0

    def enter(name: str, attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise UnsupportedFile(f"has more than {_DEEPEST} elements within each other")

    def leave(name: str) -> None:
        nonlocal depth
        depth -= 1

    def refuse(*_: object) -> None:
        raise UnsupportedFile("declares entities, which are not read; save it without them")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = enter, leave
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
        return fromstring(data)
    except (expat.ExpatError, ParseError, ValueError, LookupError) as exc:
        raise UnsupportedFile(f"is no XML that can be read: {exc}; mend the markup") from exc


def xml_to_markdown(data: bytes) -> tuple[str, str]:
    """Return (title, Markdown) of an XML file: an element that holds only texts is a line of a list
    with the names of its parts; titles are headings, mixed text is a paragraph; attributes stand
    behind the name. Raises: UnsupportedFile."""
    root = parse_xml(data)
    blocks = [*_xml_blocks(root, 1)]
    title = next((b.lstrip("# ") for b in blocks if b.startswith("# ")), "")
    return title, "\n\n".join(blocks)


def _xml_blocks(element: Element, level: int) -> Iterator[str]:
    children = [child for child in element if isinstance(child.tag, str)]
    name = _xml_name(element)
    if (element.text or "").strip() or any((child.tail or "").strip() for child in children):
        text = " ".join("".join(element.itertext()).split())
        if name in ("title", "head", "heading") and level < 8:
            yield f"{'#' * max(1, min(level - 1, 6))} {text}"
        else:
            yield text if children or name in ("p", "para") else f"{_xml_label(element)}: {text}"
    elif children and not any(len(child) for child in children):
        parts = [f"{_xml_label(c)}: {' '.join((c.text or '').split())}" for c in children]
        yield f"- {_xml_label(element)}: {'; '.join(part.removesuffix(': ') for part in parts)}"
    else:
        if element.attrib:
            yield f"- {_xml_label(element)}"
        for child in children:
            yield from _xml_blocks(child, level + 1)


def _xml_name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _xml_label(element: Element) -> str:
    pairs = (f"{key.rpartition('}')[2]}={value}" for key, value in element.attrib.items())
    return " ".join([_xml_name(element), *(" ".join(pair.split()) for pair in pairs)])


# --- Rich Text -----------------------------------------------------------------------------------

_RTF = re.compile(
    r"\\([a-z]{1,32})(-?\d{1,10})? ?|((?:\\'[0-9a-fA-F]{2})+)|\\([^a-z])|([{}])|([\r\n]+)"
)
_RTF_TEXT = {
    "par": "\n\n", "sect": "\n\n", "page": "\n\n", "line": "\n", "tab": "\t", "row": "\n",
    "cell": "\x1d", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’",
    "ldblquote": "“", "rdblquote": "”", "emspace": " ", "enspace": " ", "nestcell": "\x1f",
}  # fmt: skip
_RTF_SPACES = " \t\u00a0"
_RTF_BETWEEN = {  # cells and rows of a table in a cell, cells, and a note
    "\x1f": ", ", "\x1e": "; ", "\x1d": " | ", "\x1c": " (",
}  # fmt: skip
_RTF_FONTS = re.compile(r"\\f(\d{1,5})\b[^{};]{0,200}?\\fcharset(\d{1,3})\b")
_RTF_CHARSETS = {  # of fonts, and their code pages
    "128": "cp932", "129": "cp949", "134": "cp936", "136": "cp950", "161": "cp1253",
    "162": "cp1254", "163": "cp1258", "177": "cp1255", "178": "cp1256", "186": "cp1257",
    "204": "cp1251", "222": "cp874", "238": "cp1250",
}  # fmt: skip
_RTF_LEFT_OUT = {
    "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "header", "footer", "headerl",
    "headerr", "footerl", "footerr", "headerf", "footerf", "fldinst", "themedata", "listtable",
    "listoverridetable", "rsidtbl", "generator", "datastore", "latentstyles", "xmlnstbl", "deleted",
    "nonesttables", "sp", "shprslt",
}  # fmt: skip


def rtf_to_text(data: bytes) -> tuple[str, str, int]:
    """Return (title, text, hidden characters left out) of a Rich Text file. Raises:
    UnsupportedFile."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise UnsupportedFile("is no Rich Text file; open and save it anew")
    text = data.decode("latin-1")
    codepage = "cp" + (m[1] if (m := re.search(r"\\ansicpg(\d{1,5})", text[:1000])) else "1252")
    try:
        b"".decode(codepage)
    except LookupError:
        codepage = "cp1252"
    found: list[str] = []
    fonts = {font: _RTF_CHARSETS.get(kind, "") for font, kind in _RTF_FONTS.findall(text)}
    hidden, skip = 0, 0
    state: dict[str, Any] = {"unicode": 1, "font": ""}
    state |= dict.fromkeys(("out", "hidden", "title", "note", "cell"), False)
    stack: list[dict[str, Any]] = []
    title: list[str] = []
    position = 0

    def write(piece: str) -> None:
        nonlocal hidden, skip
        if skip and piece:
            dropped = min(skip, len(piece))
            skip, piece = skip - dropped, piece[dropped:]
        if state["title"]:
            title.append(piece)
        elif state["hidden"] and not state["out"]:
            hidden += len(piece)
        elif not state["out"]:
            found.append(piece)

    for token in _RTF.finditer(text):
        write(text[position : token.start()])
        position = token.end()
        word, number, codes, symbol, brace, _ = token.groups()
        if brace == "{":
            stack.append(dict(state))
        elif brace == "}":
            before, (state, skip) = state, ((stack.pop() if stack else state), 0)
            if before["note"] and not state["note"]:
                while found and not found[-1].strip(_RTF_SPACES):  # the end of its paragraph
                    found.pop()
                write(")")
        elif word in ("footnote", "shpinst"):  # known, though it may stand behind \*
            state["out"] = bool(stack) and stack[-1]["out"]
            if word == "footnote":  # its paragraphs are a line
                state |= {"note": True, "cell": True}
                write("\x1c")
        elif word in ("intbl", "pard"):
            state["cell"] = word == "intbl" or state["note"]
        elif word == "par" and state["cell"]:
            write(" ")
        elif word == "nestrow":
            found.append("\x1e")
        elif codes:
            write(
                bytes.fromhex(codes.replace("\\'", "")).decode(state["font"] or codepage, "replace")
            )
        elif symbol:
            if symbol == "*":
                state["out"] = True
            else:
                write({"~": "\u00a0", "_": "-", "\\": "\\", "{": "{", "}": "}"}.get(symbol, ""))
        elif word == "u" and number:
            write(chr(int(number) % 65_536))
            skip = state["unicode"]
        elif word == "uc":
            state["unicode"] = min(int(number or 1), 9)
        elif word == "f" and number:
            state["font"] = fonts.get(number, "")
        elif word in _RTF_LEFT_OUT:
            state["out"] = True
        elif word == "title" and state["out"]:
            state["title"] = True
        elif word == "v":
            state["hidden"] = number != "0"
        elif word == "plain":
            state |= {"hidden": False, "font": ""}
        elif word:
            write(_RTF_TEXT.get(word, ""))
    write(text[position:])
    joined = "".join(found).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    joined = joined.replace("\x1f\x1e", "\x1e").replace("\x1e\x1d", "\x1d")
    for mark, between in _RTF_BETWEEN.items():
        joined = between.join(part.strip(_RTF_SPACES) for part in joined.split(mark))
    lines = [line.strip().removesuffix("|").rstrip() for line in joined.split("\n")]
    return " ".join("".join(title).split()), "\n".join(lines).strip(), hidden
