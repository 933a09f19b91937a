"""E-mail: headers, the text of its body, and what is attached."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from email import message_from_bytes, policy
from email.message import EmailMessage, MIMEPart
from itertools import chain
from mimetypes import guess_extension
from typing import Any, NamedTuple

from rag_pg.errors import InvalidInput, UnsupportedFile
from rag_pg.extras import extra
from rag_pg.load.decode import decode_as, decode_text
from rag_pg.load.markup import fenced
from rag_pg.text import clean_text
from rag_pg.types import Loaded

_MOST = 100  # attachments of one mail that are read
_HEADINGS = re.compile(r"^(?=#{1,5} )", re.MULTILINE)

Read = Callable[[str, bytes], Loaded]  # of a file's name and bytes


def load_mail(data: bytes, uri: str, read: Read) -> Loaded:
    """Return an e-mail: its subject as title, its body as content, who wrote to whom as metadata.

    Texts between attachments belong to the body. Attachments that can be read are sections
    of the content, below a heading with their name, and so are those of an attached mail, which
    begins with who wrote it to whom; `notes` name the others. Raises: UnsupportedFile (an HTML
    body).
    """
    try:
        message = message_from_bytes(_with_utf8_headers(data), EmailMessage, policy=policy.default)
        pieces = [*_pieces(message, is_alone=True)]
    except RecursionError:
        raise InvalidInput("has hundreds of mails within each other; open the inner ones") from None
    headers = {key: _header(message, key) for key in ("from", "to", "cc", "message-id")}
    metadata: dict[str, Any] = {
        key.replace("-", "_"): value for key, value in headers.items() if value
    }
    if sent := _sent(message):
        metadata["date"] = sent
    attached = [*_attachments(piece for piece in pieces if not isinstance(piece, _Text))]
    if any(found is not None for _, found in attached):
        metadata["attachments"] = [name for name, found in attached if found is not None]
    subject = _header(message, "subject")
    content, media_type, removed, told = _joined(
        [piece for piece in pieces if isinstance(piece, _Text)]
    )
    sections, notes = [content if content.strip() else subject], [*told]
    for name, found in attached[:_MOST]:
        if found is None:
            notes.append(f"{name} is malformed and left out")
            continue
        try:
            loaded = read(name, found)
        except InvalidInput as exc:
            notes.append(f"attachment left out: {exc}")
            continue
        removed += loaded.removed
        notes += loaded.notes
        sections.append(f"# Attachment: {name}\n\n{_written(name, loaded)}{_section(loaded)}")
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


class _Text(NamedTuple):
    """A text of a mail, how many characters were taken out, and what had to be assumed."""

    text: str = ""
    media_type: str = "text/plain"
    removed: int = 0
    notes: tuple[str, ...] = ()


def _pieces(part: MIMEPart, *, is_alone: bool = False) -> Iterator[_Text | MIMEPart]:
    """Yield what is read in a part and what is attached, in their order. Of texts that say the same
    it is one: the plain one, or another if that lacks most of its words."""
    if part.get_content_maintype() == "multipart" and part.is_multipart():
        parts = [[*_pieces(one)] for one in part.iter_parts()]
        if part.get_content_subtype() == "alternative":
            texts = [[one for one in inner if isinstance(one, _Text)] for inner in parts]
            yield _fullest([_joined(way) for way in texts if way])
            parts = [[one for one in inner if not isinstance(one, _Text)] for inner in parts]
        yield from chain.from_iterable(parts)
    elif part.get_content_type() in ("text/plain", "text/html"):
        named = part.is_attachment() or part.get_filename()
        yield part if named and not is_alone else _text(part)
    else:
        yield part


def _fullest(ways: Sequence[_Text]) -> _Text:
    first, *others = sorted(ways, key=lambda way: way.media_type != "text/plain") or [_Text()]
    known = _words(first.text)
    lacking = (one for one in others if len(_words(one.text) - known) * 2 > len(_words(one.text)))
    return next(lacking, first)


def _joined(texts: Sequence[_Text]) -> _Text:
    if len(texts) == 1:
        return texts[0]
    kinds = {one.media_type for one in texts}
    return _Text(
        "\n\n".join(one.text.strip("\n") for one in texts),
        "text/markdown" if "text/markdown" in kinds else "text/plain",
        sum(one.removed for one in texts),
        tuple(note for one in texts for note in one.notes),
    )


def _attachments(parts: Iterable[MIMEPart]) -> Iterator[tuple[str, bytes | None]]:
    """The names and bytes of what is attached, None: it is malformed. An attached mail has the name
    of its subject."""
    for number, part in enumerate(parts, 1):
        try:
            if part.get_content_type() == "message/rfc822":
                inner: EmailMessage = part.get_content()
                name = part.get_filename() or f"{_header(inner, 'subject') or 'message'}.eml"
                data: object = inner.as_bytes()
            else:
                kind = guess_extension(part.get_content_type()) or ""
                unnamed = f"attachment{kind}" if part.get_content_maintype() == "text" else ""
                name, data = part.get_filename() or unnamed, part.get_payload(decode=True)
        except Exception:  # see `_header`; RecursionError, too: mails within mails without an end
            yield f"attachment {number}", None
            continue
        name = clean_text(" ".join(name.split()))[0]
        if name and isinstance(data, bytes):
            yield name, data


def _written(name: str, loaded: Loaded) -> str:
    """Who wrote an attached mail, to whom and when; "" for another file."""
    if not name.lower().endswith(".eml"):
        return ""
    keys = [key for key in ("from", "to", "cc", "date") if key in loaded.metadata]
    return "".join(f"{key.title()}: {loaded.metadata[key]}\n" for key in keys) + "\n" * bool(keys)


def _section(loaded: Loaded) -> str:
    """An attachment's content as a part of a page: its headings go one level down."""
    if loaded.media_type == "text/markdown":
        return _HEADINGS.sub("#", loaded.content)
    if loaded.media_type == "text/plain":
        return loaded.content
    return fenced(loaded.content, "")


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _text(part: MIMEPart) -> _Text:
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset("utf-8")
    if (known := decode_as(raw, charset, "latin-1")) is not None:
        text, removed = clean_text(known.replace("\r\n", "\n").replace("\r", "\n"))
        notes: tuple[str, ...] = ()
    else:
        text, removed, note = decode_text(raw, declared="cp1252")
        notes = (note or f"a text is not in {charset}, as the mail says",)
    if part.get_param("format") == "flowed":
        text = _unflowed(text, is_cut=part.get_param("delsp") == "yes")
    if part.get_content_subtype() == "html":
        with extra("files", error=UnsupportedFile):
            from rag_pg.load.html import html_to_markdown  # its libraries take long to import

        return _Text(html_to_markdown(text)[1], "text/markdown", removed, notes)
    return _Text(text, "text/plain", removed, notes)


def _unflowed(text: str, *, is_cut: bool) -> str:
    """A text whose paragraphs are lines again (RFC 3676). is_cut: the space at the end of a line
    that goes on belongs to none of its words."""
    lines: list[list[str]] = []  # of pieces, which are joined once
    open_at = -1  # the depth of quotation at which the last line goes on
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        own = line[depth:].removeprefix(" ")
        goes_on = own.endswith(" ") and own != "-- "
        shown = own[:-1] if goes_on and is_cut else own
        if open_at == depth and own != "-- ":
            lines[-1].append(shown)
        else:
            lines.append([">" * depth + " " * bool(depth) + shown])
        open_at = depth if goes_on else -1
    return "\n".join(map("".join, lines))


def _with_utf8_headers(data: bytes) -> bytes:
    """A mail that begins with its headers, which are UTF-8 where a program wrote them as letters of
    Western Europe."""
    data = data.removeprefix(BOM_UTF8).lstrip(b"\r\n")
    end = re.search(rb"\r?\n\r?\n", data)
    head = data[: end.start() if end else None]
    try:
        head.decode()
    except UnicodeDecodeError:
        return head.decode("cp1252", "replace").encode() + data[len(head) :]
    return data


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
