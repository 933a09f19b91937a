"""A set of questions and what answers them -> a run, its judges' scores, files.

Questions are read from files or made from chunks; a run asks each and records what was found.
"""

from rag_pg.evaluation.calibrate import Observation, calibrate, fit, observe
from rag_pg.evaluation.files import export_run, export_set, import_set, put_queries
from rag_pg.evaluation.gates import embed_gated_queries, embed_queries
from rag_pg.evaluation.generate import Estimate, estimate_questions, generate_questions
from rag_pg.evaluation.judges import Judge, find_judge, judge_run
from rag_pg.evaluation.report import Report, report_runs
from rag_pg.evaluation.run import answer_result, find_run, run_set, search_result

__all__ = [
    "Estimate",
    "Judge",
    "Observation",
    "Report",
    "answer_result",
    "calibrate",
    "embed_gated_queries",
    "embed_queries",
    "estimate_questions",
    "export_run",
    "export_set",
    "find_judge",
    "find_run",
    "fit",
    "generate_questions",
    "import_set",
    "judge_run",
    "observe",
    "put_queries",
    "report_runs",
    "run_set",
    "search_result",
]
