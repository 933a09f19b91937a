"""`rag-pg enrich`: metadata from the text of documents, by rules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg.cli.console import count_of
from rag_pg.cli.options import (
    Dsn,
    Json,
    open_client,
    open_collection,
    parsed_object,
    print_json,
    write_result,
)
from rag_pg.cli.terminal import Column, write, write_message, write_table
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.types import Enrichment, EnrichmentEstimate, RulePreview

Chosen = Annotated[str, typer.Argument(help="Which collection.")]
Model = Annotated[
    str | None, typer.Option(help="The language model; default RAG_PG_HELPER_LLM, else RAG_PG_LLM.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Begin without asking whether the cost is right.")]
Wait = Annotated[bool, typer.Option(help="Work now, or leave it to workers.")]


def enrich(
    collection: Chosen,
    rules: Annotated[
        str | None, typer.Option(help="The rules: a JSON file, or a JSON array. [] removes all.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what each rule would find.")
    ] = False,
    documents: Annotated[int, typer.Option(help="How many documents --dry-run looks at.")] = 100,
    wait: Wait = True,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Give documents metadata by rules over their text; without --rules, show what is set."""
    wanted = None if rules is None else parsed_rules(rules)
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        if dry_run:
            print_previews(target.enrichment.preview_rules(wanted, documents=documents), json_)
        elif wanted is None:
            print_enrichment(target.enrichment.list(), json_)
        else:
            write_count(target.enrichment.set_rules(wanted, wait=wait), wait, json_, collection)


def extract(
    collection: Chosen,
    fields: Annotated[
        str, typer.Option(help="The fields: a JSON file, or a JSON object. {} removes all.")
    ],
    model: Model = None,
    yes: Yes = False,
    wait: Wait = True,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Let a language model read metadata out of documents. Tells the cost before it begins."""
    example = """'{"author": {"type": "text"}}'"""
    text = fields if fields.lstrip().startswith(("{", "[")) else text_of_file(fields, "the fields")
    wanted: Mapping[str, Any] = parsed_object(text, "the fields", example)
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        if wanted:
            confirm_cost(target.enrichment.estimate_extraction(wanted, model), yes)
        count = target.enrichment.set_extraction(wanted, model=model, wait=wait)
    write_count(count, wait, json_, collection)


def contexts(
    collection: Chosen,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the contexts.")] = False,
    model: Model = None,
    yes: Yes = False,
    wait: Wait = True,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Let a language model write a context for each chunk. Tells the cost before it begins."""
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        if not remove:
            confirm_cost(target.enrichment.estimate_contexts(model), yes)
        count = target.enrichment.set_contexts(not remove, model=model, wait=wait)
    write_count(count, wait, json_, collection)


def confirm_cost(estimate: EnrichmentEstimate, yes: bool) -> None:
    """Say what it will cost, on stderr, and ask whether to begin."""
    price = "at a price that is not known" if estimate.cost is None else f"${estimate.cost:.2f}"
    write_message(
        f"{estimate.model}: {count_of(estimate.calls, 'call')}, about"
        f" {estimate.prompt_tokens:,} tokens to read and {estimate.answer_tokens:,} to write,"
        f" {price}"
    )
    if estimate.repeated_tokens:
        write_message(
            f"{estimate.repeated_tokens:,} of them repeat a document, which costs less where the"
            " provider caches prompts"
        )
    write_message("documents that are put later cost as well; rag.set_budget bounds it")
    if not yes:
        typer.confirm("Begin?", abort=True, err=True)


def write_count(count: int, wait: bool, as_json: bool, collection: str) -> None:
    done = f"{count_of(count, 'document')} {'done' if wait else 'queued'}"
    write_result(
        done if count else "it is set like this already",
        as_json,
        collection=collection,
        documents=count,
    )


def text_of_file(path: str, what: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as exc:
        raise InvalidInput(f"cannot read {what}: {exc}") from exc


def parsed_rules(text: str) -> Sequence[Mapping[str, Any]]:
    """Read rules: a JSON array, or the file that holds one. Raises: InvalidInput."""
    if not text.lstrip().startswith(("[", "{")):
        text = text_of_file(text, "the rules")
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
