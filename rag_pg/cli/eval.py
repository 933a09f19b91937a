"""`rag-pg eval`: sets of questions, runs of them, and what two runs differ by."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg.cli.console import count_of
from rag_pg.cli.gate import embed, gate, report, set_gate
from rag_pg.cli.options import (
    Dsn,
    Filter,
    Json,
    Rerank,
    Rewrites,
    open_client,
    open_collection,
    parsed_filter,
    print_json,
    write_result,
)
from rag_pg.cli.terminal import (
    Column,
    failed,
    is_terminal,
    note,
    width,
    write,
    write_message,
    write_table,
)
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.client import AskOptions
    from rag_pg.types import EvalMetric, EvalRun, RunComparison

evaluation = typer.Typer(
    help="Evaluation: questions with what is right for them, runs, comparisons.",
    no_args_is_help=True,
)

for _name, _command in (
    ("set-gate", set_gate),
    ("gate", gate),
    ("embed", embed),
    ("report", report),
):
    evaluation.command(_name)(_command)

SetName = Annotated[str, typer.Argument(metavar="SET", help="Which set of questions.")]
Chosen = Annotated[str, typer.Argument(help="Which collection.")]
RunId = Annotated[int, typer.Argument(metavar="RUN", help="Number of a run, see eval runs.")]
K = Annotated[int, typer.Option("-k", help="Of how many hits the metrics are.")]
Form = Annotated[
    str | None,
    typer.Option("--format", help="jsonl, csv, beir (a folder) or trec; default: by the name."),
]
MODES = {"hybrid": {}, "keyword": {"vector_weight": 0.0}, "vector": {"keyword_weight": 0.0}}
METRICS = "ndcg,recall,mrr"


@evaluation.command("import")
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
        report = rag.import_eval_set(set_name, path, form=form, qrels=qrels, source=source)
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


@evaluation.command("export")
def export(
    name: Annotated[str, typer.Argument(help="A set, or the number of a run.")],
    path: Annotated[Path, typer.Argument(help="Where to.")],
    form: Form = None,
    dsn: Dsn = None,
) -> None:
    """Write a set to a file or folder, or a run in TREC's form."""
    with open_client(dsn) as rag:
        if name.isdecimal() and name not in {one.name for one in rag.eval_sets()}:
            count = rag.export_eval_run(int(name), path)
            write_message(f"{path}: {count_of(count, 'line')}")
            return
        suffixes = {".jsonl": "jsonl", ".csv": "csv"}
        chosen = form or suffixes.get(path.suffix.lower(), "beir")
        for remark in rag.export_eval_set(name, path, form=chosen):
            note(remark)
    write_message(f"{path}: written as {chosen}")


@evaluation.command("sets")
def sets(
    drop: Annotated[str | None, typer.Option(help="Remove this set with its runs.")] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """The sets of questions."""
    with open_client(dsn) as rag:
        if drop is not None:
            rag.drop_eval_set(drop)
        found = rag.eval_sets()
    if json_:
        for one in found:
            print_json(one)
        return
    columns = [Column(name) for name in ("set", "questions", "judgements", "unanswerable", "runs")]
    write_table(
        [*columns, Column("sources", ", ".join)],
        [(s.name, s.queries, s.judgements, s.unanswerable, s.runs, s.sources) for s in found],
    )


@evaluation.command("drift")
def drift(set_name: SetName, collection: Chosen, json_: Json = False, dsn: Dsn = None) -> None:
    """The judgements that no longer describe a collection; exit 1 when there are some."""
    with open_client(dsn) as rag:
        found = open_collection(rag, collection).eval_drift(set_name)
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


@evaluation.command("run")
def run(
    set_name: SetName,
    collection: Chosen,
    kind: Annotated[str, typer.Option(help="search, or ask (answers).")] = "search",
    name: Annotated[str, typer.Option(help="A label for the run.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", help="Hits of a question.")] = 10,
    mode: Annotated[str, typer.Option(help="hybrid, keyword or vector.")] = "hybrid",
    fusion: Annotated[str | None, typer.Option(help="auto, weighted or rrf.")] = None,
    filter: Filter = None,
    rewrite: Rewrites = None,
    rerank: Rerank = None,
    strategy: Annotated[str | None, typer.Option(help="Of ask; see rag-pg ask.")] = None,
    llm: Annotated[str | None, typer.Option(help="Of ask; see rag-pg ask.")] = None,
    at_once: Annotated[int, typer.Option(help="Questions side by side, 1 to 64.")] = 1,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Others are compared with this run.")
    ] = False,
    keep_vectors: Annotated[
        bool,
        typer.Option("--keep-vectors", help="So that rag.evaluate_search needs no model."),
    ] = False,
    k: K = 10,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Ask a collection the questions of a set, and measure what it gives."""
    if mode not in MODES:
        raise InvalidInput(f"unknown mode {mode!r}; use hybrid, keyword or vector")
    if kind != "ask" and (strategy is not None or llm is not None):
        raise InvalidInput("--strategy and --llm are for --kind ask")
    options: AskOptions = {"limit": limit, **MODES[mode]}  # type: ignore[typeddict-item]
    given = {
        "filter": parsed_filter(filter),
        "fusion": fusion,
        "rewrite": rewrite,
        "rerank": rerank,
        "strategy": strategy,
        "llm": llm,
    }
    options.update({key: one for key, one in given.items() if one is not None})  # type: ignore[typeddict-item]
    with open_client(dsn) as rag:
        target = open_collection(rag, collection)
        if keep_vectors:
            target.embed_eval_queries(set_name)
        with show_progress() as progress:
            done = target.evaluate(
                set_name, kind=kind, name=name, at_once=at_once, progress=progress, **options
            )
        if baseline:
            rag.set_eval_baseline(done.run_id)
        metrics = rag.eval_metrics(done.run_id, k=k)
    _print_run(done, metrics, k, json_)


@contextmanager
def show_progress() -> Iterator[Callable[[int, int], None]]:
    """Tell on a terminal how many questions were asked."""
    if not is_terminal(sys.stderr):
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("questions", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@evaluation.command("show")
def show(
    run_id: RunId,
    k: K = 10,
    drop: Annotated[bool, typer.Option("--drop", help="Remove the run.")] = False,
    baseline: Annotated[
        bool, typer.Option("--baseline", help="Others are compared with this run.")
    ] = False,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """The metrics of a run, for all questions and by category."""
    from rag_pg.evaluation import find_run

    with open_client(dsn) as rag:
        found = find_run(rag.database, run_id)
        if drop:
            rag.drop_eval_run(run_id)
            write_message(f"run {run_id} is gone")
            return
        if baseline:
            rag.set_eval_baseline(run_id)
        metrics = rag.eval_metrics(run_id, k=k)
    _print_run(found, metrics, k, json_)


def _print_run(done: EvalRun, metrics: Sequence[EvalMetric], k: int, as_json: bool) -> None:
    if as_json:
        for one in metrics:
            print_json({"run_id": done.run_id, "k": k, **_fields(one)})
        return
    label = f" ({done.name})" if done.name else ""
    write_message(
        f"run {done.run_id}{label}: {done.kind} of set {done.eval_set} in {done.collection},"
        f" {count_of(done.queries, 'question')}, k = {k}"
    )
    for remark in done.notes:
        note(remark)
    columns = [
        Column("category", lambda name: name or "all"),
        Column("metric"),
        Column("value", _number),
        Column("low", _number),
        Column("high", _number),
        Column("questions"),
        Column("", optional=True),
    ]
    write_table(
        columns,
        [
            (m.category, m.metric, m.value, m.low, m.high, m.queries,
             "advisory" if m.advisory else None)
            for m in metrics
        ],
    )  # fmt: skip


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.0f}"


def _fields(value: Any) -> Mapping[str, Any]:
    from dataclasses import asdict

    return asdict(value)


@evaluation.command("runs")
def runs(
    set_name: Annotated[str | None, typer.Argument(metavar="SET", help="Only of this set.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many.")] = 20,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """The latest runs."""
    with open_client(dsn) as rag:
        found = rag.eval_runs(set_name, limit=limit)
    if json_:
        for one in found:
            print_json(one)
        return
    columns = [Column(name) for name in ("run", "set", "collection", "kind", "questions")]
    columns += [
        Column("errors", optional=True),
        Column("began", lambda when: f"{when:%Y-%m-%d %H:%M}"),
        Column("name"),
    ]
    rows = []
    for r in found:
        label = " ".join(filter(None, (r.name, "(baseline)" if r.baseline else "",
                                       "" if r.finished_at else "(not finished)")))  # fmt: skip
        rows.append(
            (r.run_id, r.eval_set, r.collection, r.kind, r.queries, r.errors or None, r.started_at,
             label)
        )  # fmt: skip
    write_table(columns, rows)


@evaluation.command("compare")
def compare(
    run_a: RunId,
    run_b: RunId,
    metrics: Annotated[str, typer.Option(help="Names, parted by commas.")] = METRICS,
    k: K = 10,
    correction: Annotated[str, typer.Option(help="holm, bonferroni or none.")] = "holm",
    permutations: Annotated[int, typer.Option(help="Random signs that are tried.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same one gives the same result.")] = 0,
    queries: Annotated[
        int, typer.Option(help="Show so many questions that lost and won most.")
    ] = 0,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """What the second run gains on the first, and whether that may be chance."""
    from rag_pg.evaluation import find_run

    names = [name.strip() for name in metrics.split(",") if name.strip()]
    with open_client(dsn) as rag:
        rows = rag.compare_runs(
            run_a, run_b, metrics=names, k=k, permutations=permutations, seed=seed,
            correction=correction,
        )  # fmt: skip
        a, b = (find_run(rag.database, run_id) for run_id in (run_a, run_b))
        changed = rag.compare_queries(run_a, run_b, metric=names[0], k=k) if queries else []
    if a.corpus_fingerprint != b.corpus_fingerprint:
        note("the runs are of different documents: run the set again on the same corpus")
    if a.set_fingerprint != b.set_fingerprint:
        note("questions or judgements were changed between the runs")
    if json_:
        for row in rows:
            print_json({"run_a": run_a, "run_b": run_b, "k": k, **_fields(row)})
    else:
        _print_comparison(rows)
    lost = [one for one in changed if one.difference < 0][:queries]
    won = [one for one in reversed(changed) if one.difference > 0][:queries]
    for one in [*lost, *won]:
        if json_:
            print_json({"run_a": run_a, "run_b": run_b, "metric": names[0], **_fields(one)})
        else:
            line = f"{one.difference:+.3f}  {one.query_id}  {one.question or ''}"
            seen = is_terminal(sys.stdout) and len(line) > width()
            write(line[: width() - 1] + "…" if seen else line)


def _print_comparison(rows: Sequence[RunComparison]) -> None:
    if not rows:
        write_message("no question has these metrics in both runs")
        return
    columns = [
        Column("category", lambda name: name or "all"),
        Column("metric"),
        Column("a", _short),
        Column("b", _short),
        Column("b - a", lambda value: f"{value:+.3f}"),
        Column("95 %"),
        Column("p", lambda value: f"{value:.3f}"),
        Column("+/=/-"),
        Column("shows", _short),
    ]
    write_table(
        columns,
        [
            (r.category, r.metric, r.value_a, r.value_b, r.difference,
             f"{r.low:+.3f} {r.high:+.3f}", r.adjusted_p_value, f"{r.wins}/{r.ties}/{r.losses}",
             r.detectable)
            for r in rows
        ],
    )  # fmt: skip
    largest = max(rows, key=lambda r: r.queries)
    if largest.detectable:
        write_message(
            f"{count_of(largest.queries, 'question')} cannot show a difference below"
            f" {largest.detectable:.3f} of {largest.metric} (80 % power, p < 0.05)"
        )


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


@evaluation.command("generate")
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
        estimate = target.estimate_eval_queries(count=count, llm=llm, seed=seed)
        tokens = estimate.usage.prompt_tokens + estimate.usage.answer_tokens
        price = "its price is not known" if estimate.cost is None else f"about ${estimate.cost:.2f}"
        write_message(f"{count_of(estimate.calls, 'call')}, about {tokens} tokens; {price}")
        if not yes and not typer.confirm("Go on?", err=True):
            raise SystemExit(1)
        counts, usage = target.generate_eval_queries(
            set_name, count=count, llm=llm, limit=limit, seed=seed
        )
    used = usage.prompt_tokens + usage.answer_tokens
    if json_:
        print_json({"set": set_name, "counts": dict(counts), "tokens": used})
        return
    write_table([Column("chunks"), Column("what became of them")],
                [(number, reason) for reason, number in counts.items()])  # fmt: skip
    write_message(f"{used} tokens")


@evaluation.command("judge")
def judge(
    run_id: RunId,
    judges: Annotated[
        list[str],
        typer.Argument(
            metavar="JUDGE…",
            help="faithfulness, answer_relevance, context_relevance, correctness,"
            " module:function or sql:schema.function.",
        ),
    ],
    llm: Annotated[str | None, typer.Option(help="The judging model.")] = None,
    json_: Json = False,
    dsn: Dsn = None,
) -> None:
    """Have judges score the results of a run; advisory until they are compared with people."""
    with open_client(dsn) as rag:
        for name in judges:
            report = rag.judge_run(run_id, name, llm=llm)
            tokens = report.usage.prompt_tokens + report.usage.answer_tokens
            for failure in report.failures[:10]:
                failed(failure)
            failures = len(report.failures)
            write_result(
                f"{report.judge} (version {report.judge_version}):"
                f" {count_of(report.scored, 'result')} scored, {failures} failed, {tokens} tokens",
                json_,
                judge=report.judge,
                judge_version=report.judge_version,
                scored=report.scored,
                failures=failures,
                tokens=tokens,
            )
