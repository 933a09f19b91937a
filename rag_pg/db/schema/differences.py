"""What differs between what was installed and what is there, a line each."""

from __future__ import annotations

from collections.abc import Collection, Mapping


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


def function_differences(
    installed: Mapping[str, str], present: Mapping[str, str], packaged: Collection[str]
) -> list[str]:
    """Compare the routines that are there, by signature, with those that the last upgrade wrote
    down and with the names that the files make, each once."""
    signatures: dict[str, list[str]] = {name: [] for name in packaged}
    for signature in present:
        signatures.setdefault(_short(signature), []).append(signature)
    problems = [
        f'rag.{name} is missing: run "rag-pg db upgrade"'
        for name, found in signatures.items()
        if not found and not any(_short(signature) == name for signature in installed)
    ]
    problems += [
        f"rag.{name} is there {len(found)} times, so calls of it may fail or find the wrong one:"
        f' {"; ".join(sorted(found))}: run "rag-pg db upgrade"'
        for name, found in signatures.items()
        if name in packaged and len(found) > 1
    ]
    for signature in sorted(installed.keys() | present.keys()):
        name = _short(signature)
        if name not in packaged:
            if signature in present:
                problems.append(
                    f"{signature} is not rag_pg's: drop it or move it to another schema"
                )
        elif signature not in present:
            problems.append(f'{signature} is missing: run "rag-pg db upgrade"')
        elif signature in installed and present[signature] != installed[signature]:
            problems.append(
                f'{signature} was changed by hand: run "rag-pg db upgrade" to restore it'
            )
    return problems


def _short(signature: str) -> str:
    return signature.partition("(")[0].partition(".")[2]
