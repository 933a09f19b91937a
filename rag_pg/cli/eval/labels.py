"""`rag-pg eval label`, `judges`, `measure-judge`: what people say of answers, and who agrees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg.cli.console import count_of
from rag_pg.cli.eval.arguments import RunId, figure
from rag_pg.cli.options import Dsn, Json, open_client, print_json, write_result
from rag_pg.cli.terminal import Column, failed, write_message, write_table
from rag_pg.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from rag_pg.types import EvalJudge, LabelledResult


def label(
    run_id: RunId,
    labels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUESTION=SCORE…]",
            help="The id of a question and 0 to 1, yes or no; none: show what is labelled.",
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="Labels: CSV or JSON Lines of query_id, score, reason.")
    ] = None,
    person: Annotated[str, typer.Option("--by", help="Who labels, where several do.")] = "",
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, help="Show so many, unlabelled ones first.")
    ] = 20,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Say of the results of a run whether they are right; exit 1 when a label was left out."""
    if labels and file is not None:
        raise InvalidInput("labels were given and a file of them, too; use one of both")
    given = [_label(text) for text in labels or ()]
    with open_client(dsn) as rag:
        if not given and file is None:
            _print_labelled(rag.evaluation.runs.labelled(run_id, person=person), limit, json_)
            return
        report = rag.evaluation.runs.label(run_id, given if file is None else file, person=person)
    for rejected in report.rejected:
        failed(rejected.reason if file is None else str(rejected))
    write_result(
        f"{count_of(report.stored, 'label')} stored, {len(report.rejected)} left out",
        json_,
        run=run_id,
        stored=report.stored,
        rejected=[one.reason if file is None else str(one) for one in report.rejected],
    )
    if report.rejected:
        raise SystemExit(1)


def _label(text: str) -> dict[str, str]:
    query_id, sign, score = text.rpartition("=")
    if not sign or not query_id:
        raise InvalidInput(f"{text!r} is no label; write QUESTION=1, such as q7=yes")
    return {"query_id": query_id, "score": score}


def _print_labelled(found: Sequence[LabelledResult], limit: int, as_json: bool) -> None:
    missing = sum(one.score is None for one in found)
    shown = sorted(found, key=lambda one: one.score is not None)[:limit]
    if as_json:
        for one in shown:
            print_json(asdict(one))
        return
    write_table(
        [
            Column("id"),
            Column("label", figure),
            Column("judges", optional=True),
            Column("question"),
            Column("answer", optional=True),
        ],
        [
            (one.query_id, one.score, _scores(one) or None, one.question, one.answer)
            for one in shown
        ],
    )
    more = f"; {len(shown)} are shown" if len(shown) < len(found) else ""
    write_message(f"{count_of(len(found), 'result')}, {missing} without a label{more}")


def _scores(one: LabelledResult) -> str:
    return ", ".join(f"{judge} {score:.2f}" for judge, score in one.judges.items())


def judges(json_: Json = False, dsn: Dsn = None) -> None:
    """Who scored results, and how well each agrees with people."""
    with open_client(dsn) as rag:
        found = rag.evaluation.judges.list()
    if json_:
        for one in found:
            print_json(asdict(one) | {"advisory": one.is_advisory})
        return
    write_table(
        [
            Column("judge"),
            Column("version"),
            Column("scores"),
            Column("labels"),
            Column("accuracy", figure),
            Column("95 %", optional=True),
            Column("kappa", figure),
            Column("", optional=True),
        ],
        [
            (one.judge, one.judge_version, one.scores, one.samples, one.accuracy, _interval(one),
             one.kappa, _state(one))
            for one in found
        ],
    )  # fmt: skip


def _interval(one: EvalJudge) -> str | None:
    if one.accuracy_low is None or one.accuracy_high is None:
        return None
    return f"{one.accuracy_low:.3f}-{one.accuracy_high:.3f}"


def _is_person(name: str) -> bool:
    return name.partition(":")[0] in ("human", "labels")


def _state(one: EvalJudge) -> str | None:
    return "advisory" if one.is_advisory and not _is_person(one.judge) else None


def measure_judge(
    judge: Annotated[str, typer.Argument(help="Its name; rag-pg eval judges tells it.")],
    version: Annotated[
        str | None, typer.Option(help="Of the judge; default: the one that scored last.")
    ] = None,
    reference: Annotated[
        str, typer.Option("--against", help="Whose labels are right: human, or human:NAME.")
    ] = "human",
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Compare a judge with the labels of people; from 20 labels on it is not advisory."""
    with open_client(dsn) as rag:
        if version is None:
            known = [one for one in rag.evaluation.judges.list() if one.judge == judge]
            if not known:
                raise NotFound(f"no result has a score of judge {judge!r}; rag-pg eval judges")
            version = known[0].judge_version
        found = rag.evaluation.judges.measure(judge, version, reference=reference)
    if json_:
        print_json({"judge": judge, "judge_version": version, **asdict(found)})
        return
    kappa = "" if found.kappa is None else f", kappa {found.kappa:.3f}"
    write_result(
        f"{judge} (version {version}) agrees with {reference} on {found.accuracy:.3f}"
        f" ({found.accuracy_low:.3f} to {found.accuracy_high:.3f}) of"
        f" {count_of(found.samples, 'label')}{kappa}",
        json_,
    )
    if found.samples < 20:
        write_message(f"it stays advisory: {20 - found.samples} labels of 20 are missing")
