"""Which files can be read, by their suffix."""

from __future__ import annotations

from pathlib import Path

from rag_pg.errors import RagError

# Media type -> the suffixes of its files.
_SUFFIXES = {
    "text/x-python": (".py", ".pyi"),
    "text/javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "text/x-typescript": (".ts", ".mts", ".cts"),
    "text/x-tsx": (".tsx",),
    "text/x-go": (".go",),
    "text/x-rust": (".rs",),
    "text/x-java": (".java",),
    "text/x-c": (".c", ".h"),
    "text/x-c++": (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
    "text/x-sql": (".sql",),
    # Without a grammar here: cut as text.
    "text/x-csharp": (".cs",),
    "text/x-kotlin": (".kt", ".kts"),
    "text/x-lua": (".lua",),
    "text/x-php": (".php",),
    "text/x-ruby": (".rb",),
    "text/x-scala": (".scala",),
    "text/x-sh": (".sh", ".bash", ".zsh"),
    "text/x-swift": (".swift",),
    "text/x-toml": (".toml",),
    "text/x-yaml": (".yaml", ".yml"),
}

CODE = {suffix: media_type for media_type, all_ in _SUFFIXES.items() for suffix in all_}
TEXTS = (".md", ".markdown", ".html", ".htm", ".rst", ".txt")
OFFICE = (".pdf", ".docx", ".pptx", ".xlsx", ".odt", ".epub")  # of the extra rag-pg[files]
MARKUP = (".ipynb", ".vtt", ".srt", ".xml", ".rtf")
DATA = (".csv", ".tsv", ".json", ".jsonl", ".eml")
_ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
SUPPORTED = (*TEXTS, *OFFICE, *MARKUP, *DATA, *CODE)
_LISTED = f"{', '.join((*TEXTS, *OFFICE, *MARKUP, *DATA))} and source code (.py, .js, .sql, …)"


def unsupported(path: Path) -> str:
    if path.name.lower().endswith(_ARCHIVES):
        return (
            f"{display_path(path)} is an archive, which is a folder here: rag-pg sync reads it, or"
            " unpack it"
        )
    kind = f"the type {path.suffix}" if path.suffix else "a file without a suffix"
    return f"{display_path(path)}: {kind} cannot be loaded; supported: {_LISTED}"


def other_kind(suffix: str, data: bytes) -> str:
    """Return what a file that cannot be read is by its first bytes, and what to do; "" for one that
    is of the kind its suffix says, as far as they tell."""
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return (
            "is encrypted, or of Office before 2007: remove its password, or save it as"
            " .docx, .pptx or .xlsx"
        )
    kind = ""
    if data.startswith(b"%PDF-") and suffix != ".pdf":
        kind = ".pdf"
    elif data.startswith(b"PK\x03\x04") and (suffix not in OFFICE or suffix == ".pdf"):
        kinds = {b"word/": ".docx", b"ppt/": ".pptx", b"xl/": ".xlsx"}
        kind = next((end for part, end in kinds.items() if part in data), ".zip")
    elif suffix in OFFICE and data[:99].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        kind = ".html"
    return f"is of the kind {kind}, no {suffix} file; rename it" if kind else ""


def describe_error(path: Path, exc: Exception) -> str:
    """Return what is wrong with a file in one line that names it."""
    if isinstance(exc, RagError):
        return str(exc)
    if isinstance(exc, FileNotFoundError):
        return f"{display_path(path)} does not exist (any more); check the path"
    if isinstance(exc, PermissionError):
        return f"{display_path(path)} cannot be read: permission denied; allow this user to read it"
    problem = exc.strerror if isinstance(exc, OSError) else str(exc)
    return f"{display_path(path)} cannot be read: {problem}; check the path and the disk"


def display_path(path: Path) -> str:
    """Return the path in a form that can be printed and stored."""
    return str(path).encode("utf-8", "backslashreplace").decode().replace("\n", "\\n")
