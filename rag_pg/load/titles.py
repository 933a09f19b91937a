"""Titles that programs write into files by themselves, told from titles that people gave."""

from __future__ import annotations

import re
import unicodedata
from mimetypes import MimeTypes
from pathlib import PurePath

_PRINTED_BY = re.compile(r"Microsoft [A-Z]\w+ - (?=\S)")  # Microsoft Word - report.docx
_SHOWN_BY = re.compile(r"(?<=\S) - (?:Google|LibreOffice|Microsoft) [A-Z]\w+( Online)?\Z")
_PATH = re.compile(r"(?:[a-z]:[\\/]|\\\\|file:|about:|https?:|/)\S", re.IGNORECASE)
_TO_FILL = re.compile(r"\[[^][]*\]|\{+[^{}]*\}+")  # [Type the document title]
_MADE = re.compile(r"(?=[^-]*\d)[0-9a-f-]{16,}", re.IGNORECASE)  # a hash, a UUID
# Suffixes that Python's own table has not in every version.
_SUFFIXES = (
    ".docx .docm .dotx .pptx .ppsx .potx .xlsx .xlsm .odt .ods .odp .rtf .tex .md .pages .numbers"
    " .indd .qxd .pub .wpd .epub .tmp"
)
# What programs call a document that nobody named, in the languages they are most often set to.
_NAMELESS = """
    untitled anonymous unknown unnamed noname notitle title none null undefined default template
    document presentation workbook spreadsheet worksheet book sheet slide page print scan image
    untitleddocument untitledpresentation untitledspreadsheet newdocument scanneddocument
    worddocument microsoftworddocument newmicrosoftworddocument powerpointpresentation
    unbenannt unbekannt dokument tabelle mappe arbeitsmappe folie präsentation
    powerpointpräsentation sanstitre présentation présentationpowerpoint classeur feuille sintítulo
    documento libro hoja
    presentación presentacióndepowerpoint senzatitolo presentazione presentazionepowerpoint
    presentazionestandarddipowerpoint cartella foglio semtítulo apresentação planilha pasta
    apresentaçãodopowerpoint naamloos presentatie powerpointpresentatie werkmap namnlös
    nimetön başlıksız belge sunu безназвания документ презентация книга лист
    презентацияpowerpoint 無題 文档 文書 無題ドキュメント 演示文稿 工作簿
"""


def given_title(title: str) -> str:
    """Return a title that somebody gave a file, "" for one that its program did: nothing but
    punctuation, a file's name or path, a hash, or the name of a document that has none. What
    printed it does not belong to it."""
    words = " ".join(title.split())
    words = words[printed.end() :] if (printed := _PRINTED_BY.match(words)) else words
    words = _SHOWN_BY.sub("", words)
    name = words.strip("()[]{}<>\"'“”«» ")
    is_made = _is_nameless(name) or _is_file(name) or _PATH.match(name) or _MADE.fullmatch(name)
    return "" if is_made or _TO_FILL.fullmatch(words) else words


def _is_nameless(name: str) -> bool:
    """Whether a name has no letter and no figure, or is that of a document without one, with or
    without a number: Document1."""
    plain = unicodedata.normalize("NFC", name.casefold())
    letters = "".join(c for c in re.sub(r"\d+\W*\Z", "", plain) if c.isalnum())
    return letters in _NAMELESS.split() or not any(c.isalnum() for c in plain)


def _is_file(name: str) -> bool:
    """Whether a name ends as that of a file does: annual report.docx, main.py, but not Node.js."""
    suffix = PurePath(name.replace("\\", "/")).suffix.lower()
    kind = MimeTypes().guess_type(f"x{suffix}")[0] if suffix not in ("", ".js", ".com") else None
    is_document = kind is not None and not kind.startswith("text/x-")
    return suffix in _SUFFIXES.split() or is_document or (kind is not None and " " not in name)
