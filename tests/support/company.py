"""A folder of a company as it really is: two hundred files of thirty kinds, some of them damaged,
encrypted, huge, empty, wrongly named, hostile or not to be read at all."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from file_kinds import WRITERS, docx, mail, packed, page
from pdfs import at, pdf_of

GOOD = 160
PLACES = ("", "handbook", "sales/2024", "sales/2025", "hr", "it/scripts", "Müller & Söhne")
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600  # .doc, .xls, and encrypted .docx
DEEP = "[" * 100_000
ENTITIES = b'<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><x>&c;</x>'


@dataclass(frozen=True, kw_only=True, slots=True)
class Company:
    """good: uris with a word that only that file has. bad: names, with a part of what is told.
    skipped: how many, by reason."""

    good: dict[str, str]
    bad: dict[str, str]
    skipped: dict[str, int]


def make_company(folder: Path, max_bytes: int) -> Company:
    """Write the folder. max_bytes: files that are larger are refused."""
    good: dict[str, str] = {}
    for number in range(GOOD):
        suffix = [*WRITERS][number % len(WRITERS)]
        where = Path(
            folder.name, PLACES[number % len(PLACES)], f"{'rule' * (number % 3)} {number}{suffix}"
        )
        word = f"xq{number:03}z"
        data = WRITERS[suffix](f"Rule {number}", f"The word of rule {number} is {word}.")
        path = folder.parent / where
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        good[f"records/Rule {number}" if suffix == ".jsonl" else where.as_posix()] = word
    whole = {suffix: write("Title", "Some text.") for suffix, write in WRITERS.items()}
    bad = {
        **{f"cut{s}": (whole[s][: len(whole[s]) // 3], "can be read") for s in (".docx", ".pptx")},
        **{f"cut{s}": (whole[s][: len(whole[s]) // 3], "can be read") for s in (".xlsx", ".odt")},
        **{f"cut{s}": (whole[s][: len(whole[s]) // 3], "can be read") for s in (".epub", ".ipynb")},
        "cut.xml": (whole[".xml"][:20], "is no XML"),
        "cut.pdf": (whole[".pdf"][:40], "can be read"),
        "salary.pdf": (pdf_of(at(50, 700, "Salaries"), password="key"), "is encrypted"),
        "salary.docx": (OLE, "is encrypted"),
        "old report.docx": (OLE, "of Office before 2007"),
        "~$report.docx": (b"\x03Ann" + b"\0" * 158, "can be read"),
        "scan.pdf": (pdf_of(""), "only images"),
        "is html.xlsx": (page("Export", "Text"), "is of the kind .html"),
        "is pdf.docx": (whole[".pdf"], "is of the kind .pdf"),
        "is docx.pdf": (whole[".docx"], "is of the kind .docx"),
        "is png.txt": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "is not text"),
        "is zip.md": (packed({"a": "b" * 999}), "is of the kind .zip"),
        "bomb.docx": (packed({"word/document.xml": b" " * 120_000_000}), "unpacks to"),
        "bomb.epub": (packed({"META-INF/container.xml": b" " * 120_000_000}), "unpacks to"),
        "entities.xml": (ENTITIES, "declares entities"),
        "deep.xml": (b"<a>" * 5000, "elements within each other"),
        "deep.ipynb": (DEEP.encode(), "is no notebook"),
        "records.jsonl": (b'{"uri": "r/1", "content": "A record."}\n{"uri": \n', "is not JSON"),
        "not rtf.rtf": (b"plain", "is no Rich Text"),
        "pictures only.html": (b"<html><body><img src=x></body></html>", "has no text"),
        "blank.docx": (docx("", ""), "has no text"),
    }
    folder.joinpath("odd").mkdir()
    for name, (data, _) in bad.items():
        folder.joinpath("odd", name).write_bytes(data)
    told = {name: part for name, (_, part) in bad.items()}
    with folder.joinpath("odd/huge.txt").open("wb") as file:
        file.truncate(max_bytes + 1)
    folder.joinpath("odd/pipe.txt").touch()
    folder.joinpath("odd/pipe.txt").unlink()
    os.mkfifo(folder / "odd/pipe.txt")
    folder.joinpath("odd/gone.md").symlink_to("nowhere.md")
    folder.joinpath("odd/ring.md").symlink_to("ring.md")
    folder.joinpath("odd/around").symlink_to(folder, target_is_directory=True)
    Path(os.fsdecode(os.fsencode(folder / "odd") + b"/caf\xe9.md")).write_text("A name in Latin-1.")
    told |= {"huge.txt": "the limit is", "pipe.txt": "a device or a pipe", "gone.md": "not exist"}
    told |= {"ring.md": "symbolic links", "caf\\udce9.md": "not valid UTF-8"}
    for name in ("empty.md", "empty.docx", "__init__.py"):
        folder.joinpath("odd", name).write_bytes(b"")
    others = ("logo.png", "call.mp4", "setup.exe", "backup.zip", "Thumbs.db", "LICENSE", "b.jpg")
    for name in others:
        folder.joinpath(name).write_bytes(b"\x00\x01")
    folder.joinpath(".DS_Store").write_bytes(b"\x00")
    # What can be read, with a remark.
    latin = "Über Straßen und Brücken gehen die Wege der Bürger von Köln nach Düren. xqlatinz"
    folder.joinpath("odd/latin.txt").write_bytes(latin.encode("cp1252"))
    inner = mail("Inner", "xqmailz", {"bad.pdf": b"%PDF-", "rules.md": b"xqattachedz"})
    folder.joinpath("odd/thread.eml").write_bytes(mail("Thread", "See.", {"m": inner}).as_bytes())
    good |= {
        f"{folder.name}/odd/latin.txt": "xqlatinz",
        f"{folder.name}/odd/thread.eml": "xqattachedz",
    }
    good["r/1"] = "record"
    kinds = ("png", "mp4", "exe", "zip", "db", "no suffix", "jpg")
    skipped = {"empty": 3, **{k if " " in k else f".{k}": 1 for k in kinds}}
    return Company(good=good, bad=told, skipped=skipped)
