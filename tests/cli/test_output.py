"""Each command prints what is stored: text that looks like emoji,
markup or a terminal's commands stays as it is."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from typer.testing import CliRunner, Result

from rag_pg import InvalidInput
from rag_pg.cli.app import app
from rag_pg.cli.demo import TOY_CHARACTERS, _begin
from rag_pg.console import visible
from rag_pg.console.output import _unmarked
from rag_pg.types import Event
from rag_pg.version import __version__

ODD = "2001:db8:a:b:1 :date: [bold]x[/bold] [red] 漢字 שלום é 👩‍👩‍👧 \x1b[31mred\x1b[0m \u202eevil"
WORD = "oddities"  # in the text, to be searched for


@pytest.fixture(scope="module")
def odd_dsn(new_database: Callable[..., str], template: str) -> str:
    """A collection whose every text is odd: uri, title, heading, content, metadata, an error."""
    dsn = new_database(template)
    chunk = {"content": f"{WORD} {ODD}", "heading": ODD, "embedding": "[1,0,0]"}
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('odd', 'none', 3)")
        connection.execute(
            "SELECT rag.put_chunks('odd', %s, %s, title => %s, metadata => %s)",
            [ODD, Jsonb([chunk]), ODD, Jsonb({"tag": ODD})],
        )
        connection.execute("SELECT rag.put_document('odd', %s, 'dead')", [f"dead {ODD}"])
        connection.execute(
            "SELECT rag.fail_job(job_id, lease, %s, permanent => true) FROM rag.take_jobs(9)",
            [f"error {ODD}"],
        )
    return dsn


@pytest.fixture
def run(odd_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("RAG_PG_DSN", odd_dsn)
    monkeypatch.setenv("RAG_PG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, columns: int = 80, terminal: bool = False) -> Result:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.delenv("FORCE_COLOR", raising=False)
        if terminal:
            monkeypatch.setenv("FORCE_COLOR", "1")
        return CliRunner().invoke(app, arguments)

    return invoke


def values(found: Any) -> list[Any]:
    """All texts in a value."""
    if isinstance(found, dict):
        return [text for one in found.values() for text in values(one)]
    return [text for one in found for text in values(one)] if isinstance(found, list) else [found]


def squeezed(text: str) -> str:
    """A text without what stands between its words: lines are parted there."""
    return "".join(text.split())


PRINTED = {  # command: how often the odd text is in what it prints at least
    ("documents", "-c", "odd"): 4,
    ("call", "facets", "collection=odd", "field=tag"): 1,
    ("call", "list_documents", "collection=odd"): 4,
    ("call", "get_document", "collection=odd", f"uri={ODD}"): 3,
    ("search", WORD, "-c", "odd", "--mode", "keyword"): 3,
    ("jobs", "-c", "odd"): 2,
    ("jobs", "--explain", "1"): 2,
    ("delete", f"no {ODD}", "-c", "odd"): 1,
    ("doctor",): 0,
    ("status",): 0,
    ("call", "count_documents", "collection=odd"): 0,
    ("show", ODD, "-c", "odd"): 2,
}


@pytest.mark.parametrize("arguments", PRINTED, ids=" ".join)
@pytest.mark.few(6)
def test_a_command_prints_what_is_stored(
    run: Callable[..., Result], arguments: tuple[str, ...]
) -> None:
    times = PRINTED[arguments]
    piped = run(*arguments)
    assert piped.exception is None or isinstance(piped.exception, SystemExit), piped.output
    assert piped.output.count(ODD) >= times, piped.output
    assert "─" not in piped.stdout and "│" not in piped.stdout

    told = run(*arguments, "--json")
    texts = [text for line in told.stdout.splitlines() for text in values(json.loads(line))]
    assert sum(str(text).count(ODD) for text in texts) >= times
    assert visible(told.stdout) == told.stdout

    times -= arguments[0] == "search"  # a terminal gets a passage, not the whole text
    for columns in (80, 40):
        seen = run(*arguments, terminal=True, columns=columns)
        assert squeezed(seen.output).count(squeezed(visible(ODD))) >= times, seen.output
        assert visible(seen.output) == seen.output


def test_documents_are_listed_by_the_beginning_of_their_uris(run: Callable[..., Result]) -> None:
    listed = run("documents", "-c", "odd", "--prefix", "dead ").stdout
    assert [line.split("\t")[0] for line in listed.splitlines()] == [f"dead {ODD}"]
    refused = run("documents", "-c", "odd", "--prefix", "d", "--order-by", "title")
    assert isinstance(refused.exception, InvalidInput)


def test_status_tells_workers_and_findings_beside_its_table(run: Callable[..., Result]) -> None:
    shown = run("status")
    assert [line.split("\t")[0] for line in shown.stdout.splitlines()] == ["odd"]
    assert f"release {__version__}: revision " in shown.stderr
    assert "worker: none was seen" in shown.stderr
    assert "finding dead jobs: 1 of collection 'odd'" in shown.stderr
    assert run("status", "--json").stderr == ""


def test_a_uri_that_was_printed_can_be_deleted(run: Callable[..., Result]) -> None:
    uris = [line.split("\t")[0] for line in run("documents", "-c", "odd").stdout.splitlines()]
    assert uris == sorted(uris) and len(uris) == 2
    assert run("delete", uris[1], "-c", "odd").stdout == "1 document deleted\n"


@pytest.mark.parametrize(("output", "code"), [(">&-", 0), (">/dev/full", 1)])
def test_an_output_that_is_closed_or_full_costs_no_traceback(
    odd_dsn: str, output: str, code: int
) -> None:
    done = subprocess.run(
        [
            "sh",
            "-c",
            f"exec '{sys.executable}' -m rag_pg documents -c odd --dsn '{odd_dsn}' {output}",
        ],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    expected = "" if code == 0 else "error: No space left on device: the output\n"
    assert (done.returncode, done.stderr) == (code, expected)


def test_the_demo_shows_how_the_answer_of_the_toy_begins() -> None:
    def talk() -> Iterator[Event]:
        while True:
            yield Event(kind="token", text="word ")

    shown = "".join(event.text for event in _begin(talk()))
    assert TOY_CHARACTERS < len(shown) < TOY_CHARACTERS + 10 and shown.endswith(" …\n")


def test_usage_fits_the_screen_and_a_pipe_gets_fields(
    run: Callable[..., Result], odd_dsn: str
) -> None:
    report = ("call", "usage_report", "by={day,strategy}")
    assert run(*report).stderr == "nothing found\n"
    call = {"kind": "answer", "model": "openai:gpt-4.1-mini", "calls": 3, "prompt_tokens": 123456}
    with psycopg.connect(odd_dsn, autocommit=True) as connection:
        connection.execute(
            "SELECT rag.record_usage('odd', 'full_context', %s)", [Jsonb([call | {"cost": 0.25}])]
        )
        row = connection.execute("SELECT (now() AT TIME ZONE 'UTC')::date::text").fetchone()
    assert row is not None
    (line,) = run(*report).stdout.splitlines()
    fields = line.split("\t")
    assert fields[0] == row[0] and {"full_context", "123456", "0.25"} <= set(fields)
    shown = run("call", "usage_report", "by={day,collection,strategy,model}", terminal=True).stdout
    assert max(map(len, shown.splitlines())) <= 80 and "0.25" in shown
    (told,) = map(json.loads, run(*report[:2], "by={model}", "--json").stdout.splitlines())
    assert (told["model"], told["day"], told["cost_per_answer"]) == (call["model"], None, 0.25)
    assert "unknown grouping {week}" in str(run(*report[:2], "by={week}").exception)
    wrong = run(*report, "since=yesterday afternoon").exception
    assert isinstance(wrong, InvalidInput) and "write since=2026-03-31" in str(wrong)


def test_hits_have_no_marks_of_markdown(odd_dsn: str, run: Callable[..., Result]) -> None:
    text = "Of it\n\n## Head\n\n**A page** [here](http://a.b/c): n[name](a.b), [&](int), f(**page)."
    chunk = {"content": text, "embedding": "[1,0,0]"}
    with psycopg.connect(odd_dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('marked', 'none', 3)")
        connection.execute("SELECT rag.put_chunks('marked', 'a.md', %s)", [Jsonb([chunk])])
    shown = run("search", "head page", "-c", "marked", "--mode", "keyword", terminal=True).stdout
    assert "Head A page here: n[name](a.b), [&](int), f(**page)." in shown, shown


def test_a_passage_that_begins_in_a_link_has_no_end_of_it() -> None:
    assert _unmarked("](a.md#b) - Em, x[0](1)") == "- Em, x[0](1)"


def test_a_collection_where_the_question_belongs_is_told_of(run: Callable[..., Result]) -> None:
    done = run("ask", "odd", "How long?", columns=200)
    assert done.exit_code == 2 and "name a collection by -c" in done.output
    assert "-c" not in run("drop", "odd", "more", columns=200).output
