"""The commands about what was: versions of documents, logged answers, thumbs; and erasure."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg.cli.console import count_of
from rag_pg.cli.moments import duration_text, parsed_duration, parsed_moment
from rag_pg.cli.options import (
    Dsn,
    Filter,
    Json,
    open_client,
    open_collection,
    parsed_filter,
    print_json,
    write_result,
)
from rag_pg.cli.terminal import Column, Part, is_terminal, note, write, write_message, write_table
from rag_pg.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from rag_pg.types import DocumentText, Erasure, LineChange, LoggedAnswer, ReplayedCitation

Collection = Annotated[str, typer.Argument(help="Which collection.")]
RATINGS = {"up": 1, "down": -1}
_STYLES = {"-": "red", "+": "green", "=": ""}


def versions(
    collection: Collection,
    uri: Annotated[str, typer.Argument(help="The uri of a document.")],
    at: Annotated[
        str | None,
        typer.Option(help="Print what it said then: 2026-03-31T12:00, or how long ago: '7 days'."),
    ] = None,
    diff: Annotated[
        tuple[int, int] | None, typer.Option(help="How two versions differ: the old, the new.")
    ] = None,
    context: Annotated[
        int, typer.Option(min=1, help="Equal lines shown beside each difference.")
    ] = 3,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """The versions of a document that are kept, what it said at a time, and how two differ."""
    if at is not None and diff is not None:
        raise InvalidInput("--at and --diff were both given; use one")
    moment = None if at is None else parsed_moment(at)
    with open_client(dsn) as rag:
        opened = open_collection(rag, collection)
        if moment is not None:
            text = opened.versions.at(uri, moment)
            if text is None:
                raise NotFound(
                    f"what {uri} said at {_local(moment)} is not kept; rag-pg versions"
                    f" {collection} {uri} lists what is"
                )
            _print_text(text, json_)
            return
        if diff is not None:
            lines = opened.versions.diff(uri, *diff, context_lines=context)
            _print_difference(uri, diff, lines, json_)
            return
        found = opened.versions.list(uri)
        if not found:
            opened.get(uri)  # says that there is none
    if json_:
        for version in found:
            print_json(version)
        return
    write_table(
        [
            Column("version"),
            Column("state"),
            Column("from", _local, optional=True),
            Column("until", _local, optional=True),
            Column("characters"),
            Column("title", optional=True),
        ],
        [
            (
                one.version,
                one.state,
                one.valid_from and one.valid_from.isoformat(),
                one.valid_until and one.valid_until.isoformat(),
                one.characters,
                one.title,
            )
            for one in found
        ],
    )


def answers(
    collection: Collection,
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
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Logged answers, the latest first, and what was said of them."""
    if replay is not None and (only_open or since is not None):
        raise InvalidInput("--replay is about one answer; leave out --open and --since")
    moment = None if since is None else parsed_moment(since)
    with open_client(dsn) as rag:
        opened = open_collection(rag, collection)
        if replay is not None:
            _print_replay(opened.answers.replay(replay), json_)
            return
        found = opened.answers.list(moment, only_open=only_open, limit=limit)
        keeps = bool(opened.info.keep_answers)
    if json_:
        for one in found:
            print_json(one)
        return
    if found:
        _print_answers(found)
    elif keeps:
        write_message("no answer is logged" + (" there" if since or only_open else " yet"))
    else:
        write_message(
            f"{collection} logs no answers; to begin: rag-pg keep {collection} --answers '90 days'"
        )


def feedback(
    collection: Collection,
    answer_id: Annotated[str, typer.Argument(help="Of a logged answer; rag-pg answers tells it.")],
    rating: Annotated[str, typer.Argument(help="up or down.")],
    comment: Annotated[str, typer.Option(help="Why.")] = "",
    citation: Annotated[
        int | None, typer.Option(help="The number of the citation that is meant.")
    ] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Note that an answer, or one of its citations, was good or bad."""
    if rating not in RATINGS:
        raise InvalidInput(f"{rating!r} is no rating; use up or down")
    with open_client(dsn) as rag:
        opened = open_collection(rag, collection)
        number = opened.answers.feedback(
            answer_id, RATINGS[rating], comment=comment, citation=citation
        )
    write_result("noted", json_, feedback_id=number)


def keep(
    collection: Collection,
    versions: Annotated[
        str | None, typer.Option(help="Replaced and deleted texts stay so long: '30 days', or 0.")
    ] = None,
    answers: Annotated[
        str | None, typer.Option(help="Answers are logged for so long: '90 days', or 0.")
    ] = None,
    original: Annotated[
        bool | None,
        typer.Option(
            "--original/--no-original", help="Whether the files of documents are stored, too."
        ),
    ] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """For how long a collection keeps earlier versions and answers; 0: not at all."""
    kept_versions = None if versions is None else parsed_duration(versions)
    kept_answers = None if answers is None else parsed_duration(answers)
    with open_client(dsn) as rag:
        opened = open_collection(rag, collection)
        if (kept_versions, kept_answers, original) != (None, None, None):
            opened.alter(
                keep_versions=kept_versions, keep_answers=kept_answers, keep_original=original
            )
        info = opened.info
    shown = {"versions": info.keep_versions, "answers": info.keep_answers}
    if json_:
        print_json({"collection": collection, **shown, "original": info.keep_original})
        return
    for name, duration in shown.items():
        write(f"{name:<9} {duration_text(timedelta(seconds=duration))}")
    write(f"{'original':<9} {'yes' if info.keep_original else 'no'}")


def erase(
    collection: Collection,
    uri: Annotated[str | None, typer.Argument(help="The uri of a document.")] = None,
    filter: Filter = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; a pipe needs it.")] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Remove documents from every table, versions and logs included, and print the receipt."""
    where = parsed_filter(filter)
    if (uri is None) == (where is None):
        raise InvalidInput("name one document by its uri, or several by --filter")
    with open_client(dsn) as rag:
        opened = open_collection(rag, collection)
        if not yes:
            if not is_terminal(sys.stdin):
                raise InvalidInput(
                    "an erasure cannot be undone, and nobody can be asked here; pass --yes"
                )
            what = uri or f"{count_of(opened.count(filter=where), 'document')}, with all versions,"
            typer.confirm(f"Erase {what} from {collection}, for good?", abort=True, err=True)
        receipt = opened.erase(uri, filter=where)
    _print_receipt(receipt, json_)


def _local(moment: datetime | str) -> str:
    """Return a time for people, in the zone of this computer."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _print_text(text: DocumentText, as_json: bool) -> None:
    if as_json:
        print_json(text)
        return
    since = "" if text.valid_from is None else f" from {_local(text.valid_from)}"
    until = "" if text.valid_until is None else f" until {_local(text.valid_until)}"
    write_message((f"version {text.version}{since}{until}", "dim"))
    write(text.content)


def _print_difference(
    uri: str, numbers: tuple[int, int], lines: Sequence[LineChange], as_json: bool
) -> None:
    """Print a difference in the unified form."""
    if as_json:
        for line in lines:
            print_json(line)
        return
    if not lines:
        write_message("their texts are equal")
        return
    for sign, number in zip(("---", "+++"), numbers, strict=True):
        write((f"{sign} {uri} version {number}", "bold"))
    for hunk in _hunks(lines):
        spans = [
            f"{found[0]},{len(found)}" if found else "0,0"
            for found in (
                [line.old_line for line in hunk if line.old_line is not None],
                [line.new_line for line in hunk if line.new_line is not None],
            )
        ]
        write((f"@@ -{spans[0]} +{spans[1]} @@", "dim"))
        for line in hunk:
            sign = " " if line.change == "=" else line.change
            write((f"{sign}{line.line}", _STYLES[line.change]))


def _hunks(lines: Sequence[LineChange]) -> Iterator[list[LineChange]]:
    """Yield the runs of lines that follow one another; equal lines stand around each."""
    hunk = [lines[0]]
    for before, line in pairwise(lines):
        both_equal = before.change == line.change == "="
        if both_equal and (line.old_line or 0) - (before.old_line or 0) > 1:
            yield hunk
            hunk = []
        hunk.append(line)
    yield hunk


def _print_answers(found: Sequence[LoggedAnswer]) -> None:
    write_table(
        [
            Column("id"),
            Column("asked", _local),
            Column("question"),
            Column("answer", lambda text: _beginning(text, 200)),
            Column("found", _yes),
            Column("sources", ", ".join),
            Column("up", _count, optional=True),
            Column("down", _count, optional=True),
            Column("comments", " / ".join, optional=True),
        ],
        [
            (
                str(one.answer_id),
                one.answered_at.isoformat(),
                one.question,
                one.answer,
                one.found,
                list(one.sources),
                one.likes,
                one.dislikes,
                list(one.comments),
            )
            for one in found
        ],
    )


def _print_replay(found: Sequence[ReplayedCitation], as_json: bool) -> None:
    if as_json:
        for one in found:
            print_json(one)
        return
    if not found:
        write_message("the answer has no citations")
        return
    names = ("citation", "uri", "version then", "stood then", "version now", "stands now", "quote")
    shown: dict[str, Any] = {"stood then": _yes, "stands now": _yes}
    write_table(
        [Column(name, shown.get(name)) for name in names],
        [
            (
                one.number,
                one.uri,
                one.version_then,
                one.stood_then,
                one.version_now,
                one.stands_now,
                one.quote,
            )
            for one in found
        ],
    )
    if any(one.stood_then is None for one in found):
        write_message("without a version: it is not kept, or the document is gone")


def _count(number: int) -> str:
    return f"{number or ''}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _beginning(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def _print_receipt(receipt: Erasure, as_json: bool) -> None:
    if as_json:
        print_json(receipt)
        return
    head: Part = (f"erasure {receipt.erasure_id} of {receipt.collection}", "bold")
    write(head, f", by {receipt.erased_by}, {_local(receipt.erased_at)}")
    for digest in receipt.document_hashes:
        write(f"uri SHA-256 {digest}")
    write_table([Column("table"), Column("removed")], list(receipt.removed.items()))
    if not any(receipt.removed.get(table) for table in ("documents", "document_versions")):
        note(
            "no document and no version was removed; where that is unexpected, look for the uri:"
            f" rag-pg documents -c {receipt.collection}"
        )
    write_message(
        "not touched: what the text was read from, backups, the write-ahead log; removed rows stay"
        " on disk until VACUUM"
    )
