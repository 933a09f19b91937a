"""`rag-pg search` and `ask`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Unpack, cast

import typer

from rag_pg import console
from rag_pg.console import MARKS, Filter, History, Name, SearchFlags, command
from rag_pg.errors import InvalidInput
from rag_pg.types import Ranking, without_none

if TYPE_CHECKING:
    from rag_pg.client import AskOptions, Rag


MODES: dict[str, Ranking] = {
    "hybrid": {},
    "keyword": {"vector_weight": 0.0, "keyword_weight": 1.0},
    "vector": {"vector_weight": 1.0, "keyword_weight": 0.0},
}


class HitFlags(SearchFlags):
    """Further options of `search`."""

    helper_llm: Annotated[
        str | None, typer.Option(help="The language model that rewrites; default: RAG_PG_LLM.")
    ]


class AskFlags(SearchFlags):
    """Further options of `ask`."""

    llm: Annotated[
        str | None,
        typer.Option(
            help="extractive (no key), gemini, openai:<model>, anthropic:<model> or local; "
            "default: RAG_PG_LLM."
        ),
    ]
    helper_llm: Annotated[
        str | None, typer.Option(help="What rewrites, checks and extracts; default: as --llm.")
    ]
    verify: Annotated[
        str | None, typer.Option(help="Check the statements: once (one call) or strict (each).")
    ]
    unsupported: Annotated[
        str | None,
        typer.Option(
            help="What has no support: drop, mark or keep; default: mark, with --verify drop."
        ),
    ]
    expand: Annotated[
        str | None, typer.Option(help="Show the model more around a hit: window or section.")
    ]
    max_steps: Annotated[int, typer.Option(help="Further searches or calls, 1 to 50."), 4]
    max_tokens: Annotated[int | None, typer.Option(help="Tokens of all calls.")]
    max_cost: Annotated[float | None, typer.Option(help="US dollars of all calls.")]
    timeout: Annotated[float | None, typer.Option(help="Seconds for the whole answer.")]
    min_support: Annotated[
        float | None,
        typer.Option(help="Refuse what is right less often, 0 to 1; see rag-pg calibrate."),
    ]


@command
def search(
    rag: Rag,
    query: Annotated[str, typer.Argument(help="What to look for.")],
    collection: Name = "docs",
    limit: Annotated[int, typer.Option("--limit", "-n", help="1 to 1000 results.")] = 10,
    offset: Annotated[int, typer.Option(help="Leave out the first, as the page before had.")] = 0,
    filter: Filter = None,
    mode: Annotated[str, typer.Option(help="hybrid, keyword or vector.")] = "hybrid",
    history: History = None,
    **options: Unpack[HitFlags],
) -> None:
    """Search by keyword and meaning, best first."""
    if mode not in MODES:
        raise InvalidInput(f"unknown mode {mode!r}; use {', '.join(MODES)}")
    wanted = {
        **MODES[mode],
        **without_none(options),
        "limit": limit,
        "offset": offset,
        "filter": console.parsed_filter(filter),
        "rewrite": options["rewrite"] or [],
        "history": console.parsed_history(history),
    }
    target = console.open_collection(rag, collection)
    hits = target.search(query, **cast(Any, wanted))
    passages: list[str] = []
    if hits and not console.as_json.get() and console.is_terminal(sys.stdout):
        start, stop = MARKS
        passages = target.chunks.snippets(
            hits.question,
            hits,
            max_length=console.passage_width(),
            start_mark=start,
            stop_mark=stop,
        )
    if hits.question.strip() != query.strip():
        console.note(f"searched for: {hits.question}")
    for remark in hits.notes:
        console.note(remark)
    if passages:
        console.print_hits(hits, first=offset + 1, passages=passages)
    else:
        console.listing(hits, ("score", "uri", "heading", "content"))


@command
def ask(
    rag: Rag,
    question: Annotated[str, typer.Argument(help="A question in your own words.")],
    collection: Name = "docs",
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many passages to read.")] = 8,
    filter: Filter = None,
    strategy: Annotated[
        str,
        typer.Option(
            help="How: auto, extractive, single, verify, self_ask, iterative, evidence, agent, "
            "full_context, or module:function of your own."
        ),
    ] = "auto",
    history: History = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(
            help="What the model may call too: schema.function of the database, or an MCP server "
            "as stdio:command or https://…"
        ),
    ] = None,
    **options: Unpack[AskFlags],
) -> None:
    """Answer a question from the documents, with citations."""
    from rag_pg.answer import import_strategy

    wanted: AskOptions = {
        **options,  # type: ignore[typeddict-item]
        "limit": limit,
        "filter": console.parsed_filter(filter),
        "strategy": import_strategy(strategy),
        "rewrite": options["rewrite"] or [],
        "history": console.parsed_history(history),
        "tools": tool or [],
    }
    target = console.open_collection(rag, collection)
    if console.as_json.get():
        console.write_json(target.ask(question, **wanted))
    elif console.is_terminal(sys.stdout):
        console.print_events(target.stream(question, **wanted))
    else:
        console.print_answer(target.ask(question, **wanted))
