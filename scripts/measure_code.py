"""Count what a checkout is made of, as a Markdown table with a column for each checkout.

    python scripts/measure_code.py [--of CHECKOUT]… [--no-trips]

CHECKOUT is a folder or a revision of this repository; by default this folder. Run it with the
Python of `.venv`, as it imports the checkouts, older ones too. It needs no server of yours.

What is counted:

lines of rag_pg         of all its .py files; of the core: without the annexes (ANNEXES)
lines of sql            of all its .sql files
functions               CREATE FUNCTION and CREATE PROCEDURE in sql/; public: without a `_` in front
copies of a list        functions, calls and classes in rag_pg that name all but one of the list's
                        arguments (LISTS), each with any of the names that stand for it
edits per option        lines that name one option of the search, `typo_tolerance`, on its way from
                        every door to the engine: rag_pg/, the type, the check, the argument, and
                        pages written by hand. Not the engine, which uses it, nor search_keyword,
                        which has it too, nor the comment of rag.search, which describes it
members of Collection   public names of the class; bases: classes that it inherits from
callables per question  fields that hold a function among those of the classes that a strategy is
                        given (STATE), without `listener` and `now`, which are the user's
fields of a question    of the same classes, each counted by itself
commands                that rag-pg has, those of groups too
dependencies            mandatory ones of pyproject.toml
reference               characters of docs/reference/sql-api.md
crossings and returns   of four trips, each done once on an embedded server with the default
                        embedder and a language model of a few lines: different pairs of functions
                        (caller, callee) in different files of rag_pg. A return enters a file that
                        is at work further up, as a callable that was handed down does. What all
                        files use (SHARED) is passed over
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ANNEXES = (
    *("evaluation/", "server/", "mcp/", "adopt/", "ingest/adopt/", "cli/eval/"),
    *("langchain.py", "llama_index.py", "haystack.py"),
)
SHARED = "types errors version threads tracing fault retry deadline config protocols"
LISTS: Mapping[str, tuple[str, ...]] = {
    "an aggregate's": ("aggregates", "group_by", "filter|metadata_filter", "having", "order_by",
                       "limit|result_limit"),
    "adopt's": ("table", "layout", "model", "source_dsn", "distance", "language",
                "langchain_collection", "uri_key", "sample"),
    "a collection's": ("model", "language", "distance", "dimensions", "chunking", "index_options",
                       "preset"),
}  # fmt: skip
STATE = ("AnswerContext", "Question", "Trace", "Asker")
OPTION = re.compile(r"\btypo[_-]tolerance\b")
FUNCTION = re.compile(r"^CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE) rag\.(\w+)", re.M)

Figures = dict[str, str]


def measure(folder: Path, trips: bool) -> Figures:
    """All figures of a checkout by their names, in order."""
    package = folder / "rag_pg"
    files = {path: _read(path) for path in sorted(package.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in files.items()}
    core = [path for path in files if not _is_annexe(path.relative_to(package).as_posix())]
    sql = "\n".join(_read(path) for path in sorted((folder / "sql").rglob("*.sql")))
    names = FUNCTION.findall(sql)
    project = tomllib.loads(_read(folder / "pyproject.toml"))["project"]
    inside = json.loads(_run(folder, MEMBERS))
    found: Figures = {
        "lines of `rag_pg/`": f"{_lines(files.values()):,}",
        "of the core, without annexes": f"{_lines(files[path] for path in core):,}",
        "lines of `sql/`": f"{_lines([sql]):,}",
        "SQL functions": f"{len(names)}",
        "public ones": f"{sum(not name.startswith('_') for name in names)}",
        "edits for one option of a search": f"{_edits(folder, files.values(), sql)}",
        **{f"copies of {key} list": f"{_copies(trees.values(), LISTS[key])}" for key in LISTS},
        "public members of `Collection`": f"{inside['members']}",
        "its base classes": f"{inside['bases']}",
        **_state(tree for path, tree in trees.items() if path.parent.name == "answer"),
        "commands of `rag-pg`": f"{inside['commands']}",
        "mandatory dependencies": f"{len(project['dependencies'])}",
        "characters of the SQL reference": f"{len(_read(folder / 'docs/reference/sql-api.md')):,}",
    }
    if trips:
        for trip, (crossings, returns) in json.loads(_run(folder, TRIPS)).items():
            found[f"crossings (returns) of {trip}"] = f"{crossings} ({returns})"
    return found


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _lines(texts: Iterable[str]) -> int:
    return sum(len(text.splitlines()) for text in texts)


def _is_annexe(path: str) -> bool:
    return path.startswith(ANNEXES)


def _copies(trees: Iterable[ast.Module], arguments: tuple[str, ...]) -> int:
    wanted = [set(name.split("|")) for name in arguments]

    def named(node: ast.AST) -> set[str]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        if isinstance(node, ast.Call):
            return {keyword.arg for keyword in node.keywords if keyword.arg}
        if isinstance(node, ast.ClassDef):
            fields = (part for part in node.body if isinstance(part, ast.AnnAssign))
            return {ast.unparse(part.target) for part in fields}
        return set()

    nodes = (named(node) for tree in trees for node in ast.walk(tree))
    return sum(sum(bool(names & one) for one in wanted) >= len(wanted) - 1 for names in nodes)


def _edits(folder: Path, python: Iterable[str], sql: str) -> int:
    """Lines that name the option; see the top of this file."""
    keyword = r"^def search_keyword\(.*?(?=^\S(?!\)))|^    \"search_keyword\": .*?$"
    parts = [re.sub(keyword, "", text, flags=re.M | re.S) for text in python]
    parts += re.findall(
        r"^CREATE OR REPLACE FUNCTION rag\.search\(.*?(?=^COMMENT)", sql, re.M | re.S
    )
    parts += re.findall(
        r"^CREATE OR REPLACE FUNCTION rag\._check_search_arguments\(.*?(?=^COMMENT)",
        sql,
        re.M | re.S,
    )
    parts += re.findall(r"^COMMENT ON TYPE rag\.search_arguments.*?;$", sql, re.M | re.S)
    parts += [_read(path) for path in (folder / "alembic" / "versions").glob("*.py")]
    pages = [_read(path) for path in (folder / "docs" / "guides").glob("*.md")]
    parts += [re.sub(r"<!-- written by make docs.*?<!-- end -->", "", p, flags=re.S) for p in pages]
    return sum(bool(OPTION.search(line)) for part in parts for line in part.splitlines())


def _state(trees: Iterable[ast.Module]) -> Figures:
    fields: dict[str, list[tuple[str, str]]] = {}
    aliases = set()
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and "Callable" in ast.unparse(node.value)[:8]:
                aliases |= {ast.unparse(target) for target in node.targets}
            if isinstance(node, ast.ClassDef) and node.name in STATE:
                fields[node.name] = [
                    (ast.unparse(part.target), ast.unparse(part.annotation))
                    for part in node.body
                    if isinstance(part, ast.AnnAssign)
                ]
    held = [
        name
        for each in fields.values()
        for name, kind in each
        if name not in ("listener", "now")
        and ("Callable" in kind or aliases & set(re.findall(r"\w+", kind)))
    ]
    each = ", ".join(f"{len(fields[name])} ({name})" for name in STATE if name in fields)
    return {"callables handed down for one question": f"{len(held)}", "fields of a question": each}


def _run(folder: Path, program: str) -> str:
    """What a program prints that imports the checkout's rag_pg."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PG_")}
    with tempfile.TemporaryDirectory(prefix="rag-pg-measure-") as empty:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            cwd=empty,
            env=environment | {"PYTHONPATH": str(folder), "RAG_PG_HOME": empty, "SHARED": SHARED},
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise SystemExit(f"{folder}: {done.stderr[-2000:]}")
    return done.stdout.splitlines()[-1]


MEMBERS = """
import json, typer.main
from rag_pg.cli.app import app
from rag_pg.client import Collection

def count(command):
    inner = getattr(command, "commands", None)
    return 1 if inner is None else sum(map(count, inner.values()))

print(json.dumps({
    "members": sum(not name.startswith("_") for name in dir(Collection)),
    "bases": len(Collection.__mro__) - 2,
    "commands": count(typer.main.get_command(app)),
}))
"""

TRIPS = """
import contextlib, contextvars, json, os, sys, threading
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from rag_pg import Rag
from rag_pg.cli.app import app
from rag_pg.db import schema
from rag_pg.testing import running_server
from rag_pg.types import Capabilities, Completion

HERE = str(Path(sys.modules["rag_pg"].__file__).parent) + os.sep
SHARED = set(os.environ["SHARED"].split())

def file_of(code):
    if not code.co_flags & 1 or not code.co_filename.startswith(HERE):  # the body of a module
        return None
    path = code.co_filename[len(HERE):]
    return None if path.partition(os.sep)[0].removesuffix(".py") in SHARED else path

STACK = contextvars.ContextVar("stack", default=())  # threads begin with that of their starter

class Trace:
    def __init__(self):
        self.crossings, self.returns = set(), set()

    def __call__(self, frame, event, _):
        stack = STACK.get()
        if event == "return" and stack and stack[-1][0] is frame:
            STACK.set(stack[:-1])
        if event != "call" or (own := file_of(frame.f_code)) is None:
            return
        if stack and stack[-1][1] != own:
            edge = (stack[-1][2], frame.f_code)
            self.crossings.add(edge)
            if any(one[1] == own for one in stack):
                self.returns.add(edge)
        STACK.set((*stack, (frame, own, frame.f_code)))

@contextlib.contextmanager
def traced(name):
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        found[name] = (len(trace.crossings), len(trace.returns))

class Writer:
    name = "writer"
    capabilities = Capabilities()

    def complete(self, messages, **options):
        return Completion(text="The password is reset on the account page.")

    def stream(self, messages, **options):
        yield self.complete(messages)

found = {}
folder = Path("handbook")
folder.mkdir()
page = "# Passwords\\n\\nThe password is reset on the account page.\\n\\n# Backups\\n\\nNightly.\\n"
(folder / "faq.md").write_text(page)
question = "How is a password reset?"
Path("set.jsonl").write_text(json.dumps({"query": question, "relevant": ["handbook/faq.md"]}))
with running_server() as server:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE measured")
    dsn = make_conninfo(server, dbname="measured")
    schema.upgrade(dsn)
    with Rag(dsn) as rag:
        docs = rag.collection("docs")
        with traced("`docs.add(folder)`"):
            docs.add("handbook")
        with traced("`docs.search(text, filter=…)`"):
            assert docs.search("password", filter={"$uri": {"$ne": "x"}})
        with traced('`docs.ask(question, strategy="single")`'):
            assert docs.ask(question, strategy="single", llm=Writer()).text
    for words in (["eval", "import", "faq", "set.jsonl"], ["eval", "run", "faq", "docs"]):
        with traced("`rag-pg eval run`"), open(os.devnull, "w") as nowhere:
            with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
                try:
                    app([*words, "--dsn", dsn])
                except SystemExit as left:
                    assert not left.code, words
print(json.dumps(found))
"""


def _checkouts(named: list[str], scratch: Path) -> Iterator[tuple[str, Path]]:
    for name in named or ["."]:
        if Path(name).is_dir():
            yield ("this checkout" if name == "." else name), Path(name).resolve()
            continue
        packed = subprocess.run(
            ["git", "-C", ROOT, "archive", "--format=tar", name], check=True, stdout=subprocess.PIPE
        ).stdout
        (scratch / name).mkdir(parents=True)
        subprocess.run(["tar", "-x", "-C", scratch / name], input=packed, check=True)
        yield name, scratch / name


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--of", action="append", default=[], metavar="CHECKOUT")
    parser.add_argument("--no-trips", action="store_true", help="without the embedded server")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rag-pg-checkouts-") as scratch:
        columns = {
            name: measure(folder, not arguments.no_trips)
            for name, folder in _checkouts(arguments.of, Path(scratch))
        }
    rows = list(dict.fromkeys(row for figures in columns.values() for row in figures))
    print(f"| figure | {' | '.join(columns)} |\n| --- |{' --- |' * len(columns)}")
    for row in rows:
        print(f"| {row} | {' | '.join(figures.get(row, '–') for figures in columns.values())} |")


if __name__ == "__main__":
    main()
