"""SIGKILL before any statement of a call: nothing is half visible, and the same call heals it.

A program is forked from one that has imported everything, and kills itself before it sends its
n-th statement. Few n of each call are tried here, all of them by make test-killed.
"""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fakes import Call, HashEmbedder, ScriptedLLM
from killing import end_leases, final, program_of, run, seen
from psycopg.conninfo import conninfo_to_dict
from rota import in_turn

from rag_pg import Rag, Settings
from rag_pg.db import schema
from rag_pg.ingest import export_collection

PARTS = 4  # of the statements of a call, side by side


def open_rag(dsn: str, folder: str) -> Rag:
    settings = Settings(home=Path(folder).parent / "home")
    embedders = {"hash": HashEmbedder, "other": HashEmbedder}
    return Rag(dsn, settings=settings, embedders=embedders)


def add(dsn: str, folder: str) -> None:
    with open_rag(dsn, folder) as rag:
        rag.collection("docs", model="hash:32", chunking=CHUNKING).add(Path(folder))


def add_chunks(dsn: str, folder: str) -> None:
    with open_rag(dsn, folder) as rag:
        rag.collection("docs", model="hash:32").add_chunks(
            {"uri": f"ready/{n // 2}", "content": f"part {n}", "embedding": [1.0, n] * 16}
            for n in range(6)
        )


def sync(dsn: str, folder: str) -> None:
    with open_rag(dsn, folder) as rag:
        rag.collection("docs").sync(Path(folder))


def reembed(dsn: str, folder: str) -> None:
    with open_rag(dsn, folder) as rag:
        if rag.info("docs").model != "other:32":
            rag.collection("docs").spaces.create("other:32", activate=True)


def drop(dsn: str, folder: str) -> None:
    with open_rag(dsn, folder) as rag:
        if any(info.name == "docs" for info in rag.collections()):
            rag.drop_collection("docs")
        rag.database.remove_dropped()


def enrich(dsn: str, folder: str) -> None:
    def reply(call: Call) -> str:
        return '{"author": "Ada"}' if call.schema else f"Of {len(call.prompt)} characters."

    with open_rag(dsn, folder) as rag:
        docs = rag.collection("docs")
        docs.enrichment.set_rules(
            [{"field": "fish", "pattern": "fish", "scope": "chunk"}], wait=False
        )
        docs.enrichment.set_extraction({"author": {"type": "text"}}, wait=False)
        docs.enrichment.set_contexts(wait=False)
        worker = rag.worker(llm_of=lambda name: ScriptedLLM(reply, cites_by_key=False))
        while worker.drain():
            pass


def move(dsn: str, folder: str) -> None:
    out = Path(folder).parent / str(conninfo_to_dict(dsn)["dbname"])
    with open_rag(dsn, folder) as rag:
        export_collection(rag.database, "docs", out, page_bytes=100)
        if not any(info.name == "moved" for info in rag.collections()):
            rag.import_collection(out, "moved")


def upgrade(dsn: str, folder: str) -> None:
    schema.upgrade(dsn)


CALLS: dict[str, Callable[[str, str], None]] = {
    call.__name__: call for call in (add, add_chunks, sync, reembed, enrich, drop, move, upgrade)
}
CHUNKING = {"max_tokens": 128}  # which leaves room for contexts
OLD = {"a.md": "Old fish. ", "gone.md": "Gone.", "c.md": "C."}
NEW = {"a.md": "New fish. ", "new.md": "New.", "c.md": "C."}
for files in (OLD, NEW):  # several chunks
    files["a.md"] += " ".join(f"Sentence {n} of many." for n in range(300))


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.fixture(scope="module")
def program() -> Iterator["subprocess.Popen[str]"]:
    with program_of(__file__) as opened:
        yield opened


@pytest.fixture(scope="module")
def filled(new_database: Any, template: str, tmp_path_factory: Any) -> str:
    """The name of a database whose collection docs has the old files."""
    dsn = new_database(template)
    folder = tmp_path_factory.mktemp("filled") / "in"
    write(folder, OLD)
    add(dsn, str(folder))
    return str(conninfo_to_dict(dsn)["dbname"])


class Trial:
    """A database and a folder as they are before a call."""

    def __init__(self, call: str, make: Any, template: str, filled: str, folder: Path) -> None:
        empty = call in ("add", "add_chunks", "upgrade")
        self.dsn: str = make(template if empty else filled)
        self.folder = folder / "in"
        write(self.folder, OLD if empty else NEW)


Prepare = Callable[[int], Trial]


def killed(call: str, prepare: Prepare, program: Any, last: int) -> Trial:
    """A trial whose call was killed before its statement `last`, or before the last that it sent:
    who waits asks more or less often, so the count of another call may not be reached."""
    while sent := run(program, call, (trial := prepare(last)).dsn, trial.folder, last):
        assert 1 < sent < last, "it was not killed"
        last = sent
    return trial


def kill_and_heal(call: str, prepare: Prepare, program: Any, last: int) -> list[Any]:
    """Return what is there when a killed call was made again."""
    trial = killed(call, prepare, program, last)
    texts = set(OLD.values()) | set(NEW.values())
    for uri, content, current, chunks in seen(trial.dsn):
        if current and not uri.startswith("ready/"):
            assert content in texts, uri
            assert set(" ".join(chunks).split()) == set(content.split()), uri
    with psycopg.connect(trial.dsn) as connection:
        for row in connection.execute("SELECT status, remedy, detail FROM rag.doctor()"):
            assert row[0] == "ok" or row[1], row
    end_leases(trial.dsn)
    CALLS[call](trial.dsn, str(trial.folder))
    with psycopg.connect(trial.dsn, autocommit=True) as connection:
        statuses = connection.execute("SELECT DISTINCT status FROM rag.doctor()").fetchall()
    assert statuses == [("ok",)]
    assert schema.check(trial.dsn) == []
    return final(trial.dsn)


@pytest.fixture(params=in_turn(CALLS, "add", "reembed"))
def undisturbed(
    request: Any, program: Any, new_database: Any, template: str, filled: str, tmp_path: Path
) -> tuple[str, int, list[Any], Prepare]:
    """A call, how many statements it sends, what is there afterwards, and how to try it again."""

    def prepare(number: int) -> Trial:
        (tmp_path / "same").mkdir(exist_ok=True)  # uris are the paths of the files
        return Trial(request.param, new_database, template, filled, tmp_path / "same")

    trial = prepare(0)
    count = run(program, request.param, trial.dsn, trial.folder, 0)
    assert count > 3
    return request.param, count, final(trial.dsn), prepare


def test_a_killed_call_is_done_by_the_next(undisturbed: Any, program: Any) -> None:
    call, count, expected, prepare = undisturbed
    assert kill_and_heal(call, prepare, program, count // 2) == expected


@pytest.mark.minutes
@pytest.mark.parametrize("first", range(1, PARTS + 1))
def test_a_call_killed_before_any_statement_is_done_by_the_next(
    undisturbed: Any, program: Any, first: int
) -> None:
    call, count, expected, prepare = undisturbed
    for last in range(first, count + 1, PARTS):
        assert kill_and_heal(call, prepare, program, last) == expected
