"""E-mail: headers and the text of its body."""

from __future__ import annotations

from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from rag_pg.errors import UnsupportedFile
from rag_pg.extras import extra
from rag_pg.load.decode import decode_text
from rag_pg.text import clean_text
from rag_pg.types import Loaded


def load_mail(data: bytes, uri: str) -> Loaded:
    """Return an e-mail: its subject as title, its body as content, who wrote to whom as metadata.

    Attachments are named in the metadata, not read. Raises: UnsupportedFile (an HTML body).
    """
    message = message_from_bytes(data, EmailMessage, policy=policy.default)
    headers = {key: _header(message, key) for key in ("from", "to", "cc", "message-id")}
    metadata: dict[str, Any] = {
        key.replace("-", "_"): value for key, value in headers.items() if value
    }
    if sent := _sent(message):
        metadata["date"] = sent
    if names := [name for part in message.iter_attachments() if (name := part.get_filename())]:
        metadata["attachments"] = names
    subject = _header(message, "subject")
    content, media_type, removed = _body(message)
    return replace(
        Loaded(uri=uri, title=subject, content=content, media_type=media_type),
        content=content if content.strip() else subject,
        metadata=metadata,
        removed=removed,
    )


def _body(message: EmailMessage) -> tuple[str, str, int]:
    part = message.get_body(("plain", "html"))
    if part is None:
        return "", "text/plain", 0
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
