"""Write docs/reference/sql-api.md from the comments of schema rag, as PostgreSQL itself keeps them.

The table at the end of sql/README.md is written, too:
each file, its first line, its public functions.

python docs/generate_sql_api.py [DSN]    without a DSN: on a temporary embedded server
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from rag_pg import errors
from rag_pg.db import schema
from rag_pg.db.embedded import EmbeddedServer

TARGET = Path(__file__).parent / "reference" / "sql-api.md"
MAP = schema.share("sql") / "README.md"

# A function that is not named here is shown under "Internal functions".
PUBLIC: dict[str, tuple[str, tuple[str, ...]]] = {
    "Collections": (
        "A collection is a corpus with one language, one chunking and one active embedding space.",
        (
            "create_collection",
            "list_collections",
            "get_collection",
            "collection_stats",
            "alter_collection",
            "collection_version",
            "set_chunking",
            "preset_chunking",
            "drop_collection",
            "drop_vector_index",
            "build_vector_index",
            "index_progress",
        ),
    ),
    "Embedding spaces": (
        (
            "A space holds one model's vectors of a collection. Another model's are built beside"
            " the active ones."
        ),
        (
            "create_space",
            "list_spaces",
            "measure_spaces",
            "compare_spaces",
            "activate_space",
            "rollback_space",
            "drop_space",
            "assert_active_space",
        ),
    ),
    "Cache": (
        "What clients computed once and read again while nothing that it depends on has changed.",
        ("cache_stats", "clear_cache"),
    ),
    "Documents": (
        (
            "A document is a text with a uri, a title and metadata. Putting it queues the work that"
            " makes it searchable."
        ),
        (
            "put_document",
            "put_documents",
            "wait_until_searchable",
            "get_document",
            "list_documents",
            "delete_document",
            "delete_documents",
            "keep_original",
            "get_original",
        ),
    ),
    "Chunks": (
        (
            "Chunks that were made elsewhere, with or without their embeddings, can be stored"
            " directly."
        ),
        ("put_chunks", "load_staged"),
    ),
    "Search": (
        "A search function returns rows of type rag.hit, best first, and writes nothing.",
        (
            "search",
            "search_keyword",
            "search_vector",
            "search_variants",
            "check_citation",
            "more_like",
            "expand",
            "snippet",
            "explain_search",
            "why_not",
            "explain_keyword",
            "match_terms",
            "detect_language",
            "score_keyword",
            "boost",
            "diversify",
            "auto_weight",
        ),
    ),
    "Counts, facets and order": (
        "Questions that the metadata of documents answers, with the filters of a search.",
        (
            "count_documents",
            "facets",
            "select_documents",
            "describe_metadata",
            "aggregate_documents",
            "find_values",
        ),
    ),
    "History": (
        (
            "Texts that were replaced or deleted, and answers with their questions, for as long as"
            " a collection keeps them; and erasure from everything."
        ),
        (
            "list_versions",
            "document_at",
            "diff_versions",
            "log_answer",
            "list_answers",
            "feedback",
            "replay_answer",
            "add_logged_queries",
            "erase",
        ),
    ),
    "Views": (
        (
            "Views of the application's own tables that questions may be put to, with typed and"
            " bound parameters."
        ),
        ("expose_view", "list_views", "query_view", "hide_view"),
    ),
    "Filters": (
        (
            "A filter is a JSON object over metadata, the same in every search; filters.md"
            " describes the language."
        ),
        ("index_field", "unindex_field", "list_fields", "field_index_statement", "compile_filter"),
    ),
    "Jobs": (
        "A job is one unit of queued work. Workers in any language use these functions.",
        (
            "take_jobs",
            "job_input",
            "store_chunks",
            "chunks_to_embed",
            "store_embeddings",
            "enrich_document",
            "extraction_input",
            "store_extraction",
            "context_input",
            "store_contexts",
            "extend_job",
            "extend_jobs",
            "finish_job",
            "finish_jobs",
            "fail_job",
            "release_job",
            "retry_jobs",
            "list_jobs",
            "explain_job",
            "job_stats",
            "search_status",
            "pending_documents",
            "queue_backlog",
            "space_settings",
        ),
    ),
    "Enrichment": (
        "Metadata that rules or a language model find in documents, and contexts of chunks.",
        (
            "set_enrichment",
            "preview_enrichment",
            "set_extraction",
            "set_contexts",
            "estimate_enrichment",
            "get_enrichment",
        ),
    ),
    "Sources": (
        "A source is a table of the application's own that a collection follows.",
        ("attach_source", "list_sources", "sync_source", "detach_source"),
    ),
    "Requests": (
        (
            "With these procedures psql and other programs search and ask with a worker's model."
            " Workers in any language take and answer requests."
        ),
        ("search_text", "hits", "ask", "embed_query", "take_request", "answer_request"),
    ),
    "Workers and budgets": (
        (
            "Workers say that they live. A budget limits what all of them together ask of a"
            " provider of models."
        ),
        (
            "heartbeat",
            "forget_worker",
            "list_workers",
            "set_budget",
            "list_budgets",
            "take_budget",
            "block_provider",
            "throttled_spaces",
            "usage_report",
            "record_usage",
        ),
    ),
    "Evaluation": (
        (
            "A set holds questions with what is right for them; a run is what a collection gave"
            " for them."
        ),
        (
            "put_eval_set",
            "add_eval_query",
            "put_eval_queries",
            "put_eval_embeddings",
            "list_eval_sets",
            "list_eval_queries",
            "delete_eval_queries",
            "drop_eval_set",
            "eval_drift",
            "corpus_fingerprint",
            "evaluate_search",
            "start_eval_run",
            "put_eval_results",
            "finish_eval_run",
            "list_eval_runs",
            "set_eval_baseline",
            "drop_eval_run",
            "set_gate",
            "drop_gate",
            "list_gates",
            "check_gates",
            "list_gate_checks",
            "log_query",
            "replay_queries",
            "measure_recall",
            "list_recall",
            "test_regression",
            "eval_metrics",
            "query_metrics",
            "ndcg",
            "recall",
            "precision_at",
            "hit_rate",
            "mrr",
            "average_precision",
            "risk_coverage",
            "token_f1",
            "contains_answer",
            "compare_runs",
            "compare_queries",
            "adjust_p_values",
            "put_eval_scores",
            "score_answers",
            "measure_judge",
        ),
    ),
    "Calibration": (
        "When a collection's answers are right, and how often: measured, stored, told.",
        (
            "put_calibration",
            "get_calibration",
            "calibration_curve",
            "drop_calibration",
            "clopper_pearson",
        ),
    ),
    "Text": (
        "What a worker in another language has to compute in exactly the same way.",
        ("embedded_text", "content_hash", "document_id"),
    ),
    "Maintenance and versions": (
        "What a client checks when it opens, and what an idle worker does.",
        (
            "help",
            "status",
            "version",
            "api_version",
            "min_api_version",
            "grant_access",
            "revoke_access",
            "list_access",
            "doctor",
            "audit",
            "advise",
            "audit_table",
            "set_fingerprint",
            "maintain",
            "maintain_in_steps",
            "maintain_step",
            "maintenance_steps",
            "note_maintenance",
            "pending_indexes",
            "remove_dropped",
            "follow_sources",
            "follow_source",
            "due_sources",
            "break_source",
        ),
    ),
}
TYPES = ("hit", "document_info", "collection_info", "finding", "status_line")

INTRODUCTION = """\
# SQL functions

This page lists every function of schema `rag`. It is generated from the comments in the database
by `make docs`; edit the comments in `sql/`, not this page. In psql,
`SELECT * FROM rag.help();` gives each public function with an example (`\\x auto` fits it to the
window), `\\df rag.[a-z]*` their arguments without the internal functions, and `\\df+ rag.search` a
whole text.

The public functions are the contract of rag_pg. Call them by name and pass optional arguments by
name, for example `rag.search('docs', 'backup', result_limit => 5)`. The tables are private: their
columns may change with any release.

## Error codes

A wrong argument is an error with a code of its own. Its message says what was wrong, and its hint
says how to mend it. Python raises the class that stands beside the code.
"""


class Routine(NamedTuple):
    name: str
    kind: str  # f or p, as pg_proc.prokind
    arguments: str
    result: str | None
    comment: str


def render(dsn: str) -> str:
    """Return the page for the schema that is installed at `dsn`."""
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "SELECT set_config('search_path', 'pg_catalog, ' || quote_ident(n.nspname), true) FROM"
            " pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname ="
            " 'vector'"
        )
        routines = {r.name: r for r in _routines(connection)}
        types = [_type(connection, name) for name in TYPES]
    public = {name for _, names in PUBLIC.values() for name in names}
    if missing := sorted(public - routines.keys()):
        raise SystemExit(f"PUBLIC names functions that do not exist: {', '.join(missing)}")
    parts = [INTRODUCTION, *_codes()]
    for heading, (about, names) in PUBLIC.items():
        parts.append(f"## {heading}\n\n{about}\n")
        parts += (_section(routines[name]) for name in names)
    parts.append("## Types\n\nThe search and document functions return rows of these types.\n")
    parts += types
    parts.append(
        "## Internal functions\n\nThe public functions are made of these. They may change with any"
        " release.\n"
    )
    parts += (_section(routines[name]) for name in sorted(routines.keys() - public))
    return "\n".join(parts)


def _routines(connection: psycopg.Connection[Any]) -> Iterator[Routine]:
    rows = connection.execute(
        """
        SELECT p.proname, p.prokind, pg_get_function_arguments(p.oid),
            pg_get_function_result(p.oid),
               obj_description(p.oid, 'pg_proc')
        FROM pg_proc AS p
        WHERE p.pronamespace = 'rag'::regnamespace
            AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.objid = p.oid AND d.deptype = 'e')
        ORDER BY p.proname
        """
    )
    return (Routine(*row) for row in rows.fetchall())


def _section(routine: Routine) -> str:
    return f"### rag.{routine.name}\n\n```sql\n{_signature(routine)}\n```\n\n{routine.comment}\n"


def _signature(routine: Routine) -> str:
    """The signature, one argument a line when it would be long."""
    arguments = [_plain(a) for a in _split(routine.arguments)]
    call = "CALL " if routine.kind == "p" else ""
    result = f" → {_plain_result(routine.result)}" if routine.result else ""
    line = f"{call}rag.{routine.name}({', '.join(arguments)})"
    if len(line) > 90:
        line = f"{call}rag.{routine.name}(\n    " + ",\n    ".join(arguments) + ")"
    return line + result


def _plain_result(result: str) -> str:
    """TABLE (…) with its columns on lines of their own when they are many."""
    inside = re.fullmatch(r"TABLE\((.*)\)", result)
    if inside is None:
        return result
    if len(result) < 60:
        return f"TABLE ({inside[1]})"
    return "TABLE (\n    " + ",\n    ".join(_split(inside[1])) + ")"


def _plain(argument: str) -> str:
    """`name type DEFAULT value`, without PostgreSQL's cast of the value and word for IN."""
    argument = argument.removeprefix("IN ")
    return re.sub(r"(DEFAULT .+?)::[\w. \[\]]+$", r"\1", argument)


def _split(listed: str) -> list[str]:
    """Split at commas that stand outside quotes and brackets."""
    return [
        part.strip()
        for part in re.findall(r"(?:'(?:[^']|'')*'|\([^)]*\)|[^,'(])+", listed)
        if part.strip()
    ]


def _type(connection: psycopg.Connection[Any], name: str) -> str:
    columns = connection.execute(
        """
        SELECT a.attname, format_type(a.atttypid, a.atttypmod)
        FROM pg_attribute AS a
        WHERE a.attrelid = to_regclass('rag.' || %s) AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY a.attnum
        """,
        (name,),
    ).fetchall()
    comment = connection.execute(
        "SELECT obj_description(to_regtype('rag.' || %s), 'pg_type')", (name,)
    ).fetchone()
    assert comment is not None and columns
    return f"### rag.{name}\n\n{comment[0]}\n\n{_table(('column', 'type'), columns)}\n"


def _codes() -> Iterator[str]:
    rows = [
        (f"`{code}`", f"`{kind.__name__}`", (kind.__doc__ or "").splitlines()[0])
        for code, kind in errors.SQLSTATES.items()
    ]
    yield _table(("SQLSTATE", "Python class", "meaning"), rows) + "\n"


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(heads), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def render_map(page: str) -> str:
    """Return sql/README.md with the table of the files that are there:
    what follows its last heading."""
    rows = []
    for path in schema.sql_files():
        text = path.read_text(encoding="utf-8")
        created = re.findall(r"^CREATE OR REPLACE \w+ rag\.([a-z]\w*)", text, re.MULTILINE)
        name = path.relative_to(MAP.parent).as_posix()
        about = text.partition("\n")[0].removeprefix("-- ")
        rows.append((f"`{name}`", about, ", ".join(f"`{function}`" for function in created)))
    written = (
        page[: page.index("## The map")]
        + "## The map\n\n`make docs` writes this table: a file's first line, and the public"
        " functions in it.\n\n"
    )
    return written + _table(("file", "what is in it", "public functions"), rows) + "\n"


def main() -> None:
    MAP.write_text(render_map(MAP.read_text(encoding="utf-8")), encoding="utf-8")
    if len(sys.argv) > 1:
        page = render(sys.argv[1])
    else:
        folder = Path(tempfile.mkdtemp(prefix="rag-pg-"))
        folder.chmod(0o755)  # under root the server runs as another user
        server = EmbeddedServer(folder / "data")
        try:
            dsn = server.start()
            schema.upgrade(dsn)
            page = render(dsn)
        finally:
            server.stop()
            shutil.rmtree(folder, ignore_errors=True)
    TARGET.write_text(page, encoding="utf-8")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
