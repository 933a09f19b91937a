"""`rag-pg eval`: what it prints at 80 columns and as JSON, and its exit codes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import command_line
import psycopg
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


@pytest.mark.minutes
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
    for further in ((), ("--filter", "none=1")):
        done = cli("eval", "run", "faq", "docs", "--mode", "keyword", "--name", "mine", *further)
        assert done.returncode == 0, done.stderr
        assert max(map(len, done.stdout.splitlines())) <= 80
    assert "run 2 (mine): search of set faq in docs, 10 questions, k = 10" in done.stderr
    done = cli("eval", "show", "1")
    table = [line.split() for line in done.stdout.splitlines()]
    assert ["all", "ndcg"] in [line[:2] for line in table] and len(table) < 12
    assert "a long category" not in done.stdout and "figures more: --all" in done.stderr
    full = cli("eval", "show", "1", "--all").stdout
    assert "a long category of questions" in full and max(map(len, full.splitlines())) <= 80
    assert len(full.splitlines()) > len(table)
    changed = cli("eval", "show", "2").stdout.partition("\n\n")[2]
    assert changed.splitlines()[0].split() == ["category", "metric", "value", "run", "1", "change"]
    assert max(map(len, changed.splitlines())) <= 80
    done = cli("eval", "compare", "1", "2", "--metrics", "recall,context_recall", "--queries", "2")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = [json.loads(line) for line in
            cli("eval", "compare", "1", "2", "--json").stdout.splitlines()]  # fmt: skip
    assert {row["category"] for row in rows} == {None, "a long category of questions"}
    assert {row["run_b"] for row in rows} == {2}
    sets = cli("call", "list_eval_sets", "--json").stdout.splitlines()
    (shown,) = (json.loads(line) for line in sets)
    assert (shown["name"], shown["queries"], shown["runs"]) == ("faq", 10, 2)
    assert cli("eval", "export", "faq", "out.csv").returncode == 0
    assert cli("eval", "export", "1", "run.txt").returncode == 0
    assert cli("eval", "import", "faq", "out.csv").stdout.startswith("0 added, 0 updated, 10 unch")
    assert cli("eval", "show", "1", "--baseline").returncode == 0
    assert "(baseline)" in cli("eval", "show", "--set", "faq").stdout
    assert cli("eval", "show", "2", "--drop").returncode == 0
    assert cli("call", "drop_eval_set", "set_name=faq").returncode == 0
    assert cli("call", "list_eval_sets", "--json").stdout == ""


def test_a_sweep_is_one_table(cli: Cli, rag: Rag, tmp_path: Path) -> None:
    rag.evaluation.sets.put(
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


def test_questions_that_fail_are_named_and_the_exit_code_is_1(
    cli: Cli, rag: Rag, dsn: str, tmp_path: Path
) -> None:
    rag.evaluation.sets.put("faq", [
        {"id": one, "question": "word1", "relevant": ["d1"]} for one in ("fine", "long")
    ])  # fmt: skip
    with psycopg.connect(dsn) as connection:
        connection.execute(
            """CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN NEW.error := 'too long'; RETURN NEW; END $$;
               CREATE TRIGGER fail BEFORE INSERT ON rag.eval_results FOR EACH ROW
               WHEN (NEW.query_id = 'long') EXECUTE FUNCTION public.fail()"""
        )
    words = ("eval", "run", "faq", "docs", "--mode", "keyword")
    done = cli(*words, "--junit", "run.xml")
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if line.startswith("failed: long: ")]
    suite = ElementTree.parse(tmp_path / "run.xml").getroot()
    assert (suite.get("tests"), suite.get("errors")) == ("2", "1")
    assert [case.get("name") for case in suite if case.find("error") is not None] == ["long"]
    done = cli(*words, "--json")
    assert done.returncode == 1
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["query_id"] for one in told if "error" in one] == ["long"]
    done = cli("eval", "show", "1")
    assert done.returncode == 0 and "failed: long: " in done.stderr
    done = cli("eval", "report", "1")
    assert done.returncode == 0 and "1 failure" in done.stdout and "long" in done.stdout


def test_people_label_a_run_and_a_judge_is_measured_by_them(cli: Cli, rag: Rag) -> None:
    rag.evaluation.sets.put("faq", [{"id": f"q{n}", "question": f"word{n}"} for n in range(12)])
    assert cli("eval", "run", "faq", "docs", "--mode", "keyword").returncode == 0
    put = ("call", "put_eval_scores", "run_id=1")
    judged = json.dumps([{"query_id": f"q{n}", "score": 1} for n in range(12)])
    assert cli(*put, "judge=kind", "judge_version=7", f"scores={judged}").returncode == 0
    people = json.dumps([{"query_id": "q0", "score": 1}, {"query_id": "q1", "score": 0.25}])
    assert cli(*put, "judge=human", "judge_version=1", f"scores={people}").returncode == 0
    measured = cli("call", "measure_judge", "judge=kind", "judge_version=7", "--json")
    found = json.loads(measured.stdout)
    assert (found["samples"], found["accuracy"]) == (2, 0.5)
    shown = cli("eval", "show", "1").stdout
    assert [line.split()[-1] for line in shown.splitlines() if "kind" in line] == ["advisory"]


def test_logged_questions_become_a_set(cli: Cli, rag: Rag) -> None:
    add = ("call", "add_logged_queries", "set_name=asked", "collection=docs")
    assert cli(*add).stdout == "0\n"
    docs = rag.collection("docs")
    docs.alter(keep_answers=timedelta(days=9))
    answer = docs.ask("Who painted the ceiling?", llm="extractive")
    assert not answer.found
    assert cli(*add).stdout == "1\n"
    assert [query.source for query in rag.evaluation.sets.queries("asked")] == ["log"]
    assert "since" in cli(*add, "since=once").stderr


def test_a_report_in_a_pipe_says_what_each_line_is(cli: Cli, rag: Rag, tmp_path: Path) -> None:
    rag.evaluation.sets.put("faq", [
        {"id": f"q{n}", "question": f"word{n}", "relevant": [f"d{n}"], "category": "c"}
        for n in range(4)
    ])  # fmt: skip
    docs = rag.collection("docs")
    docs.evaluation.run("faq", name="good", vector_weight=0)
    docs.evaluation.run("faq", name="bad", vector_weight=0, filter={"no": 1})
    done = cli("eval", "report", "1", "2", "-n", "3")
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80
    assert "run 1: d0*" in done.stdout and "run 2: no hits" in done.stdout
    assert "3 of 4 questions are shown: --limit 4" in done.stderr
    done = command_line.run("eval", "report", "1", "2", "-n", "2", cwd=tmp_path,
                            environment={"RAG_PG_DSN": rag.dsn or ""})  # fmt: skip
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert [line[:5] for line in lines if line[0] == "run"] == [
        ["run", "1", "good", "4", ""], ["run", "2", "bad", "4", ""]
    ]  # fmt: skip
    assert ["metric", "c", "ndcg", "1.0", "0.0"] in lines
    assert next(line for line in lines if line[0] == "question") == [
        "question", "q0", "c", "1.0", "0.0", "-1.0", "word0", '["d0"]', "[]"
    ]  # fmt: skip
    kinds = [json.loads(line)["kind"] for line in
             cli("eval", "report", "1", "2", "--json").stdout.splitlines()]  # fmt: skip
    assert kinds.count("run") == 2 and kinds.count("question") == 4


def test_judgements_that_describe_the_documents_no_longer_are_listed(cli: Cli, rag: Rag) -> None:
    drift = ("call", "eval_drift", "set_name=faq", "collection=docs")
    for uri, told in (("d1", ""), ("gone", "uri gone")):
        rag.evaluation.sets.put("faq", [{"id": "q", "question": "x", "relevant": [uri]}])
        done = cli(*drift)
        assert done.returncode == 0 and told in done.stdout and bool(told) == bool(done.stdout)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("run", "never", "docs"), 1, "no evaluation set 'never'"),
        (("run", "faq", "docs", "--mode", "both"), 2, "unknown mode 'both'"),
        (("run", "faq", "docs", "--llm", "x"), 2, "are for --kind ask"),
        (("run", "faq", "docs", "--space", "2"), 2, "is of --keep-vectors"),
        (("show", "99"), 1, "no evaluation run 99"),
        (("compare", "1", "2"), 1, "no evaluation run 1"),
        (("judge", "1", "kindness"), 2, "there is no judge 'kindness'"),
        (("generate", "faq", "docs"), 2, "written by a language model"),
        (("show", "--drop"), 2, "name it by its number"),
        (
            ("import", "faq", "x.txt", "--run", "docs", "--format", "csv"),
            2,
            "--run is of a ranking",
        ),
        (("gate", "none"), 1, "no collection"),
        (("report", "7"), 1, "no evaluation run 7"),
    ],
)
@pytest.mark.few(5)
def test_a_mistake_is_one_line(
    cli: Cli, arguments: tuple[str, ...], code: int, message: str
) -> None:
    done = cli("eval", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1 and message in errors[0], done.stderr
