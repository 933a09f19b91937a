"""The commands about documents: add and sync them, delete, list, count, show them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg.cli.console import count_of, show_progress
from rag_pg.cli.options import (
    Dsn,
    Filter,
    Json,
    Name,
    interruptible,
    open_client,
    open_collection,
    parsed_filter,
    parsed_object,
    parsed_pairs,
    print_json,
    write_result,
)
from rag_pg.cli.terminal import Column, failed, note, write, write_message, write_table
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.ingest import Source
    from rag_pg.types import AddReport, Original, SyncReport


def add(
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
    wait: Annotated[bool, typer.Option(help="Embed now, or leave it to a worker.")] = True,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Add documents and wait until they are searchable. Unchanged ones cost nothing."""
    shown = """'{"method": "sentence"}'"""
    cut = None if chunking is None else parsed_object(chunking, "the chunking", shown)
    keys = _pairs(map_)
    about = {key: value for text in metadata or () for key, value in parsed_pairs(text).items()}
    with open_client(dsn) as rag:
        target = rag.collection(
            collection, model=model, language=language, chunking=cut, preset=preset
        )
        with show_progress() as progress, interruptible(rag, collection):
            report = target.add(
                *_sources(paths, uri),
                wait=wait,
                progress=progress,
                metadata=about,
                exclude=exclude or (),
                keys=keys,
                keep_original=keep_original,
            )
    remarks = _remarks(report)
    for uri, removed in report.removed_characters.items():
        note(f"{uri}: {removed} unreadable characters were removed")
    result = {
        "collection": collection,
        "added": report.added,
        "unchanged": report.unchanged,
        **remarks,
    }
    if json_:
        print_json(result)
    else:
        state = "searchable" if wait else "queued"
        write(
            f"{count_of(report.added, 'document')} {state}, {report.unchanged} unchanged, "
            f"{len(report.failures)} failed"
        )
    if report.failures:
        raise SystemExit(1)


def sync(
    folder: Annotated[Path, typer.Argument(help="The folder to keep in step with.")],
    collection: Name = "docs",
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and follow what changes in the folder.")
    ] = False,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Leave out, as in .gitignore; repeatable.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Bring a collection in step with a folder: add what changed, delete what vanished."""
    from rag_pg.ingest import changes, uri_prefix

    uri_prefix(folder)  # is it a folder to keep in step with?
    broken = False
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        for _ in changes(folder):
            with show_progress() as progress, interruptible(rag, collection):
                report = target.sync(
                    folder, progress=progress, exclude=exclude or (), dry_run=dry_run
                )
            remarks = _remarks(report)
            broken = bool(report.failures)
            would = "would be " if dry_run else ""
            if dry_run and not json_:
                for uri in report.gone:
                    write(f"{would}deleted: {uri}")
            write_result(
                f"{count_of(report.changed, 'document')} {would}added or updated, "
                f"{report.unchanged} unchanged, {report.deleted} {would}deleted, "
                f"{len(report.failures)} failed",
                json_,
                collection=collection,
                changed=report.changed,
                unchanged=report.unchanged,
                deleted=report.deleted,
                gone=list(report.gone),
                **remarks,
            )
            if not watch or dry_run:
                break
    if broken:
        raise SystemExit(1)


def delete(
    uris: Annotated[list[str], typer.Argument(help="The uris of documents.")],
    collection: Name = "docs",
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Delete documents."""
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        missing = [uri for uri in uris if not target.delete(uri)]
    deleted = len(uris) - len(missing)
    write_result(
        f"{count_of(deleted, 'document')} deleted", json_, deleted=deleted, missing=missing
    )
    for uri in missing:
        failed(f"there is no document {uri}")
    if missing:
        raise SystemExit(1)


def documents(
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
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """List a collection's documents."""
    where = parsed_filter(filter)
    if prefix is not None and (order_by is not None or descending):
        raise InvalidInput("--prefix lists by uri; leave out --order-by and --descending")
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        if order_by is None and not descending:
            found = list(target.list(filter=where, limit=limit, uri_prefix=prefix))
        else:
            order = order_by or "uri"
            found = target.metadata.select(
                filter=where, order_by=order, descending=descending, limit=limit
            )
    if json_:
        for document in found:
            print_json(document)
        return
    rows = [
        (one.uri, one.title, one.chunks, f"failed: {one.error}" if one.error else one.state)
        for one in found
    ]
    write_table([Column("uri"), Column("title"), Column("chunks"), Column("state")], rows)


def count(
    collection: Name = "docs", filter: Filter = None, json_: Json = False, dsn: Dsn = None
) -> None:
    """Count a collection's documents, or those that pass a filter."""
    where = parsed_filter(filter)
    with open_client(dsn) as rag:
        found = open_collection(rag, collection).count(filter=where)
    if json_:
        print_json({"collection": collection, "documents": found})
    else:
        write(str(found))


def facets(
    field: Annotated[str, typer.Argument(help="A metadata field: lang, author.name.")],
    collection: Name = "docs",
    limit: Annotated[int, typer.Option("--limit", "-n", help="1 to 1000 values.")] = 20,
    filter: Filter = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """The values of a metadata field and how many documents hold each, the most frequent first."""
    where = parsed_filter(filter)
    with open_client(dsn) as rag:
        found = open_collection(rag, collection).metadata.facets(field, filter=where, limit=limit)
    if json_:
        for facet in found:
            print_json(facet)
        return
    if not found:
        write_message("nothing found")
        return
    write_table([Column(field), Column("documents")], [(one.value, one.documents) for one in found])


def show(
    uri: Annotated[str, typer.Argument(help="The uri of a document.")],
    collection: Name = "docs",
    original: Annotated[
        bool, typer.Option("--original", help="The file that was added, where it is kept.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write that file; - for stdout.")
    ] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Print a document's text, and what else is known of it on stderr.

    With --json both are one object. With --original the file that it was made from is written.
    """
    with open_client(dsn) as rag:
        if original:
            _write_original(open_collection(rag, collection).original(uri), output)
            return
        found = open_collection(rag, collection).get(uri)
    if json_:
        print_json(found)
        return
    state = f"{found.state}: {found.error}" if found.error else found.state
    for name, value in (("title", found.title), ("state", f"{state}, {found.chunks} chunks")):
        write_message((f"{name}: {value}", "dim"))
    for key, value in found.metadata.items():
        write_message((f"{key}: {value if isinstance(value, str) else json.dumps(value)}", "dim"))
    write(found.content or "")


def _write_original(original: Original, output: Path | None) -> None:
    """Write a file to `output`, or under its own name into the current folder."""
    if str(output) == "-":
        sys.stdout.buffer.write(original.data)
        return
    path = output or Path(Path(original.file_name).name)
    if output is None and path.exists():
        raise InvalidInput(f"{path} is there already; name another file with -o")
    path.write_bytes(original.data)
    write_message((f"{path}: {original.size} bytes, sha256 {original.sha256}", "dim"))


def _remarks(report: AddReport | SyncReport) -> dict[str, Any]:
    """Tell what failed, was skipped and left out; return it for --json."""
    for failure in report.failures:
        failed(str(failure))
    for remark in report.notes:
        note(remark)
    if report.skipped:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(report.skipped.items()))
        note(f"skipped: {kinds}")
    return {
        "failed": len(report.failures),
        "skipped": dict(report.skipped),
        "failures": [{"uri": one.uri, "error": one.error} for one in report.failures],
    }


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
