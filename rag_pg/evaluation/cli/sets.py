"""`rag-pg eval import`, `generate`, `export`: sets of questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_pg import console
from rag_pg.console import Chosen, command, count_of
from rag_pg.errors import InvalidInput
from rag_pg.evaluation.cli.arguments import SetName, confirm

if TYPE_CHECKING:
    from rag_pg.client import Rag
    from rag_pg.evaluation.types import EvalRunImport

Form = Annotated[
    str | None,
    typer.Option("--format", help="jsonl, csv, beir (a folder) or trec; default: by the name."),
]


@command
def import_(
    rag: Rag,
    set_name: SetName,
    path: Annotated[Path, typer.Argument(help="A file, or the folder of a BEIR set.")],
    form: Form = None,
    qrels: Annotated[Path | None, typer.Option(help="Judgements in TREC's form.")] = None,
    source: Annotated[str, typer.Option(help="human, synthetic, feedback or log.")] = "human",
    ranking: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="COLLECTION",
            help="The file is another program's ranking of this collection, in TREC's form with"
            " uris as ids: it is stored as a run.",
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="With --run: a label; default: its tag.")] = "",
) -> None:
    """Store questions in a set, or a ranking as a run; exit 1 when lines were left out."""
    if ranking is not None:
        if form is not None or qrels is not None:
            raise InvalidInput("--format and --qrels are of questions, --run is of a ranking")
        _tell_ranking(
            console.open_collection(rag, ranking).evaluation.import_run(set_name, path, name=name)
        )
        return
    report = rag.evaluation.sets.import_file(set_name, path, form=form, qrels=qrels, source=source)
    for remark in report.notes:
        console.note(remark)
    for rejected in report.rejected:
        console.failed(str(rejected))
    console.write_result(
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged,"
        f" {len(report.rejected)} left out",
        set=set_name,
        added=report.added,
        updated=report.updated,
        unchanged=report.unchanged,
        rejected=[str(one) for one in report.rejected],
    )
    if report.rejected:
        raise SystemExit(1)


def _tell_ranking(found: EvalRunImport) -> None:
    for remark in found.run.notes:
        console.note(remark)
    for label, ids in (("not in the collection", found.missing), ("not in the set", found.unknown)):
        if ids:
            more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
            console.note(f"{label}: {', '.join(ids[:5])}{more}")
    for rejected in found.rejected:
        console.failed(str(rejected))
    console.write_result(
        f"run {found.run.run_id}: {count_of(found.ranked, 'document')} ranked for"
        f" {count_of(found.run.queries, 'question')}, {len(found.missing)} unresolved,"
        f" {count_of(len(found.rejected), 'line')} left out",
        run=found.run.run_id,
        ranked=found.ranked,
        questions=found.run.queries,
        missing=list(found.missing),
        unknown=list(found.unknown),
        unranked=found.unranked,
        passages=found.passages,
        rejected=[str(one) for one in found.rejected],
    )
    if found.rejected:
        raise SystemExit(1)


@command
def export(
    rag: Rag,
    name: Annotated[str, typer.Argument(help="A set, or the number of a run.")],
    path: Annotated[Path, typer.Argument(help="Where to.")],
    form: Form = None,
) -> None:
    """Write a set to a file or folder, or a run in TREC's form."""
    if name.isdecimal() and name not in {one.name for one in rag.evaluation.sets.list()}:
        count = rag.evaluation.runs.export_file(int(name), path)
        for remark in count.notes:
            console.note(remark)
        console.write_message(f"{path}: {count_of(count, 'line')}")
        return
    suffixes = {".jsonl": "jsonl", ".csv": "csv"}
    chosen = form or suffixes.get(path.suffix.lower(), "beir")
    for remark in rag.evaluation.sets.export_file(name, path, form=chosen):
        console.note(remark)
    console.write_message(f"{path}: written as {chosen}")


@command
def generate(
    rag: Rag,
    set_name: SetName,
    collection: Chosen,
    count: Annotated[int, typer.Option(help="Of how many chunks; a question each at most.")] = 50,
    llm: Annotated[str | None, typer.Option(help="What writes the questions.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="A question must find its chunk among so many.")
    ] = 10,
    seed: Annotated[int, typer.Option(help="Another one takes other chunks.")] = 0,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask about the cost.")] = False,
) -> None:
    """Have a language model write questions to chunks, and keep those that lead back to them."""
    target = console.open_collection(rag, collection)
    estimate = target.evaluation.estimate_queries(count=count, llm=llm, seed=seed)
    confirm(estimate, yes)
    counts, usage = target.evaluation.generate_queries(
        set_name, count=count, llm=llm, limit=limit, seed=seed
    )
    used = usage.prompt_tokens + usage.answer_tokens
    if console.as_json.get():
        console.write_json({"set": set_name, "counts": dict(counts), "tokens": used})
        return
    rows = [{"chunks": number, "what became of them": reason} for reason, number in counts.items()]
    console.listing(rows)
    console.write_message(f"{used} tokens")
