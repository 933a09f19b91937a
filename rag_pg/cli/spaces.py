"""`rag-pg spaces`, `reembed` and `rechunk`: another model or another chunking, without downtime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg.console import (
    Chosen,
    Column,
    as_json,
    command,
    count_of,
    listing,
    open_collection,
    parsed_object,
    show_progress,
    size_of,
    write,
    write_json,
    write_message,
    write_result,
)
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.types import Space, SpaceComparison


@command
def reembed(
    rag: Rag,
    collection: Chosen,
    model: Annotated[str, typer.Option(help="The embedder to change to.")],
    wait: Annotated[bool, typer.Option(help="Embed now, or leave it to workers.")] = True,
    activate: Annotated[
        bool, typer.Option("--activate", help="Search with it when it is complete.")
    ] = False,
) -> None:
    """Build another model's vectors while searches go on."""
    if activate and not wait:
        raise InvalidInput("--activate needs a complete space: leave out --no-wait")
    target = open_collection(rag, collection)
    with show_progress() as progress:
        space = target.spaces.create(model, wait=wait, activate=activate, progress=progress)
    if as_json.get():
        write_json(space)
        return
    write(
        f"space {space.space_id} ({space.model}) is {space.state}: "
        f"{space.embedded} of {count_of(space.chunks, 'chunk')} embedded",
    )
    if not wait:
        write_message("workers embed it; see rag-pg spaces")
    elif not activate:
        write_message(
            f"compare it, then: rag-pg spaces {collection} --activate {space.space_id}",
        )


@command
def rechunk(
    rag: Rag,
    collection: Chosen,
    chunking: Annotated[str, typer.Option(help="As JSON: '{\"max_tokens\": 128}'.")],
    wait: Annotated[bool, typer.Option(help="Work now, or leave it to workers.")] = True,
    force: Annotated[bool, typer.Option("--force", help="Whatever its gates demand.")] = False,
) -> None:
    """Cut the documents of a collection anew.

    They stay searchable meanwhile, and unchanged chunks keep their vectors.
    """
    settings = parsed_object(chunking, "the chunking", """'{"max_tokens": 128}'""")
    with show_progress() as progress:
        count = open_collection(rag, collection).rechunk(
            settings, wait=wait, progress=progress, force=force
        )
    state = "cut anew" if wait else "queued"
    message = (
        f"{count_of(count, 'document')} {state}" if count else "they are cut like this already"
    )
    write_result(message, collection=collection, documents=count)


@command
def spaces(
    rag: Rag,
    collection: Annotated[str | None, typer.Argument(help="Only this collection.")] = None,
    activate: Annotated[int | None, typer.Option(help="Search with this space.")] = None,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Search with the space before.")
    ] = False,
    drop: Annotated[int | None, typer.Option(help="Remove this space.")] = None,
    compare: Annotated[
        Path | None,
        typer.Option(help="Compare by the JSON lines of this file: query, and relevant uris."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Switch though chunks lack vectors.")
    ] = False,
) -> None:
    """Embedding spaces: progress, comparing, switching, removing."""
    actions = [activate is not None, rollback, drop is not None, compare is not None]
    if sum(actions) > 1 or (any(actions) and collection is None):
        raise InvalidInput(
            "name a collection and one of --activate, --rollback, --drop and --compare"
        )
    if collection is not None and any(actions):
        target = open_collection(rag, collection)
        own = [s.space_id for s in target.spaces.list()]
        for wanted in (activate, drop):
            if wanted is not None and wanted not in own:
                raise InvalidInput(
                    f"collection {collection!r} has no space {wanted}; it has "
                    + ", ".join(map(str, own))
                )
        if compare is not None:
            _print_comparison(target.spaces.compare(_queries(compare)))
            return
        if activate is not None:
            missing = target.spaces.activate(activate, force=force)
            write_message(
                f"space {activate} is active; {count_of(missing, 'chunk')} without a vector"
            )
        elif rollback:
            write_message(f"space {target.spaces.rollback(force=force)} is active again")
        elif drop is not None:
            target.spaces.drop(drop)
            write_message(f"space {drop} is gone")
    found = rag.admin.spaces(collection)
    listing(
        found,
        (
            Column("collection", value="collection_name"),
            Column("space", value="space_id"),
            "model",
            "state",
            Column("embedded", value=_embedded),
            Column("waiting", optional=True),
            Column("failed", optional=True),
            Column("index", value="index_state"),
            Column("size", size_of, value="bytes"),
        ),
        empty="no collections yet",
    )


def _embedded(space: Space) -> str:
    return f"{space.embedded}/{space.chunks}"


def _print_comparison(rows: list[SpaceComparison]) -> None:
    figures = {"overlap@10": "overlap", "ranks apart": "rank_difference", "recall@10": "recall",
               "nDCG@10": "ndcg"}  # fmt: skip
    listing(
        rows,
        (
            Column("space", value="space_id"),
            "model",
            "state",
            *(Column(name, "{:.3f}".format, value=field) for name, field in figures.items()),
        ),
    )


def _queries(path: Path) -> list[Mapping[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"cannot read {path}: {exc}") from exc
    shown = """'{"query": "reset my password", "relevant": ["password.md"]}'"""
    return [
        parsed_object(line, f"line {number} of {path}", shown)
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
