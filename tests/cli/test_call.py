"""`rag-pg call`: every public function, by the types of the catalogue."""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path

import command_line
import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from sql_calls import fill

from rag_pg import PermissionDenied, Rag, RagError, SchemaMismatch
from rag_pg.cli.call import call_function, describe, find_function

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
BY_TYPE = {
    "bigint": "1", "boolean": "true", "bytea": "xy", "date": "2026-03-31",
    "double precision": "0.5", "integer": "1", "interval": "1 second", "jsonb": "{}",
    "regclass": "app.articles",
    "regconfig": "english", "text": "word", "timestamp with time zone": "2026-03-31 12:00",
    "uuid": "00000000-0000-0000-0000-000000000000", "halfvec": "[1, 0, 0]", "spaces": "NULL",
}  # fmt: skip
HOSTILE = "x' \"; \\ $$ :date: [bold] 漢字 \x1b[31m \u202e %s {} \t\n end"
OPENING = ("api_version", "min_api_version", "help")
BY_NAME = {
    "collection": "docs",
    "collection_name": "docs",
    "timeout": "0.01",
    "timeout_seconds": "0",
}


@pytest.fixture(scope="module")
def world(new_database: Callable[..., str], template: str) -> str:
    """A database with a bit of everything."""
    dsn = new_database(template)
    with psycopg.connect(dsn, autocommit=True) as connection:
        fill(connection)
    return dsn


@pytest.fixture(scope="module")
def stranger(world: str) -> Iterator[str]:
    """As the role that may open the schema and ask for help, and nothing else."""
    name = f"stranger_{os.getpid()}"
    with psycopg.connect(world, autocommit=True) as connection:
        connection.execute(
            f"CREATE ROLE {name} LOGIN; GRANT USAGE ON SCHEMA rag TO {name}".encode()
        )
        for function, *_ in connection.execute(
            "SELECT p.oid::regprocedure::text FROM pg_proc AS p WHERE p.proname = ANY (%s)"
            " AND p.pronamespace = 'rag'::regnamespace",
            [[*OPENING, "_public_functions"]],
        ).fetchall():
            connection.execute(f"GRANT EXECUTE ON FUNCTION {function} TO {name}".encode())
        yield make_conninfo(world, user=name)
        connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}".encode())


@pytest.fixture
def cli(world: str, tmp_path: Path) -> Cli:
    def run(
        *arguments: str, dsn: str = world, terminal: bool = False, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {"RAG_PG_DSN": dsn, "RAG_PG_HOME": str(tmp_path), "COLUMNS": "80"}
        if terminal:
            environment |= {"FORCE_COLOR": "1", "NO_COLOR": "1"}
        return command_line.run(
            "call", *arguments, environment=environment, cwd=tmp_path, input=input
        )

    return run


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """What an error says: in one line, with nothing on stdout."""
    assert done.returncode in (1, 2) and done.stdout == "", done
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("note:")]
    assert line.startswith("error: ")
    return line


def public(dsn: str) -> dict[str, list[tuple[str, str, bool]]]:
    """The arguments of each public function: name, type, whether it has to be given."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            """SELECT p.proname, coalesce(a.arguments, '[]')
               FROM pg_proc AS p, LATERAL (
                   SELECT jsonb_agg(jsonb_build_array(
                       p.proargnames[u.position], format_type(u.type, NULL),
                       pg_get_function_arg_default(p.oid, u.position::integer) IS NULL)
                       ORDER BY u.position) AS arguments
                   FROM ROWS FROM (
                       unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])),
                       unnest(p.proargmodes)) WITH ORDINALITY AS u (type, mode, position)
                   WHERE coalesce(u.mode, 'i') IN ('i', 'b')) AS a
               WHERE p.pronamespace = 'rag'::regnamespace AND p.proname !~ '^_'"""
        ).fetchall()
    return {name: [tuple(one) for one in arguments] for name, arguments in rows}


def sample(name: str, type: str) -> str:
    plain = type.removesuffix("[]").rpartition(".")[2]
    value = BY_NAME.get(name) or BY_TYPE[plain]
    return f"{name}={{}}" if type.endswith("[]") else f"{name}={value}"


def test_every_public_function_is_called_with_values_and_with_nulls(world: str) -> None:
    """Each comes to rows, or to an error in one line that is the function's own."""
    functions = public(world)
    assert len(functions) > 100
    answered = set()
    with Rag(world) as rag:
        for name, arguments in functions.items():
            bounded = [one for one in arguments if one[2] or one[0] in BY_NAME]
            for given in (
                [sample(argument, type) for argument, type, _ in bounded],
                [f"{argument}=NULL" for argument, _, needed in arguments if needed]
                + [sample(argument, type) for argument, type, needed in bounded if not needed],
            ):
                try:
                    json.dumps(call_function(rag.database, name, given)[1])
                    answered.add(name)
                except RagError as error:
                    assert "\n" not in str(error), (name, given)
                    assert not isinstance(error, SchemaMismatch), (name, given, error)
                    assert "of type" not in str(error), (name, given, error)
    assert len(answered) > len(functions) / 2


def test_the_role_with_the_fewest_rights_reads_about_all_and_is_refused_in_one_line(
    cli: Cli, world: str, stranger: str
) -> None:
    listed = [json.loads(line) for line in cli("--json", dsn=stranger).stdout.splitlines()]
    functions = public(world)
    assert {row["function"] for row in listed} == {f"rag.{name}" for name in functions}
    with Rag(stranger) as rag:
        for name in functions.keys() - set(OPENING):
            arguments = find_function(rag.database, name).arguments
            given = [sample(one.name, one.type) for one in arguments if one.default is None]
            with pytest.raises(PermissionDenied, match="^permission denied for "):
                call_function(rag.database, name, given)
    assert cli("api_version", dsn=stranger).stdout.strip().isdecimal()
    assert complaint(cli("version", dsn=stranger)).startswith("error: permission denied")
    (described,) = map(json.loads, cli("search", "-h", "--json", dsn=stranger).stdout.splitlines())
    assert described["arguments"][0] == {"name": "collection", "type": "text", "default": None}


def test_a_result_is_a_value_fields_a_table_or_objects(cli: Cli) -> None:
    assert cli("count_documents", "collection=docs", "metadata_filter=n=3").stdout == "5\n"
    assert cli("rag.version", terminal=True).stdout == cli("version").stdout
    piped = cli("list_fields", "collection=docs").stdout
    assert [line.split("\t")[:2] for line in piped.splitlines()] == [
        ["day", "timestamptz"], ["n", "numeric"],
    ]  # fmt: skip
    told = [json.loads(line) for line in
            cli("list_fields", "collection=docs", "--json").stdout.splitlines()]  # fmt: skip
    assert [row["field"] for row in told] == ["day", "n"]
    shown = cli("list_fields", "collection=docs", terminal=True).stdout
    assert shown.splitlines()[0].split()[:2] == list(told[0])[:2]
    one = cli("get_document", "collection=docs", "uri=p1", terminal=True).stdout
    assert "content" in one and "  a text of fish\n" in one
    nothing = cli("find_values", "collection=docs", "field=tag", "query=zzzz")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "nothing found\n")
    done = cli("set_budget", "provider=openai", "requests_per_minute=5")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "done\n")


def test_values_are_read_from_files_and_standard_input(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_text(HOSTILE, encoding="utf-8")
    put = ("put_document", "collection=docs", "uri=odd", "content=@odd.txt")
    assert cli(*put, 'metadata={"tag": "a"}').returncode == 0
    read = ("get_document", "collection=docs", "uri=odd", "--json")
    assert json.loads(cli(*read).stdout)["content"] == HOSTILE
    assert cli("put_document", "collection=docs", "uri=odd", "content=-", input="Two").stdout
    assert json.loads(cli(*read).stdout)["content"] == "Two"
    (tmp_path / "raw.bin").write_bytes(b"\x00\xff")
    kept = cli("keep_original", "collection=docs", "uri=odd", "data=@raw.bin", "file_name=raw.bin",
               "media_type=application/pdf")  # fmt: skip
    assert kept.returncode == 0, kept.stderr
    found = json.loads(cli("get_original", "collection=docs", "uri=odd", "--json").stdout)
    assert (found["data"], found["size"]) == ("\\x00ff", 2)
    assert "not UTF-8" in complaint(cli(*put[:-1], "content=@raw.bin"))
    assert "cannot read content" in complaint(cli(*put[:-1], "content=@none.txt"))
    assert "one argument only" in complaint(cli(*put[:-2], "uri=-", "content=-"))


def test_arrays_intervals_and_truths_are_read_by_the_types_of_the_catalogue(cli: Cli) -> None:
    for uris in ("{p1,p2}", '["p1", "p2"]', '["p1", null, "p2"]'):
        given = ("collection=docs", f"uris={uris}")
        done = cli("delete_documents", *given)
        assert done.returncode == 0, done.stderr
    assert cli("find_values", "collection=docs", "field=tag", "query=a", "result_limit=NULL").stderr
    quoted = ["collection=docs", r'uris=["a\"b\\\\c,{}", "NULL"]']
    assert cli("delete_documents", *quoted).returncode == 0
    altered = cli("alter_collection", "collection=docs", "keep_versions=36 hours",
                  "keep_original=yes")  # fmt: skip
    assert altered.returncode == 0, altered.stderr
    info = json.loads(cli("get_collection", "name=docs", "--json").stdout)
    assert (info["keep_versions"], info["keep_original"]) == (129600, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nosuch",), ("no public function 'nosuch'", "rag-pg call")),
        (("serach",), ("did you mean 'search'",)),
        (("_queue_jobs",), ("no public function '_queue_jobs'",)),
        (('version(); DROP SCHEMA rag; --',), ("no public function",)),
        (('version"',), ("no public function",)),
        (("count_documents",), ("collection (text) is missing", "collection=")),
        (("count_documents", "docs"), ("'docs' is no argument; write NAME=VALUE", "collection")),
        (("count_documents", "colection=docs"), ("did you mean 'collection'",)),
        (("count_documents", 'collection) => 1); --=docs'), ("no argument",)),
        (("count_documents", "collection=a", "collection=b"), ("given twice",)),
        (("count_documents", "collection=' OR 1=1"), ("there is no collection",)),
        (("count_documents", "collection=docs", "metadata_filter={odd"),
         ("metadata_filter is of type jsonb", "write metadata_filter='{")),
        (("list_documents", "collection=docs", "result_limit=many"),
         ("result_limit is of type integer", '"many"', "write result_limit=10")),
        (("list_documents", "collection=docs", "result_limit=99999999999"), ("out of range",)),
        (("delete_documents", "collection=docs", "uris=p1"), ("text[]", "write uris=")),
        (("alter_collection", "collection=docs", "keep_versions=soon"),
         ("interval", "'30 days'")),
        (("alter_collection", "collection=docs", "keep_original=perhaps"), ("boolean", "=true")),
        (("search_vector", "collection=docs", "query_embedding=here"),
         ("halfvec", "'[0.1, 0.2, 0.3]'")),
        (("feedback", "answer_id=7", "rating=1"), ("uuid", "00000000-")),
        (("list_documents", "--find", "x"), ("--find",)),
    ],
)  # fmt: skip
@pytest.mark.few(8)
def test_a_mistake_is_one_line_that_says_how_to_write_it(
    cli: Cli, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    told = complaint(cli(*arguments))
    assert [word for word in words if word not in told] == [], told


def test_a_value_is_bound_whatever_it_holds(cli: Cli) -> None:
    for text in (HOSTILE, "'; DROP SCHEMA rag; --", "%(value0)s %s {} $1", "a=b=c", "\\x", '"'):
        given = ("collection=docs", f"uri={text}", f"content={text}")
        assert cli("put_document", *given).returncode == 0, text
        found = json.loads(cli("get_document", *given[:2], "--json").stdout)
        assert (found["uri"], found["content"]) == (text, text)
        assert cli("delete_document", *given[:2]).stdout == "true\n"


def test_procedures_are_called_outside_of_a_transaction(cli: Cli, world: str) -> None:
    done = cli("maintain")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "done\n")
    assert "no worker" in complaint(
        cli("search_text", "collection=docs", "question=fish", "timeout=0.01")
    )


def test_help_tells_arguments_result_and_an_example(cli: Cli) -> None:
    shown = cli("put_document", "--help", terminal=True).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.startswith("rag-pg call put_document collection=… uri=… content=… [NAME=VALUE]…\n")
    assert "SELECT rag.put_document('docs', 'faq', 'Fish swim.')" in shown
    assert "Usage: rag-pg call" in cli("--help").stdout
    found = cli("--find", "citation", terminal=True)
    assert found.stdout.splitlines()[1].startswith("check_citation")
    assert max(map(len, cli(terminal=True).stdout.splitlines())) <= 80
    assert cli("--find", "xyzzy").stdout == ""


@pytest.mark.minutes
def test_every_function_is_described_at_80_columns(world: str) -> None:
    widest: dict[str, int] = {}
    with Rag(world) as rag, pytest.MonkeyPatch.context() as patch:
        for name, value in {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "80"}.items():
            patch.setenv(name, value)
        for name in public(world):
            with redirect_stdout(io.StringIO()) as shown:
                describe(rag.database, find_function(rag.database, name))
            widest[name] = max(map(len, shown.getvalue().splitlines()))
    assert {name: columns for name, columns in widest.items() if columns > 80} == {}
