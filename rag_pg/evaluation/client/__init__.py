"""an open collection and a set of questions -> runs, sweeps, a calibration, a replay: what the
namespaces `evaluation` of the client call."""

from rag_pg.evaluation.client.calibration import (
    calibrate,
    estimate_calibration,
    observe_questions,
)
from rag_pg.evaluation.client.live import replay
from rag_pg.evaluation.client.run import run
from rag_pg.evaluation.client.sweep import estimate_sweep, sweep

__all__ = [
    "calibrate",
    "estimate_calibration",
    "estimate_sweep",
    "observe_questions",
    "replay",
    "run",
    "sweep",
]
