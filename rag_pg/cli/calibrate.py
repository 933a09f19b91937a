"""`rag-pg calibrate`: when the answers of a collection are right, and how often."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.cli.eval import show_progress
from rag_pg.cli.options import Dsn, Json, open_client, open_collection, print_json
from rag_pg.cli.terminal import Column, failed, note, write_message, write_table
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_pg.types import Calibration, Rejected


def calibrate(
    collection: Annotated[str, typer.Argument(help="Which collection.")],
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
    show: Annotated[bool, typer.Option("--show", help="Show what is stored.")] = False,
    drop: Annotated[bool, typer.Option("--drop", help="Forget it.")] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Measure with which evidence answers are right; ask then says how sure it is, and refuses.

    Exit 1 when lines of the questions were left out.
    """
    if sum([questions is not None, set_name is not None, show, drop]) != 1:
        raise InvalidInput("use one of --questions FILE, --set NAME, --show and --drop")
    rejected: Sequence[Rejected] = ()
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        if drop:
            was_there = target.drop_calibration()
            write_message("forgotten" if was_there else f"{collection} was not calibrated")
            return
        if questions is not None:
            set_name = f"{collection}-questions"
            report = rag.import_eval_set(set_name, questions)
            rejected = report.rejected
            for one in rejected:
                failed(str(one))
        found = target.calibration()
        if set_name is not None:
            with show_progress() as progress:
                found = target.calibrate(
                    set_name, off_corpus=off_corpus, accuracy=accuracy, progress=progress
                )
    if found is None:
        raise InvalidInput(f"{collection} is not calibrated: rag-pg calibrate {collection} --set …")
    if json_:
        print_json(found)
    else:
        print_calibration(found)
    if rejected:
        raise SystemExit(1)


def print_calibration(found: Calibration) -> None:
    """Print a calibration: what was measured, zones, curve."""
    if found.stale:
        note(f"it holds no more, as {found.stale}")
    figures = found.figures
    asked = f"{found.question_count} questions, {found.answerable_count} with an answer"
    rows = [
        ("questions", asked),
        ("right, of those with an answer", _share(figures.get("accuracy"))),
        ("right, of the surest 80 %", _share(figures.get("accuracy_at_80"))),
        ("AUROC, questions off the corpus", _number(figures.get("auroc_off_corpus"))),
        ("AUROC, near misses", _number(figures.get("auroc_near_misses"))),
        ("refused below", f"{found.refuse_below:.2f} that the documents answer"),
        ("hedged below", _hedged(found)),
        ("relevant passages kept", _share(figures.get("context_kept"))),
        ("passages shown to a model", _number(figures.get("context_passages"), 1)),
        ("tokens saved by that", _share(figures.get("context_tokens_saved"))),
    ]
    write_table([Column("measured on questions left out"), Column("")], rows)
    write_table(
        [Column(name) for name in ("support", "answered", "right", "accuracy", "at least")],
        [
            (f"{t:.2f}", answered, correct, _share(correct / max(answered, 1)), _share(bound))
            for t, answered, correct, bound in zip(
                found.thresholds, found.answered, found.correct, found.lower_bounds, strict=True
            )
        ],
    )


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.1%}"


def _number(value: float | None, digits: int = 3) -> str:
    return "not measured" if value is None else f"{value:.{digits}f}"


def _hedged(found: Calibration) -> str:
    if found.answer_from >= 1:
        return "all answers: none is shown to be right as often as wanted"
    return f"{found.answer_from:.2f} support"
