"""What the commands do, in one process: no model is needed for what only puts,
reads and deletes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
import typer.main
from typer.testing import CliRunner, Result

from rag_pg import InvalidInput, NotFound, Rag
from rag_pg.cli.app import app
from rag_pg.console import open_collection
from rag_pg.db import Database
from rag_pg.version import __version__

Run = Callable[..., Result]


@pytest.fixture
def run(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line in a folder, on a database with the collection docs,
    whose model is not here."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.create_collection('docs', 'none', 3)")
    monkeypatch.setenv("RAG_PG_DSN", dsn)
    monkeypatch.setenv("RAG_PG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, **options: CliRunner().invoke(app, arguments, **options)


def write(folder: Path, **files: str | bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        data = text.encode() if isinstance(text, str) else text
        folder.joinpath(name.replace("__dot__", ".")).write_bytes(data)


def told(result: Result) -> Any:
    return json.loads(result.stdout)


def test_empty_files_are_skipped_and_other_types_counted(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "code", __init____dot__py="", a__dot__py="x = 1\n", b__dot__png=b"\x89PNG")
    done = run("add", "code", "--no-wait")
    assert done.exit_code == 0
    assert done.stdout == "1 document queued, 0 unchanged, 0 failed\n"
    assert done.stderr == "note: skipped: 1 .png, 1 empty\n"
    again = told(
        run("add", str(tmp_path / "code"), "../" + tmp_path.name + "/code", "--no-wait", "--json")
    )
    assert (again["added"], again["skipped"], again["failures"]) == (1, {".png": 2, "empty": 2}, [])
    documents = run("documents", "--json").stdout.splitlines()
    assert [json.loads(line)["uri"] for line in documents] == ["code/a.py"]


def test_failures_are_listed_and_name_their_file_once(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "in", bad__dot__pdf=b"no pdf", good__dot__md="# Good\n\nText")
    done = run("add", "in", "--no-wait", "--json")
    assert done.exit_code == 1
    (failure,) = told(done)["failures"]
    assert failure["uri"] == "in/bad.pdf" and "is no .pdf file" in failure["error"]
    assert done.stderr.count("in/bad.pdf") == 1
    assert run("add", "in/gone.md", "--no-wait").stderr.count("in/gone.md") == 1


def test_front_matter_that_is_left_out_is_told(run: Run, tmp_path: Path) -> None:
    write(
        tmp_path / "in",
        nested__dot__md="---\nlang: en\nauthor: {name: Ann}\n---\nText",
        broken__dot__md="---\nlang: [en\n---\nText",
    )
    done = run("add", "in", "--no-wait")
    assert done.exit_code == 0
    assert "note: in/broken.md: the front matter is no YAML and stays text: " in done.stderr
    assert (
        "note: in/nested.md: front matter left out, which metadata cannot hold: author"
        in done.stderr
    )
    assert json.loads(run("show", "in/nested.md", "--json").stdout)["metadata"] == {"lang": "en"}


def test_metadata_exclusions_and_keys_are_given(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "in", a__dot__md="---\nlang: de\n---\nA", b__dot__md="B", c__dot__txt="C")
    write(tmp_path, rows__dot__jsonl='{"id": 1, "text": "One", "year": 2024}\n')
    given = ("--metadata", "lang=en", "--metadata", '{"year": 1999, "tags": ["x"]}')
    assert run("add", "in", *given, "--exclude", "*.txt", "--no-wait").exit_code == 0
    assert (
        run("add", "rows.jsonl", *given, "--map", "id=uri,text=content", "--no-wait").exit_code == 0
    )
    found = [json.loads(line) for line in run("documents", "--json").stdout.splitlines()]
    assert [(one["uri"], one["metadata"]["lang"], one["metadata"]["year"]) for one in found] == [
        ("1", "en", 2024),
        ("in/a.md", "de", 1999),
        ("in/b.md", "en", 1999),
    ]
    for wrong in ("id", "id=uri,text=body", "id=uri,key=uri"):
        assert run("add", "rows.jsonl", "--map", wrong, "--no-wait").exception is not None


def test_a_dry_run_of_sync_says_what_sync_then_does(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(folder, a__dot__md="# A\n\nOne", b__dot__md="B", c__dot__md="C")
    run("add", "in", "--no-wait")
    write(folder, a__dot__md="# A\n\nTwo", d__dot__md="D")
    (folder / "c.md").unlink()
    before = run("documents").stdout
    plan = told(run("sync", "in", "--dry-run", "--json"))
    assert (plan["changed"], plan["unchanged"], plan["deleted"], plan["gone"]) == (
        2,
        1,
        1,
        ["in/c.md"],
    )
    lines = run("sync", "in", "--dry-run").stdout.splitlines()
    assert lines[0] == "would be deleted: in/c.md"
    assert lines[1].startswith(
        "2 documents would be added or updated, 1 unchanged, 1 would be deleted"
    )
    assert run("documents").stdout == before
    with Rag() as rag:
        report = rag.collection("docs").sync(folder, wait=False)
    # b is queued since the first put: it counts as changed until it is searchable
    assert (report.changed + report.unchanged, report.deleted, report.gone) == (3, 1, ["in/c.md"])


def test_a_document_is_shown_as_it_was_put(run: Run, tmp_path: Path) -> None:
    write(tmp_path, a__dot__md="# Title [x]\n\n\ttext :date:\n")
    run("add", "a.md", "--metadata", "lang=en", "--no-wait")
    done = run("show", "a.md")
    assert done.stdout == "# Title [x]\n\n\ttext :date:\n\n"
    assert "title: Title [x]" in done.stderr and "lang: en" in done.stderr
    assert isinstance(run("show", "b.md").exception, NotFound)


def test_drop_looks_before_it_asks(run: Run) -> None:
    missing = run("drop", "nope")
    assert isinstance(missing.exception, NotFound) and "Remove" not in missing.output
    asked = run("drop", "docs", input="n\n")
    assert asked.exit_code == 1 and "Remove collection docs with 0 documents?" in asked.stderr
    assert run("drop", "docs", input="y\n").stdout.endswith("collection docs is gone\n")


def test_a_search_says_that_documents_wait_and_nobody_works(run: Run, tmp_path: Path) -> None:
    write(tmp_path, a__dot__md="Alpha")
    run("add", "a.md", "--no-wait")
    done = run("search", "alpha", "--mode", "keyword")
    waiting = (
        "note: documents wait to be searchable (jobs: 1) and no worker is alive: run rag-pg"
        " worker\n"
    )
    assert waiting in done.stderr and "nothing found" in done.stderr


def test_a_terminal_shows_the_passage_that_matches_marked(
    run: Run, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Nothing here. " * 60 + "The gasket needs grease. " + "Nothing there. " * 60
    chunk = {"content": text, "heading": "Pumps > Seals > Grease", "embedding": "[1,0,0]"}
    chunks = [chunk, {**chunk, "content": "A gasket."}]
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT rag.put_chunks('docs', 'p.md', %s)", [json.dumps(chunks)])
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    search = ("search", "gaskets", "--mode", "keyword")
    shown = run(*search).stdout
    assert shown.count("p.md · Pumps > Seals > Grease") == 2  # the whole heading path
    assert "The \x1b[0m\x1b[1;33mgasket\x1b[0m\x1b[2m needs grease" in shown
    assert "\ue0fe" not in shown and "\ue0ff" not in shown
    second = run(*search, "--offset", "1").stdout
    assert second.startswith(" 2. ") and "needs grease" in second and " 1. " not in second
    monkeypatch.delenv("FORCE_COLOR")
    fields = run(*search).stdout.splitlines()[1].split("\t")
    assert fields[1:] == ["p.md", "Pumps > Seals > Grease", text]


def test_help_is_one_screen_by_topic_and_the_version_is_told(run: Run) -> None:
    for flag in ("-h", "--help"):
        lines = run(flag).stdout.rstrip().splitlines()
        assert len(lines) <= 40 and max(map(len, lines)) <= 80
        assert not any(line.endswith("...") for line in lines)
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    first = (
        next(n for n, line in enumerate(lines) if line.startswith("Documents"))
        - lines.index("The first day")
        - 1
    )
    assert (first, listed[0]) == (8, "demo")
    root = typer.main.get_command(app)
    assert sorted(listed) == sorted(root.commands)  # type: ignore[attr-defined]
    assert "--install-completion" in lines[0]
    assert run("add", "-h").exit_code == 0
    assert run("--version").stdout == f"rag-pg {__version__}\n"


@pytest.mark.one_database
@pytest.mark.parametrize(
    "command",
    [
        ("sync", "in"),
        ("sync", "in", "--dry-run"),
        ("search", "fish"),
        ("ask", "fish?"),
        ("delete", "u"),
        ("documents",),
        ("show", "u"),
    ],
    ids=lambda command: " ".join(command),
)
@pytest.mark.few(3)
def test_a_misspelt_collection_is_named_with_those_there_are(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    write(tmp_path / "in", a__dot__md="text")
    done = run(*command, "-c", "dosc")
    assert isinstance(done.exception, NotFound)
    assert str(done.exception) == "there is no collection 'dosc'; collections here: docs"
    assert run("status", "--json").stdout.count("\n") == 1


def test_where_nothing_is_stored_a_command_says_how_to_add_to_what_it_named(rag: Rag) -> None:
    with pytest.raises(NotFound, match="add PATH --collection 'my notes'$"):
        open_collection(rag, "my notes")


def test_arguments_are_checked_before_a_model_is_opened(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    write(tmp_path / "in", a__dot__md="text")
    for arguments, said in (
        (("search", "fish", "--limit", "-1"), "limit -1 is out of range"),
        (("search", "fish", "--offset", "-1"), "offset -1 is out of range"),
        (("search", "fish", "--mode", "vector", "--limit", "1001"), "limit 1001 is out of range"),
        (("search", "fish", "--filter", '{"n": {"$near": 1}}'), "unknown operator '$near'"),
        (("ask", "fish", "--limit", "0"), "limit 0 is out of range"),
        (("documents", "--limit", "-1"), "limit -1 is out of range"),
        (("jobs", "--limit", "-1"), "limit -1 is out of range"),
        (("add", "in", "-c", "new", "--language", "klingon"), "configuration 'klingon'"),
        (("add", "in", "-c", "new", "--language", "5"), "configuration '5'"),
        (("ask", "fish", "--limit", "0", "--llm", "gemini"), "limit 0 is out of range"),
        (("ask", "fish", "--filter", '{"n": {"$near": 1}}', "--llm", "gemini"), "'$near'"),
        (("ask", "fish", "--strategy", "sinlge", "--llm", "gemini"), "no strategy 'sinlge'"),
        (("ask", "fish", "--rewrite", "hide", "--llm", "gemini"), "no rewrite 'hide'"),
        (("ask", "fish", "--history", '[{"role": 5}]', "--llm", "gemini"), "turn 1"),
        (("ask", " ", "--llm", "gemini"), "the query is empty"),
        (("ask", "fish", "--limit", "0", "--helper-llm", "gemini"), "limit 0 is out of range"),
    ):
        done = run(*arguments)
        assert said in str(done.exception), arguments
        assert isinstance(done.exception, InvalidInput), arguments
    assert "was skipped: unknown embedding model" in run("search", "fish").stderr
    assert run("status", "--json").stdout.count("\n") == 1


def test_a_filter_that_is_nested_too_deeply_is_told_in_a_line(run: Run) -> None:
    for deep in (
        '{"$not":' * 500 + "{}" + "}" * 500,
        '{"$not":' * 100_000 + "{}" + "}" * 100_000,
        '{"n":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"n": ' + "9" * 5_000 + "}",
    ):
        for command in ("documents", "search fish"):
            error = run(*command.split(), "--filter", deep).exception
            assert isinstance(error, InvalidInput), command
            assert len(str(error).splitlines()) == 1 and len(str(error)) < 500
        done = run("call", "count_documents", "collection=docs", f"metadata_filter={deep}")
        if done.exception is not None:  # PostgreSQL reads more than Python does
            assert isinstance(done.exception, InvalidInput)
            assert len(str(done.exception).splitlines()) == 1 and len(str(done.exception)) < 500


class Counted(Database):
    """A database that counts what is asked of it."""

    asked = 0

    def _fetch(self, *arguments: Any, **options: Any) -> list[Any]:
        self.asked += 1
        return super()._fetch(*arguments, **options)


def test_a_collection_is_opened_by_one_query_and_without_its_model(run: Run, dsn: str) -> None:
    database = Counted(dsn)
    database.open()
    with Rag(dsn) as rag:
        rag.__dict__["_database"], before = database, rag.database
        database.asked = 0
        assert open_collection(rag, "docs").info.model == "none"
        assert database.asked == 1
        rag.__dict__["_database"] = before
    database.close()


def test_a_description_is_written_and_read(run: Run) -> None:
    def described() -> Any:
        return told(run("call", "get_collection", "name=docs", "--json"))["description"]

    alter = ("call", "alter_collection")
    for text in ("Manuals of pumps.", ""):
        assert run(*alter, "collection=docs", f"description={text}").exit_code == 0
        assert described() == text
    assert "none" in str(run(*alter, "collection=none", "description=x").exception)


def test_the_cache_tells_what_it_holds_and_is_emptied(run: Run) -> None:
    assert run("call", "cache_stats").stderr == "nothing found\n"
    search = ("search", "fish", "--mode", "keyword", "--json")
    for option in ("--cache", "--cache", "--no-cache"):
        assert run(*search, option).exit_code == 0
    (row,) = [told(run("call", "cache_stats", "--json"))]
    assert (row["collection"], row["kind"], row["entries"]) == ("docs", "search", 1)
    assert (row["hits"], row["misses"]) == (1, 1)
    assert run("call", "cache_stats").stdout.startswith("docs\tsearch\t1\t")
    assert run("call", "clear_cache", "collection=docs").stdout == "1\n"
    assert run("call", "clear_cache").stdout == "0\n"
    assert isinstance(run("call", "clear_cache", "collection=nowhere").exception, NotFound)
