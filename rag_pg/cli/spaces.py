"""`rag-pg reembed` and `rechunk`: another model or another chunking, without downtime."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg import console
from rag_pg.console import Chosen, command, count_of
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.client import Rag


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
    target = console.open_collection(rag, collection)
    with console.show_progress() as progress:
        space = target.spaces.create(model, wait=wait, activate=activate, progress=progress)
    if console.as_json.get():
        console.write_json(space)
        return
    console.write(
        f"space {space.space_id} ({space.model}) is {space.state}: "
        f"{space.embedded} of {count_of(space.chunks, 'chunk')} embedded",
    )
    if not wait:
        console.write_message("workers embed it; see: rag-pg call list_spaces")
    elif not activate:
        console.write_message(
            f"compare it, then: rag-pg call activate_space space_id={space.space_id}",
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
    settings = console.parsed_object(chunking, "the chunking", """'{"max_tokens": 128}'""")
    with console.show_progress() as progress:
        count = console.open_collection(rag, collection).rechunk(
            settings, wait=wait, progress=progress, force=force
        )
    state = "cut anew" if wait else "queued"
    message = (
        f"{count_of(count, 'document')} {state}" if count else "they are cut like this already"
    )
    console.write_result(message, collection=collection, documents=count)
