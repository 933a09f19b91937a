"""What differs between what was installed and what is there, a line each."""

from __future__ import annotations

from collections.abc import Mapping


def damage(differences: int) -> str:
    return (
        f"schema rag is damaged, {differences} differences: DROP SCHEMA rag CASCADE and restore it"
        " from a backup (pg_restore --clean over an installation, or DROP EXTENSION vector CASCADE,"
        " leaves such a mix)"
    )


def table_differences(installed: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    problems = []
    for name in sorted(installed.keys() | present.keys()):
        if name not in present:
            if name.partition(" ")[2].rpartition(".")[0] in _gone(installed, present):
                continue  # with its table
            problems.append(f"{name} is missing")
        elif name not in installed:
            if not name.startswith("index ") or present[name].startswith("CREATE UNIQUE"):
                problems.append(f"{name} is not rag_pg's: drop it or move it to another schema")
        elif installed[name] != present[name]:
            is_, was = present[name] or "as usual", installed[name] or "as usual"
            problems.append(f"{name} is {is_}, not {was}: alter it back")
    return problems


def _gone(installed: Mapping[str, str], present: Mapping[str, str]) -> set[str]:
    """The tables that are missing whole: their columns and constraints need no line each."""
    return {
        n.partition(" ")[2] for n in installed.keys() - present.keys() if n.startswith("table ")
    }


def function_differences(installed: Mapping[str, str], present: Mapping[str, str]) -> list[str]:
    problems = []
    for name in sorted(installed.keys() | present.keys()):
        if name not in installed:
            problems.append(f"{name} is not rag_pg's: drop it or move it to another schema")
        elif name not in present:
            problems.append(f'{name} is missing: run "rag-pg db upgrade"')
        elif present[name] != installed[name]:
            problems.append(f'{name} was changed by hand: run "rag-pg db upgrade" to restore it')
    return problems
