"""arguments of `rag-pg eval` -> text on stdout.

Sets of questions, runs of them, what two runs differ by, and what must not get worse.
"""

from __future__ import annotations

from collections.abc import Callable

import typer

from rag_pg.cli.eval.comparison import compare
from rag_pg.cli.eval.gates import gate, gates, set_gate
from rag_pg.cli.eval.labels import judges, label, measure_judge
from rag_pg.cli.eval.live import recall, replay, sample
from rag_pg.cli.eval.report import report
from rag_pg.cli.eval.runs import judge, run, runs, show, show_progress
from rag_pg.cli.eval.sets import (
    drift,
    embed,
    export,
    generate,
    import_,
    import_log,
    import_run,
    sets,
)
from rag_pg.cli.eval.sweep import sweep

__all__ = ["evaluation", "show_progress"]

evaluation = typer.Typer(
    help="Evaluation: questions with what is right for them, runs, comparisons.",
    no_args_is_help=True,
)

GROUPS: dict[str, tuple[Callable[..., None], ...]] = {
    "Questions": (sets, import_, import_log, generate, export, drift, embed),
    "Runs": (run, runs, show, import_run, compare, report, sweep),
    "Judges and labels": (judge, label, judges, measure_judge),
    "Gates": (set_gate, gate, gates),
    "Live queries": (sample, replay, recall),
}
for _group, _commands in GROUPS.items():
    for _command in _commands:
        _name = _command.__name__.strip("_").replace("_", "-")
        evaluation.command(_name, rich_help_panel=_group)(_command)
