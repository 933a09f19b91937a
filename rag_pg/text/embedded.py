"""The text of a chunk that is embedded."""

from __future__ import annotations


def in_context(context: str | None, content: str) -> str:
    """Return a chunk's text behind what was written about its place in the document; this is what
    `embedded_text` is given as the content."""
    return f"{context}\n{content}" if context else content


def embedded_text(title: str, heading: str, content: str) -> str:
    """Return what is embedded for a chunk: title, heading path and content, a line each.

    The title is left out where the heading path begins with it. In SQL: concat_ws(E'\\n',
    CASE WHEN title <> '' AND heading <> title AND NOT starts_with(heading, title || ' > ')
    THEN title END, nullif(heading, ''), nullif(content, '')).
    """
    if heading == title or heading.startswith(f"{title} > "):
        title = ""
    return "\n".join(part for part in (title, heading, content) if part)
