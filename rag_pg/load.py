"""Turns files into text: finds them, reads and decodes them, takes out what cannot be stored.

    .md .markdown    text/markdown; front matter gives title and metadata
    .html .htm       text/markdown, made from the main content of the page
    .rst             text/x-rst, as it is
    .txt             text/plain

Nothing here aborts a batch: each bad file has one error, which says what to do about it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from rag_pg.decode import clean_text as clean_text
from rag_pg.decode import decode_text
from rag_pg.errors import InvalidInput, RagError, UnsupportedFile
from rag_pg.front_matter import split_front_matter
from rag_pg.models import Loaded, LoadFailure
from rag_pg.outline import first_title

MAX_FILE_BYTES = 20_000_000
SUPPORTED = (".md", ".markdown", ".html", ".htm", ".rst", ".txt")

_HTML = (".html", ".htm")
_TITLE_LENGTH = 120  # characters, which leaves room for content in any script
_RST_HEAD = 20_000  # characters in which a title is looked for


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Files, each with its uri; paths that cannot be loaded, and why; and how many files in
    folders were passed over because of their type."""

    files: Sequence[tuple[Path, str]]
    failures: Sequence[LoadFailure]
    skipped: int


def find_files(paths: Sequence[Path]) -> Found:
    """Return the supported files at and below `paths`, each once, folders sorted by name.

    A file's uri is its path as it was given, normalised: "handbook/install.md" for the folder
    ./handbook/. In folders, names with a leading dot are left out, and links to other folders are
    not followed.
    """
    files: dict[str, Path] = {}
    failures: list[LoadFailure] = []
    skipped = 0
    for path in paths:
        candidates = [path]
        try:
            if stat.S_ISDIR(path.stat().st_mode):
                candidates, others = _walk(path, failures)
                skipped += others
        except (OSError, ValueError) as exc:
            failures.append(LoadFailure(path=path, error=_reason(path, exc)))
            continue
        for file in candidates:
            try:
                files.setdefault(_uri(file), file)
            except InvalidInput as exc:
                failures.append(LoadFailure(path=file, error=str(exc)))
    found = [(path, uri) for uri, path in files.items()]
    return Found(files=found, failures=failures, skipped=skipped)


def load_file(path: Path, uri: str, *, max_bytes: int = MAX_FILE_BYTES) -> Loaded:
    """Read a file and return its text, with \\n as line end.

    Text is UTF-8, or UTF-16 or UTF-32 with a byte order mark; an HTML page may also have the
    encoding it declares. A few NUL and invalid bytes, up to 4 or 1 %, are taken out and counted in
    `removed`. The title is that of the front matter or the page, else the first top heading, else
    the name of the file; at most 120 characters.

    Args:
        max_bytes: the largest size that is read.
    Raises: UnsupportedFile (type, binary, encoding), InvalidInput (missing, unreadable, too large,
        empty). The message is one line: what is wrong, and what to do.
    """
    suffix = path.suffix.lower()
    if suffix not in SUPPORTED:
        raise UnsupportedFile(_unsupported(path))
    try:
        data = _read(path, max_bytes)
    except RagError:
        raise
    except (OSError, ValueError) as exc:
        raise InvalidInput(_reason(path, exc)) from exc
    try:
        text, removed = _text(data, suffix)
        loaded = _parse(uri, suffix, text, removed)
    except UnsupportedFile as exc:
        raise UnsupportedFile(f"{_shown(path)} {exc}") from exc
    if not loaded.content.strip():
        raise InvalidInput(f"{_shown(path)} is empty: it has no text; write some, or leave it out")
    return loaded


# --- finding -------------------------------------------------------------------------------------


def _walk(folder: Path, failures: list[LoadFailure]) -> tuple[list[Path], int]:
    """Return the supported files below `folder`, and how many others there are."""
    files: list[Path] = []
    others, before = 0, len(failures)

    def note(exc: OSError) -> None:
        path = Path(exc.filename)
        failures.append(LoadFailure(path=path, error=_reason(path, exc)))

    for root, folders, names in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        visible = sorted(name for name in names if not name.startswith("."))
        supported = [Path(root, name) for name in visible if name.lower().endswith(SUPPORTED)]
        files += supported
        others += len(visible) - len(supported)
    if not files and len(failures) == before:
        raise UnsupportedFile(
            f"{_shown(folder)} has no file of a supported type ({', '.join(SUPPORTED)}); "
            f"it has {others} of other types: convert those, or name another folder"
        )
    return files, others


def _uri(path: Path) -> str:
    if path.suffix.lower() not in SUPPORTED:
        raise UnsupportedFile(_unsupported(path))
    uri = PurePath(os.path.normpath(path)).as_posix()
    if clean_text(uri)[1]:
        raise InvalidInput(f"the name of {_shown(path)} is not valid UTF-8; rename the file")
    return uri


# --- reading -------------------------------------------------------------------------------------


def _read(path: Path, max_bytes: int) -> bytes:
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise InvalidInput(f"{_shown(path)} is a folder; give the files in it")
    if not stat.S_ISREG(status.st_mode):
        raise UnsupportedFile(f"{_shown(path)} is a device or a pipe; copy what it gives to a file")
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if (size := max(len(data), status.st_size)) > max_bytes:
        raise InvalidInput(
            f"{_shown(path)} has {size:,} bytes, the limit is {max_bytes:,}; split the file or "
            "raise RAG_PG_MAX_FILE_BYTES"
        )
    return data


def _text(data: bytes, suffix: str) -> tuple[str, int]:
    if suffix not in _HTML:
        return decode_text(data)
    from rag_pg.load_html import declared_encoding  # its libraries take long to import

    return decode_text(data, declared=declared_encoding(data))


# --- content -------------------------------------------------------------------------------------


def _parse(uri: str, suffix: str, text: str, removed: int) -> Loaded:
    title, media_type = "", "text/plain"
    metadata: Mapping[str, object] = {}
    if suffix in _HTML:
        from rag_pg.load_html import html_to_markdown

        media_type, (title, text) = "text/markdown", html_to_markdown(text)
    elif suffix in (".md", ".markdown"):
        front = split_front_matter(text)
        media_type, text, metadata = "text/markdown", front.body, front.metadata
        title = front.title or first_title(text)
    elif suffix == ".rst":
        media_type, title = "text/x-rst", _rst_title(text[:_RST_HEAD])
    return Loaded(
        uri=uri,
        title=_short(title or PurePath(uri).stem),
        content=text,
        media_type=media_type,
        metadata=metadata,
        removed=removed,
    )


def _rst_title(text: str) -> str:
    """Return the first section's title, "" if there is none. Nothing the text names is opened."""
    from docutils import nodes
    from docutils.core import publish_doctree

    settings = {
        "_disable_config": True,
        "file_insertion_enabled": False,
        "raw_enabled": False,
        "report_level": 5,
        "halt_level": 5,
    }
    try:
        document = publish_doctree(text, settings_overrides=settings)
    except Exception:  # a directive that fails on odd input: the file's name is title enough
        return ""
    for title in document.findall(nodes.title):
        if isinstance(title.parent, (nodes.document, nodes.section)):
            return " ".join(title.astext().split())
    return ""


def _short(title: str) -> str:
    if len(title) <= _TITLE_LENGTH:
        return title
    return title[:_TITLE_LENGTH].rsplit(" ", 1)[0]


# --- messages ------------------------------------------------------------------------------------


def _unsupported(path: Path) -> str:
    kind = f"the type {path.suffix}" if path.suffix else "a file without a suffix"
    return f"{_shown(path)}: {kind} cannot be loaded; supported: {', '.join(SUPPORTED)}"


def _reason(path: Path, exc: Exception) -> str:
    if isinstance(exc, RagError):
        return str(exc)
    if isinstance(exc, FileNotFoundError):
        return f"{_shown(path)} does not exist (any more); check the path"
    if isinstance(exc, PermissionError):
        return f"{_shown(path)} cannot be read: permission denied; allow this user to read it"
    problem = exc.strerror if isinstance(exc, OSError) else str(exc)
    return f"{_shown(path)} cannot be read: {problem}; check the path and the disk"


def _shown(path: Path) -> str:
    """Return the path in a form that can be printed and stored."""
    return str(path).encode("utf-8", "backslashreplace").decode().replace("\n", "\\n")
