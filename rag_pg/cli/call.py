"""`rag-pg call`: every public SQL function, by its name and the names of its arguments."""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_pg import console
from rag_pg.console import Column, Dsn, command
from rag_pg.errors import InvalidInput

if TYPE_CHECKING:
    from rag_pg.db import Database
    from rag_pg.types import FunctionArgument, FunctionInfo

LONGEST_CELL = 240  # columns of a field of several rows on a terminal
COMMENT_WIDTH = 100  # of the lines of a comment in sql/
EXAMPLES = {  # by type: how a value is written
    "boolean": "true",
    "bytea": "@FILE",
    "date": "2026-03-31",
    "double precision": "0.5",
    "integer": "10",
    "bigint": "10",
    "interval": "'30 days'",
    "jsonb": """'{"key": "value"}'""",
    "regclass": "public.articles",
    "timestamp with time zone": "'2026-03-31 12:00+02'",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "halfvec": "'[0.1, 0.2, 0.3]'",
}


@command
def call(
    context: typer.Context,
    function: Annotated[
        str | None, typer.Argument(help="Its name, as rag.help() tells it; none: all are listed.")
    ] = None,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE]…",
            help="@FILE or - (standard input) in the place of a value reads it, NULL is no value;"
            " an array is written as '{a, b}' or as JSON.",
        ),
    ] = None,
    find: Annotated[
        str | None, typer.Option(help="List the functions that speak of this, the best first.")
    ] = None,
    help_: Annotated[
        bool, typer.Option("--help", "-h", help="Show this, or what a function does.")
    ] = False,
    dsn: Dsn = None,
) -> None:
    """Call a public SQL function: its result as a table, or as JSON."""
    if help_ and function is None:
        console.write(context.get_help(), end="")
        return
    if function is not None and find is not None:
        raise InvalidInput("a function was named and --find given; use one of both")
    with console.open_database(dsn) as database:
        if function is None:
            _list(database, find)
            return
        if help_:
            describe(database, find_function(database, function))
            return
        found, rows = call_function(database, function, arguments or ())
    _print(found, rows)


def call_function(
    database: Database, name: str, arguments: Sequence[str]
) -> tuple[FunctionInfo, list[dict[str, Any]]]:
    """Return the public function of that name and what it gives for these NAME=VALUE.
    Raises: InvalidInput, and what the function does."""
    found = find_function(database, name)
    given = dict(_values(database, found, arguments))
    return found, database.call_by_texts(found, given, console.note)


def _list(database: Database, about: str | None) -> None:
    found = database.help(about)
    if console.as_json.get() or not console.is_terminal(sys.stdout):
        console.listing(found, ("topic", "function", "purpose", "example"), empty="")
        return
    columns = (Column("function", value=_short), Column("purpose", shrinks=True))
    topics = dict.fromkeys(row["topic"] for row in found) if about is None else [None]
    for number, topic in enumerate(topics):
        if topic is not None:
            console.write("\n" * bool(number), (topic, "bold"))
        console.listing([row for row in found if topic in (None, row["topic"])], columns)
    console.write_message("one of them: rag-pg call FUNCTION --help")


def _short(row: Mapping[str, Any]) -> str:
    return str(row["function"]).rpartition(".")[2]


def find_function(database: Database, name: str) -> FunctionInfo:
    known = database.public_functions()
    wanted = name.removeprefix(f"{database.schema}.")
    if wanted not in known:
        raise InvalidInput(
            f"there is no public function {name!r}{_meant(wanted, known)}; rag-pg call lists them"
        )
    (found,) = database.find_functions(database.schema, wanted)
    return found


def _meant(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


# --- values --------------------------------------------------------------------------------------


def _values(
    database: Database, function: FunctionInfo, texts: Sequence[str]
) -> Iterator[tuple[str, str | bytes | None]]:
    """Yield the arguments that were given, as their types read them. Raises: InvalidInput."""
    known = {one.name: one for one in function.arguments}
    seen: set[str] = set()
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in known:
            wrong = (
                f"no argument {name!r}" if equals else f"{text!r} is no argument; write NAME=VALUE"
            )
            raise InvalidInput(
                f"{wrong}{_meant(name, list(known))}; {function.name} takes"
                f" {', '.join(known) or 'none'}"
            )
        if name in seen:
            raise InvalidInput(f"{name} was given twice")
        if value == "-" and any(other.endswith("=-") for other in texts if other != text):
            raise InvalidInput("standard input can be read for one argument only")
        seen.add(name)
        yield name, _value(database, known[name], value)
    for one in function.arguments:
        if one.default is None and one.name not in seen:
            raise InvalidInput(f"{one.name} ({one.type}) is missing; write {_example(one)}")


def _value(database: Database, argument: FunctionArgument, text: str) -> str | bytes | None:
    if text == "NULL":
        return None
    if text == "-" or text.startswith("@"):
        read = _read(argument, text)
        if argument.type == "bytea":
            return read
        try:
            text = read.decode()
        except UnicodeDecodeError as exc:
            raise InvalidInput(f"{argument.name} is {argument.type}, not UTF-8: {exc}") from exc
    if "\0" in text:
        raise InvalidInput(f"{argument.name} holds a NUL character, which no text can: take it out")
    if argument.category == "A" and text.lstrip().startswith("["):
        text = _array(text)
    elif argument.type == "jsonb":
        text = _object(text)
    try:
        fault = database.value_fault(argument, text)
    except InvalidInput as exc:  # a type that cannot say it in another way
        fault = str(exc)
    if fault is not None:
        raise InvalidInput(
            f"{argument.name} is of type {argument.type}: {fault}; write {_example(argument)}"
        )
    return text


def _read(argument: FunctionArgument, text: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if text == "-" else Path(text[1:]).read_bytes()
    except (OSError, ValueError) as exc:
        raise InvalidInput(f"cannot read {argument.name}: {exc}") from exc


def _array(text: str) -> str:
    """Return an array of JSON as PostgreSQL writes one; anything else as it is."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _braces(items)


def _braces(items: Any) -> str:
    if isinstance(items, list):
        return "{" + ",".join(map(_braces, items)) + "}"
    if items is None:
        return "NULL"
    text = items if isinstance(items, str) else json.dumps(items)
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'


def _object(text: str) -> str:
    """Return kind=contract as {"kind": "contract"}; anything else as it is."""
    return json.dumps(console.parsed_pairs(text)) if re.match(r"[\w.-]+=", text) else text


def _example(argument: FunctionArgument) -> str:
    plain_type = argument.type.removesuffix("[]").rpartition(".")[2]
    value = argument.labels[0] if argument.labels else EXAMPLES.get(plain_type, "text")
    if argument.category == "A":
        value = f"'{{{value}}}'" if "'" not in value else f"'[…, …]', each like {value}"
    return f"{argument.name}={value}"


# --- printing ------------------------------------------------------------------------------------


def _print(function: FunctionInfo, rows: Sequence[Mapping[str, Any]]) -> None:
    """A value by itself, a row as a line for each field, rows as a table."""
    if function.result == "SETOF jsonb" and all(
        isinstance(row[function.name], dict) for row in rows
    ):
        rows = [row[function.name] for row in rows]
    if function.result == "void" or (function.kind == "p" and not rows):
        console.write_message("done")
    elif console.as_json.get() or not console.is_terminal(sys.stdout) or not rows:
        console.listing(rows)
    elif len(rows) > 1:
        console.listing(rows, [Column(name, _cell) for name in rows[0]])
    elif len(rows[0]) > 1:
        console.print_fields({name: _shown(value) for name, value in rows[0].items()})
    else:
        (value,) = rows[0].values()
        console.write(
            value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
        )


def _cell(value: Any) -> str:
    return console.shortened(_shown(value), LONGEST_CELL)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else console.plain(value)


def describe(database: Database, function: FunctionInfo) -> None:
    """Print how a function is called, its comment, its arguments and what it gives."""
    listed = [
        row
        for row in database.help(f"{database.schema}.{function.name}")
        if _short(row) == function.name
    ]
    example = listed[0]["example"] if listed else None
    if console.as_json.get():
        console.listing([{
            "function": function.name, "comment": function.comment, "example": example,
            "arguments": [
                {"name": one.name, "type": one.type, "default": one.default}
                for one in function.arguments
            ],
            "result": function.result,
        }])  # fmt: skip
        return
    needed = [f"{one.name}=…" for one in function.arguments if one.default is None]
    more = ["[NAME=VALUE]…"] if len(needed) < len(function.arguments) else []
    console.write_filled(" ".join([f"rag-pg call {function.name}", *needed, *more]), style="bold")
    console.write()
    for line in _unfilled(function.comment.partition("\nCircle: ")[0]):
        console.write_filled(line, indent=0)
    if function.arguments:
        console.write("\n", ("arguments", "bold"))
    longest = max((len(one.name) for one in function.arguments), default=0)
    for one in function.arguments:
        default = "" if one.default is None else f", default {_literal(one.default)}"
        console.write_filled(
            f"{one.type}{default}", f"  {one.name:{longest}}  ", indent=longest + 4
        )
    if function.result not in (None, "void"):
        console.write("\n", ("result", "bold"))
        console.write_filled(str(function.result), "  ", indent=4)
    if example:
        console.write("\n", ("in SQL", "bold"))
        for line in example.splitlines():
            console.write(f"  {line}")


def _literal(default: str) -> str:
    """Return a default without the cast that PostgreSQL writes behind it."""
    return re.sub(r"(.)::[\w. \[\]\"]+$", r"\1", default)


def _unfilled(comment: str) -> list[str]:
    """Return the lines of a comment, of which those that were parted for their length are one."""
    lines: list[str] = []
    before = ""
    for line in comment.splitlines():
        if before and line and len(f"{before} {line.partition(' ')[0]}") > COMMENT_WIDTH:
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        before = line
    return lines
