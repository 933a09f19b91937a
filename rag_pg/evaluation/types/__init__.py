"""What evaluation gives: sets, runs, metrics, judges, sweeps, replays."""

from rag_pg.evaluation.types.live import (
    RecallMeasure,
    Replay,
    ReplayedQuery,
)
from rag_pg.evaluation.types.run import (
    EvalDrift,
    EvalImport,
    EvalJudge,
    EvalMetric,
    EvalRun,
    EvalRunImport,
    EvalSet,
    JudgeAgreement,
    JudgedAnswer,
    JudgeReport,
    LabelledResult,
    LabelReport,
    QueryComparison,
    Rejected,
    RunComparison,
)
from rag_pg.evaluation.types.sweep import (
    MOST_CANDIDATES,
    Candidate,
    RunProgress,
    Sweep,
    SweepEstimate,
    SweepRow,
    Tell,
    Vary,
)
