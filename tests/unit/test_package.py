"""The package's shape: public names, layers, settings."""

import ast
from pathlib import Path

import pytest

import rag_pg
from rag_pg import InvalidInput, Settings, errors

PACKAGE = Path(rag_pg.__file__).parent

# A module imports only from layers above its own; never from its own.
LAYERS = (
    ("errors", "models", "languages", "arguments"),
    ("connect", "fault", "inventory"),
    ("config", "terminal", "pages", "server", "schema", "filters", "vectors", "words", "sentences", "outline", "decode", "load_html", "load_office", "onnx_bert", "gemini_sdk", "chunking", "outline_sql", "health", "db_connect"),
    ("db_collection", "db_space", "db_document", "db_job", "db_worker", "db_search", "db_structured", "find", "load_data", "pack", "outline_code", "outline_turns", "relevance", "sections", "front_matter", "weights", "sentence_transformer", "gemini_client", "prompt", "sqlalchemy"),
    ("db",),
    ("regroup", "header", "heartbeat", "spare", "throttle", "attend", "foreign"),
    ("gemini", "load", "split", "extractive", "layouts"),
    ("embed", "llm", "rerank", "answer", "task", "ingest", "searchable", "sync", "spaces", "adopt"),
    ("pipeline",),
    ("worker",),
    ("collection",),
    ("rag",),
    ("aio", "show"),
    ("command",),
    ("cli_db", "cli_documents", "cli_space", "cli_status", "cli_worker"),
    ("cli", "demo"),
    ("__main__",),
)  # fmt: skip


def imports(path: Path) -> set[str]:
    """The rag_pg modules that a module imports when it is imported itself."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module == "rag_pg":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and str(node.module).startswith("rag_pg."):
            found.add(str(node.module).split(".")[1])
    return found


def test_every_module_is_in_a_layer_and_imports_only_upwards() -> None:
    layer = {name: i for i, names in enumerate(LAYERS) for name in names}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert modules == set(layer)
    for name in modules:
        for used in imports(PACKAGE / f"{name}.py") & set(layer):
            allowed = layer[used] < layer[name] or layer[name] == 0
            assert allowed, f"{name} imports {used}"


def test_every_public_name_is_there_and_every_error_is_public() -> None:
    for name in rag_pg.__all__:
        assert getattr(rag_pg, name) is not None
    raised = {n for n in vars(errors) if isinstance(getattr(errors, n), type)}
    assert raised == set(errors.__all__) <= set(rag_pg.__all__)
    assert all(name in (errors.__doc__ or "") for name in raised)


def test_runtime_sql_is_in_the_files_of_the_database() -> None:
    words = ("SELECT ", "INSERT INTO", "DELETE FROM", "UPDATE rag", "CALL rag")
    for path in PACKAGE.glob("*.py"):
        if path.stem.startswith("db_") or path.stem in (
            "schema",
            "inventory",
            "demo",
            "foreign",
        ):  # of others
            continue
        text = path.read_text()
        assert not any(word in text for word in words), path


def test_settings_come_from_the_environment_and_unknown_ones_are_refused() -> None:
    settings = Settings.from_environment(
        {"RAG_PG_DSN": "x", "RAG_PG_MAX_FILE_BYTES": "5", "RAG_PG_EVAL_DATA": "y", "OTHER": "z"}
    )
    assert (settings.dsn, settings.max_file_bytes, settings.llm) == ("x", 5, "extractive")
    with pytest.raises(InvalidInput, match="RAG_PG_DNS; known: .*RAG_PG_DSN"):
        Settings.from_environment({"RAG_PG_DNS": "x"})
    with pytest.raises(InvalidInput, match="number of bytes"):
        Settings.from_environment({"RAG_PG_MAX_FILE_BYTES": "-3"})


def test_every_connection_is_opened_in_one_way() -> None:
    """What a transaction pooler must not keep is then named in one place."""
    for path in PACKAGE.glob("*.py"):
        calls = [
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute)
            and node.attr == "connect"
            and ast.unparse(node.value) in ("psycopg", "psycopg.Connection", "psycopg.AsyncConnection", "Connection")
        ]  # fmt: skip
        assert len(calls) == (path.stem == "connect"), path.name


def test_files_are_read_and_written_as_utf8() -> None:
    """Not as the locale says."""
    takes_text = {"open", "fdopen", "read_text", "write_text", "TextIOWrapper"}
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args + node.keywords:
                continue
            if ast.unparse(node.func).rpartition(".")[2] not in takes_text:
                continue
            said = {k.arg for k in node.keywords}
            said |= {a.value for a in node.args if isinstance(a, ast.Constant)}
            assert said & {"encoding", "utf-8", "rb", "wb", "xb", "wait"}, (
                f"{path.name}:{node.lineno}"
            )


def test_pgvector_is_imported_by_names_that_its_old_versions_have() -> None:
    """langchain-postgres pins it below 0.4, where the package itself exports nothing."""
    for path in PACKAGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("pgvector"):
                names = [f"{node.module}.{a.name}" for a in node.names]
            assert {n for n in names if n.startswith("pgvector")} <= {
                "pgvector.psycopg.halfvec.HalfVector",
                "pgvector.psycopg.halfvec.register_halfvec_info",
                "pgvector.sqlalchemy.HALFVEC",
            }, path.name
