"""The command line: what it prints where, and how it ends; one life of it as processes."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import command_line
import psycopg
import pytest
from fake_gemini import GOOD_KEY, FakeGemini
from paths import RECORDINGS, ROOT
from patience import BOUND

from rag_pg.types import Ranking

Run = Callable[..., subprocess.CompletedProcess[str]]


def clean(**settings: str) -> dict[str, str]:
    """The environment without this project's settings, and these."""
    return {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")} | settings


@pytest.fixture
def settings(dsn: str, home: Path) -> dict[str, str]:
    return clean(RAG_PG_DSN=dsn, RAG_PG_HOME=str(home), COLUMNS="200")


@pytest.fixture
def cli(settings: dict[str, str], tmp_path: Path) -> Run:
    """Commands in this process."""

    def run(
        *arguments: str, input: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        given = settings | environment
        return command_line.run(*arguments, environment=given, cwd=tmp_path, input=input)

    return run


@pytest.fixture
def process(settings: dict[str, str], tmp_path: Path) -> Run:
    """Commands as processes of their own."""

    def run(
        *arguments: str, input: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "rag_pg", *arguments],
            env=settings | environment,
            cwd=tmp_path,
            input=input,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "password.md").write_text(
        "# Passwords\n\n## Reset\n\nTo reset your password, open Settings and choose Forgotten"
        " password.\n"
    )
    (folder / "holidays.txt").write_text("Everybody has thirty days of holiday a year.\n")
    return folder


def lines(done: subprocess.CompletedProcess[str]) -> list[Any]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def complaint(done: subprocess.CompletedProcess[str], code: int) -> str:
    """A user's mistake: that exit code, and one line on stderr, without a traceback,
    which is returned."""
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.strip().splitlines()
    return line


def test_add_search_ask_status(process: Run, cli: Run, handbook: Path) -> None:
    (added,) = lines(process("add", "handbook", "--json"))
    assert added == {
        "collection": "docs",
        "added": 2,
        "unchanged": 0,
        "failed": 0,
        "skipped": {},
        "failures": [],
    }
    (again,) = lines(cli("add", "handbook", "--json"))
    assert (again["added"], again["unchanged"]) == (0, 2)

    hits = lines(cli("search", "forgotten my password", "--json", "-n", "1"))
    assert hits[0]["uri"] == "handbook/password.md"
    assert hits[0]["heading"] == "Passwords > Reset"
    assert lines(cli("search", "vacation", "--mode", "vector", "-n", "1", "--json"))[0][
        "uri"
    ].endswith("holidays.txt")
    table = cli("search", "password")
    assert "handbook/password.md" in table.stdout

    (answer,) = lines(cli("ask", "How do I reset my password?", "--json"))
    assert answer["found"] and "Settings" in answer["text"]
    shown = process("ask", "How do I reset my password?")
    assert "[1] Passwords > Reset · handbook/password.md" in shown.stdout

    (status,) = lines(cli("status", "--json"))
    assert (status["documents"], status["pending"], status["model"]) == (2, 0, "minilm")
    assert "docs" in cli("status").stdout
    assert [d["uri"] for d in lines(cli("documents", "--json"))] == [
        "handbook/holidays.txt",
        "handbook/password.md",
    ]
    assert cli("delete", "handbook/holidays.txt").returncode == 0
    assert cli("jobs").returncode == 0
    assert cli("drop", "docs", "--yes").returncode == 0
    assert lines(cli("status", "--json")) == []


def test_a_queued_document_is_worked_by_worker_once(cli: Run, handbook: Path) -> None:
    assert cli("add", "handbook", "--no-wait").returncode == 0
    assert len(lines(cli("jobs", "--json", "--state", "waiting"))) == 2
    done = cli("worker", "--once")
    assert done.returncode == 0, done.stderr
    assert "2 documents stored" in done.stdout
    assert lines(cli("jobs", "--json")) == []


def test_jobs_are_explained_and_retried_by_filter(cli: Run, handbook: Path, dsn: str) -> None:
    assert cli("add", "handbook", "--no-wait").returncode == 0
    ids = [job["job_id"] for job in lines(cli("jobs", "--json"))]
    (told,) = lines(cli("jobs", "--explain", str(ids[0]), "--json"))
    assert (told["job"], told["state"]) == (ids[0], "waiting")
    assert "rag-pg worker" in cli("jobs", "--explain", str(ids[0])).stdout
    assert "no job 999" in complaint(cli("jobs", "--explain", "999"), 1)
    assert "--retry" in complaint(cli("jobs", "--error", "x"), 2)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "SELECT rag.fail_job(job_id, lease, 'odd', permanent => true) FROM rag.take_jobs(9)"
        )
    assert (
        len(lines(cli("jobs", "--retry", "--uri", "%password%", "--state", "dead", "--json"))) == 1
    )
    assert lines(cli("jobs", "--retry", "--error", "od%", "--state", "dead", "--json")) == []
    (status,) = lines(cli("status", "--json"))
    assert (status["pending"], status["eta"]) == (2, None)


@pytest.mark.minutes
def test_status_is_watched_until_interrupted(cli: Run, handbook: Path, dsn: str) -> None:
    assert cli("add", "handbook", "--no-wait").returncode == 0
    watching = subprocess.Popen(
        [sys.executable, "-m", "rag_pg", "status", "--watch", "--interval", "0.2", "--json"],
        env=os.environ | {"RAG_PG_DSN": dsn},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        seen = [json.loads(watching.stdout.readline()) for _ in range(3)]
        assert {row["pending"] for row in seen} == {2}
        watching.send_signal(signal.SIGINT)
        assert watching.wait(BOUND) == 0
    finally:
        watching.kill()
        watching.wait()
        if watching.stdout:
            watching.stdout.close()
    assert "interval 0" in complaint(cli("status", "--watch", "--interval", "0"), 2)


def test_a_worker_serves_its_health(cli: Run, dsn: str, home: Path) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-m", "rag_pg", "worker", "--concurrency", "2", "--health", "0"],
        env=os.environ | {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(home)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert worker.stderr is not None
        url = worker.stderr.readline().split()[-1]
        with urllib.request.urlopen(url) as reply:
            assert json.load(reply)["ok"] is True
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(BOUND) == 0
    finally:
        worker.kill()
        worker.wait()
        if worker.stderr:
            worker.stderr.close()
    assert "concurrency 0" in complaint(cli("worker", "--once", "--concurrency", "0"), 2)


def test_bad_files_are_named_and_the_rest_goes_in(cli: Run, handbook: Path) -> None:
    (handbook / "empty.md").write_text("")
    (handbook / "binary.txt").write_bytes(bytes(range(256)) * 40)
    (handbook / "undecodable.md").write_bytes(b"caf\xe9 \x80\x81\x82\xfe " * 50)
    (handbook / "nul.txt").write_bytes(b"plain text with one \x00 byte in it, and more words\n")
    (handbook / "gone.md").symlink_to(handbook / "nowhere.md")
    (handbook / "huge.txt").write_text("word " * 400)
    done = cli("add", "handbook", "--json", RAG_PG_MAX_FILE_BYTES="1500")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    result = json.loads(done.stdout)
    assert result["added"] == 3
    assert (result["failed"], result["skipped"]) == (4, {"empty": 1})
    for name in ("binary.txt", "undecodable.md", "gone.md", "huge.txt"):
        (line,) = [x for x in done.stderr.splitlines() if x.startswith("failed:") and name in x]
        assert len(line) < 300
    assert "RAG_PG_MAX_FILE_BYTES" in done.stderr
    assert "nul.txt: 1 unreadable characters were removed" in done.stderr


def test_folders_and_types_without_a_loader_are_named(cli: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.png").write_bytes(b"PNG")
    (tmp_path / "x.pdf").write_bytes(b"%PDF")
    for path in ("empty", "x.png", "x.pdf", "missing.md"):
        done = cli("add", path)
        assert done.returncode == 1
        (line,) = [x for x in done.stderr.splitlines() if x.startswith("failed:")]
        assert path in line
    assert ".md" in cli("add", "x.png").stderr


def test_standard_input_patterns_and_chunking(cli: Run, handbook: Path) -> None:
    cut = '{"method": "sentence"}'
    piped = cli("add", "-", "--uri", "n/pipe.md", "--chunking", cut, input="# Pipes\n\nOne. Two.")
    assert piped.returncode == 0, piped.stderr
    assert lines(cli("add", "handbook/*.md", "--json"))[0]["added"] == 1
    found = lines(cli("documents", "--json"))
    assert [(d["uri"], d["title"]) for d in found] == [
        ("handbook/password.md", "Passwords"),
        ("n/pipe.md", "Pipes"),
    ]
    assert found[1]["chunks"] == 2


def test_sync_follows_a_folder(cli: Run, handbook: Path) -> None:
    assert "'docs'" in complaint(cli("sync", "handbook"), 1)  # only add makes one
    other = cli("add", "-", "--uri", "n/pipe.md", "--no-wait", input="# Pipes\n\nOne. Two.")
    assert other.returncode == 0, other.stderr
    (report,) = lines(cli("sync", "handbook", "--json"))
    assert report == {
        "collection": "docs",
        "changed": 2,
        "unchanged": 0,
        "deleted": 0,
        "gone": [],
        "failed": 0,
        "skipped": {},
        "failures": [],
    }
    (handbook / "holidays.txt").unlink()
    done = cli("sync", "handbook")
    assert done.stdout == "0 documents added or updated, 1 unchanged, 1 deleted, 0 failed\n"


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("search", "x", "-c", "nope"), 1, ("'nope'", "rag-pg add")),
        (("ask", "x", "-c", "nope"), 1, ("'nope'",)),
        (("worker", "--once", "-c", "nope"), 1, ("'nope'",)),
        (("drop", "nope", "--yes"), 1, ("'nope'",)),
        (("jobs", "--state", "odd"), 2, ("odd", "waiting")),
        (("search", "x", "--mode", "odd"), 2, ("hybrid",)),
        (("search", "x", "--filter", "{odd"), 2, ("not JSON",)),
        (("add", "-", "--chunking", "[1]"), 2, ("chunking is not a JSON object", "sentence")),
        (("sync", "missing"), 2, ("missing is not a folder",)),
    ],
)
def test_mistakes_end_in_one_line(
    cli: Run, arguments: tuple[str, ...], code: int, words: tuple[str, ...]
) -> None:
    line = complaint(cli(*arguments), code)
    assert [word for word in words if word not in line] == []


def test_bad_queries_end_in_one_line(cli: Run, handbook: Path) -> None:
    assert cli("add", "handbook").returncode == 0
    assert "empty" in complaint(cli("search", ""), 2)
    assert "100000" in complaint(cli("search", "x" * 100_001), 2)
    line = complaint(cli("search", "x", "-n", "0"), 2)
    assert "limit 0" in line and "1 to 1000" in line
    assert "limit -1" in complaint(cli("search", "x", "--limit=-1"), 2)
    assert "model is 'minilm'" in complaint(cli("add", "handbook", "--model", "gemini"), 1)


def test_an_unreachable_database_ends_in_one_line(cli: Run) -> None:
    dsn = "postgresql://someone:hunter2@127.0.0.1:1/x"
    done = cli("status", RAG_PG_DSN=dsn)
    assert "RAG_PG_DSN" in complaint(done, 1)
    assert "hunter2" not in done.stderr


def test_a_database_without_the_schema_ends_in_one_line(
    cli: Run, new_database: Callable[..., str]
) -> None:
    bare = new_database()
    assert "rag-pg db upgrade" in complaint(cli("status", RAG_PG_DSN=bare), 1)
    assert "cannot reach the database" in complaint(
        cli("db", "upgrade", RAG_PG_DSN="host=/nowhere"), 1
    )
    assert cli("db", "check", RAG_PG_DSN=bare).returncode == 1
    assert "revision" in cli("db", "upgrade", RAG_PG_DSN=bare).stdout
    assert cli("db", "check", RAG_PG_DSN=bare).returncode == 0


def test_an_unknown_setting_ends_in_one_line(cli: Run) -> None:
    line = complaint(cli("status", RAG_PG_DNS="x"), 2)
    assert "RAG_PG_DNS" in line and "RAG_PG_DSN" in line
    assert "'big'" in complaint(cli("status", RAG_PG_MAX_FILE_BYTES="big"), 2)


def test_url_prints_the_dsn_last(cli: Run, dsn: str) -> None:
    assert cli("db", "url").stdout.splitlines()[-1] == dsn


@pytest.mark.minutes
def test_gemini_embeds_and_answers(cli: Run, handbook: Path) -> None:
    with FakeGemini() as gemini:
        environment = {"RAG_PG_GEMINI_BASE_URL": gemini.url, "GEMINI_API_KEY": GOOD_KEY}
        model = "gemini:gemini-embedding-001:64"
        (added,) = lines(cli("add", "handbook", "--model", model, "--json", **environment))
        assert added["added"] == 2
        (status,) = lines(cli("status", "--json"))
        assert (status["model"], status["dimensions"], status["embedded"]) == (model, 64, 2)
        (answer,) = lines(
            cli("ask", "reset my password", "--llm", "gemini", "--json", **environment)
        )
        assert answer["model"].startswith("gemini")
        wrong = environment | {"GEMINI_API_KEY": "not-the-key"}
        refused = cli("ask", "reset my password", "--llm", "gemini", **wrong)
        assert refused.returncode == 1
        assert "Traceback" not in refused.stderr and "not-the-key" not in refused.stderr
    # Without a key, search goes on by keyword and says so; a question to the model cannot.
    done = cli("search", "password", "--json")
    assert done.returncode == 0 and "vector search was skipped" in done.stderr
    assert cli("ask", "password", "--llm", "gemini").returncode == 1


@pytest.mark.minutes
def test_search_and_ask_take_rewrites_and_a_conversation(
    cli: Run, handbook: Path, tmp_path: Path
) -> None:
    lines(cli("add", "handbook", "--json"))
    turns = [{"role": "user", "content": "How do I reset my password?"}]
    (tmp_path / "history.json").write_text(json.dumps(turns))
    found = cli("search", "Where do I find it?", "--history", "history.json", "-n", "1", "--json")
    assert lines(found)[0]["uri"] == "handbook/password.md"
    assert "searched for: Where do I find it? (reset my password)" in found.stderr
    (answer,) = lines(cli("ask", "Why?", "--history", json.dumps(turns), "--json"))
    told = [step["detail"] for step in answer["steps"] if step["kind"] == "rewrite"]
    assert told == [
        {"rewrite": "conversation", "by": "rules", "question": "Why? (reset my password)"}
    ]
    with FakeGemini() as gemini:
        environment = {"RAG_PG_GEMINI_BASE_URL": gemini.url, "GEMINI_API_KEY": GOOD_KEY}
        gemini.answers.append(json.dumps({"queries": ["reset a forgotten password"]}))
        options = ("--rewrite", "multi_query", "--helper-llm", "gemini", "-n", "1", "--json")
        found = cli("search", "I cannot get in", *options, **environment)
        assert lines(found)[0]["uri"] == "handbook/password.md"
        assert found.stderr == ""
    failed = cli("search", "password", *options, GEMINI_API_KEY="")
    assert lines(failed)[0]["uri"] == "handbook/password.md"
    assert "multi_query was skipped" in failed.stderr
    assert "there is no rewrite 'magic'" in complaint(cli("search", "a", "--rewrite", "magic"), 2)
    assert "is not JSON" in complaint(cli("search", "a", "--history", "[{"), 2)


def test_help_is_quick_to_import() -> None:
    """`rag-pg --help` loads no library that takes long."""
    code = (
        "import sys, rag_pg.cli.app; heavy = {'onnxruntime', 'torch', 'sqlalchemy', 'alembic',"
        " 'psycopg', 'numpy', 'tokenizers'}; print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_table_of_another_library_is_adopted(cli: Run, dsn: str) -> None:
    recording = RECORDINGS / "haystack.sql"
    with psycopg.connect(dsn) as connection:
        connection.execute(recording.read_text())
    adopt = ("adopt", "--from", "haystack", "haystack_documents", "--into", "notes")
    line = complaint(cli(*adopt), 2)
    assert "no collection 'notes' yet" in line and "--model" in line
    line = complaint(cli("adopt", "--from", "pgai", *adopt[3:]), 2)
    assert "no column embedding_uuid" in line and "haystack" in line
    done = cli(*adopt, "--model", "my-model")
    assert done.returncode == 0, done.stderr
    shown = (ROOT / "docs" / "guides" / "adopt.md").read_text()
    assert f"```\n{done.stdout}```\n" in shown
    assert "1 document queued for embedding" in done.stderr
    (report,) = lines(cli(*adopt, "--json", "--source-dsn", dsn))
    assert (report["rows"], report["documents"], report["chunks"], report["vectors"]) == (
        6,
        2,
        5,
        4,
    )
    assert report["skipped"] == {"without text": 1}
    found = lines(cli("search", "restore", "-c", "notes", "--mode", "keyword", "--json"))
    assert [hit["uri"] for hit in found] == ["source-backup"]


@pytest.mark.minutes
def test_another_model_is_built_activated_and_rolled_back(cli: Run, handbook: Path) -> None:
    with FakeGemini() as gemini:
        environment = {"RAG_PG_GEMINI_BASE_URL": gemini.url, "GEMINI_API_KEY": GOOD_KEY}
        old = "gemini:gemini-embedding-001:64"
        lines(cli("add", "handbook", "--model", old, "--json", **environment))
        (first,) = lines(cli("call", "list_spaces", "--json"))
        assert (first["state"], first["index_state"]) == ("active", "ready")
        model = "gemini:gemini-embedding-001:32"
        (queued,) = lines(
            cli("reembed", "docs", "--model", model, "--no-wait", "--json", **environment)
        )
        assert (queued["state"], queued["embedded"]) == ("building", 0)
        second = str(queued["space_id"])
        assert "chunks have no vector yet" in complaint(
            cli("call", "activate_space", f"space_id={second}"), 1
        )
        done = cli("reembed", "docs", "--model", model, **environment)
        assert done.returncode == 0, done.stderr
        assert f"space {second} ({model}) is building: 2 of 2 chunks embedded" in done.stdout
        assert f"rag-pg call activate_space space_id={second}" in done.stderr
        assert cli("call", "activate_space", f"space_id={second}").returncode == 0
        states = lines(cli("call", "list_spaces", "collection=docs", "--json"))
        assert [row["state"] for row in states] == ["retired", "active"]
        (hit,) = lines(cli("search", "holiday", "-n", "1", "--json", **environment))
        assert hit["vector_rank"] is not None
        assert cli("call", "rollback_space", "collection=docs").returncode == 0
        assert cli("call", "drop_space", f"space_id={second}").returncode == 0
        (left,) = lines(cli("call", "list_spaces", "--json"))
        assert (left["space_id"], left["state"]) == (first["space_id"], "active")
        chunking = '{"max_tokens": 32}'
        (cut,) = lines(cli("rechunk", "docs", "--chunking", chunking, "--json", **environment))
        assert cut == {"collection": "docs", "documents": 2}
    assert "the chunking is not JSON" in complaint(cli("rechunk", "docs", "--chunking", "x"), 2)
    assert "there is no collection 'nope'" in complaint(
        cli("reembed", "nope", "--model", "minilm"), 1
    )


def test_search_and_ask_take_every_option_that_ranks(cli: Run, handbook: Path) -> None:
    lines(cli("add", "handbook", "--json"))
    for command in ("search", "ask"):
        shown = cli(command, "--help").stdout
        assert all(f"--{name.replace('_', '-')}" in shown for name in Ranking.__optional_keys__)
    unlike = json.dumps([{"filter": {"$uri": "handbook/holidays.txt"}, "multiply": 100}])
    options = ("--fusion", "rrf", "--per-document", "1", "--no-typo-tolerance", "--json")
    for weights, first in (((), "password.md"), (("--boosts", unlike), "holidays.txt")):
        hits = lines(cli("search", "password", *options, *weights))
        assert hits[0]["uri"] == f"handbook/{first}"
        assert len({hit["uri"] for hit in hits}) == len(hits)
    (answer,) = lines(cli("ask", "How is a password reset?", "--keyword-weight", "0", "--json"))
    assert answer["citations"]
    assert "unknown fusion 'odd'" in complaint(cli("search", "password", "--fusion", "odd"), 2)
    wrong = cli("search", "password", "--boosts", "[{")
    assert wrong.returncode == 2 and "--boosts" in wrong.stderr and "Traceback" not in wrong.stderr


def test_an_interrupt_while_commands_are_imported_is_no_traceback() -> None:
    program = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'rag_pg.cli.app':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from rag_pg.cli.app import main\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "")
