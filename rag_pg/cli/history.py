"""`rag-pg erase`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg import console
from rag_pg.console import Chosen, Filter, command, count_of
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.types import Erasure


@command
def erase(
    rag: Rag,
    collection: Chosen,
    uri: Annotated[str | None, typer.Argument(help="The uri of a document.")] = None,
    filter: Filter = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; a pipe needs it.")] = False,
) -> None:
    """Remove documents from every table and log, with a receipt."""
    where = console.parsed_filter(filter)
    if (uri is None) == (where is None):
        raise InvalidInput("name one document by its uri, or several by --filter")
    opened = console.open_collection(rag, collection)
    if not yes:
        if not console.is_terminal(sys.stdin):
            raise InvalidInput(
                "an erasure cannot be undone, and nobody can be asked here; pass --yes"
            )
        what = uri or f"{count_of(opened.count(filter=where), 'document')}, with all versions,"
        typer.confirm(f"Erase {what} from {collection}, for good?", abort=True, err=True)
    receipt = opened.erase(uri, filter=where)
    _print_receipt(receipt)


def _print_receipt(receipt: Erasure) -> None:
    if console.as_json.get():
        console.write_json(receipt)
        return
    head = f"erasure {receipt.erasure_id} of {receipt.collection}"
    console.write_filled(
        f"{head}, by {receipt.erased_by}, {console.local_time(receipt.erased_at)}", style="bold"
    )
    for digest in receipt.document_hashes:
        console.write(f"uri SHA-256 {digest}")
    rows = [{"table": table, "removed": count} for table, count in receipt.removed.items()]
    console.listing(rows)
    if not any(receipt.removed.get(table) for table in ("documents", "document_versions")):
        console.note(
            "no document and no version was removed; where that is unexpected, look for the uri:"
            f" rag-pg documents -c {receipt.collection}"
        )
    console.write_message(
        "not touched: what the text was read from, backups, the write-ahead log; removed rows stay"
        " on disk until VACUUM"
    )
