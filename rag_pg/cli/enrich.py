"""`rag-pg enrich`: metadata from the text of documents, by rules and by a language model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg import console
from rag_pg.console import Chosen, Column, command, count_of
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.types import Enrichment, EnrichmentEstimate, RulePreview


@command
def enrich(
    rag: Rag,
    collection: Chosen,
    rules: Annotated[
        str | None, typer.Option(help="The rules: a JSON file, or a JSON array. [] removes all.")
    ] = None,
    fields: Annotated[
        str | None,
        typer.Option(
            help="What a language model reads out of documents: a JSON file, or a JSON object. {}"
            " removes all."
        ),
    ] = None,
    contexts: Annotated[
        bool | None,
        typer.Option(
            "--contexts/--no-contexts",
            help="Let a language model write a context for each chunk, or remove them.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what each rule would find.")
    ] = False,
    documents: Annotated[int, typer.Option(help="How many documents --dry-run looks at.")] = 100,
    model: Annotated[
        str | None,
        typer.Option(help="The language model; default RAG_PG_HELPER_LLM, else RAG_PG_LLM."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Begin without asking whether the cost is right.")
    ] = False,
    wait: Annotated[bool, typer.Option(help="Work now, or leave it to workers.")] = True,
) -> None:
    """Metadata from the text of documents, and contexts of chunks.

    They are made by rules or by a language model; without an option what is set is shown.
    What a language model will cost is told before it begins.
    """
    if sum(one is not None for one in (rules, fields, contexts)) > 1:
        raise InvalidInput("use one of --rules, --fields and --contexts at a time")
    target = console.open_collection(rag, collection)
    wanted = None if rules is None else parsed_rules(rules)
    if dry_run:
        print_previews(target.enrichment.preview_rules(wanted, documents=documents))
        return
    if wanted is not None:
        count = target.enrichment.set_rules(wanted, wait=wait)
    elif fields is not None:
        read = parsed_fields(fields)
        if read:
            confirm_cost(target.enrichment.estimate_extraction(read, model), yes)
        count = target.enrichment.set_extraction(read, model=model, wait=wait)
    elif contexts is not None:
        if contexts:
            confirm_cost(target.enrichment.estimate_contexts(model), yes)
        count = target.enrichment.set_contexts(contexts, model=model, wait=wait)
    else:
        print_enrichment(target.enrichment.list())
        return
    done = f"{count_of(count, 'document')} {'done' if wait else 'queued'}"
    console.write_result(
        done if count else "it is set like this already", collection=collection, documents=count
    )


def confirm_cost(estimate: EnrichmentEstimate, yes: bool) -> None:
    """Say what it will cost, on stderr, and ask whether to begin."""
    price = "at a price that is not known" if estimate.cost is None else f"${estimate.cost:.2f}"
    console.write_message(
        f"{estimate.model}: {count_of(estimate.calls, 'call')}, about"
        f" {estimate.prompt_tokens:,} tokens to read and {estimate.answer_tokens:,} to write,"
        f" {price}"
    )
    if estimate.repeated_tokens:
        console.write_message(
            f"{estimate.repeated_tokens:,} of them repeat a document, which costs less where the"
            " provider caches prompts"
        )
    console.write_message("documents that are put later cost as well; rag.set_budget bounds it")
    if not yes:
        typer.confirm("Begin?", abort=True, err=True)


def text_of_file(path: str, what: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as exc:
        raise InvalidInput(f"cannot read {what}: {exc}") from exc


def parsed_fields(text: str) -> Mapping[str, Any]:
    """Read fields: a JSON object, or the file that holds one. Raises: InvalidInput."""
    if not text.lstrip().startswith(("{", "[")):
        text = text_of_file(text, "the fields")
    return console.parsed_object(text, "the fields", """'{"author": {"type": "text"}}'""")


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


def print_enrichment(found: Sequence[Enrichment]) -> None:
    if console.as_json.get() or not found:
        console.listing(found, empty="nothing is set; see rag-pg enrich --help")
        return
    for one in found:
        state = "queueing" if one.queueing else "in step" if not one.waiting else "working"
        failed = f", {count_of(one.failed, 'job')} failed" if one.failed else ""
        console.write(
            f"{one.kind} version {one.version}: {state},"
            f" {count_of(one.waiting, 'job')} waiting{failed}"
        )
        for item in one.settings if isinstance(one.settings, list) else [one.settings]:
            console.write_filled(json.dumps(item, ensure_ascii=False), "  ")


def print_previews(found: Sequence[RulePreview]) -> None:
    columns = (
        "rule",
        "field",
        "scope",
        "documents",
        Column("chunks", value=lambda one: one.chunks if one.scope == "chunk" else ""),
        Column("overridden", optional=True),
        Column("examples", value=_examples),
    )
    console.listing(found, columns)
    if found and not console.as_json.get():
        console.write_message(
            f"of {count_of(found[0].of_documents, 'document')}; nothing was stored"
        )


def _examples(rule: RulePreview) -> str:
    return ", ".join(json.dumps(value, ensure_ascii=False) for value in rule.examples)
