"""A model's text -> the text without images and links that its sources do not have, without HTML
that does something, and without what is not seen.

Code, fenced or between backticks, is shown as it is: an address in it leads nowhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

from rag_pg.answer.edit import EditedText, joined
from rag_pg.answer.reading.addresses import (
    Known,
    bare_addresses,
    foreign_length,
    is_closed,
    known_length,
)
from rag_pg.text import Markup, Span, find_markup

Removals = Counter[str]

_ROUNDS = 8  # what is taken out may leave another one
_SUSPECT = re.compile(r"[<@]|\[\[|\]\s*[(\[:]|//|\\|www\.|:\S|&[#\w]|\w\.\w", re.IGNORECASE)
# Escape sequences of a terminal: OSC and other strings, CSI, and those of two characters.
_SEQUENCE = re.compile(
    "(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|\x1b[ -/]*[0-~]?"
)
# Controls, marks that turn the direction of the text, what has no width, tags, halves of pairs.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u180e\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_JOINER = re.compile("[\u200c\u200d\u200e\u200f\u061c\u034f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_LOADS = (  # with attributes they load or lead, without they do nothing
    "a img image picture source audio video track canvas map area link meta base basefont input"
    " button option keygen param slot"
)
_ACTS = (  # by themselves, or on all that follows
    "script style iframe frame frameset object embed applet svg math textarea select template"
    " noscript noframes noembed plaintext xmp title head body html dialog marquee fencedframe form"
)
_WHOLE = re.compile(  # with what stands inside
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<![a-z][^>]*>"
    r"|<(script|style|template|noscript|noframes|noembed|xmp)\b[^>]*>.*?</\1\s*>",
    re.IGNORECASE | re.DOTALL,
)
_IN_TAG = r"""(?:"[^"]*"|'[^']*'|[^'"<>])*"""
_ANCHOR = re.compile(rf"<a\b({_IN_TAG})>(.*?)</a\s*>", re.IGNORECASE | re.DOTALL)
_HREF = re.compile(r"""\s*href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>`]+))\s*/?""", re.IGNORECASE)
_TAG = re.compile(
    rf"""<(?P<end>/?)(?:
        (?P<acts>{"|".join(_ACTS.split())})(?![\w:.-])(?:{_IN_TAG}>|[^<>]*=[^<>]*(?=<|\Z))
      | (?P<loads>{"|".join(_LOADS.split())})(?![\w:.-])
          (?:(?=[^<>]*=){_IN_TAG}>|(?<!<a)[^<>]*=[^<>]*(?=<|\Z))
      | (?<=/)(?:{"|".join(_LOADS.split())})\s*>
      | (?P<name>[a-z][\w.-]*(?::[a-z][\w.-]*)?)(?=[\s/][^<>]*=){_IN_TAG}>
    )""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_OPENER = re.compile(r"<(?:!--|!\[CDATA\[|\?(?=\w)|!(?=doctype))", re.IGNORECASE)
_LINKS = re.compile(r"(?<=\])(?=[(\[:])|(?<=<)(?=[a-z])", re.IGNORECASE)
_WIKI = re.compile(
    r"(?<![ \t])[ \t]*!\[\[[^\[\]\n]{1,500}\]\]|\[\[(?=\S)[^\[\]\n|]{1,500}\|([^\[\]\n|]*)\]\]"
)
_TITLE = re.compile(r"\s+(?:\".*\"|'.*'|\(.*\))\s*(?=\)\Z)", re.DOTALL)  # of a link
_HOLLOW = re.compile(r"[ \t]*(?:\([ \t]*\)|<[ \t]*>|\[[ \t]*\](?!\())")


def without_foreign(text: str, known: Known) -> tuple[str, Removals]:
    """Return a text without what a program that shows it would load or lead to, and what was taken
    out, by its kind.

    A link that a source has, as it stands there, stays; of another its words stay. An image goes as
    a whole. An element of HTML keeps its words, and loses its attributes, or its tags where it does
    something by itself.
    """
    told: Removals = Counter()
    text = _without_unseen(text, told)
    for _ in range(_ROUNDS):
        if not _SUSPECT.search(text):
            return text, told
        before = text
        text = _outside_code(text, lambda prose: _without_wiki(prose, known, told))
        text = _without_links(text, known, told)
        text = _outside_code(text, lambda prose: _without_html(prose, known, told))
        text = _without_bare(text, known, told)
        if text == before:
            return text, told
    told["link"] += 1
    return re.sub(r"(?<=[\]<!/:@])(?=\S)", " ", text), told  # nothing is markup any more


def _without_unseen(text: str, told: Removals) -> str:
    text = re.sub("\r\n?", "\n", text) if "\r" in text else text
    if text.isascii() and not _UNSEEN.search(text):
        return text
    text, sequences = _SEQUENCE.subn("", text)
    text, unseen = _UNSEEN.subn("", text)
    kept = _JOINER.sub(lambda match: match[0] if _joins(match) else "", text)
    told["invisible character"] += unseen + len(text) - len(kept)
    told["control sequence"] += sequences
    return kept


def _joins(match: re.Match[str]) -> bool:
    """Whether what is not seen stands between letters of a script, or signs, that may need it."""
    around = match.string[max(match.start() - 1, 0) : match.end() + 1].replace(match[0], "")
    return any(not c.isascii() and unicodedata.category(c)[0] in "LMS" for c in around)


def _code(markups: Sequence[Markup]) -> list[Span]:
    """Return what is code to every reader, in order."""
    return sorted(frozenset.intersection(*(markup.code for markup in markups)))


def _outside_code(text: str, edit: Callable[[str], str]) -> str:
    pieces, at = [], 0
    for start, stop in [*_code(find_markup(text)), (len(text), len(text))]:
        pieces += [edit(text[at:start]), text[start:stop]]
        at = stop
    return "".join(pieces)


# --- links of Markdown ----------------------------------------------------------------------------


def _without_wiki(prose: str, known: Known, told: Removals) -> str:
    def words(match: re.Match[str]) -> str:
        if known.says(match[0].strip()):
            return match[0]
        told["link" if match[1] is not None else "image"] += 1
        return match[1] or ""

    return _WIKI.sub(words, prose)


def _titles(text: str, markups: Sequence[Markup], known: Known) -> set[Span]:
    """Where the titles of links stand that no source has."""
    return {
        (link.label[1] + title.start(), link.label[1] + title.end())
        for markup in markups
        for link in markup.links
        if link.label is not None and link.address in known
        for title in _TITLE.finditer(text[link.label[1] : link.stop])
        if not known.says(title[0].strip())
    }


def _without_links(text: str, known: Known, told: Removals) -> str:
    markups = find_markup(text)
    foreign = {link for markup in markups for link in markup.links if link.address not in known}
    used = {link.address for link in foreign if link.kind != "definition"}
    spans = _titles(text, markups, known)
    told["link title"] += len(spans)
    escapes: set[tuple[int, str]] = set()
    for link in foreign:
        if text[link.start] == "<" and not any(bare_addresses(link.address, 0, len(link.address))):
            escapes.add((link.start, "\\"))  # <std::string> is none to a reader
        elif link.label is not None and text[link.label[0]] != "^":  # that of a footnote
            spans |= {(link.start, link.label[0]), (link.label[1], link.stop)}
        else:
            spans.add(_widened(text, link.start, link.stop))
    counted = {
        (link.start, link.kind)
        for link in foreign
        if (link.start, "\\") not in escapes
        and (link.kind != "definition" or link.address not in used)
    }
    told["image"] += sum(kind == "image" for _, kind in counted)
    told["link"] += sum(kind != "image" for _, kind in counted)
    breaks = {
        (match.start(), " ")
        for markup in markups
        for start, stop in markup.unread
        for match in _LINKS.finditer(text, start, stop)
    }
    told["link"] += len(breaks)
    return EditedText(text, joined(spans), breaks | escapes).text


def _widened(text: str, start: int, stop: int) -> Span:
    """Return a span with the blanks before it, where none are needed any more."""
    if stop == len(text) or text[stop] in " \t\n.,;:!?)":
        while start and text[start - 1] in " \t":
            start -= 1
    return start, stop


def _without_bare(text: str, known: Known, told: Removals) -> str:
    markups = find_markup(text)
    stays = frozenset.intersection(*(markup.links for markup in markups))  # none is foreign
    closed = joined([*_code(markups), *((link.start, link.stop) for link in stays)])
    spans: list[Span] = []
    breaks: list[tuple[int, str]] = []
    at = 0
    for start, stop in [*closed, (len(text), len(text))]:
        for where, run in bare_addresses(text, at, start):
            if spans and where < spans[-1][1]:
                continue
            if length := known_length(run, known):
                if not is_closed(run[length:]):
                    breaks.append((where + length, " "))
            else:
                spans.append(_widened(text, where, where + foreign_length(run)))
        at = stop
    told["link"] += len(spans)
    if not spans and not breaks:
        return text
    text = EditedText(text, joined(spans), breaks).text
    return _outside_code(text, lambda prose: _HOLLOW.sub("", prose)) if spans else text


# --- HTML -----------------------------------------------------------------------------------------


def _without_html(prose: str, known: Known, told: Removals) -> str:
    if "<" not in prose:
        return prose

    def anchor(match: re.Match[str]) -> str:
        href = _HREF.fullmatch(match[1])
        address = next(filter(None, href.groups()), "") if href else ""
        if address in known and "\n" not in match[2]:
            return f"[{match[2]}](<{address}>)"
        told["link"] += 1
        return match[2]

    def tag(match: re.Match[str]) -> str:
        if match["name"]:
            told["HTML attribute"] += 1
            return f"<{match['end']}{match['name']}>"
        is_image = (match["loads"] or "").lower() in ("img", "image")
        told["image" if is_image else "HTML element"] += not match["end"]
        return ""

    def whole(match: re.Match[str]) -> str:
        told["HTML element"] += 1
        return ""

    prose = _OPENER.sub(whole, _WHOLE.sub(whole, prose))
    return _TAG.sub(tag, _ANCHOR.sub(anchor, prose))
