"""Whatever prints a table prints it at 80 columns, however long and wide the names are."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import command_line
import psycopg
import pytest
from rich.cells import cell_len
from rota import tries

from rag_pg import Rag

NAME = ("資料-" * 21)[:63]
URI = "https://example.org/" + "a-folder/with%20a%20name/" * 8 + "漢字" * 40 + ".md"
WORDS = "a very long name of something " * 6
LISTINGS: tuple[tuple[str, ...], ...] = (
    ("documents", "-c", NAME),
    ("search", "fish", "-c", NAME, "--mode", "keyword"),
    ("status",),
    ("call", "list_spaces"),
    ("jobs",),
    ("jobs", "--explain", "JOB"),
    ("doctor",),
    ("audit", NAME),
    ("call", "list_answers", f"collection={NAME}"),
    ("call", "replay_answer", "answer_id=ANSWER"),
    ("show", URI, "-c", NAME, "--versions"),
    ("enrich", NAME),
    ("enrich", NAME, "--dry-run"),
    ("eval", "show"),
    ("eval", "show", "2"),
    ("eval", "show", "2", "--all"),
    ("eval", "compare", "1", "2", "--queries", "3"),
    ("eval", "report", "1", "2"),
    ("eval", "gate", NAME, "--run", "2"),
    ("call", "measure_recall", f"collection={NAME}", "sample=3", "k=2"),
    ("call",),
    ("call", "--find", "documents"),
    ("call", "list_collections"),
    ("call", "list_documents", f"collection={NAME}"),
    ("call", "get_document", f"collection={NAME}", f"uri={URI}"),
    ("call", "facets", f"collection={NAME}", "field=tag"),
    ("advise", NAME),
    ("call", "list_gates"),
    ("call", "list_service_keys"),
    ("call", "usage_report"),
    ("erase", NAME, URI, "--yes"),
)


@pytest.fixture
def cli(rag: Rag, dsn: str, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    docs = rag.collection(NAME, model="hash:32")
    for content in (f"one fish {WORDS}", f"two fish {WORDS}"):
        docs.alter(keep_versions=timedelta(days=9), keep_answers=timedelta(days=9))
        docs.add({"uri": URI, "title": WORDS, "content": content, "tag": WORDS})
    docs.add(*({"uri": f"{n}{URI}", "content": f"bird{n} {WORDS}"} for n in range(6)))
    docs.enrichment.set_rules([{"field": "x" * 60, "pattern": f"{WORDS}|bird", "value": WORDS}])
    rag.evaluation.sets.put(
        NAME,
        [{"id": f"{n}{URI}", "question": f"bird{n} {WORDS}", "relevant": [f"{n}{URI}"],
          "category": WORDS} for n in range(6)],
    )  # fmt: skip
    docs.evaluation.run(NAME, name=WORDS, vector_weight=0, filter={"none": 1})
    docs.evaluation.run(NAME, name=WORDS, vector_weight=0)
    rag.evaluation.runs.set_baseline(1)
    docs.evaluation.gates.set(NAME, vector_weight=0)
    answer = docs.ask("fish?", llm="extractive")
    docs.add({"uri": f"dead{URI}", "content": "dead"}, wait=False)
    rag.database.make_service_key(
        "k" * 60,
        scopes=["read", "ask", "write", "operate"],
        settings={"app.tenant": WORDS},
        limits={"requests_per_minute": 60, "tokens_per_day": 1e9, "cost_per_day": 5},
    )
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "SELECT rag.fail_job(job_id, lease, %s, permanent => true) FROM rag.take_jobs(9)",
            [WORDS],
        )
        row = connection.execute("SELECT min(job_id)::text FROM rag.jobs").fetchone()
    assert row is not None
    known = {"JOB": row[0], "answer_id=ANSWER": f"answer_id={answer.trace_id}"}

    def run(*arguments: str, terminal: bool) -> subprocess.CompletedProcess[str]:
        environment = {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(tmp_path), "COLUMNS": "80"}
        if terminal:
            environment |= {"FORCE_COLOR": "1", "NO_COLOR": "1"}
        given = [known.get(one, one) for one in arguments]
        return command_line.run(*given, environment=environment, cwd=tmp_path)

    return run


@pytest.mark.longer
def test_every_listing_fits_80_columns_and_a_pipe_gets_whole_values(
    cli: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    for arguments in LISTINGS[:: tries(1, 3)]:
        piped = cli(*arguments, terminal=False) if arguments[0] != "erase" else None
        shown = cli(*arguments, terminal=True)
        assert shown.returncode in (0, 1) and "Traceback" not in shown.stderr, shown.stderr
        assert shown.stdout, (arguments, shown.stderr)
        assert max(map(cell_len, shown.stdout.splitlines())) <= 80, (arguments, shown.stdout)
        if piped is not None and arguments[0] != "eval":
            assert "…" not in piped.stdout.replace("openai, …", ""), arguments  # of a comment
            objects = cli(*arguments, "--json", terminal=False).stdout
            assert [json.loads(line) for line in objects.splitlines()]
