"""What `Collection.add` and `add_chunks` do before the queue: read, check, put."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

from rag_pg.db import Database
from rag_pg.errors import InvalidInput, RagError
from rag_pg.fault import Fault, fault_of
from rag_pg.load import find_files, load_documents, read_documents
from rag_pg.text import clean_text
from rag_pg.tracing import QUEUE, span
from rag_pg.types import (
    AddReport,
    CollectionInfo,
    Existing,
    Loaded,
    LoadFailure,
    Original,
    Skipped,
    Unchanged,
)


@dataclass(frozen=True, slots=True)
class Stream:
    """What is read to its end, such as standard input; the suffix of `uri` says what it is."""

    file: BinaryIO
    uri: str


DOCUMENTS_PER_PUT = 64
DOCUMENT_KEYS = ("uri", "content", "title", "metadata", "media_type", "language")
TITLE_LENGTH = 200  # characters that the database keeps
CHUNK_KEYS = ("uri", "content", "embedding", "title", "heading", "metadata")  # others are metadata
CHARACTERS_PER_PUT = 4_000_000

Read = Loaded | LoadFailure | Skipped | Unchanged
Single = str | Path | Mapping[str, Any] | Read | Stream
Source = Single | Iterator[Single]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """How sources are read; see `Collection.add`. ocr: see `load_file`."""

    max_bytes: int
    ocr: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    exclude: Sequence[str] = ()
    keep_original: bool = False
    existing: Existing = "replace"

    def __post_init__(self) -> None:
        names = ("uri", "content", "title", "media_type", "language")
        wrong = [own for own in self.keys.values() if own not in names]
        if wrong or len(set(self.keys.values())) < len(self.keys):
            raise InvalidInput(
                f"cannot map to {(wrong or ['the same name twice'])[0]}: the names are"
                f" {', '.join(names)}, each once; all other keys become metadata"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Remarks:
    """What is told of sources while they are read."""

    failures: list[LoadFailure] = field(default_factory=list)
    removed: dict[str, int] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)  # characters by uri
    originals: dict[str, Original] = field(default_factory=dict)  # files to be kept, by uri
    states: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # for a later sync, by uri
    queued: set[UUID] = field(default_factory=set)  # what was put and is work
    unchanged: dict[UUID, str] = field(default_factory=dict)  # uris of what need not be put
    other_keys: Counter[str] = field(default_factory=Counter)  # of records, that became metadata
    repeated: dict[str, None] = field(default_factory=dict)  # uris that several documents have

    def report(self, uris: Sequence[str], **counts: Any) -> AddReport:
        return AddReport(
            uris=tuple(uris),
            failures=tuple(self.failures),
            removed_characters=self.removed,
            skipped=self.skipped,
            notes=tuple(self.notes),
            **counts,
        )


def put_sources(
    database: Database,
    collection: str,
    sources: Sequence[Source],
    reading: Reading,
    remarks: Remarks,
) -> dict[UUID, str]:
    """Put what the sources hold, in batches; return the documents' uris by id."""
    check_sources(sources)
    attributes = {
        **QUEUE,
        "messaging.operation.name": "add",
        "messaging.operation.type": "send",
        "gen_ai.data_source.id": collection,
    }
    with span(f"add {collection}", attributes, kind="producer") as current:
        ids = _put_sources(database, collection, sources, reading, remarks) | remarks.unchanged
        remarks.notes.extend(key_notes(database, remarks.other_keys, DOCUMENT_KEYS, "document"))
        if remarks.repeated and reading.existing == "replace":
            some = ", ".join([*remarks.repeated][:3]) + ", …" * (len(remarks.repeated) > 3)
            remarks.notes.append(
                f"several documents have one uri, of which the last was kept: {some}"
                f" ({len(remarks.repeated)})"
            )
        current.set_attribute("rag_pg.documents", len(ids))
        current.set_attribute("rag_pg.failures", len(remarks.failures))
    return ids


def _put_sources(
    database: Database,
    collection: str,
    sources: Sequence[Source],
    reading: Reading,
    remarks: Remarks,
) -> dict[UUID, str]:
    ids: dict[UUID, str] = {}
    pending: list[Mapping[str, Any]] = []
    size = 0

    def put_pending() -> None:
        put(database, collection, pending, ids, remarks, reading.existing)
        if reading.existing == "skip":
            _forget_skipped(database, collection, pending, remarks)
        _keep(database, collection, remarks)

    for document in read_sources(sources, reading, remarks):
        pending.append(document)
        uri = str(document["uri"])
        if uri in remarks.sizes:
            remarks.repeated[uri] = None
        remarks.sizes[uri] = len(document["content"])
        kept = remarks.originals.get(uri)
        size += len(document["content"]) + (kept.size if kept else 0)
        if len(pending) >= DOCUMENTS_PER_PUT or size >= CHARACTERS_PER_PUT:
            put_pending()
            pending, size = [], 0
    put_pending()
    return ids


def _forget_skipped(
    database: Database, collection: str, documents: Sequence[Mapping[str, Any]], remarks: Remarks
) -> None:
    """Keep no file and no note of a document that was there with another text."""
    noted = [one for one in documents if one["uri"] in {*remarks.originals, *remarks.states}]
    found = database.get_documents(collection, [one["uri"] for one in noted]) if noted else []
    stored = {one.uri: one.content for one in found}
    for document in noted:
        if stored.get(uri := str(document["uri"])) != document["content"]:
            remarks.originals.pop(uri, None)
            remarks.states.pop(uri, None)


def _keep(database: Database, collection: str, remarks: Remarks) -> None:
    """Store the files of the documents that were put, and what a sync notes of them."""
    failed = {failure.uri for failure in remarks.failures}
    for uri, original in remarks.originals.items():
        if uri not in failed:
            database.keep_original(collection, uri, original)
    remarks.originals.clear()
    if put_ := {uri: state for uri, state in remarks.states.items() if uri not in failed}:
        database.note_synced(collection, put_)
    remarks.states.clear()


def compare_sources(
    database: Database,
    info: CollectionInfo,
    sources: Sequence[Source],
    reading: Reading,
    remarks: Remarks,
) -> dict[str, bool]:
    """Read what the sources hold, and return by uri whether putting it would change the text."""
    check_sources(sources)
    compared = {}
    for document in read_sources(sources, reading, remarks):
        uri = str(document["uri"])
        stored = database.get_document(info.name, uri)
        compared[uri] = stored is None or _text_of(database, document, info) != (
            stored.content,
            stored.title,
            stored.media_type,
            stored.language or info.language,
        )
    remarks.notes.extend(key_notes(database, remarks.other_keys, DOCUMENT_KEYS, "document"))
    return compared | dict.fromkeys(remarks.unchanged.values(), False)


def key_notes(
    database: Database, keys: Mapping[str, int], own: Sequence[str], kind: str
) -> list[str]:
    """Return a note for each key of records that became metadata and looks like one of `own`.

    keys: each with the number of records that have it. kind: what a record is."""
    storable = [key for key in keys if clean_text(key)[0] == key]
    if not storable:
        return []
    found = database.tuples(("mistaken", "meant"), "_mistaken_keys", keys=storable, own_keys=own)
    return [
        f"key {key!r} became metadata of {keys[key]} {kind}{'s' * (keys[key] > 1)}: it looks like"
        f" {meant}; rename it, or put it into metadata if it belongs there"
        for key, meant in found
    ]


def _text_of(
    database: Database, document: Mapping[str, Any], info: CollectionInfo
) -> tuple[str, ...]:
    """What a change of makes work: as the database keeps it."""
    title = _title(document)[:TITLE_LENGTH]
    media_type = document.get("media_type") or "text/plain"
    language = document.get("language") or info.language
    automatic = f"{database.schema}.auto"
    if language in ("auto", automatic):
        language = (
            database.optional(str, "detect_language", content=f"{title}\n{document['content']}")
            or automatic
        )
    return (document["content"], title, media_type, language)


def _title(document: Mapping[str, Any]) -> str:
    return " ".join(str(document.get("title") or "").split())


def check_sources(sources: Sequence[Source]) -> None:
    for source in sources:
        if not isinstance(source, str | Path | Mapping | Read | Stream | Iterator):
            raise InvalidInput(
                f"cannot add a {type(source).__name__}: pass paths, documents as mappings with uri"
                " and content, or iterators of them"
            )


def read_sources(
    sources: Iterable[Source], reading: Reading, remarks: Remarks
) -> Iterator[Mapping[str, Any]]:
    """Yield documents ready to put; note what failed, was skipped and left out on the way."""
    for source in sources:
        if isinstance(source, Iterator):
            for one in source:
                check_sources([one])
                yield from read_sources([one], reading, remarks)
            continue
        if isinstance(source, Mapping):
            document = dict(source)
            for key in ("content", "title", "uri"):
                if isinstance(document.get(key), str):
                    document[key], count = clean_text(document[key])
                    if count:
                        remarks.removed[str(document.get("uri"))] = count
            if isinstance(document.get("content"), str) and document.get("uri"):
                if len(_title(document)) > TITLE_LENGTH:
                    told = f"only {TITLE_LENGTH} characters of its title are kept"
                    remarks.notes.append(f"{document['uri']}: {told}")
                remarks.other_keys.update(map(str, document.keys() - {*DOCUMENT_KEYS}))
                yield _described(document, reading)
                continue
            remarks.failures.append(
                LoadFailure(
                    uri=str(document.get("uri") or "?"),
                    error="a document needs uri and content, both text: this one has "
                    f"{', '.join(sorted(map(str, source))) or 'no keys'}"
                    + "".join(
                        f"; its {key} is {source[key]!r:.40}"
                        for key in ("uri", "content")
                        if key in source and not (source[key] and isinstance(source[key], str))
                    ),
                )
            )
            continue
        for loaded in _load(source, reading, remarks):
            if isinstance(loaded, LoadFailure):
                remarks.failures.append(loaded)
                continue
            if isinstance(loaded, Skipped):
                remarks.skipped[loaded.reason] += 1
                continue
            if isinstance(loaded, Unchanged):
                assert loaded.document_id is not None
                remarks.unchanged[loaded.document_id] = loaded.uri
                continue
            if loaded.removed:
                remarks.removed[loaded.uri] = loaded.removed
            remarks.notes.extend(f"{loaded.uri}: {note}" for note in loaded.notes)
            remarks.other_keys.update(loaded.other_keys)
            if reading.keep_original and loaded.original is not None:
                remarks.originals[loaded.uri] = loaded.original
            if loaded.sync_state is not None:
                remarks.states[loaded.uri] = loaded.sync_state
            yield _described(as_document(loaded), reading)


def _described(document: Mapping[str, Any], reading: Reading) -> Mapping[str, Any]:
    """Return a document with the metadata that all get; what it says itself goes first."""
    if not reading.metadata:
        return document
    return {**document, "metadata": {**reading.metadata, **(document.get("metadata") or {})}}


def _load(source: str | Path | Read | Stream, reading: Reading, remarks: Remarks) -> Iterator[Read]:
    if isinstance(source, Read):
        yield source
        return
    options: dict[str, Any] = {
        "max_bytes": reading.max_bytes,
        "keys": reading.keys,
        "ocr": reading.ocr,
    }
    if isinstance(source, Stream):
        data = source.file.read(reading.max_bytes + 1)
        yield from read_documents(Path(source.uri), source.uri, data, **options)
        return
    found = find_files([Path(source)], exclude=reading.exclude)
    remarks.failures.extend(found.failures)
    remarks.skipped.update(found.skipped)
    for path, uri in found.files:
        yield from load_documents(path, uri, **options)


def as_document(loaded: Loaded) -> Mapping[str, Any]:
    """Return a loaded file as rag.put_documents takes it."""
    document = {
        "uri": loaded.uri,
        "title": loaded.title,
        "content": loaded.content,
        "media_type": loaded.media_type,
        "metadata": dict(loaded.metadata),
    }
    return document | ({"language": loaded.language} if loaded.language else {})


def put(
    database: Database,
    collection: str,
    documents: Sequence[Mapping[str, Any]],
    ids: dict[UUID, str],
    remarks: Remarks,
    existing: Existing = "replace",
) -> None:
    """Put a batch; when the database refuses it, put its halves, down to the document at fault."""
    if not documents:
        return
    try:
        stored = database.put_documents(collection, documents, existing, remarks.queued)
    except RagError as exc:
        if fault_of(exc) not in (Fault.REFUSED, Fault.DOCUMENT):
            raise
        if len(documents) == 1:
            remarks.failures.append(LoadFailure(uri=str(documents[0]["uri"]), error=str(exc)))
            return
        middle = len(documents) // 2
        put(database, collection, documents[:middle], ids, remarks, existing)
        put(database, collection, documents[middle:], ids, remarks, existing)
        return
    ids.update(zip(stored, (str(d["uri"]) for d in documents), strict=True))


def checked_chunks(
    chunks: Iterable[Mapping[str, Any]], other_keys: Counter[str]
) -> Iterator[Mapping[str, Any]]:
    """Yield chunks as load_chunks takes them: keys that are not a chunk's own are metadata,
    as everywhere; `other_keys` counts them.

    Raises: InvalidInput (no text, no uri, nothing in it).
    """
    for index, chunk in enumerate(chunks):
        if not isinstance(chunk.get("uri"), str) or not isinstance(chunk.get("content"), str):
            raise InvalidInput(
                f"chunk {index} needs uri and content, both text:"
                f" {', '.join(sorted(chunk)) or 'no keys'}"
            )
        others = {key: value for key, value in chunk.items() if key not in CHUNK_KEYS}
        cleaned = {key: value for key, value in chunk.items() if key in CHUNK_KEYS}
        other_keys.update([*others])
        if others:
            cleaned["metadata"] = {**others, **(chunk.get("metadata") or {})}
        for key in ("uri", "content", "title", "heading"):
            if isinstance(chunk.get(key), str):
                cleaned[key], _ = clean_text(chunk[key])
        if not cleaned["content"].strip():
            raise InvalidInput(f"chunk {index} ({chunk['uri']}) is empty")
        yield cleaned
