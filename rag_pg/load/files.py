"""Turns files into text: reads and decodes them, takes out what cannot be stored.

    .md .markdown    text/markdown; front matter gives title and metadata
    .html .htm       text/markdown, made from the main content of the page
    .rst             text/x-rst, as it is
    .txt             text/plain
    .pdf .docx .pptx .xlsx   text/markdown, with a section for each page, slide or sheet
    .csv .tsv        text/markdown, a list of rows that say their columns' names
    .json .jsonl     records with uri and content are documents; anything else is one, as it is;
                     keys of other names can be named, and then the rows of .csv and .tsv are
                     records, too
    .odt .epub       text/markdown, in the order of the document or book
    .ipynb .xml .rtf .vtt .srt   notebooks, data and texts in XML, Rich Text, subtitles
    .eml             the body and the attachments; subject, sender and so on are title and metadata
    .py .js .sql …   source code, as it is

Nothing here aborts a batch: each bad file has one error, which says what to do about it.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path, PurePath

from rag_pg.errors import InvalidInput, RagError, UnsupportedFile
from rag_pg.extras import extra
from rag_pg.load.decode import Decoded, decode_text, hidden_note, without_invisible
from rag_pg.load.formats import (
    CODE,
    OFFICE,
    SUPPORTED,
    describe_error,
    display_path,
    other_kind,
    unsupported,
)
from rag_pg.load.front_matter import split_front_matter
from rag_pg.load.markup import (
    notebook_to_markdown,
    rtf_to_text,
    subtitles_to_text,
    xml_to_markdown,
)
from rag_pg.load.titles import given_title
from rag_pg.text import clean_text, first_title
from rag_pg.types import Loaded, LoadFailure, Original, Skipped

MAX_FILE_BYTES = 20_000_000

_HTML = (".html", ".htm")
_TITLE_LENGTH = 120  # characters, which leaves room for content in any script
_DEEPEST = 5  # mails within each other
_RST_HEAD = 20_000  # characters in which a title is looked for
_RST_TITLE = re.compile(
    r"^(?:(?P<over>([!-/:-@\[-`{-~])\2+)[ \t]*\n[ \t]*)?"
    r"(?P<title>\S.*?)[ \t]*\n(?P<under>([!-/:-@\[-`{-~])\5+)[ \t]*$",
    re.MULTILINE,
)
_RST_ROLE = re.compile(r":[\w:.+-]+:`([^`<]*?)(?:\s*<[^`>]*>)?`")


def load_file(path: Path, uri: str, *, max_bytes: int = MAX_FILE_BYTES, ocr: str = "") -> Loaded:
    """Read a file and return its text, with \\n as line end.

    Text is UTF-8, or UTF-16 or UTF-32 with a byte order mark; an HTML page may also have the
    encoding it declares. A few NUL and invalid bytes, up to 4 or 1 %, are taken out and counted in
    `removed`. The title is that of the front matter, the page or the document, else the first top
    heading, else the name of the file; at most 120 characters.

    Args:
        max_bytes: the largest size that is read.
        ocr: the language, as a collection names it, in which pages of a PDF file that are only
            images are read by tesseract; "": they are not.
    Raises: UnsupportedFile (type, binary, encoding, a library that is missing), InvalidInput
        (missing, unreadable, too large, empty). The message is one line: what is wrong, and what to
        do.
    """
    return _loaded(path, uri, _bytes(path, max_bytes), ocr)


def load_bytes(
    name: str,
    data: bytes,
    uri: str | None = None,
    *,
    max_bytes: int = MAX_FILE_BYTES,
    ocr: str = "",
) -> Loaded:
    """Return the text of an upload: as `load_file`, of bytes; the suffix of `name` gives the type.

    `Collection.add` takes what is returned.

    Args:
        uri: None: the name is the uri, too.
        ocr: see `load_file`.
    Raises: as load_file.
    """
    _check(Path(name), len(data), max_bytes)
    return _loaded(Path(name), uri or name, data, ocr)


def load_documents(
    path: Path,
    uri: str,
    *,
    max_bytes: int = MAX_FILE_BYTES,
    keys: Mapping[str, str] | None = None,
    ocr: str = "",
) -> Iterator[Loaded | LoadFailure | Skipped]:
    """Yield the documents of a file, one unless it holds several records, and what failed.

    keys: what a record's own keys are called here, e.g. {"id": "uri", "text": "content"}; a table's
    rows are records then. ocr: see `load_file`.
    """
    try:
        data = _bytes(path, max_bytes)
    except InvalidInput as exc:
        yield LoadFailure(uri=uri, path=path, error=str(exc))
    else:
        yield from read_documents(path, uri, data, max_bytes=max_bytes, keys=keys, ocr=ocr)


def read_documents(
    path: Path,
    uri: str,
    data: bytes,
    *,
    max_bytes: int = MAX_FILE_BYTES,
    keys: Mapping[str, str] | None = None,
    ocr: str = "",
) -> Iterator[Loaded | LoadFailure | Skipped]:
    """Yield the documents in the bytes of a file; `path` gives its type, and its name in errors."""
    try:
        _check(path, len(data), max_bytes)
        if not data.strip():
            yield Skipped(uri=uri, reason="empty")
            return
        records = _records(path, data, keys or {})
        if records is None:
            yield _loaded(path, uri, data, ocr)
            return
        for record in records:
            if isinstance(record, str):
                yield LoadFailure(uri=uri, path=path, error=f"{display_path(path)}, {record}")
            else:
                yield replace(record, title=_short(record.title))
    except InvalidInput as exc:
        yield LoadFailure(uri=uri, path=path, error=str(exc))


def _records(path: Path, data: bytes, keys: Mapping[str, str]) -> Iterator[Loaded | str] | None:
    suffix = path.suffix.lower()
    try:
        if suffix in (".json", ".jsonl") or (suffix in (".csv", ".tsv") and keys):
            from rag_pg.load.records import json_documents, table_documents

            text, _, note = decode_text(data)
            read = json_documents if suffix in (".json", ".jsonl") else table_documents
            records = read(text, suffix, keys)
            return records and _noted(records, note)
    except InvalidInput as exc:
        raise type(exc)(f"{display_path(path)} {exc}") from exc
    return None


def _noted(records: Iterator[Loaded | str], note: str) -> Iterator[Loaded | str]:
    """The records of a file, the first with a note about the file, if there is one."""
    for record in records:
        if note and isinstance(record, Loaded):
            record, note = replace(record, notes=(note, *record.notes)), ""
        yield record


def _loaded(path: Path, uri: str, data: bytes, ocr: str, depth: int = 0) -> Loaded:
    suffix = path.suffix.lower()
    try:
        loaded = _parse(uri, suffix, data, ocr, depth)
    except InvalidInput as exc:
        raise type(exc)(f"{display_path(path)} {other_kind(suffix, data) or exc}") from exc
    if not loaded.content.strip():
        raise InvalidInput(
            f"{display_path(path)} is empty: it has no text; write some, or leave it out"
        )
    content, invisible = without_invisible(loaded.content)
    notes = (f"{invisible} invisible characters are left out",) if invisible else ()
    title, _ = without_invisible(loaded.title or PurePath(uri).stem)
    return replace(
        loaded,
        title=_short(title),
        content=content,
        notes=(*loaded.notes, *notes),
        original=_original(path.name, data),
    )


def _original(name: str, data: bytes) -> Original:
    return Original(
        file_name=name,
        media_type=guess_type(name)[0] or "application/octet-stream",
        size=len(data),
        sha256=sha256(data).hexdigest(),
        data=data,
    )


# --- reading -------------------------------------------------------------------------------------


def _bytes(path: Path, max_bytes: int) -> bytes:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InvalidInput(f"{display_path(path)} is a folder; give the files in it")
        if not stat.S_ISREG(status.st_mode):
            raise UnsupportedFile(
                f"{display_path(path)} is a device or a pipe; copy what it gives to a file"
            )
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except RagError:
        raise
    except (OSError, ValueError) as exc:
        raise InvalidInput(describe_error(path, exc)) from exc
    _check(path, max(len(data), status.st_size), max_bytes)
    return data


def _check(path: Path, size: int, max_bytes: int) -> None:
    if path.suffix.lower() not in SUPPORTED:
        raise UnsupportedFile(unsupported(path))
    if size > max_bytes:
        raise InvalidInput(
            f"{display_path(path)} has {size:,} bytes, the limit is {max_bytes:,}; split the file"
            " or raise RAG_PG_MAX_FILE_BYTES"
        )


def _text(data: bytes, suffix: str) -> Decoded:
    if suffix not in _HTML:
        return decode_text(data)
    with extra("files", error=UnsupportedFile):
        from rag_pg.load.html import declared_encoding  # its libraries take long to import

    return decode_text(data, declared=declared_encoding(data))


# --- content -------------------------------------------------------------------------------------


def _parse(uri: str, suffix: str, data: bytes, ocr: str, depth: int) -> Loaded:
    if suffix == ".eml":
        from rag_pg.load.mail import load_mail

        def read(name: str, attached: bytes) -> Loaded:
            _check(Path(name), len(attached), MAX_FILE_BYTES)
            return _loaded(Path(name), name, attached, ocr, depth + 1)

        if depth > _DEEPEST:
            raise InvalidInput(f"is a mail in {_DEEPEST} others; open it by itself")
        return load_mail(data, uri, read)
    title, media_type = "", "text/plain"
    metadata: Mapping[str, object] = {}
    notes: Sequence[str] = ()
    if suffix in OFFICE:
        from rag_pg.load.office import load_office

        office = load_office(data, suffix, ocr)
        text, removed = clean_text(office.content)
        title = given_title(clean_text(office.title)[0]) or _first_name(text)
        media_type, metadata = "text/markdown", office.metadata
        notes = (*office.notes, *hidden_note(office.hidden))
    elif suffix == ".xml":  # it says itself what its characters are, as the next does
        title, text = xml_to_markdown(data)
        media_type, (text, removed) = "text/markdown", clean_text(text)
    elif suffix == ".rtf":
        title, text, hidden = rtf_to_text(data)
        (text, removed), notes = clean_text(text), hidden_note(hidden)
    else:
        text, removed, note = _text(data, suffix)
        notes = (note,) if note else ()
    if suffix in _HTML:
        with extra("files", error=UnsupportedFile):
            from rag_pg.load.html import read_html

        media_type, (title, text, hidden) = "text/markdown", read_html(text)
        notes = (*notes, *hidden_note(hidden))
    elif suffix in (".md", ".markdown"):
        front = split_front_matter(text)
        media_type, text, metadata = "text/markdown", front.body, front.metadata
        notes = (*notes, *front.notes)
        title = front.title or first_title(text)
    elif suffix == ".rst":
        media_type, title = "text/x-rst", _rst_title(text[:_RST_HEAD])
    elif suffix in (".csv", ".tsv"):
        from rag_pg.load.tables import table_as_list

        media_type, text = "text/markdown", table_as_list(text, suffix)
    elif suffix == ".ipynb":
        media_type, (text, metadata) = "text/markdown", notebook_to_markdown(text)
        title = first_title(text)
    elif suffix in (".vtt", ".srt"):
        text = subtitles_to_text(text)
    elif suffix in (".json", ".jsonl"):
        media_type = "application/json"
    elif suffix in CODE:
        media_type, title = CODE[suffix], PurePath(uri).name
    return Loaded(
        uri=uri,
        title=title,
        content=text,
        media_type=media_type,
        metadata=metadata,
        removed=removed,
        notes=notes,
    )


def _first_name(content: str) -> str:
    """Return the first heading of an Office file without the number of its slide or sheet, "" for
    one that is nothing else."""
    return given_title(re.sub(r"^(?:Page|Slide|Sheet) \d+(?:: |\Z)", "", first_title(content)))


def _rst_title(text: str) -> str:
    """Return the first section's title without its markup, "" if there is none."""
    for found in _RST_TITLE.finditer(text):
        over, title, under = found["over"], found["title"], found["under"]
        if len(under) >= min(len(title), 4) and over in (None, under):
            return " ".join(re.sub("[`*]", "", _RST_ROLE.sub(r"\1", title)).split())
    return ""


def _short(title: str) -> str:
    if len(title) <= _TITLE_LENGTH:
        return title
    return title[:_TITLE_LENGTH].rsplit(" ", 1)[0]
