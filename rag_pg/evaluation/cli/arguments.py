"""What the commands of `rag-pg eval` take, and how they show a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.console import count_of, write_message

if TYPE_CHECKING:
    from rag_pg.evaluation.generate import Estimate

SetName = Annotated[str, typer.Argument(metavar="SET", help="Which set of questions.")]
RunId = Annotated[int, typer.Argument(metavar="RUN", help="Number of a run, see eval show.")]
K = Annotated[int, typer.Option("-k", help="Of how many hits the metrics are.")]


def figure(value: float | None) -> str:
    """Return a figure with three decimals; nothing for None."""
    return "" if value is None else f"{value:.3f}"


def interval(low: float | None, high: float | None) -> str:
    """Return an interval of a difference; an end that is not known is a question mark."""
    ends = ["?" if end is None else f"{end:+.3f}" for end in (low, high)]
    return " ".join(ends)


def printable(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(
        c for c in text
        if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff" and not "\ud800" <= c <= "\udfff")
    )  # fmt: skip


def confirm(estimate: Estimate, yes: bool) -> None:
    """Tell what calls of a language model will cost, and ask whether to go on; exit 1 if not."""
    tokens = estimate.usage.prompt_tokens + estimate.usage.answer_tokens
    price = "its price is not known" if estimate.cost is None else f"about ${estimate.cost:.2f}"
    write_message(f"{count_of(estimate.calls, 'call')}, about {tokens:,} tokens; {price}")
    if not yes and not typer.confirm("Go on?", err=True):
        raise SystemExit(1)
