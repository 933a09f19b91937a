"""Runs of a set -> what a report of them holds, and one HTML file with plots that works offline."""

from rag_pg.evaluation.report.content import ReportedQuery
from rag_pg.evaluation.report.runs import Report, report_runs
