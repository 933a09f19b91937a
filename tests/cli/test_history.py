"""Versions, logged answers and erasure: in a pipe, at 80 columns, as JSON."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from typer.testing import CliRunner, Result

from rag_pg import InvalidInput, NotFound
from rag_pg.cli.app import app
from rag_pg.console import parsed_duration, parsed_moment

Run = Callable[..., Result]
TEXTS = ["one\ntwo\nthree", "one\n2\nthree", "zero\n" + "same\n" * 9 + "one\n2\nthree\nfour"]


@pytest.fixture
def run(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line on a collection docs whose document a was put three times."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
        connection.execute("SELECT rag.alter_collection('docs', keep_versions => '30 days')")
        for text in TEXTS:
            connection.execute("SELECT rag.put_document('docs', 'a', %s)", [text])
    monkeypatch.setenv("RAG_PG_DSN", dsn)
    monkeypatch.setenv("RAG_PG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, terminal: str = "", input: str = "") -> Result:
        for name, value in {"FORCE_COLOR": "1", "COLUMNS": "80", "NO_COLOR": "1"}.items():
            monkeypatch.delenv(name, raising=False)
            if terminal and not (name == "NO_COLOR" and terminal == "colours"):
                monkeypatch.setenv(name, value)
        return CliRunner().invoke(app, arguments, input=input)

    return invoke


def log(dsn: str, question: str, quote: str = "two") -> str:
    answer = {
        "text": f"It is {quote}.", "found": True,
        "citations": [{"number": 1, "uri": "a", "quote": quote, "status": "exact"}],
    }  # fmt: skip
    with psycopg.connect(dsn, autocommit=True) as connection:
        number = uuid4()
        connection.execute(
            "SELECT rag.log_answer('docs', %s, %s, %s)", [number, question, json.dumps(answer)]
        )
    return str(number)


def test_versions_are_listed_and_printed_as_they_were(run: Run) -> None:
    rows = [line.split("\t") for line in run("show", "a", "--versions").stdout.splitlines()]
    assert [(row[0], row[1], row[4]) for row in rows] == [
        ("3", "current", str(len(TEXTS[2]))), ("2", "replaced", "11"), ("1", "replaced", "13"),
    ]  # fmt: skip
    assert rows[1][2] < rows[1][3] <= rows[0][2]
    found = [json.loads(x) for x in run("show", "a", "--versions", "--json").stdout.splitlines()]
    assert [one["version"] for one in found] == [3, 2, 1]
    then = run("show", "a", "--at", rows[1][2])
    assert then.stdout == TEXTS[1] + "\n"
    assert then.stderr.startswith("version 2 from ")
    error = run("show", "a", "--at", "2 days").exception
    assert isinstance(error, NotFound) and "is not kept" in str(error)
    assert isinstance(run("show", "none", "--versions").exception, NotFound)
    shown = run("show", "a", "--versions", terminal="plain").stdout.splitlines()
    assert shown[0].split()[:2] == ["version", "state"] and max(map(len, shown)) <= 80


def test_a_difference_has_the_unified_form_and_colours_on_a_terminal_only(run: Run) -> None:
    piped = run("show", "a", "--diff", "1", "2", "--context", "1")
    assert piped.stdout.splitlines() == [
        "--- a version 1", "+++ a version 2", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three",
    ]  # fmt: skip
    apart = run("show", "a", "--diff", "2", "3", "--context", "1").stdout.splitlines()
    assert [line for line in apart if line.startswith("@@")] == [
        "@@ -1,1 +1,11 @@",
        "@@ -3,1 +13,2 @@",
    ]
    coloured = run("show", "a", "--diff", "1", "2", terminal="colours").stdout
    assert "\x1b[31m-two\x1b[0m" in coloured and "\x1b[32m+2\x1b[0m" in coloured
    lines = run("show", "a", "--diff", "1", "2", "--json").stdout.splitlines()
    assert [json.loads(line)["change"] for line in lines] == ["=", "-", "+", "="]
    assert run("show", "a", "--diff", "2", "2").stderr == "their texts are equal\n"
    assert isinstance(run("show", "a", "--diff", "1", "9").exception, NotFound)
    both = run("show", "a", "--diff", "1", "2", "--at", "1 day").exception
    assert isinstance(both, InvalidInput)


def test_how_long_history_is_kept_is_set_and_shown(run: Run) -> None:
    given = ("keep_versions=0", "keep_answers=12 hours", "keep_original=true")
    assert run("call", "alter_collection", "collection=docs", *given).exit_code == 0
    info = json.loads(run("call", "get_collection", "name=docs", "--json").stdout)
    assert (info["keep_versions"], info["keep_answers"], info["keep_original"]) == (0, 43200, True)
    wrong = run("call", "alter_collection", "collection=docs", "keep_versions=long").exception
    assert isinstance(wrong, InvalidInput) and "'30 days'" in str(wrong)


def test_answers_are_listed_judged_and_replayed(run: Run, dsn: str) -> None:
    run("call", "alter_collection", "collection=docs", "keep_answers=90 days")
    answers = ("call", "list_answers", "collection=docs", "--json")
    assert run(*answers).stdout == ""
    first, second = log(dsn, "Which one?"), log(dsn, "Which\tother?", quote="no such text")
    feedback = ("call", "feedback")
    noted = run(*feedback, f"answer_id={second}", "rating=-1", "comment=no", "citation=1")
    assert noted.stdout == "1\n"
    assert run(*feedback, f"answer_id={first}", "rating=1").stdout == "2\n"
    rows = [json.loads(line) for line in run(*answers).stdout.splitlines()]
    assert [row["answer_id"] for row in rows] == [second, first]
    names = ("question", "answer", "found", "sources", "likes", "dislikes", "comments")
    assert [rows[0][name] for name in names] == [
        "Which\tother?", "It is no such text.", True, ["a"], 0, 1, ["no"]
    ]  # fmt: skip
    (only,) = run(*answers, "only_open=true").stdout.splitlines()
    assert json.loads(only)["answer_id"] == second
    (row,) = run("call", "replay_answer", f"answer_id={first}").stdout.splitlines()
    assert row == "1\ta\ttwo\t3\tfalse\t3\tfalse"
    for bad in (("x", "1"), (first, "sideways"), (first, "3"), (first, "1", "citation=9")):
        given = (f"answer_id={bad[0]}", f"rating={bad[1]}", *bad[2:])
        assert isinstance(run(*feedback, *given).exception, InvalidInput), bad
    gone = run("call", "replay_answer", f"answer_id={uuid4()}").exception
    assert isinstance(gone, NotFound)


def test_an_erasure_is_confirmed_and_its_receipt_printed(run: Run) -> None:
    refused = run("erase", "docs", "a").exception
    assert isinstance(refused, InvalidInput) and "--yes" in str(refused)
    no = run("erase", "docs", "a", terminal="plain", input="n\n")
    assert no.exit_code == 1 and "Erase a from docs, for good?" in no.stderr
    assert run("show", "a", "--versions").stdout
    yes = run("erase", "docs", "a", terminal="plain", input="y\n")
    assert yes.exit_code == 0 and "document_versions" in yes.stdout
    assert max(map(len, yes.stdout.splitlines())) <= 80
    assert isinstance(run("show", "a", "--versions").exception, NotFound)
    again = json.loads(run("erase", "docs", "a", "--yes", "--json").stdout)
    unknown = run("erase", "docs", "b", "--yes")
    assert unknown.exit_code == 0 and "no document and no version was removed" in unknown.stderr
    assert again["removed"]["documents"] == 0 and len(again["document_hashes"]) == 1
    assert isinstance(run("erase", "docs", "--yes").exception, InvalidInput)
    none = json.loads(run("erase", "docs", "--filter", "a=1", "--yes", "--json").stdout)
    assert none["document_hashes"] == []


def test_times_and_durations_are_read_as_people_write_them() -> None:
    for text, wanted in (("30 days", timedelta(30)), ("1 week", timedelta(7)), ("0", timedelta())):
        assert parsed_duration(text) == wanted
    before = datetime.now().astimezone()
    assert timedelta() <= parsed_moment("7 days ago") + timedelta(days=7) - before < timedelta(1)
    assert parsed_moment("2026-03-31T12:00+02:00").isoformat().startswith("2026-03-31T")
    for text in ("", "soon", "-1 day", "9" * 9 + " years", "2026-13-01"):
        with pytest.raises(InvalidInput):
            parsed_moment(text)
