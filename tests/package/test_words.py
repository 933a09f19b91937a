"""Names are the field's words: none that only this project would understand."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from paths import ROOT
from words import OWN_WORDS, is_own

from rag_pg.db.schema import share, sql_files

# Where names of Python are still to be changed.
TO_CHANGE: tuple[str, ...] = ()


def sql_names(text: str) -> set[str]:
    """The names in a file of sql/: comments, COMMENT ON and plain strings are left out.

    Strings that hold SQL, between $sql$, count.
    """
    text = re.sub(r"^COMMENT ON .*?\$\$.*?\$\$;", "", text, flags=re.M | re.S)
    text = re.sub(r"--[^\n]*|'(?:[^']|'')*'", "", text)
    return set(re.findall(r"[A-Za-z_]\w*", text))


def python_names(tree: ast.AST) -> Iterator[str]:
    """Names of variables, attributes, arguments, functions and classes."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield name


def own_python_names(text: str) -> set[str]:
    return {name for name in python_names(ast.parse(text)) if is_own(name, OWN_WORDS)}


def test_sql_has_no_word_of_its_own() -> None:
    found = {
        path.relative_to(share("sql")).as_posix(): names
        for path in sql_files()
        if path.name not in ("comments.sql", "help.sql")  # they hold prose
        and (names := {name for name in sql_names(path.read_text()) if is_own(name)})
    }
    assert found == {}


def test_python_has_no_word_of_its_own() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): names
        for path in sorted((ROOT / "rag_pg").rglob("*.py"))
        if (names := own_python_names(path.read_text()))
    }
    assert {path: names for path, names in found.items() if not path.startswith(TO_CHANGE)} == {}


def test_a_word_is_found_where_it_is_a_name_and_nowhere_else() -> None:
    code = "-- a place\nSELECT 'said', x.room AS _held_jobs FROM $sql$ SELECT times $sql$;\n"
    code += "COMMENT ON FUNCTION rag.f() IS\n$$What is held in its place.$$;\n"
    assert {name for name in sql_names(code) if is_own(name)} == {"room", "_held_jobs", "times"}
    assert not is_own("placed") and not is_own("timestamps") and is_own("passage_room")
    module = "def f(place): return place.said  # room\n'held'\nclass Room: pass"
    assert own_python_names(module) == {"place", "said", "Room"}
