"""The command line: data on stdout, messages and progress on stderr, exit 0 ok, 1 failed, 2 usage."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg.cli.console import (
    MARKS,
    count_of,
    passage_room,
    print_adopted,
    print_answer,
    print_hits,
    show_progress,
)
from rag_pg.cli.db import db
from rag_pg.cli.documents import count, documents, facets, show
from rag_pg.cli.jobs import doctor, jobs, status
from rag_pg.cli.options import (
    Dsn,
    Filter,
    Json,
    Name,
    Rerank,
    interruptible,
    open_collection,
    opened,
    parsed_filter,
    parsed_object,
    parsed_pairs,
    print_json,
    say,
)
from rag_pg.cli.spaces import rechunk, reembed, spaces
from rag_pg.cli.terminal import failed, is_terminal, note, tell, write, write_table
from rag_pg.cli.worker import worker
from rag_pg.errors import InvalidInput, RagError

if TYPE_CHECKING:
    from rag_pg.ingest.add import Source
    from rag_pg.types import AddReport, SyncReport

app = typer.Typer(
    name="rag-pg",
    help="RAG inside PostgreSQL: add documents, search them, ask them.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _version(asked: bool) -> None:
    if asked:
        from rag_pg.version import __version__

        write(f"rag-pg {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """RAG inside PostgreSQL: add documents, search them, ask them."""


def main() -> None:
    """Run the command line; a user's mistake ends in one line, not in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the terminal's encoding has not
    try:
        app()
    except RagError as exc:
        tell(("error:", "red"), f" {exc}")
        raise SystemExit(2 if isinstance(exc, InvalidInput) else 1) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(1) from None


# --- documents


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
    wait: Annotated[bool, typer.Option(help="Embed now, or leave it to a worker.")] = True,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Add documents and wait until they are searchable. Unchanged ones cost nothing."""
    shown = """'{"method": "sentence"}'"""
    cut = None if chunking is None else parsed_object(chunking, "the chunking", shown)
    keys = _pairs(map_)
    about = {key: value for text in metadata or () for key, value in parsed_pairs(text).items()}
    with opened(dsn) as rag:
        target = rag.collection(collection, model=model, language=language, chunking=cut)
        with show_progress() as progress, interruptible(rag, collection):
            report = target.add(
                *_sources(paths, uri),
                wait=wait,
                progress=progress,
                metadata=about,
                exclude=exclude or (),
                keys=keys,
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


def adopt(
    table: Annotated[str, typer.Argument(help="A table or view, named as in SQL.")],
    layout: Annotated[
        str, typer.Option("--from", help="Who made it: pgai, langchain, llamaindex or haystack.")
    ],
    into: Annotated[str, typer.Option(help="The collection; created where it does not exist.")],
    model: Annotated[
        str | None, typer.Option(help="What made the vectors; a new collection needs it.")
    ] = None,
    source_dsn: Annotated[
        str | None, typer.Option(help="The table's database, where it is another.")
    ] = None,
    distance: Annotated[
        str | None, typer.Option(help="Of a new collection: cosine, l2 or ip.")
    ] = None,
    language: Annotated[str | None, typer.Option(help="Language of a new collection.")] = None,
    langchain_collection: Annotated[
        str | None, typer.Option(help="Which, in a langchain_pg_embedding that holds several.")
    ] = None,
    uri_key: Annotated[
        str | None, typer.Option(help="The metadata that tells a row's document.")
    ] = None,
    sample: Annotated[
        int, typer.Option(help="Compare the neighbours of so many vectors in both; 0: of none.")
    ] = 20,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Take over a table that another program filled, with its embeddings; it is only read."""
    with opened(dsn) as rag:
        report = rag.adopt(
            table,
            into,
            layout=layout,
            model=model,
            source_dsn=source_dsn,
            distance=distance,
            language=language,
            langchain_collection=langchain_collection,
            uri_key=uri_key,
            sample=sample,
        )
    if json_:
        print_json(report)
    else:
        print_adopted(report)


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
    from rag_pg.ingest.sync import changes

    broken = False
    with opened(dsn) as rag:
        # Reading never creates one.
        target = open_collection(rag, collection) if dry_run else rag.collection(collection)
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
            say(
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
    with opened(dsn) as rag:
        target = open_collection(rag, collection)
        missing = [uri for uri in uris if not target.delete(uri)]
    deleted = len(uris) - len(missing)
    say(f"{count_of(deleted, 'document')} deleted", json_, deleted=deleted, missing=missing)
    for uri in missing:
        failed(f"there is no document {uri}")
    if missing:
        raise SystemExit(1)


def drop(
    collection: Annotated[str, typer.Argument(help="The collection to remove, with all in it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Remove a collection and everything in it."""
    with opened(dsn) as rag:
        held = open_collection(rag, collection).stats()
        if not yes:
            what = f"{count_of(held.documents, 'document')}"
            typer.confirm(f"Remove collection {collection} with {what}?", abort=True, err=True)
        rag.drop_collection(collection)
    say(f"collection {collection} is gone", json_, dropped=collection)


def index_field(
    field: Annotated[str, typer.Argument(help="A metadata field: year, author.name.")],
    type: Annotated[str, typer.Argument(help="text, numeric, timestamptz or boolean.")],
    collection: Name = "docs",
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Declare a metadata field, so that filters by its range or prefix are fast."""
    with opened(dsn) as rag:
        open_collection(rag, collection).index_field(field, type)
    say(f"field {field} is indexed as {type}", json_, field=field, type=type)


# --- search and answers


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    collection: Name = "docs",
    limit: Annotated[int, typer.Option("--limit", "-n", help="1 to 1000 results.")] = 10,
    offset: Annotated[int, typer.Option(help="Leave out the first, as the page before had.")] = 0,
    filter: Filter = None,
    mode: Annotated[str, typer.Option(help="hybrid, keyword or vector.")] = "hybrid",
    rerank: Rerank = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Search by keyword and meaning, best first."""
    weights = {"hybrid": (0.5, 0.5), "keyword": (0.0, 1.0), "vector": (1.0, 0.0)}
    if mode not in weights:
        raise InvalidInput(f"unknown mode {mode!r}; use hybrid, keyword or vector")
    vector_weight, keyword_weight = weights[mode]
    where = parsed_filter(filter)
    with opened(dsn) as rag:
        target = open_collection(rag, collection)
        hits = target.search(
            query,
            limit=limit,
            offset=offset,
            filter=where,
            vector_weight=vector_weight,
            keyword_weight=keyword_weight,
            rerank=rerank,
        )
        passages: list[str] = []
        if hits and not json_ and is_terminal(sys.stdout):
            start, stop = MARKS
            passages = target.snippets(
                query, hits, max_length=passage_room(), start_mark=start, stop_mark=stop
            )
    for remark in hits.notes:
        note(remark)
    if json_:
        for hit in hits:
            print_json(hit)
    elif not hits:
        tell("nothing found")
    elif is_terminal(sys.stdout):
        print_hits(hits, first=offset + 1, passages=passages)
    else:
        write_table([], [(hit.score, hit.uri, hit.heading, hit.content) for hit in hits])


def ask(
    question: Annotated[str, typer.Argument(help="A question in your own words.")],
    collection: Name = "docs",
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many passages to read.")] = 8,
    filter: Filter = None,
    llm: Annotated[
        str | None, typer.Option(help="extractive (no key), gemini or gemini:<model>.")
    ] = None,
    rerank: Rerank = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Answer a question from the documents, with citations."""
    where = parsed_filter(filter)
    with opened(dsn) as rag:
        answer = open_collection(rag, collection).ask(
            question, limit=limit, filter=where, llm=llm, rerank=rerank
        )
    if json_:
        print_json(answer)
        return
    print_answer(answer)


def demo(
    keep: Annotated[bool, typer.Option(help="Keep the demo's collection afterwards.")] = True,
    dsn: Dsn = None,
) -> None:
    """See it work: ingest this project's own documentation, search it, ask it."""
    from rag_pg.cli.demo import run_demo

    with opened(dsn) as rag:
        run_demo(rag, keep=keep)


GROUPS = {
    "Documents": (add, sync, adopt, documents, show, delete, count, facets, index_field, drop),
    "Search": (search, ask, demo),
    "Work": (worker, status, jobs, doctor, reembed, rechunk, spaces),
}
for group, commands in GROUPS.items():
    for command in commands:
        app.command(command.__name__.replace("_", "-"), rich_help_panel=group)(command)
app.add_typer(db, name="db", rich_help_panel="Database")


# --- shared


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
    from rag_pg.ingest.add import Stream

    return [Stream(sys.stdin.buffer, uri) if str(path) == "-" else path for path in paths]
