"""The commands about what was: logged answers, and erasure."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.console import (
    Chosen,
    Column,
    Filter,
    as_json,
    command,
    count_of,
    is_terminal,
    listing,
    local_time,
    note,
    open_collection,
    parsed_filter,
    parsed_moment,
    shortened,
    write,
    write_filled,
    write_json,
    write_message,
)
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.types import Erasure, ReplayedCitation


@command
def answers(
    rag: Rag,
    collection: Chosen,
    only_open: Annotated[
        bool, typer.Option("--open", help="Those that found nothing, or that somebody disliked.")
    ] = False,
    since: Annotated[
        str | None, typer.Option(help="From this time on: 2026-03-31, or how long ago: '7 days'.")
    ] = None,
    replay: Annotated[
        str | None,
        typer.Option(help="Of this answer: each citation against its source, then and now."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="1 to 1000.")] = 20,
) -> None:
    """Logged answers, the latest first, and what was said of them."""
    if replay is not None and (only_open or since is not None):
        raise InvalidInput("--replay is about one answer; leave out --open and --since")
    moment = None if since is None else parsed_moment(since)
    opened = open_collection(rag, collection)
    if replay is not None:
        _print_replay(opened.answers.replay(replay))
        return
    found = opened.answers.list(moment, only_open=only_open, limit=limit)
    if not found and not opened.info.keep_answers:
        write_message(no_log(collection))
        return
    listing(
        found,
        (
            Column("id", value=lambda one: str(one.answer_id)),
            Column("asked", local_time, value="answered_at"),
            "question",
            Column("answer", lambda text: shortened(" ".join(text.split()), 200)),
            Column("found", _yes),
            Column("sources", ", ".join),
            Column("up", _count, optional=True, value="likes"),
            Column("down", _count, optional=True, value="dislikes"),
            Column("comments", " / ".join, optional=True),
        ),
        empty="no answer is logged" + (" there" if since or only_open else " yet"),
    )


def no_log(collection: str) -> str:
    return (
        f"{collection} logs no answers; to begin: rag-pg call alter_collection"
        f" collection={collection} keep_answers='90 days'"
    )


def _print_replay(found: Sequence[ReplayedCitation]) -> None:
    listing(
        found,
        (
            Column("citation", value="number"),
            "uri",
            Column("version then", value="version_then"),
            Column("stood then", _yes, value="stood_then"),
            Column("version now", value="version_now"),
            Column("stands now", _yes, value="stands_now"),
            "quote",
        ),
        empty="the answer has no citations",
    )
    if any(one.stood_then is None for one in found) and not as_json.get():
        write_message("without a version: it is not kept, or the document is gone")


def _count(number: int) -> str:
    return f"{number or ''}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


@command
def erase(
    rag: Rag,
    collection: Chosen,
    uri: Annotated[str | None, typer.Argument(help="The uri of a document.")] = None,
    filter: Filter = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; a pipe needs it.")] = False,
) -> None:
    """Remove documents from every table and log, with a receipt."""
    where = parsed_filter(filter)
    if (uri is None) == (where is None):
        raise InvalidInput("name one document by its uri, or several by --filter")
    opened = open_collection(rag, collection)
    if not yes:
        if not is_terminal(sys.stdin):
            raise InvalidInput(
                "an erasure cannot be undone, and nobody can be asked here; pass --yes"
            )
        what = uri or f"{count_of(opened.count(filter=where), 'document')}, with all versions,"
        typer.confirm(f"Erase {what} from {collection}, for good?", abort=True, err=True)
    receipt = opened.erase(uri, filter=where)
    _print_receipt(receipt)


def _print_receipt(receipt: Erasure) -> None:
    if as_json.get():
        write_json(receipt)
        return
    head = f"erasure {receipt.erasure_id} of {receipt.collection}"
    write_filled(f"{head}, by {receipt.erased_by}, {local_time(receipt.erased_at)}", style="bold")
    for digest in receipt.document_hashes:
        write(f"uri SHA-256 {digest}")
    rows = [{"table": table, "removed": count} for table, count in receipt.removed.items()]
    listing(rows)
    if not any(receipt.removed.get(table) for table in ("documents", "document_versions")):
        note(
            "no document and no version was removed; where that is unexpected, look for the uri:"
            f" rag-pg documents -c {receipt.collection}"
        )
    write_message(
        "not touched: what the text was read from, backups, the write-ahead log; removed rows stay"
        " on disk until VACUUM"
    )
