"""`rag-pg enrich`: metadata from the text of documents, by rules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rag_pg.cli.console import count_of
from rag_pg.cli.options import (
    Dsn,
    Json,
    open_client,
    open_collection,
    print_json,
    write_result,
)
from rag_pg.cli.terminal import Column, write, write_message, write_table
from rag_pg.errors import InvalidInput
from rag_pg.types import Enrichment, RulePreview


def enrich(
    collection: Annotated[str, typer.Argument(help="Which collection.")],
    rules: Annotated[
        str | None, typer.Option(help="The rules: a JSON file, or a JSON array. [] removes all.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what each rule would find.")
    ] = False,
    documents: Annotated[int, typer.Option(help="How many documents --dry-run looks at.")] = 100,
    wait: Annotated[bool, typer.Option(help="Work now, or leave it to workers.")] = True,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Give documents metadata by rules over their text; without --rules, show what is set."""
    wanted = None if rules is None else parsed_rules(rules)
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        if dry_run:
            print_previews(target.preview_enrichment(wanted, documents=documents), json_)
        elif wanted is None:
            print_enrichment(target.enrichment(), json_)
        else:
            count = target.set_enrichment(wanted, wait=wait)
            state = "enriched" if wait else "queued"
            message = f"{count_of(count, 'document')} {state}"
            write_result(
                message if count else "the rules are these already",
                json_,
                collection=collection,
                documents=count,
            )


def parsed_rules(text: str) -> Sequence[Mapping[str, Any]]:
    """Read rules: a JSON array, or the file that holds one. Raises: InvalidInput."""
    if not text.lstrip().startswith(("[", "{")):
        try:
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as exc:
            raise InvalidInput(f"cannot read the rules: {exc}") from exc
    example = """write them like '[{"field": "phase", "pattern": "^Phase: (.+)$"}]'"""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise InvalidInput(f"the rules are not JSON: {exc}; {example}") from exc
    if not isinstance(found, list):
        raise InvalidInput(f"the rules are no JSON array; {example}")
    return found


def print_enrichment(found: Sequence[Enrichment], as_json: bool) -> None:
    for one in found if as_json else ():
        print_json(one)
    if as_json:
        return
    if not found:
        write_message("nothing is set; see rag-pg enrich --help")
    for one in found:
        state = "queueing" if one.queueing else "in step" if not one.waiting else "working"
        failed = f", {count_of(one.failed, 'job')} failed" if one.failed else ""
        write(
            f"{one.kind} version {one.version}: {state},"
            f" {count_of(one.waiting, 'job')} waiting{failed}"
        )
        for item in one.settings if isinstance(one.settings, list) else [one.settings]:
            write(f"  {json.dumps(item, ensure_ascii=False)}")


def print_previews(found: Sequence[RulePreview], as_json: bool) -> None:
    if as_json:
        for one in found:
            print_json(one)
        return
    columns = [
        Column("rule"),
        Column("field"),
        Column("scope"),
        Column("documents"),
        Column("chunks"),
        Column("overridden", optional=True),
        Column("examples"),
    ]
    rows = [
        (
            one.rule,
            one.field,
            one.scope,
            one.documents,
            one.chunks if one.scope == "chunk" else "",
            one.overridden,
            ", ".join(json.dumps(value, ensure_ascii=False) for value in one.examples),
        )
        for one in found
    ]
    write_table(columns, rows)
    if found:
        write_message(f"of {count_of(found[0].of_documents, 'document')}; nothing was stored")
