"""Bytes as text that PostgreSQL can store."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple
from unicodedata import category, name

from rag_pg.errors import UnsupportedFile
from rag_pg.extras import extra
from rag_pg.text import clean_text

_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\b\t\n\v\f\r\x1b"))
# In windows-1252 no word holds such a sign: its bytes are letters of another encoding.
# An apostrophe may stand in one.
_FOREIGN_IN_WORD = re.compile(
    r"[^\W\d_][\u0080-\u00bf\u00d7\u00f7\u02c6\u02dc\u201d-\u203a\u20ac]+[^\W\d_]"
)
_WORD = re.compile(r"[^\W\d_]+")
_OF_UTF8 = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")  # hardly ever two characters of another encoding
_LARGER = {  # what is called so is often the larger one, as browsers take it
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
}
_ENOUGH = 20  # bytes beyond ASCII that an encoding can be told by
_SHIFTED = re.compile(rb"\x1b\$(?:[@-B]|[()*][@-Z])")  # ISO 2022: what follows is of two bytes each
_JAPANESE = {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}
_UNMARKED = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")


class Decoded(NamedTuple):
    """A text; how many NUL and lone surrogates were taken out;
    what had to be assumed, "" when nothing."""

    text: str
    removed: int
    note: str = ""


def decode_text(data: bytes, *, declared: str | None = None) -> Decoded:
    """Return the text of a file with \\n as line end. No letter is ever left out.

    It is UTF-8, or UTF-16 or UTF-32 with a byte order mark, or in the encoding `declared`. Where it
    is none of these its encoding is detected, and the note names it: that of ISO 2022 by its
    escape sequences, UTF-16 and UTF-32 without a mark by their NUL. UTF-8 with a few damaged
    bytes, up to 4 or 1 % of the file, keeps U+FFFD in their place, and the note counts them.

    Raises: UnsupportedFile (binary, an encoding that cannot be told);
        the message does not name the file.
    """
    few = max(4, len(data) // 100)
    encoding = next((name for mark, name in _BOMS if data.startswith(mark)), "utf-8")
    controls = len(data) - len(data.translate(None, _CONTROLS))
    plain = encoding in ("utf-8", "utf-8-sig")
    if data.isascii() and (found := _shifted(data) or _in_ascii(data)):
        return _decoded(*found)
    if plain and controls > few:
        if (found := _unmarked(data, controls)) is not None:
            return _decoded(*found)
        raise UnsupportedFile(
            f"is not text: {controls:,} of {len(data):,} bytes are control characters; "
            "convert it to text in UTF-8"
        )
    note = ""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as exc:
        found = _unmarked(data, controls) or _detect(data, declared, few) if plain else None
        if found is None:
            raise UnsupportedFile(
                f"is not {encoding.upper()}: byte 0x{data[exc.start]:02x} at offset {exc.start:,}; "
                "convert it, for example with iconv -f WINDOWS-1252 -t UTF-8, where the first is "
                "the encoding it has"
            ) from exc
        text, note = found
    return _decoded(text, note)


def _decoded(text: str, note: str) -> Decoded:
    text, removed = clean_text(text)
    return Decoded(text.replace("\r\n", "\n").replace("\r", "\n"), removed, note)


def _in_ascii(data: bytes) -> tuple[str, str] | None:
    """Return a text in HZ or UTF-7, which write all letters by those of ASCII, and a note. It is
    none of them where a sign that begins such letters stands elsewhere, or for no words."""
    for encoding, mark in (("hz", b"~{"), ("utf-7", b"+")):
        with suppress(UnicodeDecodeError):
            if mark in data and _has_words(text := data.decode(encoding)):
                return text.removeprefix("\ufeff"), f"it is not UTF-8 and was read as {encoding}"
    return None


def _has_words(text: str) -> bool:
    """Whether letters beyond ASCII are words, of one script, or of those of Japanese; one
    beside ASCII is Latin. So is mostly no sum (1+APY-2) and no name behind a plus sign."""
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    scripts = {name(one, "none").split()[0] for one in "".join(words) if one > "\x7f"}
    beside = [word for word in words if re.search("[A-Za-z]", word)]
    if scripts == {"LATIN"}:
        return bool(beside)
    whole = [word for word in words if len(word) > 1 and word not in beside]
    return len(whole) * 2 >= len(words) > 0 and (len(scripts) == 1 or scripts <= _JAPANESE)


def _shifted(data: bytes) -> tuple[str, str] | None:
    """Return a text in ISO 2022 and a note, None for another. Raises: UnsupportedFile."""
    if not _SHIFTED.search(data):
        return None
    larger = re.sub(rb"\x1b\$[@B]", b"\x1b$(Q", data)  # with the signs that Windows writes, as ①
    for encoding in ("iso2022_jp_2", "iso2022_jp_ext", "iso2022_kr", "iso2022_jp_2004"):
        with suppress(UnicodeDecodeError):
            text = (larger if encoding == "iso2022_jp_2004" else data).decode(encoding)
            if not {"\x0e", "\x0f"} & {*text}:  # which shift, too, where an encoding knows them
                return text, f"it is not UTF-8 and was read as {encoding}"
    raise UnsupportedFile(
        "has escape sequences of ISO 2022, but is none of its Japanese or Korean encodings; "
        "convert it to UTF-8, for example with iconv -f ISO-2022-CN -t UTF-8"
    )


def _unmarked(data: bytes, controls: int) -> tuple[str, str] | None:
    """Return a text in UTF-16 or UTF-32 without a mark and a note; None where it is not sure: NUL
    may stand between the texts of another encoding. Of two orders of bytes that is right by which
    the characters are of fewer blocks."""
    count, found = data.count(0), list[tuple[int, str, str]]()
    if not count or (count == controls and 4 * count < len(data)):
        return None
    for encoding in _UNMARKED:
        with suppress(UnicodeDecodeError):
            text = data.decode(encoding)
            signs = {one for one in text if not one.isspace()}
            if not {"Cc", "Cn", "Co"} & {*map(category, signs)}:
                note = f"it is not UTF-8 and was read as {encoding}"
                found.append((len({ord(one) >> 8 for one in signs}), text, note))
    return min(found)[1:] if found else None


def decode_as(data: bytes, charset: str, *last: str) -> str | None:
    """Return the text of bytes that are said to have an encoding, None where they have not. UTF-8
    that is said to be of Western Europe is UTF-8. last: what is tried beside Western Europe's."""
    with suppress(LookupError, ValueError):
        charset = codecs.lookup(charset.lower().removeprefix("x-").replace("cp-", "cp")).name
        charset = _LARGER.get(charset, charset)
    if charset == "punycode":  # of names: its time grows with the square of their length
        return None
    for encoding in ("utf-8", "cp1252", *last) if charset == "cp1252" else (charset,):
        with suppress(LookupError, ValueError):
            return data.decode(encoding)
    return None


def _detect(data: bytes, declared: str | None, few: int) -> tuple[str, str] | None:
    """Return the text of bytes that are not UTF-8 and a note that says how they were read,
    or None."""
    if declared and (text := decode_as(data, declared)) is not None:
        return text, ""
    damaged = data.decode("utf-8", "replace")
    bad = damaged.count("\ufffd") - data.count("\ufffd".encode())
    whole = sum(character > "\x7f" for character in damaged) - bad
    if bad <= few and (bad < whole or _OF_UTF8.search(data)):
        return damaged, f"{bad} bytes are not UTF-8 and stand as \ufffd"
    with suppress(UnicodeDecodeError):
        western = data.decode("cp1252")
        if not _FOREIGN_IN_WORD.search(western) and _mostly_ascii(data):
            return western, "it is not UTF-8 and was read as windows-1252"
    if sum(byte > 127 for byte in data) < _ENOUGH:
        return None
    if _is_written(koi8 := data.decode("koi8_u")):  # else often read as Japanese or Hebrew
        return koi8, "it is not UTF-8 and was read as koi8_u"
    with extra("files", "is not UTF-8, and finding its encoding needs", UnsupportedFile):
        from charset_normalizer import from_bytes  # takes long to import

    best = from_bytes(data).best()
    if best is None:
        return None
    return str(best).removeprefix("\ufeff"), f"it is not UTF-8 and was read as {best.encoding}"


def _is_written(text: str) -> bool:
    """Whether a text is as people write: of letters, no word of two alphabets, capitals at the
    beginning or everywhere, and rarer. Cyrillic of one encoding read as another is not so."""
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    return (
        all(one.isascii() or one.isalpha() for one in text)
        and not any(re.search("[A-Za-z]", word) for word in words)
        and all(word.islower() or word.isupper() or word.istitle() for word in words)
        and sum(map(str.islower, text)) > sum(map(str.isupper, text))
    )


def _mostly_ascii(data: bytes) -> bool:
    return sum(byte > 127 for byte in data) <= len(data) // 4


# Flags of regions are written with tags, and Thai, Lao, Khmer and Burmese part words by U+200B.
_PARTED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_INVISIBLE = re.compile(
    "(\U0001f3f4[\U000e0030-\U000e007a]{1,8}\U000e007f)"
    f"|(?<![{_PARTED}])\u200b|[\u2060-\u2064\ufeff\U000e0000-\U000e007f]"
)


_SOFT_HYPHEN = re.compile(r"\u00ad(?=\S)")  # elsewhere it is a hyphen, which a line ends in


def without_invisible(text: str) -> tuple[str, int]:
    """Return a text without characters that have no width and no meaning for a reader (zero-width
    spaces, tags that may carry a text of their own), and how many there were, beside the places
    where words may be parted: with those no search would find the word."""
    whole = _SOFT_HYPHEN.sub("", text)
    kept = _INVISIBLE.sub(lambda found: found[1] or "", whole)
    return kept, len(whole) - len(kept)


def hidden_note(count: int) -> Sequence[str]:
    """What is told of hidden text that was left out."""
    return (f"{count} characters that a reader does not see are left out",) if count else ()
