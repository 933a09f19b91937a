"""CONTRIBUTING.md leads to the files that are there."""

from __future__ import annotations

import re

from paths import ROOT, script

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_the_table_of_functions_names_their_files_of_today() -> None:
    generator = script("generate_contributing")
    assert len(generator.TABLE.findall(PAGE)) == 1
    assert generator.written(PAGE) == PAGE, "run: make docs"


def test_the_index_of_decisions_names_those_of_today() -> None:
    generator = script("generate_decisions")
    assert generator.PAGE.read_text(encoding="utf-8") == generator.index(), "run: make docs"


def test_tables_of_guides_say_what_docstrings_say() -> None:
    generator = script("generate_guides")
    pages = [path.read_text(encoding="utf-8") for path in generator.GUIDES.glob("*.md")]
    assert sum(len(generator.TABLE.findall(page)) for page in pages) >= 4
    assert [generator.written(page) for page in pages] == pages, "run: make docs"


def test_every_file_and_folder_that_is_named_is_there() -> None:
    named = re.findall(r"`((?:sql|rag_pg|tests|docs|bench|alembic)/[\w./-]*)`", PAGE)
    assert len(named) > 30
    assert [n for n in named if "000N" not in n and not (ROOT / n).exists()] == []


def test_every_room_and_folder_of_tests_is_described() -> None:
    rooms = {path.parent.name for path in (ROOT / "rag_pg").glob("*/__init__.py")}
    assert {room for room in rooms if f"`{room}`" not in PAGE} == set()
    folders = {p.name for p in (ROOT / "tests").iterdir() if p.is_dir() and any(p.glob("**/*.py"))}
    assert {f for f in folders - rooms if f"`tests/{f}`" not in PAGE} == set()
