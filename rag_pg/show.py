"""How hits, answers, progress and sizes look on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from rag_pg.adopt import AdoptReport
    from rag_pg.models import Answer, Hit

out = Console(soft_wrap=True, highlight=False)
err = Console(stderr=True, soft_wrap=True, highlight=False)


def print_hits(hits: Sequence[Hit], *, width: int | None = None) -> None:
    """Print hits, two lines each: rank, score, both legs' ranks, place; then how the text begins."""
    width = width or max(60, min(out.width, 140))
    for place, hit in enumerate(hits, 1):
        legs = [
            "not by vector" if hit.vector_rank is None else f"vector #{hit.vector_rank}",
            "not by keyword" if hit.keyword_rank is None else f"keyword #{hit.keyword_rank}",
        ]
        if hit.rerank_score is not None:
            legs.append(f"reranked {hit.rerank_score:.4f}")
        section = hit.heading.rpartition(" > ")[2]
        where = f"{hit.uri} · {section}" if section else hit.uri
        out.print(f"{place:2}. [bold]{escape(where)}[/]")
        out.print(f"    score {hit.score:.4f}: {', '.join(legs)}")
        lines = hit.content.splitlines()
        if len(lines) > 1 and lines[0].startswith("#"):
            lines = lines[1:]  # the heading stands in the line above
        text = " ".join(" ".join(lines).split())
        shown = text if len(text) <= width - 4 else text[: width - 5] + "…"
        out.print(f"    [dim]{escape(shown)}[/]")


def print_answer(answer: Answer) -> None:
    """Print an answer, its sources and how it was made."""
    out.print(answer.text, markup=False)
    if answer.citations:
        out.print()
    for c in answer.citations:
        where = c.uri + (f" · {c.heading}" if c.heading else "")
        out.print(f"  [{c.number}] {where}", markup=False, style="dim")
    for note in answer.notes:
        err.print(f"[yellow]note:[/] {escape(note)}")
    err.print(f"[dim]answered by {escape(answer.model)}[/]")


def print_adopted(report: AdoptReport) -> None:
    """Print what an adoption found and took, a line each."""
    skipped = ", ".join(f"{count} {reason}" for reason, count in report.skipped.items())
    lines = {
        "layout": report.layout,
        "rows": report.rows,
        "skipped": skipped or "none",
        "documents": report.documents,
        "chunks": report.chunks,
        "vectors": f"{report.vectors} of {report.dimensions} dimensions, {count_of(report.without_vector, 'chunk')} without",
    }
    if report.overlap is not None:
        lines["overlap@10"] = f"{report.overlap:.3f}, of {count_of(report.sampled, 'vector')}"
    for name, value in lines.items():
        out.print(f"{name:<11}{value}", markup=False)
    if report.queued:
        waiting = f"{count_of(report.queued, 'document')} queued for embedding: run rag-pg worker"
        err.print(f"[yellow]note:[/] {waiting}")
    for note in report.notes:
        err.print(f"[yellow]note:[/] {escape(note)}")


@contextmanager
def show_progress(noun: str = "documents") -> Iterator[Callable[[int, int, int], None]]:
    """A progress bar on stderr, where that is a terminal; yields what Collection.add calls.

    noun: what is counted.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(
        TextColumn("embedding"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(noun + ", {task.fields[chunks]} chunks embedded"),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    ) as bar:
        task = bar.add_task("", total=None, chunks=0)
        yield lambda done, of, chunks: bar.update(task, completed=done, total=of, chunks=chunks)


def count_of(number: int, noun: str) -> str:
    """Return "1 document" or "2 documents"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def size_of(count: float) -> str:
    """Return a number of bytes for people: 1 kB is 1000 bytes."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration_of(seconds: float) -> str:
    """Return a time for people: 45 s, 12 min, 3.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def print_fields(fields: Mapping[str, object]) -> None:
    """Print what has a value, a line each; a list of objects has a line for each of them."""
    width = max(map(len, fields))
    for name, value in fields.items():
        if isinstance(value, list):
            for item in value:
                out.print(f"{name:{width}}  {' · '.join(map(str, item.values()))}", markup=False)
        elif value is not None:
            out.print(f"{name:{width}}  {value}", markup=False)
