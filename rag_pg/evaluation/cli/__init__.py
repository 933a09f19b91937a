"""arguments of `rag-pg eval`, `calibrate`, `audit` and `advise` -> text on stdout.

Sets of questions, runs of them, what two runs differ by, and what must not get worse.
"""

from __future__ import annotations

from collections.abc import Callable

import typer

from rag_pg.evaluation.cli.audit import advise, audit
from rag_pg.evaluation.cli.calibration import calibrate
from rag_pg.evaluation.cli.comparison import compare
from rag_pg.evaluation.cli.gate import gate
from rag_pg.evaluation.cli.report import report
from rag_pg.evaluation.cli.runs import judge, run, show
from rag_pg.evaluation.cli.sets import export, generate, import_
from rag_pg.evaluation.cli.sweep import sweep

evaluation = typer.Typer(
    help="Evaluation: sets of questions, runs, comparisons, gates.",
    no_args_is_help=True,
)

GROUPS: dict[str, tuple[Callable[..., None], ...]] = {
    "Questions": (import_, generate, export),
    "Runs": (run, show, compare, report, sweep, judge),
    "What must not get worse": (gate,),
}
for _group, _commands in GROUPS.items():
    for _command in _commands:
        _name = _command.__name__.strip("_")
        evaluation.command(_name, rich_help_panel=_group)(_command)
