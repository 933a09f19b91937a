"""HTML pages as Markdown: the main content, without navigation, scripts and forms."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from bs4.exceptions import ParserRejectedMarkup
from markdownify import MarkdownConverter

from rag_pg.errors import UnsupportedFile
from rag_pg.load.titles import given_title

_DROPPED = (
    "script, style, noscript, template, svg, iframe, object, nav, footer, button, select, input, "
    "textarea, [hidden], [aria-hidden=true], [role=navigation], a.headerlink"
)
_XML_DECLARATION = re.compile(r"<\?xml[^>]*>", re.IGNORECASE)
_LINKS = ("http://", "https://", "mailto:")


def html_to_markdown(text: str) -> tuple[str, str]:
    """Return (title, Markdown): the title of the page, else its first heading, else "".

    The content is that of <main>, else of a single <article>, else of <body>. Links within the
    site become their text, images their description. Raises: UnsupportedFile.
    """
    # bs4 warns about pages that begin as XML, or have no tags: neither is news here.
    page = "<!DOCTYPE html>\n" + _XML_DECLARATION.sub("", text)
    try:
        soup = BeautifulSoup(page, "html.parser")
    except ParserRejectedMarkup as exc:
        raise UnsupportedFile(f"is not HTML that can be read: {exc}; mend the markup") from exc
    headings = (tag for tag in (soup.title, soup.h1) if tag is not None)
    title = next(filter(None, (given_title(tag.get_text()) for tag in headings)), "")
    for tag in soup.select(f"title, {_DROPPED}"):
        tag.decompose()
    content = _main(soup)
    for tag in content.find_all("header"):
        if not tag.h1:
            tag.decompose()
    for tag in content.find_all("img"):
        tag.replace_with(str(tag.get("alt") or ""))
    for tag in content.find_all("a"):
        if not str(tag.get("href") or "").startswith(_LINKS):
            tag.unwrap()
    return title, _convert(content)


def declared_encoding(data: bytes) -> str | None:
    """Return the encoding an HTML page says it has, None where it does not say."""
    name = EncodingDetector.find_declared_encoding(data, is_html=True)
    return "cp1252" if name in ("iso-8859-1", "latin-1", "latin1", "us-ascii") else name


def _main(soup: BeautifulSoup) -> Tag:
    articles = soup.find_all("article")
    for tag in (
        soup.find("main"),
        soup.find(role="main"),
        articles[0] if len(articles) == 1 else None,
        soup.body,
    ):
        if isinstance(tag, Tag) and tag.get_text(strip=True):
            return tag
    return soup


def _convert(content: Tag) -> str:
    converter = MarkdownConverter(
        heading_style="ATX",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        table_infer_header=True,
        code_language_callback=_language,
    )
    try:
        return str(converter.convert_soup(content)).strip()
    except RecursionError:  # hundreds of elements within each other
        return content.get_text("\n", strip=True)


def _language(pre: Tag) -> str:
    """Return the language of a code block, from class="language-…" on it or on its <code>."""
    for tag in (pre, pre.code):
        for name in (tag.get("class") or ()) if tag else ():
            if name.startswith("language-"):
                return str(name.removeprefix("language-"))
    return ""
