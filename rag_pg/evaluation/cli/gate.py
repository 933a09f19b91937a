"""`rag-pg eval gate`: what must not get worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from xml.etree import ElementTree

import typer

from rag_pg import console
from rag_pg.console import Chosen, Column, command
from rag_pg.evaluation.cli.arguments import figure, printable

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.types import GateResult


@command
def gate(
    rag: Rag,
    collection: Chosen,
    run: Annotated[int | None, typer.Option(help="Test this run; default: run now.")] = None,
    baseline: Annotated[
        int | None, typer.Option(help="Against this run; default: the baseline.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit file here.")] = None,
) -> None:
    """Test a collection, or a run, against the baseline; exit 1 when it is worse than allowed."""
    tested = console.open_collection(rag, collection).evaluation.gates.check(run, baseline=baseline)
    rows = [(number, one) for number, results in tested for one in results]
    if junit is not None:
        write_junit(junit, collection, rows)
    if console.as_json.get():
        for number, one in rows:
            console.write_json({"run": number, **asdict(one)})
    else:
        _print_results(rows)
    if not all(one.passed for _, one in rows):
        raise SystemExit(1)


def _print_results(rows: Sequence[tuple[int, GateResult]]) -> None:
    console.write_table(
        [
            Column("run"),
            Column("category", lambda name: name or "all"),
            Column("metric"),
            Column("base", figure),
            Column("now", figure),
            Column("change", "{:+.3f}".format),
            Column("p", figure),
            Column("shows", figure),
            Column(""),
        ],
        [
            (number, one.category or "", f"{one.metric}@{one.k}", one.value_a, one.value_b,
             one.difference, one.p_value, one.detectable, "passed" if one.passed else "FAILED")
            for number, one in rows
        ],
    )  # fmt: skip
    for _, one in rows:
        if not one.passed:
            worst = ", ".join(_lost(q) for q in one.worst)
            console.failed(
                f"{one.metric} of {one.category or 'all'} against run {one.against}: {worst}"
            )
    few = [f"{one.category or 'all'} ({one.queries})" for _, one in rows if one.queries < 6]
    if few:
        console.note(f"too few questions to fail a gate: {', '.join(few)}")


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
