"""Scanned pages: pypdfium2 renders them, tesseract reads them where it is installed."""

from __future__ import annotations

import os
import subprocess
from functools import cache

from rag_pg.errors import UnsupportedFile

DPI = 200
_SECONDS = 300  # for one page
# What tesseract calls the languages of PostgreSQL's text search.
_LANGUAGES = {
    "arabic": "ara", "armenian": "hye", "basque": "eus", "catalan": "cat", "danish": "dan",
    "dutch": "nld", "english": "eng", "finnish": "fin", "french": "fra", "german": "deu",
    "greek": "ell", "hindi": "hin", "hungarian": "hun", "indonesian": "ind", "irish": "gle",
    "italian": "ita", "lithuanian": "lit", "nepali": "nep", "norwegian": "nor",
    "portuguese": "por", "romanian": "ron", "russian": "rus", "serbian": "srp", "spanish": "spa",
    "swedish": "swe", "tamil": "tam", "turkish": "tur", "yiddish": "yid",
}  # fmt: skip


def read_page(picture: bytes, language: str) -> list[str]:
    """Return the lines of a page, of which this is a picture in a format that tesseract reads.

    language: of a collection; of one that PostgreSQL has no text search for, as auto, all that
        tesseract has are tried. Raises: UnsupportedFile (no tesseract, not for this language).
    """
    installed = _installed(os.environ.get("PATH", ""))
    code = _LANGUAGES.get(language.rpartition(".")[2])
    if code is not None and code not in installed:
        raise UnsupportedFile(
            f"has pages that are only images, and tesseract has no {language}: apt-get install"
            f" tesseract-ocr-{code}, or what your system calls it"
        )
    languages = code or "+".join(installed)
    command = ["tesseract", "stdin", "stdout", "-l", languages, "--psm", "1", "--dpi", str(DPI)]
    try:
        done = subprocess.run(
            command,
            input=picture,
            capture_output=True,
            timeout=_SECONDS,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},  # more cost more than they gain
        )
    except subprocess.TimeoutExpired:
        raise UnsupportedFile(
            f"has a page that tesseract does not read in {_SECONDS} s; scan it anew"
        ) from None
    if done.returncode:
        told = " ".join(done.stderr.decode("utf-8", "replace").split())[-200:]
        raise UnsupportedFile(f"has a page that tesseract cannot read: {told}")
    return done.stdout.decode("utf-8", "replace").replace("\f", "").strip().splitlines()


@cache
def _installed(path: str) -> tuple[str, ...]:
    """The languages that the tesseract on a PATH has."""
    try:
        done = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True)
    except OSError:
        raise UnsupportedFile(
            "has pages that are only images, and tesseract, which reads those, is not installed:"
            " apt-get install tesseract-ocr, or run OCR over it first, for example ocrmypdf"
        ) from None
    names = done.stdout.split("\n")[1:]
    return tuple(name for name in names if name and name != "osd" and "/" not in name)
