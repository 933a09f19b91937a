"""`rag-pg eval sample`, `replay` and `recall`: what they print, and their exit codes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import command_line
import pytest

from rag_pg import Rag
from rag_pg.client.collection import Collection

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def docs(rag: Rag) -> Collection:
    docs = rag.collection("docs", model="hash:32")
    docs.add_chunks({"uri": f"d{n}", "content": f"fish word{n % 7} bird{n}"} for n in range(30))
    rag.database.maintain()
    return docs


@pytest.fixture
def cli(dsn: str, tmp_path: Path) -> Cli:
    environment = {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(tmp_path), "COLUMNS": "80",
                   "FORCE_COLOR": "1", "NO_COLOR": "1"}  # fmt: skip
    return lambda *arguments: command_line.run(*arguments, environment=environment, cwd=tmp_path)


def test_queries_are_sampled_replayed_and_their_recall_is_measured(
    docs: Collection, cli: Cli
) -> None:
    done = cli("eval", "sample", "docs")
    assert "share   0 (off)\nwhat    vectors alone\nkeep    30 days\nmost    1000\n" in done.stdout
    assert cli("eval", "replay", "docs", "--set", "fusion=rrf").stderr.startswith("note: no live")
    done = cli("eval", "sample", "docs", "--share", "1", "--text", "--keep", "2 days")
    assert "share   1\nwhat    words and vectors\nkeep    2 days\n" in done.stdout, done.stderr
    docs.refresh()
    docs.search("fish word3", limit=5)
    docs.search("word5 bird12", limit=5)
    done = cli("eval", "replay", "docs", "--set", "keyword_weight=0", "-k", "3")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "fish word3" in done.stdout
    assert done.stderr.startswith("2 replayed: ")
    lines = cli("eval", "replay", "docs", "--set", "fusion=rrf", "--json").stdout.splitlines()
    assert [json.loads(line)["query_text"] for line in lines] == ["word5 bird12", "fish word3"]
    done = cli("eval", "replay", "docs", "--set", "candidate_limit=2")
    assert done.returncode == 1
    assert "candidate_limit 2 is out of range: 2 of 2, the first: word5 bird12" in done.stderr
    done = cli("eval", "replay", "docs")
    assert done.returncode == 2 and "there is no candidate" in done.stderr
    done = cli("eval", "replay", "docs", "--set", "fusion")
    assert done.returncode == 2 and "'fusion' is no option" in done.stderr
    done = cli("eval", "recall", "docs", "--sample", "5", "-k", "3")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2  # a table, not a paragraph
    assert "1.000" in done.stdout and "vectors of chunks" in done.stderr
    assert cli("eval", "recall", "docs", "--history").stdout == done.stdout
