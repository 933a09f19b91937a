"""Keys of records that look like those of a document are noted in what a call returns."""

from __future__ import annotations

import json
from pathlib import Path

from rag_pg import Rag

RECORD = {"uri": "a", "content": "Red fish.", "meta": {"x": 1}, "year": 2024}
NOTE = (
    "key 'meta' became metadata of 2 documents: it looks like metadata; rename it, or put it into"
    " metadata if it belongs there"
)


def test_added_records_and_files_note_mistaken_keys(rag: Rag, tmp_path: Path) -> None:
    docs = rag.collection("docs", model="hash:32")
    second = {**RECORD, "uri": "b"}
    file = tmp_path / "some.jsonl"
    file.write_text(f"{json.dumps(RECORD)}\n{json.dumps(second)}\n")
    for sources in ([RECORD, second], [file]):
        assert docs.add(*sources, wait=False, dry_run=True).notes == (NOTE,)
        assert docs.add(*sources, wait=False).notes == (NOTE,)
    plain = {"uri": "c", "content": "x", "metadata": {"meta": 1}, "year": 1}
    assert docs.add(plain, wait=False).notes == ()


def test_added_chunks_note_mistaken_keys(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    count = docs.add_chunks([{"uri": "a", "content": "x", "titel": "T", "page": 1}], wait=False)
    assert count == 1 and [note[:11] for note in count.notes] == ["key 'titel'"]
    count = docs.add_chunks([{"uri": "a", "content": "x", "page": 1}], wait=False)
    assert count == 1 and not count.notes


def test_documents_of_one_uri_are_noted(rag: Rag) -> None:
    docs = rag.collection("docs", model="hash:32")
    told = docs.add(
        *({"uri": uri, "content": f"{n}."} for n, uri in enumerate("abacb")), wait=False
    )
    assert told.notes == ("several documents have one uri, of which the last was kept: a, b (2)",)
    assert docs.add({"uri": "a", "content": "2."}, wait=False).notes == ()
