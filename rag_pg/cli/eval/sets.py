"""`rag-pg eval import`, `import-log`, `export`, `sets`, `drift`, `generate`, `embed`: questions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rag_pg.cli.console import count_of
from rag_pg.cli.eval.arguments import Chosen, SetName
from rag_pg.cli.moments import parsed_moment
from rag_pg.cli.options import Dsn, Json, open_client, open_collection, print_json, write_result
from rag_pg.cli.terminal import Column, failed, note, write_message, write_table

Form = Annotated[
    str | None,
    typer.Option("--format", help="jsonl, csv, beir (a folder) or trec; default: by the name."),
]


def import_(
    set_name: SetName,
    path: Annotated[Path, typer.Argument(help="A file, or the folder of a BEIR set.")],
    form: Form = None,
    qrels: Annotated[Path | None, typer.Option(help="Judgements in TREC's form.")] = None,
    source: Annotated[str, typer.Option(help="human, synthetic, feedback or log.")] = "human",
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Store questions in a set; exit 1 when lines were left out."""
    with open_client(dsn) as rag:
        report = rag.evaluation.sets.import_file(
            set_name, path, form=form, qrels=qrels, source=source
        )
    for remark in report.notes:
        note(remark)
    for rejected in report.rejected:
        failed(str(rejected))
    write_result(
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged,"
        f" {len(report.rejected)} left out",
        json_,
        set=set_name,
        added=report.added,
        updated=report.updated,
        unchanged=report.unchanged,
        rejected=[str(one) for one in report.rejected],
    )
    if report.rejected:
        raise SystemExit(1)


def import_log(
    set_name: SetName,
    collection: Chosen,
    since: Annotated[
        str | None, typer.Option(help="From this time on: 2026-03-31, or how long ago: '7 days'.")
    ] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Add logged questions to a set: those without an answer, and those with thumbs up or down."""
    moment = None if since is None else parsed_moment(since)
    with open_client(dsn) as rag:
        opened = open_collection(rag, collection)
        added = opened.evaluation.add_logged_queries(set_name, moment)
        keeps = bool(opened.info.keep_answers)
    write_result(f"{count_of(added, 'question')} added", json_, set=set_name, added=added)
    if not keeps:
        note(
            f"{collection} logs no answers; to begin: rag-pg keep {collection} --answers '90 days'"
        )
    elif added and not json_:
        write_message(f"judge what is relevant to them: rag-pg eval export {set_name} FILE.jsonl")


def export(
    name: Annotated[str, typer.Argument(help="A set, or the number of a run.")],
    path: Annotated[Path, typer.Argument(help="Where to.")],
    form: Form = None,
    dsn: Dsn = None,
) -> None:
    """Write a set to a file or folder, or a run in TREC's form."""
    with open_client(dsn) as rag:
        if name.isdecimal() and name not in {one.name for one in rag.evaluation.sets.list()}:
            count = rag.evaluation.runs.export_file(int(name), path)
            write_message(f"{path}: {count_of(count, 'line')}")
            return
        suffixes = {".jsonl": "jsonl", ".csv": "csv"}
        chosen = form or suffixes.get(path.suffix.lower(), "beir")
        for remark in rag.evaluation.sets.export_file(name, path, form=chosen):
            note(remark)
    write_message(f"{path}: written as {chosen}")


def import_run(
    set_name: SetName,
    collection: Chosen,
    path: Annotated[Path, typer.Argument(help="A ranking in TREC's form; its ids are uris.")],
    name: Annotated[str, typer.Option(help="A label for the run; default: its tag.")] = "",
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Store a ranking of another program as a run; exit 1 when lines were left out."""
    with open_client(dsn) as rag:
        found = open_collection(rag, collection).evaluation.import_run(set_name, path, name=name)
    for remark in found.run.notes:
        note(remark)
    for label, ids in (("not in the collection", found.missing), ("not in the set", found.unknown)):
        if ids:
            more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
            note(f"{label}: {', '.join(ids[:5])}{more}")
    for rejected in found.rejected:
        failed(str(rejected))
    write_result(
        f"run {found.run.run_id}: {count_of(found.ranked, 'document')} ranked for"
        f" {count_of(found.run.queries, 'question')}, {len(found.missing)} unresolved,"
        f" {count_of(len(found.rejected), 'line')} left out",
        json_,
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


def sets(
    drop: Annotated[str | None, typer.Option(help="Remove this set with its runs.")] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """The sets of questions."""
    with open_client(dsn) as rag:
        if drop is not None:
            rag.evaluation.sets.drop(drop)
        found = rag.evaluation.sets.list()
    if json_:
        for one in found:
            print_json(one)
        return
    columns = [Column(name) for name in ("set", "questions", "judgements", "unanswerable", "runs")]
    write_table(
        [*columns, Column("sources", ", ".join)],
        [(s.name, s.queries, s.judgements, s.unanswerable, s.runs, s.sources) for s in found],
    )


def drift(set_name: SetName, collection: Chosen, json_: Json = False, dsn: Dsn = None) -> None:
    """The judgements that no longer describe a collection; exit 1 when there are some."""
    with open_client(dsn) as rag:
        found = open_collection(rag, collection).evaluation.drift(set_name)
    if json_:
        for one in found:
            print_json(one)
    else:
        columns = [Column(name) for name in ("question", "document", "state", "detail")]
        write_table(columns, [(d.query_id, d.uri, d.state, d.detail) for d in found])
    if found:
        raise SystemExit(1)
    if not json_:
        write_message("every judgement describes the collection")


def generate(
    set_name: SetName,
    collection: Chosen,
    count: Annotated[int, typer.Option(help="Of how many chunks; a question each at most.")] = 50,
    llm: Annotated[str | None, typer.Option(help="What writes the questions.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="A question must find its chunk among so many.")
    ] = 10,
    seed: Annotated[int, typer.Option(help="Another one takes other chunks.")] = 0,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask about the cost.")] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Have a language model write questions to chunks, and keep those that lead back to them."""
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        estimate = target.evaluation.estimate_queries(count=count, llm=llm, seed=seed)
        tokens = estimate.usage.prompt_tokens + estimate.usage.answer_tokens
        price = "its price is not known" if estimate.cost is None else f"about ${estimate.cost:.2f}"
        write_message(f"{count_of(estimate.calls, 'call')}, about {tokens} tokens; {price}")
        if not yes and not typer.confirm("Go on?", err=True):
            raise SystemExit(1)
        counts, usage = target.evaluation.generate_queries(
            set_name, count=count, llm=llm, limit=limit, seed=seed
        )
    used = usage.prompt_tokens + usage.answer_tokens
    if json_:
        print_json({"set": set_name, "counts": dict(counts), "tokens": used})
        return
    write_table([Column("chunks"), Column("what became of them")],
                [(number, reason) for reason, number in counts.items()])  # fmt: skip
    write_message(f"{used} tokens")


def embed(
    set_name: SetName,
    collection: Chosen,
    space: Annotated[int | None, typer.Option(help="By the model of this space.")] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Keep the vectors of a set's questions, so that SQL alone can run it."""
    with open_client(dsn) as rag:
        count = open_collection(rag, collection).evaluation.embed_queries(set_name, space_id=space)
    write_result(count_of(count, "question"), json_, set=set_name, questions=count)
