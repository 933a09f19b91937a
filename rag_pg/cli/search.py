"""`rag-pg search` and `ask`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.console import (
    MARKS,
    Cached,
    Filter,
    History,
    Name,
    Rerank,
    RerankWeight,
    Rewrites,
    as_json,
    command,
    is_terminal,
    listing,
    note,
    open_collection,
    parsed_filter,
    parsed_history,
    passage_width,
    print_answer,
    print_events,
    print_hits,
    write_json,
)
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.client import AskOptions, Rag


@command
def search(
    rag: Rag,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    collection: Name = "docs",
    limit: Annotated[int, typer.Option("--limit", "-n", help="1 to 1000 results.")] = 10,
    offset: Annotated[int, typer.Option(help="Leave out the first, as the page before had.")] = 0,
    filter: Filter = None,
    mode: Annotated[str, typer.Option(help="hybrid, keyword or vector.")] = "hybrid",
    typo_tolerance: Annotated[
        bool, typer.Option(help="Search for words like those that no chunk has.")
    ] = True,
    rewrite: Rewrites = None,
    history: History = None,
    helper_llm: Annotated[
        str | None, typer.Option(help="The language model that rewrites; default: RAG_PG_LLM.")
    ] = None,
    rerank: Rerank = None,
    rerank_weight: RerankWeight = 1.0,
    cache: Cached = None,
) -> None:
    """Search by keyword and meaning, best first."""
    weights = {"hybrid": (0.5, 0.5), "keyword": (0.0, 1.0), "vector": (1.0, 0.0)}
    if mode not in weights:
        raise InvalidInput(f"unknown mode {mode!r}; use hybrid, keyword or vector")
    vector_weight, keyword_weight = weights[mode]
    where, turns = parsed_filter(filter), parsed_history(history)
    target = open_collection(rag, collection)
    hits = target.search(
        query,
        limit=limit,
        offset=offset,
        filter=where,
        vector_weight=vector_weight,
        keyword_weight=keyword_weight,
        typo_tolerance=typo_tolerance,
        rewrite=rewrite or [],
        history=turns,
        helper_llm=helper_llm,
        rerank=rerank,
        rerank_weight=rerank_weight,
        cache=cache,
    )
    passages: list[str] = []
    if hits and not as_json.get() and is_terminal(sys.stdout):
        start, stop = MARKS
        passages = target.snippets(
            hits.question, hits, max_length=passage_width(), start_mark=start, stop_mark=stop
        )
    if hits.question.strip() != query.strip():
        note(f"searched for: {hits.question}")
    for remark in hits.notes:
        note(remark)
    if passages:
        print_hits(hits, first=offset + 1, passages=passages)
    else:
        listing(hits, ("score", "uri", "heading", "content"))


@command
def ask(
    rag: Rag,
    question: Annotated[str, typer.Argument(help="A question in your own words.")],
    collection: Name = "docs",
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many passages to read.")] = 8,
    filter: Filter = None,
    llm: Annotated[
        str | None,
        typer.Option(
            help="extractive (no key), gemini, openai:<model>, anthropic:<model> or local; "
            "default: RAG_PG_LLM."
        ),
    ] = None,
    helper_llm: Annotated[
        str | None, typer.Option(help="What rewrites, checks and extracts; default: as --llm.")
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            help="How: auto, extractive, single, verify, self_ask, iterative, evidence, agent, "
            "full_context, or module:function of your own."
        ),
    ] = "auto",
    verify: Annotated[
        str | None, typer.Option(help="Check the statements: once (one call) or strict (each).")
    ] = None,
    unsupported: Annotated[
        str | None,
        typer.Option(
            help="What has no support: drop, mark or keep; default: mark, with --verify drop."
        ),
    ] = None,
    rewrite: Rewrites = None,
    history: History = None,
    expand: Annotated[
        str | None, typer.Option(help="Show the model more around a hit: window or section.")
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(
            help="What the model may call too: schema.function of the database, or an MCP server "
            "as stdio:command or https://…"
        ),
    ] = None,
    max_steps: Annotated[int, typer.Option(help="Further searches or calls, 1 to 50.")] = 4,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens of all calls.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="US dollars of all calls.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds for the whole answer.")] = None,
    min_support: Annotated[
        float | None,
        typer.Option(help="Refuse what is right less often, 0 to 1; see rag-pg calibrate."),
    ] = None,
    rerank: Rerank = None,
    rerank_weight: RerankWeight = 1.0,
    cache: Cached = None,
) -> None:
    """Answer a question from the documents, with citations."""
    from rag_pg.answer import import_strategy

    options: AskOptions = {
        "limit": limit,
        "filter": parsed_filter(filter),
        "llm": llm,
        "helper_llm": helper_llm,
        "strategy": import_strategy(strategy),
        "verify": verify,
        "unsupported": unsupported,
        "rewrite": rewrite or [],
        "history": parsed_history(history),
        "expand": expand,
        "tools": tool or [],
        "max_steps": max_steps,
        "max_tokens": max_tokens,
        "max_cost": max_cost,
        "timeout": timeout,
        "min_support": min_support,
        "rerank": rerank,
        "rerank_weight": rerank_weight,
        "cache": cache,
    }
    target = open_collection(rag, collection)
    if as_json.get():
        write_json(target.ask(question, **options))
    elif is_terminal(sys.stdout):
        print_events(target.stream(question, **options))
    else:
        print_answer(target.ask(question, **options))
