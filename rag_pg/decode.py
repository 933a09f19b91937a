"""Bytes as text that PostgreSQL can store."""

from __future__ import annotations

import codecs
import re

from rag_pg.errors import UnsupportedFile

_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\b\t\n\v\f\r\x1b"))
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> tuple[str, int]:
    """Return `text` without NUL and lone surrogates, which PostgreSQL cannot store, and how many
    there were."""
    return _UNSTORABLE.subn("", text)


def decode_text(data: bytes, *, declared: str | None = None) -> tuple[str, int]:
    """Return the text of a file with \\n as line end, and how many characters were taken out.

    It is UTF-8, or UTF-16 or UTF-32 with a byte order mark, or, where it is none of these, in the
    encoding `declared`. NUL and invalid bytes, up to 4 or 1 % of the file, are taken out.

    Raises: UnsupportedFile (binary, another encoding); the message does not name the file.
    """
    few = max(4, len(data) // 100)
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if encoding in ("utf-8", "utf-8-sig") and controls > few:
        raise UnsupportedFile(
            f"is not text: {controls:,} of {len(data):,} bytes are control characters; "
            "convert it to text, or to UTF-8 if it is UTF-16"
        )
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as exc:
        text = _decode_anyway(data, encoding, declared, few)
        if not text:
            raise UnsupportedFile(
                f"is not {encoding.upper()}: byte 0x{data[exc.start]:02x} at offset {exc.start:,}; "
                "convert it, for example with iconv -f WINDOWS-1252 -t UTF-8, where the first is "
                "the encoding it has"
            ) from exc
    text, removed = clean_text(text)
    return text.replace("\r\n", "\n").replace("\r", "\n"), removed


def _decode_anyway(data: bytes, encoding: str, declared: str | None, few: int) -> str:
    """Return the text in the encoding `declared`, or with a `few` invalid bytes as lone
    surrogates; "" if it is neither."""
    if encoding in ("utf-16", "utf-32"):
        return ""
    try:
        return data.decode(declared or "ascii")
    except (UnicodeDecodeError, LookupError):
        text = data.decode(encoding, "surrogateescape")
        return text if clean_text(text)[1] <= few else ""
