"""`rag-pg key`: who may ask the HTTP service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.console import command, listing, parsed_moment, write_result
from rag_pg.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from rag_pg.client import Rag

key = typer.Typer(help="Keys of the HTTP service: make, list, revoke.", no_args_is_help=True)
COLUMNS = ("key_name", "role_name", "scopes", "limits", "expires_at", "revoked_at", "requests")


@key.command("make")
@command
def key_make(
    rag: Rag,
    name: Annotated[str, typer.Argument(help="What logs call it.")],
    role: Annotated[
        str | None, typer.Option(help="Whose rights it has; default: the service's.")
    ] = None,
    scopes: Annotated[
        str, typer.Option(help="What it may, with commas between.")
    ] = "read,ask,write,operate",
    settings: Annotated[
        list[str] | None,
        typer.Option("--setting", help="For policies: app.tenant=7; repeatable."),
    ] = None,
    limits: Annotated[
        list[str] | None,
        typer.Option("--limit", help="requests_per_minute=60, cost_per_day=5, …; repeatable."),
    ] = None,
    expires: Annotated[str | None, typer.Option(help="A moment: 2027-06-30.")] = None,
) -> None:
    """Make a key and print it: it is shown this once."""
    try:
        numbers = {name: float(value) for name, value in _pairs(limits).items()}
    except ValueError as exc:
        raise InvalidInput("a limit is a number: --limit requests_per_minute=60") from exc
    secret = rag.database.make_service_key(
        name,
        role_name=role,
        scopes=scopes.split(","),
        settings=_pairs(settings),
        limits=numbers,
        expires_at=None if expires is None else parsed_moment(expires),
    )
    write_result(secret, name=name, key=secret)


@key.command("list")
@command
def key_list(rag: Rag) -> None:
    """The keys, and what each has used today."""
    empty = "no keys yet; make one with: rag-pg key make NAME"
    listing(rag.database.list_service_keys(), COLUMNS, empty=empty)


@key.command("revoke")
@command
def key_revoke(rag: Rag, name: Annotated[str, typer.Argument(help="Which.")]) -> None:
    """Revoke a key, from its next request on."""
    if not rag.database.value(bool, "revoke_service_key", key_name=name):
        raise NotFound(f"there is no key {name!r:.100} that is not revoked; see: rag-pg key list")
    write_result(f"{name} is revoked", name=name)


def _pairs(given: list[str] | None) -> dict[str, str]:
    """Raises: InvalidInput."""
    pairs = [one.partition("=") for one in given or ()]
    if not all(sign for _, sign, _ in pairs):
        raise InvalidInput("write NAME=VALUE, as in --setting app.tenant=7")
    return {name: value for name, _, value in pairs}
