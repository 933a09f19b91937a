"""`rag-pg eval`: what it prints at 80 columns and as JSON, and its exit codes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import command_line
import pytest

from rag_pg import Rag

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def cli(rag: Rag, dsn: str, tmp_path: Path) -> Cli:
    docs = rag.collection("docs", model="hash:32")
    docs.add_chunks({"uri": f"d{n}", "content": f"fish {'bird ' * n} word{n}"} for n in range(12))
    environment = {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(tmp_path), "COLUMNS": "80",
                   "FORCE_COLOR": "1", "NO_COLOR": "1"}  # fmt: skip
    return lambda *arguments: command_line.run(*arguments, environment=environment, cwd=tmp_path)


def test_a_set_is_imported_run_compared_and_exported(cli: Cli, tmp_path: Path) -> None:
    entries = [
        {"id": f"q{n}", "question": f"word{n} bird", "relevant": [f"d{n}"],
         "category": "a long category of questions" if n % 2 else ""}
        for n in range(10)
    ]  # fmt: skip
    lines = [json.dumps(entry) for entry in entries] + ["{broken"]
    (tmp_path / "faq.jsonl").write_text("\n".join(lines), encoding="utf-8")
    done = cli("eval", "import", "faq", "faq.jsonl")
    assert done.returncode == 1
    assert done.stdout == "10 added, 0 updated, 0 unchanged, 1 left out\n"
    assert "failed: faq.jsonl:11: not JSON" in done.stderr
    for limit in ("10", "1"):
        done = cli("eval", "run", "faq", "docs", "--mode", "keyword", "-n", limit, "--name", "mine")
        assert done.returncode == 0, done.stderr
        assert max(map(len, done.stdout.splitlines())) <= 80
    assert "run 2 (mine): search of set faq in docs, 10 questions, k = 10" in done.stderr
    done = cli("eval", "compare", "1", "2", "--metrics", "recall,context_recall", "--queries", "2")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = [json.loads(line) for line in
            cli("eval", "compare", "1", "2", "--json").stdout.splitlines()]  # fmt: skip
    assert {row["category"] for row in rows} == {None, "a long category of questions"}
    assert {row["run_b"] for row in rows} == {2}
    (shown,) = (json.loads(line) for line in cli("eval", "sets", "--json").stdout.splitlines())
    assert (shown["name"], shown["queries"], shown["runs"]) == ("faq", 10, 2)
    assert cli("eval", "export", "faq", "out.csv").returncode == 0
    assert cli("eval", "export", "1", "run.txt").returncode == 0
    assert cli("eval", "import", "faq", "out.csv").stdout.startswith("0 added, 0 updated, 10 unch")
    assert cli("eval", "show", "1", "--baseline").returncode == 0
    assert "(baseline)" in cli("eval", "runs", "faq").stdout
    assert cli("eval", "show", "2", "--drop").returncode == 0
    assert cli("eval", "sets", "--drop", "faq", "--json").stdout == ""


def test_a_sweep_is_one_table(cli: Cli, rag: Rag, tmp_path: Path) -> None:
    rag.put_eval_queries(
        "faq", [{"id": f"q{n}", "question": f"word{n}", "relevant": [f"d{n}"]} for n in range(7)]
    )
    words = ("eval", "sweep", "faq", "docs", "--with", "mode=keyword")
    done = cli(*words, "--vary", "limit=10,2,1")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 4 and max(map(len, lines)) <= 80
    assert lines[0].split()[:4] == ["search", "run", "ndcg@10", "change"]
    assert lines[1].startswith("limit=10") and "baseline" in lines[1]
    assert "3 runs of 7 questions" in done.stderr and "rag-pg eval report 1" in done.stderr
    refused = cli(*words, "--vary", "chunking=sentence")
    assert refused.returncode == 1 and "1 copy of 12 documents: embeds about" in refused.stderr
    done = cli(*words, "--vary", "rerank=none,nobody", "--html", "out.html", "--json")
    assert done.returncode == 1 and "failed: rerank=nobody: unknown reranker" in done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["name"], row["run_id"], row["reused"]) for row in rows] == [
        ("rerank=none", 1, True), ("rerank=nobody", None, False)
    ]  # fmt: skip
    assert (tmp_path / "out.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_drift_is_told_by_the_exit_code(cli: Cli, rag: Rag) -> None:
    rag.put_eval_queries("faq", [{"id": "q", "question": "x", "relevant": ["d1"]}])
    assert cli("eval", "drift", "faq", "docs").returncode == 0
    rag.put_eval_queries("faq", [{"id": "q", "question": "x", "relevant": ["gone"]}])
    done = cli("eval", "drift", "faq", "docs")
    assert done.returncode == 1 and "uri gone" in done.stdout


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("run", "never", "docs"), 1, "no evaluation set 'never'"),
        (("run", "faq", "docs", "--mode", "both"), 2, "unknown mode 'both'"),
        (("run", "faq", "docs", "--llm", "x"), 2, "are for --kind ask"),
        (("show", "99"), 1, "no evaluation run 99"),
        (("compare", "1", "2"), 1, "no evaluation run 1"),
        (("judge", "1", "kindness"), 2, "there is no judge 'kindness'"),
        (("generate", "faq", "docs"), 2, "written by a language model"),
    ],
)
def test_a_mistake_is_one_line(
    cli: Cli, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = cli("eval", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1 and message in errors[0], done.stderr
