"""Markdown as plain text."""

from __future__ import annotations

import html
import re

# An element of HTML, or a component: no file, <resolv.h>, and no address, <help@example.org>.
TAG = r"</?(?:[A-Za-z][\w:-]*|[A-Z]\w*(?:\.[A-Z]\w*)+)(?:\s[^>]*)?/?>"
_CLEANING = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<=\w)[\u00ad\u2010]\n[ \t]*(?=\w)", ""),  # a word that a line was broken in
        # Reference numbers would pass for citations of our own.
        (r"\s?[\[［【]\^?\d{1,3}(?:\s*[,–-]\s*\d{1,3})*[\]］】](?!\()", ""),
        # Images, links and references keep their text.
        (r"!\[([^\[\]]*)\]\([^)]*\)", r"\1"),
        (r"\[([^\[\]]+)\]\([^()\s]*(?:\([^)]*\)[^()\s]*)?(?:\s+[\"'][^)]{0,500})?\)", r"\1"),
        (r"\[([^\[\]]+)\]\[[^\[\]]*\]", r"\1"),
        (r"<(https?://[^>\s]+)>", r"\1"),
        (r"</?(?:td|th|tr|li|p|br|div|h\d)\b[^>]*>", " "),
        (TAG, ""),
        (r"\{ ?[#.:][^}]*\}", ""),  # attributes of a heading
        (r"\A\.\.\s+[\w-]+::\s*|(?<=:):\Z", ""),  # a directive of reStructuredText
        (r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1", r"\2"),
        (r"(?<![\w*])([*_])(?=\S)([^*_]+?)(?<=\S)\1(?![\w*])", r"\2"),
        (r"\A\*\*(?=\S)|(?<=\S)\*\*\Z", ""),  # a half of it, of a sentence that was cut off
        (r"(?m)^[ \t]*(?:>[ \t]*)+", ""),
        (r"\A={3}[!+]?[ \t]+\"([^\"\n]*)\"", r"\1:"),  # a tab
        (r"(?<=\S)[ \t]*\n[ \t]*:[ \t]+", ": "),  # what a term means
        (r"^\s*\|\s*|(?<!\s)\s*\|\s*$", ""),  # outer bars of a table row
    )
]


_ROLE = re.compile(  # of reStructuredText and MyST, and links
    r"(?:\{[\w:.+-]+\}|(?<![\w`]):[\w:.+-]+:)`([^`<]+?)(?:\s*<[^`>]*>)?`"
    r"|(?<!`)`([^`<]+?)(?:\s*<[^`>]+>)?`_{1,2}(?!\w)"
)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# What is to be put in, not an element of HTML or a component: <archive>, <user name>, <N>.
_PLACEHOLDER = re.compile(
    r"(?:<(?!(?i:a|abbr|address|article|aside|b|bdi|bdo|big|blockquote|body|br|caption|center|cite|code"
    r"|col|colgroup|data|dd|del|details|dfn|div|dl|dt|em|figcaption|figure|font|footer|form|h[1-6r]"
    r"|head|header|html|i|iframe|img|input|ins|kbd|label|li|link|main|mark|meta|nav|object|ol|p|picture"
    r"|pre|q|rp|rt|ruby|s|samp|script|section|select|small|source|span|strike|strong|style|sub"
    r"|summary|sup|svg|table|tbody|td|template|tfoot|th|thead|time|title|tr|tt|u|ul|var|video|wbr)>)"
    r"(?:[a-z][a-z0-9_ -]*|[A-Z][A-Z0-9_ -]*)>)+"
)


_NO_MARKUP = re.compile("[^\0\u00ad\u2010\\[［【<>{*_`|=:~&]*")
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)


def plain(text: str) -> str:
    """Return prose as one line without markup, code blocks as they are below it.

    Links become their text; emphasis, tags and bracketed reference numbers go, which would pass for
    citations; code in backticks stays, and placeholders are put between them. A code block that is
    not closed is closed.
    """
    if _NO_MARKUP.fullmatch(text):
        return " ".join(text.split())
    fence = _FENCE_LINE.search(text)
    prose, code = (text[: fence.start()], text[fence.start() :]) if fence else (text, "")
    spans: list[str] = []

    def keep(code: str) -> str:
        spans.append(code)
        return f"\0{len(spans) - 1}\0"

    prose = _ROLE.sub(lambda match: match[1] or match[2], prose.replace("\0", ""))
    prose = _CODE_SPAN.sub(
        lambda match: keep(
            f"`{match[2]}`" if match[1] == "``" and "`" not in match[2] else match[0]
        ),
        prose,
    )
    if "`" not in prose:
        prose = _PLACEHOLDER.sub(lambda match: keep(f"`{match[0]}`"), prose)
    for pattern, replacement in _CLEANING:
        prose = pattern.sub(replacement, prose)
    prose = re.sub("\0(\\d+)\0", lambda match: spans[int(match[1])], html.unescape(prose))
    prose = " ".join(prose.split())
    if len(_FENCE_LINE.findall(code)) % 2:  # a chunk cut it in two
        code = f"{code.rstrip()}\n{code.lstrip()[:3]}"
    return f"{prose}\n\n{code.strip()}".strip()
