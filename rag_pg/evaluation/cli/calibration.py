"""`rag-pg calibrate`: when the answers of a collection are right, and how often."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg import console
from rag_pg.console import Chosen, Column, command, count_of
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.cli.arguments import confirm
from rag_pg.evaluation.cli.runs import show_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_pg.client import Rag
    from rag_pg.evaluation.types import Rejected
    from rag_pg.types import Calibration


@command
def calibrate(
    rag: Rag,
    collection: Chosen,
    questions: Annotated[
        Path | None,
        typer.Option(help="A file of questions, as of eval import; kept as COLLECTION-questions."),
    ] = None,
    set_name: Annotated[str | None, typer.Option("--set", help="A set of questions.")] = None,
    off_corpus: Annotated[
        str | None, typer.Option(help="A set of questions about other matters, to measure.")
    ] = None,
    accuracy: Annotated[
        float, typer.Option(help="Answers that are right less often are hedged.")
    ] = 0.9,
    judge: Annotated[
        bool, typer.Option("--judge", help="With a model's judgement of the passages as well.")
    ] = False,
    llm: Annotated[
        str | None, typer.Option(help="The model that judges; RAG_PG_HELPER_LLM. Implies --judge.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Tokens of all judgements.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="US dollars of all judgements.")] = None,
    rerank: Annotated[
        str | None, typer.Option(help="Measure with this reranker, as ask is given it.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask about the cost.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Show what is stored.")] = False,
    drop: Annotated[bool, typer.Option("--drop", help="Forget it.")] = False,
) -> None:
    """Measure how sure answers are; ask then says so, and refuses.

    Exit 1 when lines of the questions were left out.
    """
    if sum([questions is not None, set_name is not None, show, drop]) != 1:
        raise InvalidInput("use one of --questions FILE, --set NAME, --show and --drop")
    rejected: Sequence[Rejected] = ()
    target = console.open_collection(rag, collection)
    if drop:
        was_there = target.evaluation.drop_calibration()
        console.write_message("forgotten" if was_there else f"{collection} was not calibrated")
        return
    if questions is not None:
        set_name = f"{collection}-questions"
        report = rag.evaluation.sets.import_file(set_name, questions)
        rejected = report.rejected
        for one in rejected:
            console.failed(str(one))
    if set_name is None:
        found = target.evaluation.calibration()
    else:
        judge = judge or llm is not None
        if judge:
            confirm(
                target.evaluation.estimate_calibration(set_name, off_corpus=off_corpus, llm=llm),
                yes,
            )
        with show_progress() as progress:
            found = target.evaluation.calibrate(
                set_name,
                off_corpus=off_corpus,
                accuracy=accuracy,
                judge=judge,
                llm=llm,
                max_tokens=max_tokens,
                max_cost=max_cost,
                rerank=rerank,
                progress=progress,
            )
    if found is None:
        raise InvalidInput(f"{collection} is not calibrated: rag-pg calibrate {collection} --set …")
    if console.as_json.get():
        console.write_json(found)
    else:
        print_calibration(found)
    if rejected:
        raise SystemExit(1)


def print_calibration(found: Calibration) -> None:
    """Print a calibration: what was measured, zones, and the curve of each fit.

    A pipe gets every figure as it is stored: name, value, value with a judgement; then rows of
    the curves, each with the judging model before it, empty for none.
    """
    if found.stale:
        console.note(f"it is not applied, as {found.stale}")
    elif found.corpus_changed:
        console.note(
            "the documents are not those that it was measured on; it is applied all the same"
        )
    if found.judged is not None and (left := found.judged.figures.get("unjudged_questions")):
        console.note(f"{count_of(left, 'question')} could not be judged")
    fits = [found] if found.judged is None else [found, found.judged]
    names = ["" if fit.judge_model is None else fit.judge_model for fit in fits]
    if not console.is_terminal(sys.stdout):
        for row in LINES:
            console.write_table([], [(row.name, *(row.value(fit) for fit in fits))])
        for name, fit in zip(names, fits, strict=True):
            console.write_table([], [(name, *row) for row in _curve(fit)])
        return
    heads = [""] if found.judged is None else ["no model", "judged"]
    console.write_table(
        [Column("measured on questions left out"), *(Column(head) for head in heads)],
        [(row.label, *(row.shown(row.value(fit)) for fit in fits)) for row in LINES],
    )
    for name, fit in zip(names, fits, strict=True):
        title = (
            f"with the judgement of {name}"
            if name
            else "answers by their support; at least: exact bound, 95 %"
        )
        console.write("", end="\n")
        console.write((title, "bold"))
        columns = ("support from", "answered", "of all", "right", "accuracy", "at least")
        console.write_table([Column(column) for column in columns], list(_shown_curve(fit)))


@dataclass(frozen=True, slots=True)
class Line:
    """A figure of a calibration: its name, its label for people, and how it is shown."""

    name: str
    label: str
    shown: Callable[[Any], str]

    def value(self, fit: Calibration) -> Any:
        return getattr(fit, self.name, fit.figures.get(self.name))


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.3f}"


def _count(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.0f}"


def _passages(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1f}"


def _answer_from(value: float) -> str:
    return "never" if value >= 1 else f"from {value:.2f}"


LINES = (
    Line("question_count", "questions", str),
    Line("answerable_count", "with an answer", str),
    Line("accuracy", "right, of those with an answer", _share),
    Line("accuracy_at_80", "right, of the surest 80 % of them", _share),
    Line("auroc_near_misses", "AUROC, near misses", _number),
    Line("auroc_off_corpus", "AUROC, questions off the corpus", _number),
    Line("answer_from", "no hedge, by support", _answer_from),
    Line("refuse_below", "refused, by what the documents answer", lambda v: f"below {v:.2f}"),
    Line("context_kept", "relevant passages kept", _share),
    Line("context_questions_by_passage", "known by passage, questions", _count),
    Line("context_questions_by_document", "known by document, questions", _count),
    Line("context_passages", "passages shown to a model", _passages),
    Line("context_tokens_saved", "tokens saved by that", _share),
)


def _curve(fit: Calibration) -> Iterator[tuple[float, int, int, float]]:
    """Yield support, answered, correct and lower bound of each threshold."""
    yield from zip(fit.thresholds, fit.answered, fit.correct, fit.lower_bounds, strict=True)


def _shown_curve(fit: Calibration) -> Iterator[tuple[str, int, str, int, str, str]]:
    """Yield the rows of the curve for people: of thresholds that look the same, the lowest."""
    last = ""
    for threshold, answered, correct, bound in _curve(fit):
        if (shown := f"{threshold:.2f}") != last:
            last = shown
            share = f"{answered / fit.question_count:.0%}"
            accuracy = _share(correct / answered) if answered else ""
            yield shown, answered, share, correct, accuracy, _share(bound)
