"""The package's shape: public names, layers, settings."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT
from run import ON_16

import rag_pg
from rag_pg import InvalidInput, Settings, errors

PACKAGE = Path(rag_pg.__file__).parent
# Statements on other programs' tables, and some that are shown and not run.
SHOWN = ("adopt/table.py", "cli/demo.py", "evaluation/advice.py")


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    """The files of the package, each read once."""
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}


def test_every_public_name_is_there_and_every_error_is_public() -> None:
    for name in rag_pg.__all__:
        assert getattr(rag_pg, name) is not None
    raised = {n for n in vars(errors) if isinstance(getattr(errors, n), type)}
    assert raised == set(errors.__all__) <= set(rag_pg.__all__)
    assert all(name in (errors.__doc__ or "") for name in raised)


def test_a_client_loads_nothing_that_answers_before_there_is_a_question() -> None:
    program = """if True:
        import sys, rag_pg.client
        print(*sorted(name for name in sys.modules if name.startswith("rag_pg.answer.")))"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().split() == ["rag_pg.answer.options"]


def test_other_packages_import_only_what_a_package_exports(trees: dict[Path, ast.Module]) -> None:
    """`from rag_pg.db import Database`, not from rag_pg.db.database; imports for types count."""
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    doors = {
        f"rag_pg.{annexe}.{path.parent.name}"
        for annexe in ("server", "evaluation")
        for path in PACKAGE.glob(f"{annexe}/*/__init__.py")
    }
    wrong = []
    for path, tree in trees.items():
        own = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(tree):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [a.name for a in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                _, *inner = module.split(".") if module.startswith("rag_pg.") else [""]
                if len(inner) > 1 and inner[0] in folders - {own} and module not in doors:
                    wrong.append(f"{path.relative_to(PACKAGE)} imports {module}")
    assert wrong == [], "import from the package, and export there what is missing"


def test_each_package_says_what_goes_in_and_what_comes_out() -> None:
    for path in PACKAGE.glob("*/__init__.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert " -> " in (ast.get_docstring(tree) or "").partition("\n")[0], path


def test_runtime_sql_is_in_the_files_of_the_database() -> None:
    words = ("SELECT ", "INSERT INTO", "DELETE FROM", "UPDATE rag", "CALL rag")
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).as_posix()
        if room.startswith("db/") or room in SHOWN:
            continue
        text = path.read_text()
        assert not any(word in text for word in words), path


def test_statements_take_the_name_of_the_schema_from_one_place() -> None:
    named = re.compile(r"(SELECT|FROM|JOIN|INTO|=>)\s+rag\.|[(, ]rag\.\w+\(%")
    for path in (PACKAGE / "db").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) else None
            assert not isinstance(text, str) or not named.search(text), f"{path.name}: {text}"


def test_settings_come_from_the_environment_and_unknown_ones_are_refused() -> None:
    settings = Settings.from_environment(
        {"RAG_PG_DSN": "x", "RAG_PG_MAX_FILE_BYTES": "5", "RAG_PG_EVAL_DATA": "y", "OTHER": "z"}
    )
    assert (settings.dsn, settings.max_file_bytes, settings.llm) == ("x", 5, "extractive")
    with pytest.raises(InvalidInput, match="RAG_PG_DNS; known: .*RAG_PG_DSN"):
        Settings.from_environment({"RAG_PG_DNS": "x"})
    with pytest.raises(InvalidInput, match="number of bytes"):
        Settings.from_environment({"RAG_PG_MAX_FILE_BYTES": "-3"})


def test_every_connection_is_opened_in_one_way(trees: dict[Path, ast.Module]) -> None:
    """What a transaction pooler must not keep is then named in one place."""
    for path, tree in trees.items():
        calls = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and node.attr == "connect"
            and ast.unparse(node.value)
            in ("psycopg", "psycopg.Connection", "psycopg.AsyncConnection", "Connection")
        ]
        assert len(calls) == (path.stem == "connect"), path.name


def test_files_are_read_and_written_as_utf8(trees: dict[Path, ast.Module]) -> None:
    """Not as the locale says. What is in an archive is bytes."""
    takes_text = {"open", "fdopen", "read_text", "write_text", "TextIOWrapper"}
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not node.args + node.keywords:
                continue
            called = ast.unparse(node.func)
            if called == "archive.open" or called.rpartition(".")[2] not in takes_text:
                continue
            given: set[object] = {k.arg for k in node.keywords}
            given |= {a.value for a in node.args if isinstance(a, ast.Constant)}
            assert given & {"encoding", "utf-8", "rb", "wb", "xb", "wait", "upgrade"}, (
                f"{path.name}:{node.lineno}"
            )


def test_pgvector_is_imported_by_names_that_its_old_versions_have(
    trees: dict[Path, ast.Module],
) -> None:
    """langchain-postgres pins it below 0.4, where the package itself exports nothing."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("pgvector"):
                names = [f"{node.module}.{a.name}" for a in node.names]
            assert {n for n in names if n.startswith("pgvector")} <= {
                "pgvector.psycopg.halfvec.HalfVector",
                "pgvector.psycopg.halfvec.register_halfvec_info",
                "pgvector.sqlalchemy.HALFVEC",
            }, path.name


def test_what_the_makefile_and_the_summary_name_exists() -> None:
    # pytest takes a path that is not there for a reason to run nothing
    targets = ["unit", "test", "test-16", "test-quality", "test-long", "test-report", "test-page"]
    targets += ["chaos", "fuzz", "test-matrix", "test-releases", "test-killed", "stress-keyword"]
    printed = subprocess.run(
        ["make", "--dry-run", *targets], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    named = {*re.findall(r"\btests/[\w./]+", printed), *(path.partition("::")[0] for path in ON_16)}
    assert len(named) > 30
    assert sorted(path for path in named if not (ROOT / path).exists()) == []
