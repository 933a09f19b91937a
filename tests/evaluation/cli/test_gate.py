"""`rag-pg eval gate` and `report`: what they print, the files they write, their exit codes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import command_line
import psycopg
import pytest
from fakes import HashEmbedder

from rag_pg import (
    GateFailed,
    InvalidInput,
    NotFound,
    NotReady,
    ProviderError,
    ProviderUnavailable,
    Rag,
)
from rag_pg.client.collection import Collection
from rag_pg.types import Answer

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
HOSTILE = "<script>alert('x')</script> & \"$\\frac\" \x01 ]]>"


@pytest.fixture
def docs(rag: Rag) -> Collection:
    docs = rag.collection("docs", model="hash:32")
    docs.add_chunks({"uri": f"d{n}<b>", "content": f"fish word{n}"} for n in range(20))
    rag.evaluation.sets.put(
        "faq",
        [{"id": f"q{n}", "question": f"word{n} {HOSTILE if n == 0 else ''}".replace("\x01", ""),
          "relevant": [f"d{n}<b>"], "category": "<i>even" if n % 2 == 0 else "odd"}
         for n in range(20)],
    )  # fmt: skip
    return docs


@pytest.fixture
def cli(dsn: str, tmp_path: Path) -> Cli:
    environment = {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(tmp_path), "COLUMNS": "80",
                   "FORCE_COLOR": "1", "NO_COLOR": "1"}  # fmt: skip
    return lambda *arguments: command_line.run(*arguments, environment=environment, cwd=tmp_path)


def test_a_worse_run_exits_with_1_and_is_told_in_every_form(
    rag: Rag, docs: Collection, cli: Cli, tmp_path: Path
) -> None:
    good = docs.evaluation.run("faq", vector_weight=0.0)
    bad = docs.evaluation.run("faq", vector_weight=0.0, filter={"none": 1})
    rag.evaluation.runs.set_baseline(good.run_id)
    assert "has no gate" in cli("eval", "gate", "docs").stderr
    given = ("collection=docs", "set_name=faq", "metric=recall", "epsilon=0.01")
    done = cli("call", "set_gate", *given)
    assert done.returncode == 0, done.stderr
    itself = cli("eval", "gate", "docs", "--run", str(good.run_id))
    assert itself.returncode == 1 and "run 1 is the baseline itself" in itself.stderr
    same = docs.evaluation.run("faq", vector_weight=0.0)
    passed = cli("eval", "gate", "docs", "--run", str(same.run_id))
    assert passed.returncode == 0, passed.stderr
    done = cli("eval", "gate", "docs", "--run", str(bad.run_id), "--junit", "gate.xml")
    assert done.returncode == 1
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.count("FAILED") == 3
    assert "against run 1: q0 (-1.00)" in done.stderr
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "3")
    assert "<script>" in str(suite.findtext("testcase/failure"))
    done = cli("eval", "gate", "docs", "--run", str(bad.run_id), "--json")
    assert done.returncode == 1
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["category"] for row in rows] == [None, "<i>even", "odd"]
    assert not any(row["passed"] for row in rows) and {row["against"] for row in rows} == {1}
    assert [check.outcome for check in docs.evaluation.gates.checks()] == [
        "failed",
        "failed",
        "passed",
    ]


def test_a_gate_runs_its_set_as_the_collection_is(rag: Rag, docs: Collection, dsn: str) -> None:
    docs.evaluation.gates.set("faq", k=5)
    with psycopg.connect(dsn, autocommit=True) as connection:  # as where vectors were brought
        connection.execute("UPDATE rag.spaces SET fingerprint = NULL")
    first = docs.evaluation.run("faq", limit=5).run_id
    rag.evaluation.runs.set_baseline(first)
    ((run, results),) = docs.evaluation.gates.check()
    assert run > first and all(one.passed and one.difference == 0 for one in results)
    docs.add({"uri": "new", "content": "other"})
    with pytest.raises(NotReady, match="different documents"):
        docs.evaluation.gates.check()


def test_a_gate_of_answers_takes_the_latest_run_of_the_collection_as_it_is(
    rag: Rag, docs: Collection, cli: Cli
) -> None:
    docs.evaluation.gates.set("faq", metric="abstention")
    done = cli("eval", "gate", "docs")
    assert done.returncode == 1 and "rag-pg eval run faq docs --kind ask" in done.stderr
    asked = docs.evaluation.run("faq", kind="ask", llm="extractive", vector_weight=0)
    rag.evaluation.runs.set_baseline(asked.run_id)
    done = cli("eval", "gate", "docs")
    assert done.returncode == 1 and "is the baseline itself" in done.stderr
    docs.evaluation.run("faq", kind="ask", llm="extractive", vector_weight=0)
    done = cli("eval", "gate", "docs")
    assert done.returncode == 0 and "abstention" in done.stdout, done.stderr
    docs.add({"uri": "new", "content": "other"})
    assert cli("eval", "gate", "docs").returncode == 1


@pytest.mark.parametrize("failing", ["all", "most", "some"])
@pytest.mark.few(2)
def test_a_gate_of_answers_is_red_while_the_model_is_down(
    rag: Rag, docs: Collection, cli: Cli, failing: str
) -> None:
    def strategy(question: str, context: Any) -> Answer:
        number = int(question.split()[0].removeprefix("word"))
        if down and lost[failing](number):
            raise ProviderUnavailable("503 the provider is down")
        return Answer(text="so", found=True)

    lost: dict[str, Callable[[int], bool]] = {
        "all": lambda n: True, "most": lambda n: n % 3 != 0, "some": lambda n: n < 3
    }  # fmt: skip
    docs.evaluation.gates.set("faq", metric="abstention")
    down = False
    good = docs.evaluation.run("faq", kind="ask", strategy=strategy)
    rag.evaluation.runs.set_baseline(good.run_id)
    down = True
    if failing == "all":
        with pytest.raises(ProviderError, match="503 the provider is down; .* run 2 ended"):
            docs.evaluation.run("faq", kind="ask", strategy=strategy)
    else:
        assert docs.evaluation.run("faq", kind="ask", strategy=strategy).errors
    done = cli("eval", "gate", "docs", "--json")
    assert done.returncode == 1
    if failing == "most":
        told = cli("eval", "compare", "1", "2", "--metrics", "abstention").stderr
        assert "run b failed on 13 of 20 questions: eval show 2 names them" in told
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert {(row["run"], row["passed"]) for row in rows} == {(2, False)}
        return
    told = "failed on 3 of 20 questions: q0, q1, q2: strategy failed: 503 the provider is down; "
    told = "is not finished" if failing == "all" else told
    assert f"run 2 {told}" in " ".join(done.stderr.split())


def test_a_collection_without_gates_passes_none(docs: Collection) -> None:
    with pytest.raises(NotFound, match="collection 'docs' has no gate: rag-pg call set_gate"):
        docs.evaluation.gates.check()


def test_activation_embeds_the_questions_of_its_gates(docs: Collection, dsn: str) -> None:
    docs.evaluation.gates.set("faq")
    with Rag(dsn, embedders={"hash": HashEmbedder}) as rag:
        docs = rag.collection("docs")
        docs.spaces.activate(docs.spaces.create("hash:64").space_id)
        (check,) = docs.evaluation.gates.checks()
        assert (check.outcome, len(check.details)) == ("passed", 3)
        before = docs.info.chunking
        docs.rechunk({"max_tokens": 99})
        (check, _) = docs.evaluation.gates.checks()
        assert (check.outcome, check.action) == ("passed", 'set_chunking {"max_tokens": 99}')
        (name,) = [one.name for one in rag.collections()]
        assert name == "docs", "the copy is gone"
        runs = len(rag.evaluation.runs.list("faq"))
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("DELETE FROM rag.eval_embeddings")
        docs.rechunk(before)
        made = len(rag.evaluation.runs.list("faq")) - runs
        assert made == 1, "of the collection as it is; the other chunking was measured: no copy"
        docs.alter(ef_search=77)
        assert (docs.info.ef_search, docs.evaluation.gates.checks()[0].outcome) == (77, "passed")
        docs.rechunk({"max_tokens": 50}, force=True)
        assert docs.evaluation.gates.checks()[0].outcome == "forced"
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("DELETE FROM rag.eval_queries")
        with pytest.raises(NotReady, match="'faq' of a gate has no questions"):
            docs.rechunk({"max_tokens": 40})
        assert docs.evaluation.gates.drop("faq") and not docs.evaluation.gates.drop("faq")


def test_a_refused_chunking_is_recorded_and_its_run_is_none_of_the_collection_as_it_is(
    rag: Rag, cli: Cli
) -> None:
    docs = rag.collection("docs", model="hash:32", chunking={"max_tokens": 200})
    filler = " ".join(f"Nothing is told in sentence {n}." for n in range(12))
    docs.add(*({"uri": f"d{n}", "content": f"The word{n} begins. {filler} It ends as omega{n}."}
               for n in range(8)))  # fmt: skip
    rag.evaluation.sets.put(
        "faq",
        [{"id": f"q{n}", "question": f"word{n}", "relevant": [f"d{n}"],
          "expected_terms": [f"word{n}", f"omega{n}"]} for n in range(8)],
    )  # fmt: skip
    docs.evaluation.gates.set("faq", metric="assertion_pass_rate", k=1, vector_weight=0)
    with pytest.raises(GateFailed, match="set_chunking .* is refused") as refused:
        docs.rechunk({"max_tokens": 20})
    assert docs.info.chunking == {"max_tokens": 200}
    (check,) = docs.evaluation.gates.checks()
    assert (check.outcome, check.action) == ("refused", 'set_chunking {"max_tokens": 20}')
    assert check.details == refused.value.checks and check.details[0]["difference"] == -1
    (run,) = rag.evaluation.runs.list("faq")
    assert (run.collection, run.settings["chunking"]) == ("docs", {"max_tokens": 20})
    audited = [
        one.detail for one in docs.evaluation.audit("faq") if one.check_name == "retrieval miss"
    ]
    assert audited == ["not measured: the set was not run on this collection as it is now"]
    with pytest.raises(GateFailed):  # by the run that there is
        docs.rechunk({"max_tokens": 20})
    assert [run.run_id for run in rag.evaluation.runs.list("faq")] == [run.run_id]
    assert len(docs.evaluation.gates.checks()) == 2
    done = cli("call", "list_gates", "collection=docs")
    assert done.returncode == 0 and '{"vector_weight": 0}' in done.stdout
    history = cli("call", "list_gate_checks", "collection=docs").stdout
    assert history.count("refused") == 2 and max(map(len, history.splitlines())) <= 80


class Page(HTMLParser):
    """The tags of a page, and whatever it would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.external: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            loads = name in ("src", "href", "xlink:href") and not str(value).startswith("#")
            if loads or name.startswith("on"):
                self.external.append(f"{tag} {name}={value}")


def test_a_report_is_one_file_that_runs_and_loads_nothing(
    rag: Rag, docs: Collection, cli: Cli, tmp_path: Path
) -> None:
    docs.evaluation.run("faq", vector_weight=0.0)
    docs.evaluation.run(
        "faq", vector_weight=0.0, filter={"none": 1}, name=HOSTILE.replace("\x01", "")
    )
    done = cli("eval", "report", "1", "2", "--html", "report.html")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert page.tags.count("svg") == 2
    assert "script" not in page.tags and "i" not in page.tags and "b" not in page.tags
    assert page.external == [] and "@import" not in text
    assert text.count("<tr class='worse'>") == 2 * 20 and "&lt;script&gt;" in text
    assert text.count("<li class=rel>") == 2 * 20
    done = cli("eval", "report", "1", "2")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "run 1" in done.stdout and "q0" in done.stdout
    rag.evaluation.sets.put("other", [{"id": "a", "question": "fish"}])
    other = docs.evaluation.run("other", vector_weight=0.0)
    with pytest.raises(InvalidInput, match="runs of one set"):
        rag.evaluation.runs.report([1, other.run_id])
