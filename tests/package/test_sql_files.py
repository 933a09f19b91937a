"""How the files of sql/ are ordered, headed and named; sql/README.md is their map."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from paths import script

from rag_pg.db.schema import share, sql_files

CREATE = re.compile(r"^CREATE OR REPLACE (?:FUNCTION|PROCEDURE|AGGREGATE) rag\.(\w+)", re.MULTILINE)


@pytest.fixture(scope="module")
def files() -> list[tuple[str, str]]:
    """Path below sql/ and text of each file, in the order in which the loader applies them."""
    return [(p.relative_to(share("sql")).as_posix(), p.read_text()) for p in sql_files()]


@pytest.fixture(scope="module")
def generator() -> Any:
    return script("generate_sql_api")


def bound_early(files: Sequence[tuple[str, str]]) -> list[tuple[str, str, str, str]]:
    """(caller, its file, callee, its file) of the calls that PostgreSQL resolves
    when it creates a function.

    Those are the calls in bodies of LANGUAGE sql that stand outside quotes (RETURN … or BEGIN
    ATOMIC), and those in the defaults of arguments.
    """
    home = {name: file for file, text in files for name in CREATE.findall(text)}
    calls = []
    for file, text in files:
        starts = [*(found.start() for found in CREATE.finditer(text)), len(text)]
        for start, stop in itertools.pairwise(starts):
            function = text[start:stop]
            (caller, *_) = CREATE.findall(function)
            code = re.sub(r"\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'|--[^\n]*", "", function, flags=re.S)
            code = code[: code.index(";")]  # comments and grants follow
            for callee in re.findall(r"\brag\.(\w+)\s*\(", code)[1:]:
                if callee != caller and callee in home:
                    calls.append((caller, file, callee, home[callee]))
    return calls


def too_early(files: Sequence[tuple[str, str]]) -> list[str]:
    """A line for each call to a function that is created later, which says where to move it."""
    order = {
        name: (position, start)
        for position, (_, text) in enumerate(files)
        for start, name in enumerate(CREATE.findall(text))
    }
    return [
        f"sql/{file}: rag.{caller} calls rag.{callee}, which sql/{home} creates later: move"
        f" rag.{caller} into sql/{home}, below it, or rag.{callee} into sql/{file}, above"
        f" rag.{caller}"
        for caller, file, callee, home in bound_early(files)
        if order[callee] > order[caller]
    ]


def test_what_a_sql_function_calls_stands_earlier(files: list[tuple[str, str]]) -> None:
    calls = bound_early(files)
    assert len(calls) >= 10 and any(file != home for _, file, _, home in calls)
    assert too_early(files) == []


def test_a_call_to_a_later_file_is_reported_with_where_to_move_it() -> None:
    one = "CREATE OR REPLACE FUNCTION rag._a()\nRETURNS int\nLANGUAGE sql\nRETURN rag._b() + 1;\n"
    two = "CREATE OR REPLACE FUNCTION rag._b()\nRETURNS int\nLANGUAGE sql\nRETURN 1;\n"
    assert too_early([("x/two.sql", two), ("y/one.sql", one), ("z.sql", "")]) == []
    assert too_early([("x/one.sql", one), ("y/two.sql", two)]) == [
        "sql/x/one.sql: rag._a calls rag._b, which sql/y/two.sql creates later: "
        "move rag._a into sql/y/two.sql, below it, or rag._b into sql/x/one.sql, above rag._a"
    ]
    assert len(too_early([("x/both.sql", one + two)])) == 1
    body = "CREATE OR REPLACE FUNCTION rag._a()\nRETURNS int\nLANGUAGE plpgsql AS $$ rag._b() $$;\n"
    assert too_early([("x/one.sql", body), ("y/two.sql", two)]) == []


def test_every_file_says_in_its_first_line_what_is_in_it(files: list[tuple[str, str]]) -> None:
    for name, text in files:
        first = text.partition("\n")[0]
        assert re.fullmatch(r"-- \S.*\.", first) and len(first) <= 100, name
        assert CREATE.search(text) or name == "admin/comments.sql", name


def test_no_line_is_longer_than_100_columns(files: list[tuple[str, str]]) -> None:
    wide = [
        f"{name}:{number}"
        for name, text in files
        for number, line in enumerate(text.split("\n"), 1)
        if len(line) > 100
    ]
    assert wide == [], "break the lines"


def test_no_string_has_an_escape_that_newer_servers_alone_know(
    files: list[tuple[str, str]],
) -> None:
    r"""E'\v' is the letter v before PostgreSQL 18, and was trimmed from texts there."""
    assert [path for path, text in files if re.search(r"\\v", text)] == []


def test_files_stand_in_a_folder_and_have_plain_names(files: list[tuple[str, str]]) -> None:
    assert [
        name for name, _ in files if not re.fullmatch(r"([a-z_]+/)+[a-z0-9_]*[a-z0-9]\.sql", name)
    ] == []
    assert [name for name, _ in files if re.search(r"/\d", name)] == []


def test_every_public_function_is_in_one_circle(
    files: list[tuple[str, str]], generator: Any
) -> None:
    """And what rag_pg calls by an internal name is in that of clients."""
    described = re.compile(
        r"^COMMENT ON (?:FUNCTION|PROCEDURE) rag\.(\w+)[^$]*IS\s*\$\$(.*?)\$\$;", re.M | re.S
    )
    comments = [found for _, text in files for found in described.findall(text)]
    circles = {name: re.findall(r"^Circle: (.*)$", comment, re.M) for name, comment in comments}
    created = [name for _, text in files for name in CREATE.findall(text)]
    assert len(created) == len(set(created)) and circles.keys() == set(created)
    kinds, topics = "|".join(generator.CIRCLES), "|".join(generator.TOPICS)
    public = {name for name in created if not name.startswith("_")}
    for name in public:
        (circle,) = circles[name]
        assert re.fullmatch(rf"({kinds})(?: \d+)?, ({topics})\.", circle), name
    called = {
        name
        for path in (share("sql").parent / "rag_pg").rglob("*.py")
        if "schema" not in path.parts
        for name in re.findall(r"(?:\brag}?\.|\")(_[a-z]\w*)", path.read_text())
    }
    assert {n for n in circles if circles[n] == ["client."]} == (called & circles.keys()) - public
    assert {n for n in circles if circles[n]} - public == (called & circles.keys()) - public


def test_the_map_of_the_files_is_up_to_date(generator: Any) -> None:
    page = generator.MAP.read_text()
    assert page == generator.render_map(page), "run make docs"


def test_the_map_names_no_file_that_is_not_there(files: list[tuple[str, str]]) -> None:
    names = {name for name, _ in files}
    stems = {Path(name).stem for name in names}
    page = (share("sql") / "README.md").read_text()
    for mentioned in re.findall(r"`([a-z_/]+)\.sql`", page):
        assert f"{mentioned}.sql" in names, mentioned
    order = page[page.index("## Reading order") : page.index("## The map")]
    assert set(re.findall(r"`([a-z_0-9]+)`", order)) <= stems


def test_a_function_without_a_search_path_says_why(files: list[tuple[str, str]]) -> None:
    without = {}
    for _, text in files:
        for found in re.finditer(
            r"CREATE OR REPLACE (?:FUNCTION|PROCEDURE) rag\.(\w+).*?\$\$", text, re.S
        ):
            if "LANGUAGE plpgsql" in found[0] and "SET search_path" not in found[0]:
                without[found[1]] = re.findall(r"--.*(?:SET clause|search_path)", text)
    assert "_as_timestamptz" in without and "ask" in without
    assert [name for name, reasons in without.items() if not reasons] == []


def test_what_functions_say_is_ascii(files: list[tuple[str, str]]) -> None:
    """A client whose encoding has no … would get an error in the place of a result or a hint."""
    of_texts = ("text/language.sql", "admin/comments.sql", "search/snippet.sql")
    for name, text in files:
        code = re.sub(r"COMMENT ON .*?\$\$.*?\$\$;", "", text, flags=re.S)
        code = re.sub(r"--[^\n]*", "", code)
        found = re.findall("[\u2026\u2192\u00d7\u2013].*", code)
        assert name in of_texts or found == [], name
