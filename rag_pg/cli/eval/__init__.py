"""arguments of `rag-pg eval` -> text on stdout.

Sets of questions, runs of them, what two runs differ by, and what must not get worse.
"""

from __future__ import annotations

import typer

from rag_pg.cli.eval.comparison import compare, report
from rag_pg.cli.eval.gates import gate, set_gate
from rag_pg.cli.eval.live import recall, replay, sample
from rag_pg.cli.eval.runs import judge, run, runs, show, show_progress
from rag_pg.cli.eval.sets import drift, embed, export, generate, import_, import_run, sets
from rag_pg.cli.eval.sweep import sweep

__all__ = ["evaluation", "show_progress"]

evaluation = typer.Typer(
    help="Evaluation: questions with what is right for them, runs, comparisons.",
    no_args_is_help=True,
)

for _command in (
    *(import_, import_run, export, sets, drift, generate, embed),
    *(run, show, runs, judge),
    *(compare, sweep, report),
    *(set_gate, gate),
    *(sample, replay, recall),
):
    evaluation.command(_command.__name__.strip("_").replace("_", "-"))(_command)
