"""Live queries by the command line: sampled, replayed, and how many of the nearest are found."""

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
    replay = ("call", "replay_queries", "collection=docs")
    assert cli(*replay, 'options={"fusion": "rrf"}').stderr == "nothing found\n"
    sampled = ("sample_queries=1", "keep_query_text=true", "keep_queries=2 days")
    done = cli("call", "alter_collection", "collection=docs", *sampled)
    assert done.returncode == 0, done.stderr
    docs.refresh()
    docs.search("fish word3", limit=5)
    docs.search("word5 bird12", limit=5)
    done = cli(*replay, 'options={"keyword_weight": 0}', "k=3")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "fish word3" in done.stdout
    lines = cli(*replay, 'options={"fusion": "rrf"}', "--json").stdout.splitlines()
    assert [json.loads(line)["query_text"] for line in lines] == ["word5 bird12", "fish word3"]
    lines = cli(*replay, 'options={"candidate_limit": 2}', "--json").stdout.splitlines()
    assert all("candidate_limit 2 is out of range" in json.loads(line)["error"] for line in lines)
    done = cli("call", "measure_recall", "collection=docs", "sample=5", "k=3", "--json")
    assert done.returncode == 0, done.stderr
    measure = json.loads(done.stdout)
    assert (measure["recall"], measure["source"]) == (1, "stored")
    (kept,) = cli("call", "list_recall", "collection=docs", "--json").stdout.splitlines()
    assert json.loads(kept)["measure_id"] == measure["measure_id"]
