"""The commands for structured questions: fields of metadata, aggregates, values, exposed views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any

import typer

from rag_pg.cli.options import (
    Dsn,
    Filter,
    Json,
    Name,
    open_client,
    open_collection,
    parsed_filter,
    parsed_object,
    print_json,
    write_result,
)
from rag_pg.cli.terminal import Column, note, write_message, write_table
from rag_pg.errors import InvalidInput

views = typer.Typer(
    help="Views of the application's own tables that questions may be put to.",
    no_args_is_help=True,
)
FUNCTIONS = ("count", "count_distinct", "sum", "avg", "min", "max")

Aggregates = Annotated[
    list[str] | None,
    typer.Argument(help="count, or sum:amount, avg:…, min:…, max:…, count_distinct:…"),
]
GroupBy = Annotated[
    list[str] | None,
    typer.Option("--by", help="A group: kind, month(signed); several times for several."),
]
Having = Annotated[
    str | None, typer.Option("--having", help='Groups to keep: \'{"sum:amount": {"$gte": 5}}\'.')
]
OrderBy = Annotated[
    list[str] | None,
    typer.Option("--order-by", help="A group, aggregate or column; -sum:amount descends."),
]


def fields(
    collection: Name = "docs",
    filter: Filter = None,
    examples: Annotated[int, typer.Option(help="0 to 100 values of each field.")] = 5,
    exact: Annotated[bool, typer.Option("--exact", help="Read every document.")] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """The metadata fields of a collection's documents: types, ranges, examples."""
    where = parsed_filter(filter)
    with open_client(dsn) as rag:
        opened = open_collection(rag, collection)
        found = opened.metadata.describe(
            filter=where, examples=examples, sample_size=None if exact else 20_000
        )
    if json_:
        for one in found:
            print_json(one)
        return
    if not found:
        write_message("no document has metadata")
        return
    if found[0].sampled_documents:
        note(
            f"estimates from {found[0].sampled_documents:,} documents: rare fields and values may"
            " be missing; --exact reads all"
        )
    columns = ("field", "type", "documents", "values", "from", "to", "examples")
    write_table(
        [Column(name, optional=name in ("from", "to")) for name in columns],
        [
            (
                one.field,
                f"{one.type}, declared" if one.declared else one.type,
                one.documents,
                one.distinct_values,
                one.minimum,
                one.maximum,
                ", ".join(str(value) for value in one.examples),
            )
            for one in found
        ],
    )


def aggregate(
    aggregates: Aggregates = None,
    collection: Name = "docs",
    by: GroupBy = None,
    having: Having = None,
    order_by: OrderBy = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="1 to 1000 groups.")] = 100,
    filter: Filter = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Counts, sums, averages and extremes over the metadata of documents, by group."""
    wanted, where = read_aggregates(aggregates), parsed_filter(filter)
    kept = read_having(having)
    with open_client(dsn) as rag:
        found = open_collection(rag, collection).metadata.aggregate(
            wanted,
            group_by=by or (),
            filter=where,
            having=kept,
            order_by=order_by or (),
            limit=limit,
        )
    write_rows([*(by or ()), *wanted], found, json_)


def read_aggregates(texts: Sequence[str] | None) -> dict[str, dict[str, str]]:
    """Read sum:amount, and count for the number of rows, into aggregates of that name."""
    found = {}
    for text in texts or ["count"]:
        function, _, field = text.partition(":")
        if function not in FUNCTIONS:
            raise InvalidInput(
                f"no aggregate {function!r}; use {', '.join(FUNCTIONS)}, e.g. sum:amount"
            )
        found[text] = {function: field or "*"}
    return found


def read_having(text: str | None) -> Mapping[str, Any] | None:
    return (text and parsed_object(text, "--having", """'{"sum:amount": {"$gte": 5}}'""")) or None


def write_rows(names: Sequence[str], rows: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    """Print rows that have these names."""
    if as_json:
        for row in rows:
            print_json(row)
    elif not rows:
        write_message("nothing found")
    else:
        write_table(
            [Column(name) for name in names], [[row[name] for name in names] for row in rows]
        )


@views.command("expose")
def views_expose(
    view: Annotated[str, typer.Argument(help="With its schema: public.orders.")],
    description: Annotated[
        str | None, typer.Argument(help="What one row is; without it the view's own comment.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="By which it is asked.")] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="A column to expose; several times; all without it.")
    ] = None,
    max_rows: Annotated[int, typer.Option(help="Per query, 1 to 1000.")] = 100,
    timeout: Annotated[float, typer.Option(help="Per query, in seconds.")] = 5.0,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Let questions be put to a view; callers need the right to read it."""
    with open_client(dsn) as rag:
        found = rag.views.expose(
            view,
            description,
            name=name,
            columns=column,
            max_rows=max_rows,
            timeout=timedelta(seconds=timeout),
        )
        warnings = rag.database.view_warnings(found)
    for warning in warnings:
        note(warning)
    write_result(f"view {view} is exposed as {found}", json_, name=found, warnings=warnings)


@views.command("list")
def views_list(json_: Json = False, dsn: Dsn = None) -> None:
    """The exposed views that may be asked, with their columns."""
    with open_client(dsn) as rag:
        found = rag.views.list()
    if json_:
        for view in found:
            print_json(view)
        return
    if not found:
        write_message("no view is exposed to you")
        return
    write_table(
        [
            Column("view"),
            Column("description"),
            Column("columns"),
            Column("problem", optional=True),
        ],
        [
            (
                view.name,
                view.description,
                ", ".join(f"{column.name} {column.type}" for column in view.columns),
                view.problem,
            )
            for view in found
        ],
    )


@views.command("hide")
def views_hide(
    name: Annotated[str, typer.Argument(help="The name of an exposed view.")],
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Let no more questions be put to a view."""
    with open_client(dsn) as rag:
        hidden = rag.views.hide(name)
    write_result(f"view {name} is hidden" if hidden else "it was not exposed", json_, hidden=hidden)


@views.command("query")
def views_query(
    name: Annotated[str, typer.Argument(help="The name of an exposed view.")],
    aggregates: Aggregates = None,
    column: Annotated[
        list[str] | None, typer.Option(help="A column to show; several times; all without it.")
    ] = None,
    by: GroupBy = None,
    having: Having = None,
    order_by: OrderBy = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="Up to its max_rows.")] = None,
    filter: Filter = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Rows of an exposed view, or aggregates over them."""
    where, kept = parsed_filter(filter), read_having(having)
    wanted = read_aggregates(aggregates) if aggregates or by else None
    with open_client(dsn) as rag:
        names = column
        if names is None and wanted is None:
            names = [one.name for view in rag.views.list() if view.name == name
                     for one in view.columns]  # fmt: skip
        found = rag.views.query(
            name,
            columns=names or None,
            filter=where,
            aggregates=wanted,
            group_by=by or (),
            having=kept,
            order_by=order_by or (),
            limit=limit,
        )
    write_rows([*(by or ()), *wanted] if wanted else names or (), found, json_)
