"""Documents of every bad kind in one folder: each is told by itself, and the others are stored."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import BOUND

from rag_pg import Rag
from rag_pg.load import find_files, load_documents
from rag_pg.types import Loaded, Skipped

GOOD = b"# Good\n\nA red fish swims."
BOMB = b"".join(
    b"%c: &%c [%s]\n" % (c + 1, c + 1, b",".join([b"*%c" % c] * 9)) for c in range(97, 110)
)
DEEP = b"[" * 50_000 + b"]" * 50_000

# What the loader alone decides. None: text is loaded; else what is said of the file.
FILES: dict[str, tuple[bytes, str | None]] = {
    "nul.md": (b"one\0two\0three, a text with zeros", None),
    "binary.md": (bytes(range(256)) * 64, "is not text"),
    "surrogate.txt": (b"lone \xed\xa0\x80 surrogate", None),
    "word.txt": (b"x" * 300_000, None),
    "headings.md": (b"".join(b"# H%d\n\n" % i for i in range(1_000)), None),
    "nested.md": (b"> " * 20_000 + b"quoted", None),
    "lists.md": (b"\n".join(b" " * i + b"- item" for i in range(500)), None),
    "deep.json": (DEEP, None),
    "deep.jsonl": (b'{"uri": "x", "content": "y", "metadata": ' + DEEP + b"}\n", None),
    "number.json": (b'{"content": "text", "n": ' + b"9" * 5_000 + b"}", None),
    "empty.md": (b"", "empty"),
    "white.md": (b" \n\t\r\n \xc2\xa0\xe2\x80\x83", "it has no text"),
    "front.md": (b"---\na: &a [x]\nb: *a\nd: 2024-13-45\n---\ntext", None),
    "bomb.md": (b"---\na: &a [x,x,x,x,x,x,x,x,x]\n" + BOMB + b"---\ntext", None),
    "utf16.txt": ("text of sixteen bits".encode("utf-16"), None),
    "table.csv": (b'uri,content\n"unclosed,' + b"x" * 140_000, None),
    "zip.docx": (b"PK\x03\x04" + b"\0" * 200, "is no .docx file that can be read"),
    "broken.pdf": (b"%PDF-1.4\n" + b"\xff" * 2_000, "is no .pdf file that can be read"),
    "code.py": (b"def f(:\n" * 500, None),
    "mail.eml": (b"Content-Type: text/plain; charset=nope\n\nhi", None),
    "page.html": (b"<div>" * 1_500 + b"text", None),
}


def in_time(work: Callable[[], Any]) -> Any:
    """Return what `work` returns; fail rather than wait for ever."""
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(work()), daemon=True)
    thread.start()
    thread.join(BOUND)
    assert done, "it hangs"
    return done[0]


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_text_or_a_reason(tmp_path: Path, name: str) -> None:
    data, reason = FILES[name]
    path = tmp_path / name
    path.write_bytes(data)
    (found,) = in_time(lambda: list(load_documents(path, name, max_bytes=10**6, keys={})))
    if reason is None:
        assert isinstance(found, Loaded) and found.content.strip() and "\0" not in found.content
    else:
        told = found.reason if isinstance(found, Skipped) else found.error
        assert reason in told and "\n" not in told


def test_what_is_no_file_is_told_and_no_other_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.md").write_bytes(GOOD)
    (folder / "z'\"\\\n.md").write_bytes(GOOD)
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "self.md").symlink_to(folder / "self.md")
    (folder / "gone.md").symlink_to(folder / "nowhere.md")
    (folder / "device.md").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.md")
    wrong_name = folder / os.fsdecode(b"name\xff.md")
    wrong_name.write_bytes(GOOD)
    found = find_files([folder])
    assert [failure.path for failure in found.failures] == [wrong_name]
    texts, reasons = [], {}
    for path, uri in found.files:
        (one,) = in_time(lambda: list(load_documents(path, uri, max_bytes=10**6, keys={})))  # noqa: B023
        if isinstance(one, Loaded):
            texts.append(path.name)
        else:
            reasons[path.name] = one.error
    assert texts == ["a.md", "z'\"\\\n.md"]
    assert sorted(reasons) == ["device.md", "gone.md", "pipe.md", "self.md"]
    assert "device or a pipe" in reasons["device.md"] and "device or a pipe" in reasons["pipe.md"]
    assert "does not exist" in reasons["gone.md"] and "symbolic links" in reasons["self.md"]


def records(**documents: Any) -> bytes:
    """Lines of JSON; a value that is bytes is written as it is."""
    return b"\n".join(
        one
        if isinstance(one, bytes)
        else json.dumps({"uri": uri, "content": "text", **one}).encode()
        for uri, one in documents.items()
    )


def test_one_bad_document_stops_no_other(rag: Rag, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.md").write_bytes(GOOD)
    (folder / "b.jsonl").write_bytes(
        records(
            number=b'{"uri": "number", "content": "text", "n": NaN, "m": 1e999}',
            infinite=b'{"uri": "infinite", "content": "text", "m": 1e999}',
            nul_key={"a\0b": 1, "q'\"\\": 2, "": 3},
            odd_key={"q'\"\\": 2, "": 3},
            long_key={"k" * 100_000: 1},
            long_uri={"uri": "u" * 5_000},
            lone={"uri": "lone", "content": "text \udfff"},
            marks={"content": "e" + "\u0301" * 10_000},
            unseen={"content": "\u200b\u200d\ufeff\u2060"},
            right_to_left={"content": "\u202eمرحبا بالعالم\u202c שלום"},
        )
    )
    (folder / "c.md").write_bytes(GOOD.replace(b"red", b"blue"))
    docs = rag.collection("docs", model="hash:32")
    report = in_time(lambda: docs.add(folder))
    reasons = {failure.uri[:20]: failure.error for failure in report.failures}
    assert {uri: "\n" in reason for uri, reason in reasons.items()} == dict.fromkeys(
        ["infinite", "nul_key", "number", "u" * 20], False
    )
    assert "metadata.n is nan, a number that JSON does not have" in reasons["number"]
    assert "metadata.m is inf" in reasons["infinite"]
    assert "'a\\x00b' holds a NUL character" in reasons["nul_key"]
    found = {document.uri.rpartition("/")[2] for document in docs.list()}
    assert found >= {"a.md", "c.md", "odd_key", "long_key", "lone", "marks", "right_to_left"}
    assert docs.search("blue fish", filter={"$uri": {"$like": "%c.md"}})
    assert rag.database.job_stats("docs")[0].waiting == 0
    assert docs.add(folder).added == 0
