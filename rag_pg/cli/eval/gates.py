"""`rag-pg eval set-gate`, `gate` and `gates`: what must not get worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from xml.etree import ElementTree

import typer

from rag_pg.cli.eval.arguments import Chosen, SetName, figure, printable
from rag_pg.cli.options import (
    Dsn,
    Json,
    open_client,
    open_collection,
    parsed_object,
    print_json,
)
from rag_pg.cli.terminal import Column, failed, note, write_message, write_table
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.types import GateCheck, GateResult


def set_gate(
    set_name: SetName,
    collection: Chosen,
    metric: Annotated[str, typer.Option(help="A metric that is larger when better.")] = "ndcg",
    epsilon: Annotated[float, typer.Option(help="By how much it may fall, 0 to 1.")] = 0.0,
    k: Annotated[int, typer.Option("-k", help="Of how many hits.")] = 10,
    options: Annotated[str, typer.Option(help="Of the search, as JSON.")] = "{}",
    drop: Annotated[bool, typer.Option("--drop", help="Demand it no longer.")] = False,
    dsn: Dsn = None,
) -> None:
    """Demand that no change of a collection makes it worse on a set."""
    given: Mapping[str, Any] = parsed_object(options, "the options", """'{"fusion": "rrf"}'""")
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        if drop:
            known = target.evaluation.gates.drop(set_name, metric=metric)
            write_message("the gate is gone" if known else "there was no such gate")
            return
        target.evaluation.gates.set(set_name, metric=metric, epsilon=epsilon, k=k, **given)
    write_message(f"{metric}@{k} of set {set_name} in {collection} may fall by {epsilon:g}")


def gate(
    collection: Chosen,
    run: Annotated[int | None, typer.Option(help="Test this run; default: run now.")] = None,
    baseline: Annotated[
        int | None, typer.Option(help="Against this run; default: the baseline.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit file here.")] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Test a collection, or a run, against the baseline; exit 1 when it is worse than allowed."""
    with open_client(dsn) as rag:
        tested = open_collection(rag, collection).evaluation.gates.check(run, baseline=baseline)
    if not tested:
        raise InvalidInput(
            f"collection {collection!r} has no gate: rag-pg eval set-gate SET {collection}"
        )
    rows = [(number, one) for number, results in tested for one in results]
    if junit is not None:
        write_junit(junit, collection, rows)
    if json_:
        for number, one in rows:
            print_json({"run": number, **asdict(one)})
    else:
        _print_results(rows)
    if not all(one.passed for _, one in rows):
        raise SystemExit(1)


def gates(
    collection: Annotated[str | None, typer.Argument(help="Only of this collection.")] = None,
    history: Annotated[
        bool, typer.Option("--history", help="What they decided: passed, failed, refused, forced.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Of the history.")] = 20,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """What changes must not make worse, and what the gates decided."""
    with open_client(dsn) as rag:
        if collection is not None:
            open_collection(rag, collection)
        if history:
            _print_checks(rag.database.list_gate_checks(collection, limit), json_)
            return
        found = rag.database.list_gates(collection)
    if json_:
        for one in found:
            print_json(one)
        return
    write_table(
        [*map(Column, ("collection", "set", "metric", "may fall by", "questions", "of")),
         Column("options", _options, optional=True)],
        [(g.collection_name, g.eval_set, f"{g.metric}@{g.k}", g.epsilon, g.queries,
          g.kind, dict(g.options) or None) for g in found],
    )  # fmt: skip


def _options(value: Any) -> str:
    return " ".join(f"{name}={one}" for name, one in value.items()) if value else ""


def _print_checks(checks: Sequence[GateCheck], as_json: bool) -> None:
    if as_json:
        for one in checks:
            print_json(one)
        return
    write_table(
        [
            Column("collection"),
            Column("when", lambda text: text[:16].replace("T", " ")),
            Column("outcome"),
            Column("by"),
            Column("what"),
            Column("worst", lambda value: f"{value:+.3f}", optional=True),
        ],
        [
            (c.collection_name, c.checked_at.astimezone().isoformat(), c.outcome, c.checked_by,
             c.action, min((one["difference"] for one in c.details), default=None))
            for c in checks
        ],
    )  # fmt: skip


def _print_results(rows: Sequence[tuple[int, GateResult]]) -> None:
    columns = [
        Column("run"),
        Column("category", lambda name: name or "all"),
        Column("metric"),
        Column("base", figure),
        Column("now", figure),
        Column("change", lambda value: f"{value:+.3f}"),
        Column("p", figure),
        Column("shows", figure),
        Column(""),
    ]
    write_table(
        columns,
        [
            (number, one.category or "", f"{one.metric}@{one.k}", one.value_a, one.value_b,
             one.difference, one.p_value, one.detectable, "passed" if one.passed else "FAILED")
            for number, one in rows
        ],
    )  # fmt: skip
    for _, one in rows:
        if not one.passed:
            worst = ", ".join(_lost(q) for q in one.worst)
            failed(f"{one.metric} of {one.category or 'all'} against run {one.against}: {worst}")
    few = [f"{one.category or 'all'} ({one.queries})" for _, one in rows if one.queries < 6]
    if few:
        note(f"too few questions to fail a gate: {', '.join(few)}")


def _lost(question: Mapping[str, Any]) -> str:
    why = f": {question['missing']}" if question.get("missing") else ""
    return f"{question['query_id']} ({question['difference']:+.2f}{why})"


def write_junit(path: Path, collection: str, rows: Sequence[tuple[int, GateResult]]) -> None:
    """Write the results as a suite of JUnit: a case for each gate and category."""
    bad = sum(not one.passed for _, one in rows)
    suite = ElementTree.Element(
        "testsuite", name=printable(f"rag-pg eval gate {collection}"), tests=str(len(rows)),
        failures=str(bad),
    )  # fmt: skip
    for number, one in rows:
        name = f"{one.metric}@{one.k} {one.category or 'all'}"
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"run {number}", name=printable(name)
        )
        if not one.passed:
            told = f"{one.value_a:.4f} to {one.value_b:.4f}, p = {one.p_value:.4f}"
            lost = "\n".join(
                f"{q['difference']:+.3f} {q['query_id']} {q['question'] or ''}"
                + (f": {q['missing']}" if q.get("missing") else "")
                for q in one.worst
            )
            ElementTree.SubElement(case, "failure", message=told).text = printable(lost)
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)
