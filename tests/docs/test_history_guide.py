"""The guide to versions, logged answers and erasure: its Python, commands and SQL run."""

from __future__ import annotations

import os
import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from command_line import run
from paths import ROOT

from rag_pg import Rag

GUIDE = (ROOT / "docs" / "guides" / "history.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def test_every_example_of_the_guide_runs_in_its_order(
    rag: Rag, dsn: str, connection: psycopg.Connection[Any], tmp_path: Path
) -> None:
    names: dict[str, Any] = {
        "docs": rag.collection("docs", model="hash:32"),
        "datetime": datetime, "timedelta": timedelta, "UTC": UTC,
    }  # fmt: skip
    environment = {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(tmp_path), "PATH": os.defpath}
    role = f"guide_historian_{os.getpid()}"
    try:
        for language, block in BLOCKS:
            if language == "python":
                exec(compile(block, "history.md", "exec"), names)
            elif language == "sql":
                for statement in filter(str.strip, block.split(";\n")):
                    done = connection.execute(statement.replace("rag_historian", role).encode())
                    assert done.description is None or done.fetchall(), statement
            else:
                for line in block.splitlines():
                    told = line.split("#")[0].removesuffix(" ").rstrip()
                    # there was no document a minute ago, and no question is open
                    may_fail = told.endswith(("--at '1 minute'", "only_open=true"))
                    if "$ANSWER" in told:
                        told = told.replace("$ANSWER", names["answer"].trace_id)
                    arguments = shlex.split(told)[1:]
                    done_ = run(*arguments, environment=environment, cwd=tmp_path)
                    silent = "alter_collection" in told or done_.stdout
                    assert may_fail or (done_.returncode == 0 and silent), (line, done_)
    finally:
        connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())
    assert names["text"].content.startswith("The office opens at nine.")
    assert len(names["receipt"].document_hashes) == 1


def test_the_guide_tells_every_table_that_an_erasure_counts(dsn: str, rag: Rag) -> None:
    told = {
        "documents": "documents,", "chunks": "chunks", "document_versions": "earlier versions",
        "answer_log": "logged answers", "answer_feedback": "thumbs", "cache_entries": "the cache",
        "worker_calls": "queue of workers", "eval_judgements": "judgements",
        "eval_queries": "questions that were made", "eval_results": "results of runs",
        "eval_verdicts": "verdicts of judges", "keyword_blocks": "the keyword index",
        "originals": "kept files", "jobs": "jobs", "gate_checks": "a gate",
        "sources": "of its sources", "job_errors": "`job_errors`",
        "live_queries": "sampled queries",
        "eval_answers": "`eval_answers`", "documents_of_copies": "`documents_of_copies`",
        "eval_judgements_of_others": "`eval_judgements_of_others`",
    }  # fmt: skip
    removed = rag.collection("docs", model="hash:32").erase("none").removed
    assert set(removed) == set(told)
    assert [name for name, words in told.items() if words not in GUIDE] == []
