"""A set of questions and what answers them -> a run, its judges' scores, files.

Questions are read from files or made from chunks; a run asks each and records what was found.
"""

from rag_pg.evaluation.advice import advise
from rag_pg.evaluation.calibrate import (
    Observation,
    calibrate,
    distinct_questions,
    fit,
    observe,
)
from rag_pg.evaluation.files import export_run, export_set, import_set, put_queries
from rag_pg.evaluation.generate import Estimate, estimate_questions, generate_questions
from rag_pg.evaluation.import_run import import_run
from rag_pg.evaluation.judgement import estimate_judgements, judge_observations
from rag_pg.evaluation.judges import Judge, find_judge, judge_run
from rag_pg.evaluation.labels import judge_of, put_labels
from rag_pg.evaluation.report import Report, ReportedQuery, report_runs
from rag_pg.evaluation.run import answer_result, find_run, run_set, search_result
from rag_pg.evaluation.sweep import (
    MODES,
    Comparing,
    Corpus,
    Facilities,
    Measure,
    compare_measured,
    estimate_sweep,
    find_equal,
    list_techniques,
    make_candidates,
    measure_candidates,
    read_options,
    read_vary,
    settings_key,
    settings_of,
)

__all__ = [
    "MODES",
    "Comparing",
    "Corpus",
    "Estimate",
    "Facilities",
    "Judge",
    "Measure",
    "Observation",
    "Report",
    "ReportedQuery",
    "advise",
    "answer_result",
    "calibrate",
    "compare_measured",
    "distinct_questions",
    "estimate_judgements",
    "estimate_questions",
    "estimate_sweep",
    "export_run",
    "export_set",
    "find_equal",
    "find_judge",
    "find_run",
    "fit",
    "generate_questions",
    "import_run",
    "import_set",
    "judge_observations",
    "judge_of",
    "judge_run",
    "list_techniques",
    "make_candidates",
    "measure_candidates",
    "observe",
    "put_labels",
    "put_queries",
    "read_options",
    "read_vary",
    "report_runs",
    "run_set",
    "search_result",
    "settings_key",
    "settings_of",
]
