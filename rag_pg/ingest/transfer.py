"""A collection <-> a folder of JSONL and Parquet files, a page of documents each.

Either way may be killed at any step and is done again from there: a file is there whole or not at
all, and a file is imported in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args
from uuid import UUID, uuid4

from rag_pg.db import API_VERSION, Database, Page, RowKind
from rag_pg.errors import InvalidInput
from rag_pg.extras import extra
from rag_pg.types import Transfer

FORMAT = 1  # of the folder; raised when a release before could not read it
MANIFEST = "export.json"
PAGE_BYTES = 4_000_000  # of texts in a file, beside those of the document that is longer
KINDS: tuple[RowKind, ...] = get_args(RowKind)
RAW = ("metadata", "enriched")  # JSON texts, which keep all digits of a number


def export_collection(
    database: Database,
    name: str,
    folder: Path,
    *,
    versions: bool = False,
    originals: bool = False,
    page_bytes: int = PAGE_BYTES,
) -> Transfer:
    """See `Rag.export_collection`.

    Args:
        page_bytes: of the texts of a file; a longer document has one of its own.
    """
    _parquet()
    wanted = [k for k in KINDS if {"versions": versions, "originals": originals}.get(k, True)]
    manifest = _begun(database, name, folder, wanted)
    if manifest["complete"]:
        return _report(manifest)
    for kind in wanted:
        number, after = _reached(folder, kind)
        while (page := database.export_page(name, kind, after, page_bytes)).rows:
            number, after = number + 1, page.last
            if kind == "documents":
                _write_chunks(folder / f"chunks-{number:06}.parquet", page)
            _write(folder / f"{kind}-{number:06}.jsonl", "".join(f"{row}\n" for row in page.rows))
    chunks = dict(_chunk_files(folder))
    manifest["files"] = {
        **{path.name: len(_lines(path)) for kind in wanted for path in _files(folder, kind)},
        **{file: count for file, (count, _, _) in chunks.items()},
    }
    manifest["chunk_ids"] = [
        min((first for _, first, _ in chunks.values()), default=1),
        max((last for _, _, last in chunks.values()), default=1),
    ]
    if database.collection_version(name) != manifest["version"]:
        manifest["notes"].append(
            "the collection changed while it was exported: what was put or deleted meanwhile may"
            " be in it or not"
        )
    manifest["complete"] = True
    _write(folder / MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1))
    return _report(manifest)


def import_collection(database: Database, folder: Path, name: str | None = None) -> Transfer:
    """See `Rag.import_collection`."""
    _parquet()
    manifest = _read_manifest(folder)
    if manifest is None or not manifest["complete"]:
        raise InvalidInput(f"{folder} holds no complete export; run the export again, it goes on")
    with _undamaged(folder / MANIFEST):
        counts = manifest["files"]
        rows = [file for file in counts if not file.startswith("chunks-")]
        name = manifest["collection"] if name is None else name
        export_id, settings = manifest["export_id"], manifest["settings"]
        first, last = manifest["chunk_ids"]
    kinds = (*KINDS, "chunks")
    if gone := [f for f in counts if f.split("-")[0] not in kinds or not (folder / f).is_file()]:
        raise InvalidInput(f"{folder} lacks {gone[0]}, which its {MANIFEST} names: copy it anew")
    done = database.value(
        int,
        "_begin_import",
        name=name,
        settings=settings,
        export_id=export_id,
        first_chunk=first,
        last_chunk=last,
    )
    left_out: set[str] = set()
    for number, file in enumerate(rows[done:], done + 1):
        kind, _, page = file.removesuffix(".jsonl").partition("-")
        chunks = f"chunks-{page}.parquet" if kind == KINDS[0] else ""
        with _undamaged(folder / file):
            lines = _lines(folder / file)
        with _undamaged(folder / chunks):
            ready = list(_read_chunks(folder / chunks)) if chunks in counts else []
        for read, count in ((lines, counts[file]), (ready, counts.get(chunks, 0))):
            if len(read) != count:
                raise InvalidInput(f"{folder / file} or its chunks are cut off: copy them anew")
        vectors = [(i, s, v) for i, _, of_it in ready for s, v in enumerate(of_it, 1)]
        left_out.update(
            database.import_file(
                name,
                export_id,
                number,
                next(k for k in KINDS if k == kind),
                lines,
                [chunk for _, chunk, _ in ready],
                [(i, s, v) for i, s, v in vectors if v is not None],
            )
        )
    database.call(
        "_finish_import", name=name, settings=settings, export_id=export_id, file_count=len(rows)
    )
    if left_out:
        manifest["notes"].append(
            f"left out, as this release has no such columns: {', '.join(sorted(left_out))}"
        )
    return _report({**manifest, "collection": name})


def _parquet() -> tuple[Any, Any]:
    """The library of Parquet files. Raises: ModelUnavailable."""
    with extra("export", "an export"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow, pyarrow.parquet


def _write_chunks(path: Path, page: Page) -> None:
    """Write the chunks of a page with their vectors, a column for each space; no file for none."""
    path.unlink(missing_ok=True)  # of a page that was read before a kill
    if not page.chunks:
        return
    pa, pq = _parquet()
    spaces = sorted({space for _, space in page.vectors})
    rows = [
        {"chunk_id": chunk_id, "document_id": str(document), **json.loads(line)}
        for chunk_id, (document, line) in page.chunks.items()
    ]
    numbers = {"chunk_id": pa.int64(), **dict.fromkeys(_INTEGERS, pa.int32())}
    columns = [(key, numbers.get(key, pa.string())) for key in rows[0]]
    table = pa.Table.from_pylist(rows, schema=pa.schema(columns))
    for space in range(1, max(spaces, default=0) + 1):
        vectors = [page.vectors.get((chunk_id, space)) for chunk_id in page.chunks]
        table = table.append_column(
            f"vector_{space}", pa.array(vectors, type=pa.list_(pa.float16()))
        )
    part = path.with_suffix(".part")
    pq.write_table(table, part)
    part.replace(path)


_INTEGERS = ("ordinal", "start_offset", "stop_offset")


def _read_chunks(path: Path) -> Iterator[tuple[int, str, Sequence[Any]]]:
    """Yield the id of each chunk, the chunk as JSON, and its vectors, None where it has none."""
    _, pq = _parquet()
    table = pq.read_table(path)
    spaces = [column for column in table.column_names if column.startswith("vector_")]
    vectors = [table.column(space) for space in spaces]
    for number, row in enumerate(table.drop_columns(spaces).to_pylist()):
        raw = [f'"{key}": {row.pop(key, None) or "null"}' for key in RAW]
        chunk = f"{json.dumps(row, ensure_ascii=False)[:-1]}, {', '.join(raw)}}}"
        found = [column[number] for column in vectors]
        yield row["chunk_id"], chunk, [v.values.to_numpy() if v.is_valid else None for v in found]


def _begun(database: Database, name: str, folder: Path, kinds: Sequence[RowKind]) -> dict[str, Any]:
    """The manifest of an export into this folder: one that goes on, or a new one."""
    settings = database.value(dict, "_export_settings", collection=name)
    source = {key: settings["collection"].pop(key) for key in ("collection_id", "created_at")}
    version = database.collection_version(name)
    manifest = _read_manifest(folder)
    if manifest is None:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InvalidInput(f"{folder} is not empty: export into a folder of its own")
        manifest = {
            "format": FORMAT,
            "api_version": API_VERSION,
            "export_id": str(uuid4()),
            "collection": name,
            "source": source,
            "kinds": list(kinds),
            "version": version,
            "settings": settings,
            "notes": [],
            "complete": False,
        }
        _write(folder / MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1))
    elif (manifest["collection"], manifest["source"], manifest["kinds"]) != (name, source, kinds):
        raise InvalidInput(
            f"{folder} holds an export of {', '.join(manifest['kinds'])} of collection"
            f" {manifest['collection']!r}, another one: export into a folder of its own"
        )
    elif manifest["complete"] and manifest["version"] != version:
        raise InvalidInput(
            f"{folder} holds a complete export of {name!r}, which has changed since: export into"
            " another folder"
        )
    return manifest


@contextmanager
def _undamaged(path: Path) -> Iterator[None]:
    """Raises: InvalidInput where what is read of a file is not what an export writes."""
    try:
        yield
    except (ValueError, KeyError, TypeError) as exc:  # of JSON, Parquet and UTF-8, too
        raise InvalidInput(f"{path} is damaged ({exc}): copy it anew") from exc


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    path = folder / MANIFEST
    if not path.is_file():
        return None
    with _undamaged(path):
        manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
        later = manifest["format"] > FORMAT
    if later:
        raise InvalidInput(
            f"{folder} has format {manifest['format']}, this release reads up to {FORMAT}: upgrade"
            " rag-pg"
        )
    return manifest


def _reached(folder: Path, kind: RowKind) -> tuple[int, tuple[UUID, int] | None]:
    """How many files of a kind there are, and their last row."""
    files = _files(folder, kind)
    if not files:
        return 0, None
    last = json.loads(_lines(files[-1])[-1])
    return len(files), (UUID(last["document_id"]), last.get("version") or 0)


def _files(folder: Path, kind: str, suffix: str = "jsonl") -> list[Path]:
    return sorted(folder.glob(f"{kind}-*.{suffix}"))


def _chunk_files(folder: Path) -> Iterable[tuple[str, tuple[int, int, int]]]:
    """How many chunks each file has, with the least and the greatest id."""
    _, pq = _parquet()
    for path in _files(folder, "chunks", "parquet"):
        if (folder / f"documents-{path.stem.removeprefix('chunks-')}.jsonl").is_file():
            ids = pq.read_table(path, columns=["chunk_id"]).column(0).to_numpy()
            yield path.name, (len(ids), int(ids.min()), int(ids.max()))


def _lines(path: Path) -> list[str]:
    """The lines of a file, which other characters than a line feed do not end."""
    return path.read_bytes().decode().split("\n")[:-1]


def _write(path: Path, content: str) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(content.encode())
    part.replace(path)


def _report(manifest: Mapping[str, Any]) -> Transfer:
    counts = {
        kind: sum(n for file, n in manifest["files"].items() if file.startswith(f"{kind}-"))
        for kind in (*KINDS, "chunks")
    }
    return Transfer(collection=manifest["collection"], notes=tuple(manifest["notes"]), **counts)
