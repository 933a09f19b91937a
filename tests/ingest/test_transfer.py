"""A collection goes into a folder and comes out of it, here or elsewhere: searches are equal."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet
import pytest
import tenancy
from fakes import HashEmbedder
from psycopg.conninfo import make_conninfo

from rag_pg import Rag, Settings
from rag_pg.client import Collection
from rag_pg.errors import (
    AlreadyExists,
    CollectionMismatch,
    InvalidInput,
    NotFound,
    PermissionDenied,
)
from rag_pg.ingest import export_collection

WORDS = [
    "red",
    "blue",
    "fish",
    "Straße",
    "größer",
    "naïve",
    "魚",
    "شمس",
    "рыба",
    "e\u0301t",
    "3.14",
]
URIS = ("plain", "a b/c?d=e#f", "C:\\x", "ü/ñ", "🐟", '"quoted"', "it's", "a\u2028b", "x" * 1999)
VALUES: tuple[Any, ...] = (
    1, -2.5, 10**30, True, None, "", "text", "2024-02-29", [1, "a", None], {"b": {"c": [{}]}}, "🐟",
)  # fmt: skip
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "english": {},
    "german": {"language": "german", "chunking": {"max_tokens": 32, "overlap": 0}},
    "auto": {"language": "auto", "distance": "l2"},
    "exact": {"distance": "ip", "index_options": {"kind": "exact", "k1": 0.9, "b": 0.3}},
}


def open_rag(dsn: str, home: Path, **options: Any) -> Rag:
    return Rag(dsn, settings=Settings(home=home), embedders={"hash": HashEmbedder}, **options)


def text(chance: random.Random, longest: int = 60) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(1, longest)))


def fill(rag: Rag, chance: random.Random, settings: Mapping[str, Any]) -> Collection:
    """A collection with texts that are cut, chunks that are ready-made, twins, replaced documents,
    a second space, fields, documents that nobody has cut, chunks without a vector."""
    docs = rag.collection("docs", model="hash:16", **settings)
    docs.metadata.index("n", "numeric")
    docs.alter(description="of all kinds")

    def documents(uris: Any) -> Iterator[dict[str, Any]]:
        for uri in uris:
            metadata = {f"k{i}": v for i, v in enumerate(VALUES) if chance.random() < 0.5}
            yield {
                "uri": uri, "content": text(chance), "title": text(chance, 3),
                "metadata": {**metadata, "n": chance.randrange(3)},
                "media_type": chance.choice(["text/plain", "text/markdown", "text/x-python"]),
            }  # fmt: skip

    docs.add(documents([*URIS, *(f"d{n}" for n in range(20))]))
    docs.add(*[{"uri": f"twin{n}", "content": "red fish blue house"} for n in range(4)])
    docs.add(*[{"uri": "signs", "content": "!!! ... ???"}])
    docs.add_chunks(
        {"uri": f"ready{n % 3}", "content": text(chance, 9), "heading": text(chance, 2),
         "metadata": {"part": n}}
        for n in range(12)
    )  # fmt: skip
    docs.spaces.create("hash:8")
    docs.add(documents(f"d{n}" for n in range(5)))  # other chunks, with later ids
    docs.add_chunks([{"uri": "no vector", "content": "red fish"}], wait=False)
    docs.add(*[{"uri": "pending", "content": "not cut yet"}], wait=False)
    return docs


def seen(docs: Collection, chance: random.Random) -> list[Any]:
    """What searches, filters and readers give, without what is given anew."""
    found: list[Any] = []
    for _ in range(6):
        query = text(chance, 4)
        for options in (
            {}, {"vector_weight": 0.0}, {"keyword_weight": 0.0}, {"fusion": "rrf"},
            {"filter": {"n": {"$gte": 1}}}, {"filter": {"k4": None}, "duplicates": True},
            {"filter": {"$uri": {"$in": list(URIS)}}, "fusion": "weighted"},
        ):  # fmt: skip
            hits = docs.search(query, limit=30, cache=False, **options)
            found.append(
                [
                    (h.uri, h.heading, h.content, h.metadata, h.vector_rank, h.keyword_rank,
                     *(None if x is None else round(x, 9) for x in
                       (h.score, h.vector_distance, h.keyword_score)))
                    for h in hits
                ]
            )  # fmt: skip
    found.append(sorted(
        (d.uri, d.title, d.content, d.media_type, d.language, d.metadata, d.version, d.chunks,
         d.created_at, d.updated_at)
        for d in docs.list(content=True)
    ))  # fmt: skip
    spaces = docs.rag.database.list_spaces(docs.name)
    found.append([(s.model, s.state, s.embedded, s.similarity_mean) for s in spaces])
    found.append((docs.metadata.fields(), docs.info.description, docs.info.chunking))
    return found


@pytest.mark.parametrize(
    "kind",
    [k if k == "auto" else pytest.param(k, marks=pytest.mark.minutes) for k in SETTINGS],
)
def test_searches_of_an_imported_collection_are_those_of_its_source(
    kind: str, dsn: str, new_database: Callable[..., str], template: str, tmp_path: Path
) -> None:
    seed = f"transfer {kind}"
    with open_rag(dsn, tmp_path) as rag:
        docs = fill(rag, random.Random(seed), SETTINGS[kind])
        expected = seen(docs, random.Random(seed))
        report = export_collection(rag.database, "docs", tmp_path / "out", page_bytes=300)
        assert report.documents == docs.count() and report.chunks == docs.stats().chunks
        assert len([*tmp_path.glob("out/documents-*.jsonl")]) > 5
        assert rag.import_collection(tmp_path / "out", "other").chunks == report.chunks
        assert seen(rag.get_collection("other"), random.Random(seed)) == expected
        assert [i.name for i in rag.collections()] == ["docs", "other"]
        # what nobody had cut or embedded yet is queued, and nothing else
        rag.worker(["docs", "other"]).drain()
        of_both = [
            sorted((d.uri, d.chunks, d.state) for d in rag.get_collection(name).list())
            for name in ("docs", "other")
        ]
        assert of_both[0] == of_both[1] and "pending" not in {s for _, _, s in of_both[0]}
    elsewhere = new_database(template)
    open_rag(elsewhere, tmp_path, schema="legal").upgrade()
    with open_rag(elsewhere, tmp_path, schema="legal") as rag:
        rag.import_collection(tmp_path / "out")
        assert seen(rag.get_collection("docs"), random.Random(seed)) == expected


@pytest.fixture
def small(rag: Rag, tmp_path: Path) -> Path:
    """A folder with an export of collection docs: three documents, a version of one and of one that
    is deleted, a file."""
    docs = rag.collection("docs", model="hash:32")
    docs.alter(keep_versions=timedelta(days=1), keep_original=True)
    file = tmp_path / "kept.md"
    for content in ("First text.", "Second text, of which the first is a version."):
        file.write_text(content)
        docs.add(file)
    docs.add(*[{"uri": "gone", "content": "deleted"}, {"uri": "b", "content": "other"}])
    docs.add_chunks([{"uri": "c", "content": "ready", "metadata": {"of": "a chunk"}}])
    docs.delete("gone")
    rag.export_collection("docs", tmp_path / "out", versions=True, originals=True)
    return tmp_path / "out"


def rewrite(folder: Path, **values: Any) -> None:
    path = folder / "export.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_versions_and_originals_go_along(
    rag: Rag, connection: psycopg.Connection[Any], small: Path
) -> None:
    docs = rag.get_collection("docs")
    report = rag.import_collection(small, "copy")
    assert (report.documents, report.versions, report.originals) == (3, 2, 1)
    copy = rag.get_collection("copy")
    uri = next(d.uri for d in docs.list() if d.uri.endswith("kept.md"))
    assert copy.original(uri) == docs.original(uri)
    assert copy.versions.list(uri) == docs.versions.list(uri)
    copies = "SELECT v.uri FROM rag.document_versions AS v WHERE v.deleted ORDER BY 1"
    assert connection.execute(copies).fetchall() == [("gone",)] * 2


def test_an_earlier_and_a_later_release_are_read(rag: Rag, small: Path) -> None:
    rows = [
        json.loads(line) for line in (small / "documents-000001.jsonl").read_text().splitlines()
    ]
    later = [{**row, "of_later": 1} for row in rows]
    earlier = [{k: v for k, v in row.items() if k not in ("acl", "sync_state")} for row in rows]
    for name, changed in (("later", later), ("earlier", earlier)):
        text = "".join(json.dumps(row) + "\n" for row in changed)
        (small / "documents-000001.jsonl").write_text(text)
        notes = rag.import_collection(small, name).notes
        assert [*notes] == (
            ["left out, as this release has no such columns: of_later"] if name == "later" else []
        )
        assert [hit.uri for hit in rag.get_collection(name).search("other", limit=1)] == ["b"]
    rewrite(small, format=2)
    with pytest.raises(InvalidInput, match="has format 2, this release reads up to 1: upgrade"):
        rag.import_collection(small, "newest")


def test_what_is_no_whole_export_is_named(rag: Rag, small: Path, tmp_path: Path) -> None:
    docs = rag.get_collection("docs")
    with pytest.raises(AlreadyExists, match="there is a collection 'docs' already"):
        rag.import_collection(small)
    with pytest.raises(InvalidInput, match="holds no complete export"):
        rag.import_collection(tmp_path / "nothing")
    with pytest.raises(InvalidInput, match=r"an export of documents, versions, originals .*docs"):
        rag.export_collection("docs", small)
    with pytest.raises(InvalidInput, match="is not empty"):
        rag.export_collection("docs", tmp_path)
    assert (
        rag.export_collection("docs", small, versions=True, originals=True).documents == 3
    )  # as it is there
    docs.add(*[{"uri": "later", "content": "later"}])
    with pytest.raises(InvalidInput, match="has changed since"):
        rag.export_collection("docs", small, versions=True, originals=True)
    documents, chunks = small / "documents-000001.jsonl", small / "chunks-000001.parquet"
    lines, vectors = documents.read_text(), chunks.read_bytes()
    for cut in (lines[: lines.index("\n") + 1], ""):
        documents.write_text(cut)
        with pytest.raises(InvalidInput, match=r"documents-000001.* cut off"):
            rag.import_collection(small, "copy")
    documents.unlink()
    with pytest.raises(InvalidInput, match=r"lacks documents-000001\.jsonl"):
        rag.import_collection(small, "copy")
    documents.write_bytes(b"\xff")
    with pytest.raises(InvalidInput, match=r"documents-000001\.jsonl is damaged"):
        rag.import_collection(small, "copy")
    documents.write_text(lines)
    chunks.write_bytes(vectors[:300])
    with pytest.raises(InvalidInput, match=r"chunks-000001\.parquet is damaged"):
        rag.import_collection(small, "copy")
    rewrite(small, files={str(tmp_path / "kept.md"): 1})
    with pytest.raises(InvalidInput, match=r"lacks .*kept\.md"):
        rag.import_collection(small, "copy")
    for text in ("{", "[]", "{}"):
        (small / "export.json").write_text(text)
        with pytest.raises(InvalidInput, match=r"export\.json is damaged"):
            rag.import_collection(small, "copy")


def test_a_half_is_not_found_by_its_name_and_of_one_export(
    rag: Rag, small: Path, tmp_path: Path
) -> None:
    manifest = json.loads((small / "export.json").read_text())
    first, last = manifest["chunk_ids"]
    begun = {"settings": manifest["settings"], "first_chunk": first, "last_chunk": last}
    begun |= {"name": "copy", "export_id": "another"}
    assert rag.database.value(int, "_begin_import", **begun) == 0
    assert [info.name for info in rag.collections()] == ["copy~import", "docs"]
    assert rag.info("copy~import").description.startswith("half imported: export another, 0 files")
    with pytest.raises(CollectionMismatch, match="'copy~import' is half of another import"):
        rag.import_collection(small, "copy")
    rag.drop_collection("copy~import")
    rag.import_collection(small, "copy")
    assert rag.import_collection(small, "n" * 100).documents == 3  # no longer while it is half


@pytest.mark.minutes
def test_writers_of_the_source_and_the_copy_never_take_an_id_twice(
    rag: Rag, connection: psycopg.Connection[Any], small: Path
) -> None:
    rag.import_collection(small, "copy")
    for name in ("docs", "copy"):
        rag.get_collection(name).add(*[{"uri": f"n{n}", "content": f"new {n}"} for n in range(40)])
    (count, distinct), *_ = connection.execute(
        "SELECT count(*), count(DISTINCT c.chunk_id) FROM rag.chunks AS c"
    ).fetchall()
    assert count == distinct == 2 * (3 + 40)


def test_chunks_are_parquet_that_others_read(small: Path) -> None:
    (path,) = small.glob("chunks-*.parquet")
    table = pyarrow.parquet.read_table(path)
    assert sorted(table.column("content").to_pylist())[1:] == ["other", "ready"]
    assert [len(v) for v in table.column("vector_1").to_pylist()] == [32, 32, 32]


def test_a_tenant_exports_what_it_sees_and_imports_nothing(dsn: str, tmp_path: Path) -> None:
    tenants = ["acme", "globex"]

    def make(connection: psycopg.Connection[Any]) -> None:
        tenancy.make_tenants(connection, tenants, access="reader")
        tenancy.share(connection, tenants)

    with (
        tenancy.tenants_of(dsn, tenants, make),
        Rag(
            make_conninfo(dsn, user=tenancy.role("acme")), settings=Settings(home=tmp_path / "home")
        ) as rag,
    ):
        for name in (tenancy.collection("acme"), tenancy.SHARED):
            docs = rag.get_collection(name)
            assert rag.export_collection(name, tmp_path / name).documents == docs.count() > 3
            told = b"".join(path.read_bytes() for path in tmp_path.glob(f"{name}/*")).decode(
                "latin1"
            )
            assert tenancy.canary("acme") in told
            assert ("measured_chunks" in told) == (name != tenancy.SHARED)  # of all tenants
            for word in ("nobodyscanary", "globex", tenancy.hidden("acme"), "/sales"):
                assert word not in told, word
        with pytest.raises(PermissionDenied, match="function _begin_import"):
            rag.import_collection(tmp_path / tenancy.SHARED, "mine")
        with pytest.raises(PermissionDenied, match="versions of a shared collection"):
            rag.export_collection(name, tmp_path / "versions", versions=True)
        with pytest.raises(NotFound, match="there is no collection 'docs-globex'"):
            rag.database.export_page(tenancy.collection("globex"), "documents", None, 1)
