"""`rag-pg eval sample`, `replay`, `recall`: live queries kept, asked again, searched exactly."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rag_pg.cli.eval.arguments import Chosen, figure
from rag_pg.cli.moments import duration_text, parsed_duration
from rag_pg.cli.options import Dsn, Json, open_client, open_collection, print_json
from rag_pg.cli.terminal import Column, failed, note, write, write_message, write_table
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.search import StatementOptions
    from rag_pg.types import RecallMeasure, Replay, ReplayedQuery

SHOWN = 20  # queries of a replay, those that differ most


def sample(
    collection: Chosen,
    share: Annotated[
        float | None, typer.Option(help="Of searches, 0 to 1, e.g. 0.05; 0 ends it.")
    ] = None,
    text: Annotated[
        bool | None, typer.Option("--text/--no-text", help="Keep their words, not only vectors.")
    ] = None,
    keep: Annotated[str | None, typer.Option(help="For how long: '30 days'.")] = None,
    most: Annotated[int | None, typer.Option(help="At most so many, 1 to 10000.")] = None,
    recall_target: Annotated[
        float | None, typer.Option(help="Measure daily whether so much is found; 0 ends it.")
    ] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Keep a share of a collection's searches; without options: show the settings."""
    given = {
        "sample_queries": share,
        "keep_query_text": text,
        "keep_queries": None if keep is None else parsed_duration(keep),
        "max_queries": most,
        "recall_target": recall_target,
    }
    with open_client(dsn) as rag:
        opened = open_collection(rag, collection)
        if any(value is not None for value in given.values()):
            opened.alter(**cast(Any, given))
        info = opened.info
    if json_:
        print_json({"collection": collection} | {name: getattr(info, name) for name in given})
        return
    kept = "words and vectors" if info.keep_query_text else "vectors alone"
    write(f"share   {info.sample_queries:g}" + ("" if info.sample_queries else " (off)"))
    write(f"what    {kept}")
    write(f"keep    {duration_text(timedelta(seconds=info.keep_queries))}")
    write(f"most    {info.max_queries}")
    write(f"recall  {f'{info.recall_target:g}, measured daily' if info.recall_target else 'off'}")


def replay(
    collection: Chosen,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="OPTION=VALUE", help="Of the candidate's search; repeat."),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="The candidate is this collection, such as a copy.")
    ] = None,
    count: Annotated[int, typer.Option("--sample", help="The latest so many queries.")] = 100,
    k: Annotated[int, typer.Option("-k", help="The first so many hits are compared.")] = 10,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Ask sampled live queries again, also of a candidate, and list what differs."""
    options = dict(map(_option, set_ or ()))
    if not options and against is None:
        raise InvalidInput(
            "there is no candidate: --set vector_weight=0.5, or --against COLLECTION"
        )
    with open_client(dsn) as rag:
        found = open_collection(rag, collection).evaluation.replay(
            against, sample=count, k=k, **cast("StatementOptions", options)
        )
    for remark in found.notes:
        note(remark)
    if json_:
        for query in found.queries:
            print_json(query)
        return
    _print_replay(found)


def _option(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign:
        raise InvalidInput(f"{text!r} is no option; write --set vector_weight=0.5")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value


def _print_replay(found: Replay) -> None:
    changed = [query for query in found.compared if not query.is_unchanged]
    changed.sort(key=lambda query: (query.overlap or 0, -(query.rank_change or 0)))
    if changed:
        write_table(
            [
                Column("query"),
                Column("overlap", lambda value: f"{value:.2f}"),
                Column("ranks", lambda value: "" if value is None else f"{value:.1f}"),
                Column("gained"),
                Column("lost"),
            ],
            [
                (_name(query), query.overlap, query.rank_change, _hits(query.gained),
                 _hits(query.lost))
                for query in changed[:SHOWN]
            ],
        )  # fmt: skip
    for error, count in Counter(query.error for query in found.queries).items():
        if error is not None:
            first = next(query for query in found.queries if query.error == error)
            failed(f"{error}: {count} of {len(found.queries)}, the first: {_name(first)}")
    if found.overlap is None:
        raise SystemExit(1 if found.queries else 0)
    more = f", of which {SHOWN} are shown" if len(changed) > SHOWN else ""
    write_message(
        f"{len(found.compared)} replayed: {found.unchanged} unchanged,"
        f" {len(changed)} changed{more}; overlap@{found.k} {found.overlap:.3f};"
        f" {found.gained} gained, {found.lost} lost"
    )


def _name(query: ReplayedQuery) -> str:
    if query.query_text is None:
        return f"#{query.query_id}"
    line = " ".join(query.query_text.split())
    return line if len(line) <= 60 else line[:59] + "…"


def _hits(hits: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{hit['uri']} ({hit['rank']})" for hit in hits)


def recall(
    collection: Chosen,
    count: Annotated[int, typer.Option("--sample", help="How many queries.")] = 100,
    k: Annotated[int, typer.Option("-k", help="Of how many of the nearest.")] = 10,
    target: Annotated[float | None, typer.Option(help="The share that is wanted.")] = None,
    seconds: Annotated[float, typer.Option(help="After so many nothing further is begun.")] = 60.0,
    apply: Annotated[bool, typer.Option("--apply", help="Set the ef_search that reaches it.")] = (
        False
    ),
    force: Annotated[bool, typer.Option("--force", help="Whatever its gates demand.")] = False,
    history: Annotated[bool, typer.Option("--history", help="Show what was measured.")] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Search exactly what was searched by the index; exit 1 when it finds less than the target."""
    with open_client(dsn) as rag:
        opened = open_collection(rag, collection)
        if history:
            _print_measures(opened.evaluation.recall_measures(), json_)
            return
        measure = opened.evaluation.measure_recall(
            sample=count, k=k, target=target, seconds=seconds
        )
        advised = measure.advised_ef_search
        mends = (measure.advised_recall or 0) >= measure.target and advised is not None
        if apply and mends:
            opened.alter(ef_search=advised, forced=force)
    if measure.source == "stored":
        note("too few live queries are kept; measured with vectors of chunks, which may find more")
    _print_measures([measure], json_)
    if measure.is_enough:
        return
    if apply and mends:
        write_message(f"ef_search of {collection} is now {advised}, which finds"
                      f" {measure.advised_recall:.3f}")  # fmt: skip
        return
    if mends:
        failed(f"below {measure.target:g}; ef_search {advised} finds {measure.advised_recall:.3f}:"
               f" rag-pg eval recall {collection} --apply")  # fmt: skip
    else:
        failed(f"below {measure.target:g}; no ef_search that was tried reaches it: give it more"
               " --seconds, or a denser index (m, ef_construction)")  # fmt: skip
    raise SystemExit(1)


def _print_measures(measures: Sequence[RecallMeasure], as_json: bool) -> None:
    if as_json:
        for measure in measures:
            print_json(asdict(measure))
        return
    if not measures:
        write_message("nothing was measured yet")
        return
    write_table(
        [
            Column("measured", lambda text: text[5:16].replace("T", " ")),
            Column("source"),
            Column("queries"),
            Column("by index"),
            Column("recall", figure),
            Column("95 %"),
            Column("ef"),
            Column("advised", lambda value: "" if value is None else str(value)),
        ],
        [
            (m.measured_at.astimezone().isoformat(), m.source, m.query_count, m.walked_count,
             m.recall, f"{m.lower_bound:.3f}-{m.upper_bound:.3f}", m.ef_search,
             m.advised_ef_search)
            for m in measures
        ],
    )  # fmt: skip
