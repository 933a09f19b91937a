"""Write docs/reference/sql-api.md from the comments of schema rag, as PostgreSQL itself keeps them.

The table at the end of sql/README.md is written, too:
each file, its first line, its public functions.

python scripts/generate_sql_api.py [DSN]    without a DSN: on a temporary embedded server
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

TARGET = Path(__file__).resolve().parents[1] / "docs" / "reference" / "sql-api.md"
MAP = schema.share("sql") / "README.md"

# What a topic is about; which functions are in it, and in which circle, say their comments.
TOPICS = {
    "Cache": (
        "What clients computed once and read again while nothing that it depends on has changed."
    ),
    "Calibration": (
        "When a collection's answers are right, and how often: measured, stored, told."
    ),
    "Chunks": (
        "Chunks that were made elsewhere, with or without their embeddings, can be stored directly."
    ),
    "Collections": (
        "A collection is a corpus with one language, one chunking and one active embedding space."
    ),
    "Counts and facets": (
        "Questions that the metadata of documents answers, with the filters of a search."
    ),
    "Documents": (
        "A document is a text with a uri, a title and metadata. Putting it queues the work"
        " that makes it searchable."
    ),
    "Embedding spaces": (
        "A space holds one model's vectors of a collection. Another model's are built beside"
        " the active ones."
    ),
    "Enrichment": (
        "Metadata that rules or a language model find in documents, and contexts of chunks."
    ),
    "Evaluation": (
        "A set holds questions with what is right for them; a run is what a collection gave"
        " for them."
    ),
    "Filters": (
        "A filter is a JSON object over metadata, the same in every search; filters.md"
        " describes the language."
    ),
    "History": (
        "Texts that were replaced or deleted, and answers with their questions, for as long"
        " as a collection keeps them; and erasure from everything."
    ),
    "HTTP service": ("Keys of `rag-pg serve`: docs/guides/serve.md."),
    "Jobs": ("A job is one unit of queued work. Workers in any language use these functions."),
    "Maintenance and versions": (
        "What a client checks when it opens, and what an idle worker does."
    ),
    "Requests": (
        "With these procedures psql and other programs search and ask with a worker's model."
        " Workers in any language take and answer requests."
    ),
    "Search": ("A search function returns rows of type rag.hit, best first, and writes nothing."),
    "Sources": ("A source is a table of the application's own that a collection follows."),
    "Tenants": (
        "Each tenant's collections are seen by its own login roles alone: docs/guides/tenants.md."
    ),
    "Text": ("What a worker in another language has to compute in exactly the same way."),
    "Views": (
        "Views of the application's own tables that questions may be put to, with typed and"
        " bound parameters."
    ),
    "Workers and budgets": (
        "Workers say that they live. A budget limits what all of them together ask of a"
        " provider of models."
    ),
}
TYPES = ("hit", "document_info", "collection_info", "finding", "status_line")

INTRODUCTION = """\
# SQL functions

The public functions of schema `rag` are the contract of rag_pg; this page is generated from their
comments in the database by `make docs`: edit the comments in `sql/`, not this page. Call them by
name and pass optional arguments by name, for example
`rag.search('docs', 'backup', result_limit => 5)`. The tables are private, as are the functions
whose names begin with `_`: they may change with any release.

In psql, `SELECT * FROM rag.help();` lists the functions with an example of each (`\\x auto` fits it
to the window), `\\df rag.[a-z]*` their arguments, and `\\df+ rag.search` a whole text, also of the
internal functions.
"""
CODES = """\
## Error codes

A wrong argument is an error with a code of its own. Its message says what was wrong, and its hint
says how to mend it. Python raises the class that stands beside the code.
"""
FIRST = """\
## The twelve functions you need

"""
CIRCLES = {
    "application": "What an application, or somebody in psql, calls.",
    "worker": (
        "What a worker calls, in any language: it takes jobs, makes chunks and vectors and brings"
        " them back. `rag-pg worker` is one."
    ),
    "client": (
        "What rag_pg's own client calls beside these, to log, to evaluate and to calibrate. A"
        " client in another language may do the same."
    ),
}


class Routine(NamedTuple):
    name: str
    kind: str  # f or p, as pg_proc.prokind
    arguments: str
    result: str | None
    comment: str
    circle: str
    first: int | None  # its place among the functions to begin with
    topic: str
    purpose: str
    example: str


def render(dsn: str) -> str:
    """Return the page for the schema that is installed at `dsn`."""
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "SELECT set_config('search_path', 'pg_catalog, ' || quote_ident(n.nspname), true) FROM"
            " pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname ="
            " 'vector'"
        )
        routines = list(_routines(connection))
        types = [_type(connection, name) for name in TYPES]
    parts = [INTRODUCTION, FIRST + "\n\n".join(_first(r) for r in routines if r.first) + "\n"]
    for circle, about in CIRCLES.items():
        parts.append(f"## Circle: {circle}\n\n{about}\n")
        inside = [r for r in routines if r.circle == circle]
        for topic in sorted({r.topic for r in inside}):
            parts.append(f"### {topic}\n\n{TOPICS[topic]}\n")
            parts += (_section(r) for r in inside if r.topic == topic)
    parts.append("## Types\n\nThe search and document functions return rows of these types.\n")
    parts += types
    parts += [CODES, *_codes()]
    return "\n".join(parts)


def _routines(connection: psycopg.Connection[Any]) -> Iterator[Routine]:
    rows = connection.execute(
        """
        SELECT p.proname, p.prokind, pg_get_function_arguments(p.oid),
               pg_get_function_result(p.oid),
               split_part(obj_description(p.oid, 'pg_proc'), E'\\nCircle: ', 1),
               f.circle, CASE WHEN f.ordinality <= 12 THEN f.ordinality END, f.topic, f.purpose,
               f.example
        FROM rag.help() WITH ORDINALITY AS f
        JOIN pg_proc AS p ON p.oid = f.function::regproc
        ORDER BY f.ordinality
        """
    )
    return (Routine(*row) for row in rows.fetchall())


def _first(routine: Routine) -> str:
    link = f"[rag.{routine.name}](#rag{routine.name})"
    return f"{routine.first}. {link}: {routine.purpose}.\n\n```sql\n{routine.example}\n```"


def _section(routine: Routine) -> str:
    return f"#### rag.{routine.name}\n\n```sql\n{_signature(routine)}\n```\n\n{routine.comment}\n"


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
