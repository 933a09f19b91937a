"""The commands about documents: add and sync them, delete, list, count, show them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg import console
from rag_pg.cli.remarks import tell_remarks
from rag_pg.cli.versions import print_difference, print_text_at, print_versions
from rag_pg.console import Column, Filter, Name, command, count_of
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.ingest import Source
    from rag_pg.types import Document, Original, SyncReport


@command
def add(
    rag: Rag,
    paths: Annotated[
        list[Path], typer.Argument(help="Files, folders, patterns; - reads standard input.")
    ],
    collection: Name = "docs",
    uri: Annotated[
        str, typer.Option(help="Name of what - reads; its suffix says what it is.")
    ] = "stdin.txt",
    model: Annotated[str | None, typer.Option(help="Embedder of a new collection.")] = None,
    language: Annotated[str | None, typer.Option(help="Language of a new collection.")] = None,
    chunking: Annotated[
        str | None,
        typer.Option(help='Chunking of a new collection, as JSON: \'{"method": "sentence"}\'.'),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="Chunking for documentation, code, conversations or papers."),
    ] = None,
    metadata: Annotated[
        list[str] | None,
        typer.Option(help="Metadata of every document: lang=en, or a JSON object; repeatable."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Leave out of folders and patterns, as in .gitignore; repeatable."),
    ] = None,
    map_: Annotated[
        str | None,
        typer.Option("--map", help="Keys of JSON and CSV records: id=uri,text=content."),
    ] = None,
    keep_original: Annotated[
        bool | None,
        typer.Option(
            "--keep-original/--no-keep-original",
            help="Store the files themselves, too, or not.",
            show_default="as the collection says",
        ),
    ] = None,
    ocr: Annotated[
        bool, typer.Option("--ocr", help="Read scanned pages of PDF files by tesseract.")
    ] = False,
    wait: Annotated[bool, typer.Option(help="Embed now, or leave it to a worker.")] = True,
) -> None:
    """Add documents and wait until they are searchable. Unchanged ones cost nothing."""
    shown = """'{"method": "sentence"}'"""
    cut = None if chunking is None else console.parsed_object(chunking, "the chunking", shown)
    keys = _pairs(map_)
    about = {
        key: value for text in metadata or () for key, value in console.parsed_pairs(text).items()
    }
    target = rag.collection(collection, model=model, language=language, chunking=cut, preset=preset)
    with console.show_progress() as progress, console.interruptible(rag, collection):
        report = target.add(
            *_sources(paths, uri),
            wait=wait,
            progress=progress,
            metadata=about,
            exclude=exclude or (),
            keys=keys,
            keep_original=keep_original,
            ocr=ocr,
        )
    remarks = tell_remarks(report)
    state = "searchable" if wait else "queued"
    console.write_result(
        f"{count_of(report.added, 'document')} {state}, {report.unchanged} unchanged, "
        f"{len(report.failures)} failed",
        collection=collection,
        added=report.added,
        unchanged=report.unchanged,
        **remarks,
    )
    if report.failures:
        raise SystemExit(1)


@command
def sync(
    rag: Rag,
    location: Annotated[
        str, typer.Argument(help="A folder, an archive, or an address: https://docs.example.com/.")
    ],
    collection: Name = "docs",
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and follow what changes in the folder.")
    ] = False,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave out, as in .gitignore; repeatable.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="An option of the location: depth=1; repeatable."),
    ] = None,
    ocr: Annotated[
        bool, typer.Option("--ocr", help="Read scanned pages of PDF files by tesseract.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
) -> None:
    """Bring a collection in step with a folder or another location.

    What changed is added, and what vanished deleted.
    """
    from rag_pg.ingest import changes, until_back
    from rag_pg.locations import without_secrets

    options = {
        key: value for text in set_ or () for key, value in console.parsed_pairs(text).items()
    }
    is_folder = Path(location).is_dir()
    if watch and not is_folder:
        raise InvalidInput(
            f"--watch follows a folder; have a worker sync {without_secrets(location)} again:"
            " rag-pg call attach_location"
        )
    if not (is_folder or "://" in location or "::" in location or Path(location).is_file()):
        raise InvalidInput(f"{without_secrets(location)} is not a folder, an archive or an address")
    target = console.open_collection(rag, collection)

    def look() -> SyncReport:
        with console.show_progress() as progress, console.interruptible(rag, collection):
            return target.sync(
                location,
                progress=progress,
                exclude=exclude or (),
                ocr=ocr,
                dry_run=dry_run,
                options=options,
            )

    report: SyncReport | None = None
    for _ in changes(Path(location)) if is_folder else (None,):
        report = (
            look() if report is None else until_back(look, lambda exc: console.failed(str(exc)))
        )
        remarks = tell_remarks(report)
        would = "would be " if dry_run else ""
        if dry_run and not console.as_json.get():
            for uri in report.gone:
                console.write(f"{would}deleted: {uri}")
        console.write_result(
            f"{count_of(report.changed, 'document')} {would}added or updated, "
            f"{report.unchanged} unchanged, {report.deleted} {would}deleted, "
            f"{len(report.failures)} failed",
            collection=collection,
            changed=report.changed,
            unchanged=report.unchanged,
            deleted=report.deleted,
            gone=list(report.gone),
            **remarks,
        )
        if not watch or dry_run:
            break
    if report is not None and report.failures:
        raise SystemExit(1)


@command
def delete(
    rag: Rag,
    uris: Annotated[list[str], typer.Argument(help="The uris of documents.")],
    collection: Name = "docs",
) -> None:
    """Delete documents."""
    target = console.open_collection(rag, collection)
    missing = [uri for uri in uris if not target.delete(uri)]
    deleted = len(uris) - len(missing)
    console.write_result(
        f"{count_of(deleted, 'document')} deleted", deleted=deleted, missing=missing
    )
    for uri in missing:
        console.failed(f"there is no document {uri}")
    if missing:
        raise SystemExit(1)


@command
def documents(
    rag: Rag,
    collection: Name = "docs",
    limit: Annotated[int, typer.Option(help="At most so many.")] = 100,
    filter: Filter = None,
    prefix: Annotated[
        str | None, typer.Option(help="Only uris that begin with this: handbook/.")
    ] = None,
    order_by: Annotated[
        str | None,
        typer.Option(
            help="uri, title, created_at, updated_at or a metadata field: the first 1000."
        ),
    ] = None,
    descending: Annotated[bool, typer.Option("--descending", help="The largest first.")] = False,
) -> None:
    """List a collection's documents."""
    where = console.parsed_filter(filter)
    if prefix is not None and (order_by is not None or descending):
        raise InvalidInput("--prefix lists by uri; leave out --order-by and --descending")
    target = console.open_collection(rag, collection)
    if order_by is None and not descending:
        found = list(target.list(filter=where, limit=limit, uri_prefix=prefix))
    else:
        order = order_by or "uri"
        found = target.metadata.select(
            filter=where, order_by=order, descending=descending, limit=limit
        )
    console.listing(
        found, ("uri", "title", "chunks", Column("state", value=_state)), empty="no documents"
    )


def _state(document: Document) -> str:
    return f"failed: {document.error}" if document.error else document.state


@command
def show(
    rag: Rag,
    uri: Annotated[str, typer.Argument(help="The uri of a document.")],
    collection: Name = "docs",
    versions: Annotated[
        bool, typer.Option("--versions", help="List the versions of it that are kept.")
    ] = False,
    at: Annotated[
        str | None,
        typer.Option(help="What it said then: 2026-03-31T12:00, or how long ago: '7 days'."),
    ] = None,
    diff: Annotated[
        tuple[int, int] | None, typer.Option(help="How two versions differ: the old, the new.")
    ] = None,
    context: Annotated[
        int, typer.Option(min=1, help="Equal lines shown beside each difference.")
    ] = 3,
    original: Annotated[
        bool, typer.Option("--original", help="The file that was added, where it is kept.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write that file; - for stdout.")
    ] = None,
) -> None:
    """Print a document's text, its versions or its file.

    What else is known of it goes to stderr; with --json both are one object. With --original the
    file that it was made from is written.
    """
    if sum((versions, at is not None, diff is not None, original)) > 1:
        raise InvalidInput("use one of --versions, --at, --diff and --original")
    opened = console.open_collection(rag, collection)
    if original:
        _write_original(opened.original(uri), output)
    elif versions:
        print_versions(opened, uri)
    elif at is not None:
        print_text_at(opened, uri, at)
    elif diff is not None:
        print_difference(uri, diff, opened.versions.diff(uri, *diff, context_lines=context))
    else:
        _print_document(opened.get(uri))


def _print_document(found: Document) -> None:
    if console.as_json.get():
        console.write_json(found)
        return
    state = f"{found.state}: {found.error}" if found.error else found.state
    for name, value in (
        ("title", found.title),
        ("state", f"{state}, {count_of(found.chunks, 'chunk')}"),
    ):
        console.write_message((f"{name}: {value}", "dim"))
    for key, value in found.metadata.items():
        console.write_message(
            (f"{key}: {value if isinstance(value, str) else json.dumps(value)}", "dim")
        )
    console.write(found.content or "")


def _write_original(original: Original, output: Path | None) -> None:
    """Write a file to `output`, or under its own name into the current folder."""
    if str(output) == "-":
        sys.stdout.buffer.write(original.data)
        return
    path = output or Path(Path(original.file_name).name)
    if output is None and path.exists():
        raise InvalidInput(f"{path} is there already; name another file with -o")
    path.write_bytes(original.data)
    console.write_message((f"{path}: {original.size} bytes, sha256 {original.sha256}", "dim"))


def _pairs(text: str | None) -> dict[str, str]:
    """Read id=uri,text=content."""
    pairs = {}
    for pair in text.split(",") if text else ():
        key, equals, own = pair.partition("=")
        if not (key and equals and own):
            raise InvalidInput(f"{pair!r} is no mapping; write --map id=uri,text=content")
        pairs[key] = own
    return pairs


def _sources(paths: list[Path], uri: str) -> list[Source]:
    """Return what to add: paths, and in place of - what standard input holds."""
    from rag_pg.ingest import Stream

    return [Stream(sys.stdin.buffer, uri) if str(path) == "-" else path for path in paths]
