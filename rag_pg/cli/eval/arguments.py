"""What the commands of `rag-pg eval` take, and how they show a figure."""

from __future__ import annotations

from typing import Annotated

import typer

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
