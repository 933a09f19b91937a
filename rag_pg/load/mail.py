"""E-mail: headers, the text of its body, and what is attached."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from typing import Any

from rag_pg.errors import InvalidInput, UnsupportedFile
from rag_pg.extras import extra
from rag_pg.load.decode import decode_text
from rag_pg.load.markup import fenced
from rag_pg.text import clean_text
from rag_pg.types import Loaded

_MOST = 100  # attachments of one mail that are read
_HEADINGS = re.compile(r"^(?=#{1,5} )", re.MULTILINE)

Read = Callable[[str, bytes], Loaded]  # of a file's name and bytes


def load_mail(data: bytes, uri: str, read: Read) -> Loaded:
    """Return an e-mail: its subject as title, its body as content, who wrote to whom as metadata.

    Attachments that can be read are sections of the content, below a heading with their name, and
    so are those of an attached mail; `notes` name the others. Raises: UnsupportedFile (an HTML
    body).
    """
    message = message_from_bytes(data, EmailMessage, policy=policy.default)
    headers = {key: _header(message, key) for key in ("from", "to", "cc", "message-id")}
    metadata: dict[str, Any] = {
        key.replace("-", "_"): value for key, value in headers.items() if value
    }
    if sent := _sent(message):
        metadata["date"] = sent
    attached = [*_attachments(message)]
    if attached:
        metadata["attachments"] = [name for name, _ in attached]
    subject = _header(message, "subject")
    content, media_type, removed = _body(message)
    sections, notes = [content if content.strip() else subject], list[str]()
    for name, found in attached[:_MOST]:
        try:
            loaded = read(name, found)
        except InvalidInput as exc:
            notes.append(f"attachment left out: {exc}")
            continue
        removed += loaded.removed
        notes += loaded.notes
        sections.append(f"# Attachment: {name}\n\n{_section(loaded)}")
    if len(attached) > _MOST:
        notes.append(f"{len(attached) - _MOST} attachments after the first {_MOST} are left out")
    return Loaded(
        uri=uri,
        title=subject,
        content="\n\n".join(part.strip("\n") for part in sections) if sections[1:] else sections[0],
        media_type="text/markdown" if len(sections) > 1 else media_type,
        metadata=metadata,
        removed=removed,
        notes=notes,
    )


def _attachments(message: EmailMessage) -> Iterator[tuple[str, bytes]]:
    """The names and bytes of what is attached; an attached mail has the name of its subject."""
    for part in message.iter_attachments():
        try:
            if part.get_content_type() == "message/rfc822":
                inner: EmailMessage = part.get_content()
                name = part.get_filename() or f"{_header(inner, 'subject') or 'message'}.eml"
                data: object = inner.as_bytes()
            else:
                name, data = part.get_filename() or "", part.get_payload(decode=True)
        except Exception:  # a malformed part: see `_header`
            continue
        name = clean_text(" ".join(name.split()))[0]
        if name and isinstance(data, bytes):
            yield name, data


def _section(loaded: Loaded) -> str:
    """An attachment's content as a part of a page: its headings go one level down."""
    if loaded.media_type == "text/markdown":
        return _HEADINGS.sub("#", loaded.content)
    if loaded.media_type == "text/plain":
        return loaded.content
    return fenced(loaded.content, "")


def _body(message: EmailMessage) -> tuple[str, str, int]:
    """The text of a mail; where it has two, the page if the plain one lacks most of its words."""
    parts = [part for kind in ("plain", "html") if (part := message.get_body((kind,)))]
    if not parts:
        return "", "text/plain", 0
    first, *others = map(_text, parts)
    known = _words(first[0])
    lacking = (one for one in others if len(_words(one[0]) - known) * 2 > len(_words(one[0])))
    return next(lacking, first)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _text(part: MIMEPart) -> tuple[str, str, int]:
    raw = part.get_payload(decode=True)
    charset = part.get_content_charset("utf-8")
    try:
        text = raw.decode(charset) if isinstance(raw, bytes) else ""
        text, removed = clean_text(text.replace("\r\n", "\n").replace("\r", "\n"))
    except (LookupError, UnicodeDecodeError):
        text, removed, _ = decode_text(raw if isinstance(raw, bytes) else b"", declared="cp1252")
    if part.get_content_subtype() == "html":
        with extra("files", error=UnsupportedFile):
            from rag_pg.load.html import html_to_markdown  # its libraries take long to import

        return html_to_markdown(text)[1], "text/markdown", removed
    return text, "text/plain", removed


def _header(message: EmailMessage, key: str) -> str:
    try:
        return clean_text(" ".join(str(message.get(key, "")).split()))[0]
    except Exception:  # the standard library fails on some malformed headers in many ways
        return ""


def _sent(message: EmailMessage) -> str:
    try:
        when = message["date"].datetime
        return when.isoformat() if when else ""
    except Exception:  # missing or malformed: see above
        return ""
