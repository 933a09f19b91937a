"""What `Collection.add` and `add_chunks` do before the queue: read, check, put."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from rag_pg.db import Database
from rag_pg.errors import InvalidInput
from rag_pg.load import clean_text, find_files, load_file
from rag_pg.models import LoadFailure

Source = str | Path | Mapping[str, Any]


def check_sources(sources: Sequence[Source]) -> None:
    for source in sources:
        if not isinstance(source, str | Path | Mapping):
            raise InvalidInput(
                f"cannot add a {type(source).__name__}: pass paths, or documents as mappings with uri and content"
            )


def read_sources(
    sources: Iterable[Source],
    max_bytes: int,
    failures: list[LoadFailure],
    removed: dict[str, int],
) -> Iterator[Mapping[str, Any]]:
    """Yield documents ready to put; note failures and removed characters on the way."""
    for source in sources:
        if isinstance(source, Mapping):
            document = dict(source)
            for key in ("content", "title", "uri"):
                if isinstance(document.get(key), str):
                    document[key], count = clean_text(document[key])
                    if count:
                        removed[str(document.get("uri"))] = count
            if isinstance(document.get("content"), str) and document.get("uri"):
                yield document
                continue
            failures.append(
                LoadFailure(
                    path=Path(str(document.get("uri") or "?")),
                    error="a document needs uri and content, both text: this one has "
                    f"{', '.join(sorted(map(str, source))) or 'no keys'}",
                )
            )
            continue
        found = find_files([Path(source)])
        failures += found.failures
        for path, uri in found.files:
            try:
                loaded = load_file(path, uri, max_bytes=max_bytes)
            except InvalidInput as exc:
                failures.append(LoadFailure(path=path, error=str(exc)))
                continue
            if loaded.removed:
                removed[uri] = loaded.removed
            yield {
                "uri": loaded.uri,
                "title": loaded.title,
                "content": loaded.content,
                "media_type": loaded.media_type,
                "metadata": dict(loaded.metadata),
            }


def put(
    database: Database,
    collection: str,
    documents: Sequence[Mapping[str, Any]],
    ids: dict[UUID, str],
    failures: list[LoadFailure],
) -> None:
    """Put a batch; when the database refuses it, put its halves, down to the document at fault."""
    if not documents:
        return
    try:
        stored = database.put_documents(collection, documents)
    except InvalidInput as exc:
        if len(documents) == 1:
            failures.append(LoadFailure(path=Path(documents[0]["uri"]), error=str(exc)))
            return
        middle = len(documents) // 2
        put(database, collection, documents[:middle], ids, failures)
        put(database, collection, documents[middle:], ids, failures)
        return
    ids.update(zip(stored, (str(d["uri"]) for d in documents), strict=True))


def checked_chunks(chunks: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for place, chunk in enumerate(chunks):
        if not isinstance(chunk.get("uri"), str) or not isinstance(chunk.get("content"), str):
            raise InvalidInput(
                f"chunk {place} needs uri and content, both text: {', '.join(sorted(chunk)) or 'no keys'}"
            )
        unknown = chunk.keys() - {"uri", "content", "embedding", "title", "heading", "metadata"}
        if unknown:
            raise InvalidInput(
                f"chunk {place} ({chunk['uri']}) has unknown keys: {', '.join(sorted(unknown))}; "
                "put them into metadata"
            )
        cleaned = dict(chunk)
        for key in ("uri", "content", "title", "heading"):
            if isinstance(chunk.get(key), str):
                cleaned[key], _ = clean_text(chunk[key])
        if not cleaned["content"].strip():
            raise InvalidInput(f"chunk {place} ({chunk['uri']}) is empty")
        yield cleaned
