"""How hits, answers, progress and sizes look."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_pg.console.markdown import BOLD, LiveMarkdown, markdown_lines
from rag_pg.console.terminal import (
    Part,
    as_json,
    is_terminal,
    listing,
    note,
    plain,
    width,
    write,
    write_filled,
    write_message,
)

if TYPE_CHECKING:
    from rag_pg.types import AdoptReport, Answer, AuditFinding, Event, Finding, Hit, Progress


MINUTE = 60.0  # seconds between two lines about progress
COLOURS = {"ok": "green", "warn": "yellow", "fail": "red", "skip": "dim"}
WIDEST = 100  # columns of an answer: longer lines are hard to read
# A link of Markdown leads to an address; calls of code, as handlers[name](event), do not.
_LINK = re.compile(r"!?(?<![\w\])])\[([^\[\]]*)\]\([^()\s]*[/.#:][^()\s]*\)")
# What a passage has one end of; not **names of arguments, nor # comments.
_HALF = re.compile(
    r"(?<=\w)\*\*(?=[\s.,;:)…]|$)|```\w* ?|^#{1,6} |(?<!\S)#{2,6} |^\]\([^()\s]*\) ?"
)
MARKS = ("\ue0fe", "\ue0ff")  # of the private use area: no text has them


def print_hits(hits: Sequence[Hit], *, first: int = 1, passages: Sequence[str] = ()) -> None:
    """Print hits, three lines each: rank; score and both legs' ranks; a passage of the text.

    passages: of each hit, what matched between `MARKS`; without them how its text begins.
    """
    line_width = passage_width()
    for rank, hit in enumerate(hits, first):
        legs = [
            "not by vector" if hit.vector_rank is None else f"vector #{hit.vector_rank}",
            "not by keyword" if hit.keyword_rank is None else f"keyword #{hit.keyword_rank}",
        ]
        if hit.rerank_score is not None:
            legs.append(f"reranked {hit.rerank_score:.4f}")
        where = " · ".join(filter(None, (hit.uri, hit.heading, _page(hit))))
        write_filled(where, f"{rank:2}. ", style="bold")
        write_filled(f"score {hit.score:.4f}: {', '.join(legs)}", " " * 4)
        if passages:
            write("    ", *_marked(passages[rank - first]))
        else:
            write("    ", (_beginning(hit.content, line_width), "dim"))


def _page(hit: Hit) -> str:
    """The pages or slides of a hit whose heading does not name one."""
    for kind in ("page", "slide"):
        first, last = (hit.metadata.get(key) for key in (kind, f"last_{kind}"))
        if first is not None and last is not None and not hit.heading:
            return f"{kind} {first}" if first == last else f"{kind}s {first} to {last}"
    return ""


def passage_width() -> int:
    """How many characters of a passage stand on a line of the terminal."""
    return max(30, min(width(), 140) - 4)


def _marked(passage: str) -> list[Part]:
    """Return a passage on one line, what matched in another style."""
    line = _unmarked(" ".join(passage.split()))
    pieces = re.split(f"[{''.join(MARKS)}]", line)
    return [(piece, "mark" if number % 2 else "dim") for number, piece in enumerate(pieces)]


def _unmarked(line: str) -> str:
    """Return a line without the marks of Markdown for bold words, headings and blocks of code, and
    links as their words."""
    return _HALF.sub("", BOLD.sub(r"\1", _LINK.sub(r"\1", line)))


def _beginning(content: str, line_width: int) -> str:
    """Return how a text begins, on one line."""
    lines = content.splitlines()
    if len(lines) > 1 and lines[0].startswith("#"):
        lines = lines[1:]  # the heading stands in the line above
    text = _unmarked(" ".join(" ".join(lines).split()))
    return text if len(text) <= line_width else text[: line_width - 1] + "…"


def print_answer(answer: Answer) -> None:
    """Print an answer, its sources and how it was made: as Markdown in a pipe."""
    if is_terminal(sys.stdout):
        _print_lines(markdown_lines(answer.text, _answer_width()))
        _print_sources(answer)
    else:
        write(answer.markdown())
    _tell_how(answer)


def print_events(events: Iterable[Event]) -> None:
    """Print an answer while it is written, then its sources and how it was made."""
    shown, live = "", LiveMarkdown()
    for event in events:
        if event.kind == "token":
            shown += event.text
            _print_lines(live.feed(event.text, _answer_width()))
        elif event.answer is not None:
            answer = event.answer
            _print_lines(live.close(_answer_width()))
            if shown and answer.text != shown:
                write("\n", ("The answer was changed:", "bold"), "\n")
            if answer.text != shown:
                _print_lines(markdown_lines(answer.text, _answer_width()))
            _print_sources(answer)
            _tell_how(answer)


def _answer_width() -> int:
    return min(width(), WIDEST)


def _print_lines(lines: Iterable[Sequence[Part]]) -> None:
    for line in lines:
        write(*line)


def _print_sources(answer: Answer) -> None:
    """Print the sources of an answer, each with its section, page, date and uri."""
    rows = {c.number: c.names for c in answer.sources}
    rows |= {r.number: [r.call] for r in answer.tool_results}
    if rows:
        write("\n", ("Sources", "bold"))
    for number, parts in sorted(rows.items()):
        write_filled(" · ".join(parts), f"[{number}] ")


def _tell_how(answer: Answer) -> None:
    if answer.support is not None and not answer.sufficient:
        write_message((f"unsure ({answer.support:.0%}): {answer.reason}", "yellow"))
    elif answer.reason and not answer.found:
        write_message((answer.reason, "dim"))
    for remark in answer.notes:
        write_message((f"note: {remark}", "dim"))
    makers = dict.fromkeys(filter(None, (answer.model, answer.strategy)))
    write_message((f"answered by {', strategy '.join(makers)}", "dim"))


def print_adopted(report: AdoptReport) -> None:
    """Print what an adoption found and took, a line each."""
    skipped = ", ".join(f"{count} {reason}" for reason, count in report.skipped.items())
    lines = {
        "layout": report.layout,
        "rows": report.rows,
        "skipped": skipped or "none",
        "documents": report.documents,
        "chunks": report.chunks,
        "vectors": (
            f"{report.vectors} of {report.dimensions} dimensions,"
            f" {count_of(report.without_vector, 'chunk')} without"
        ),
    }
    if report.overlap is not None:
        lines["overlap@10"] = f"{report.overlap:.3f}, of {count_of(report.sampled, 'vector')}"
    for name, value in lines.items():
        write(f"{name:<11}{value}")
    if report.queued:
        note(f"{count_of(report.queued, 'document')} queued for embedding: run rag-pg worker")
    for remark in report.notes:
        note(remark)


class ProgressText:
    """Progress in words, and when it was last reported; `clock` gives the time in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: tuple[float, int] | None = (
            None  # when the first chunks were there, and how many
        )
        self._reported_at = clock()

    def sentence(self, progress: Progress) -> str:
        """Return chunks, documents, rate and the time left."""
        parts = [f"{progress.chunks} of about {progress.of_chunks} chunks"]
        if progress.of_documents:
            parts.append(f"{progress.documents} of {count_of(progress.of_documents, 'document')}")
        if self._began is None and progress.chunks:
            self._began = (self._clock(), progress.chunks)
        elif self._began is not None:
            seconds, done = self._clock() - self._began[0], progress.chunks - self._began[1]
            if seconds >= 1 and done > 0:
                left = (progress.of_chunks - progress.chunks) * seconds / done
                parts += [f"{done / seconds:.1f} a second", f"{duration_of(max(0, left))} left"]
        return ", ".join(parts)

    def due(self) -> bool:
        """Whether a minute is over since it was last so."""
        if self._clock() - self._reported_at < MINUTE:
            return False
        self._reported_at = self._clock()
        return True


@contextmanager
def show_progress() -> Iterator[Callable[[Progress], None]]:
    """Tell progress on stderr: a bar on a terminal, else a line a minute;
    yields what the calls take."""
    progress_text = ProgressText()
    if not is_terminal(sys.stderr):

        def line(progress: Progress) -> None:
            sentence = progress_text.sentence(progress)
            if progress_text.due():
                write_message(f"embedding: {sentence}")

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("embedding"), BarColumn(20), TextColumn("{task.fields[progress_text]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, progress_text="")

        def move(progress: Progress) -> None:
            sentence = progress_text.sentence(progress)
            bar.update(
                task,
                completed=progress.chunks,
                total=progress.of_chunks or None,
                progress_text=sentence,
            )

        yield move


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
    longest = max(map(len, fields))
    for name, value in fields.items():
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            texts = [" · ".join(map(plain, item.values())) for item in value]
        else:
            texts = [] if value is None else [plain(value)]
        for text in texts:
            write_filled(text, f"{name:{longest}}  ", indent=longest + 2)


def write_findings(findings: Sequence[AuditFinding | Finding]) -> None:
    """Write findings: for people a paragraph each, with its remedy whole."""
    if as_json.get() or not is_terminal(sys.stdout):
        listing(findings, ("status", "check_name", "detail", "remedy"), empty="")
        return
    for one in findings:
        head = (f"{one.status:<4}  ", COLOURS.get(one.status, "bold"))
        write_filled(f"{one.check_name}: {one.detail}", head, indent=6)
        if one.remedy:
            write_filled(f"→ {one.remedy}", " " * 6, indent=6)
