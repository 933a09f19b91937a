"""Write the tables of the guides that say what an argument or a setting means: its docstring does.

A guide has the marks `<!-- written by make docs: Collection.search -->` and `<!-- end -->` around
the table of the arguments of a method, of the fields of a class such as Settings, or of what the
classes and their namespaces have.

python scripts/generate_guides.py    `make docs` runs it; a test compares what it would write
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from rag_pg import Collection, Rag, Settings
from rag_pg.evaluation import client as annexe

GUIDES = Path(__file__).resolve().parents[1] / "docs" / "guides"
TABLE = re.compile(
    r"(?<=<!-- written by make docs: )([\w.]+)( -->\n).*?(?=<!-- end -->)", re.DOTALL
)
CLASSES = {kind.__name__: kind for kind in (Collection, Rag, Settings)}
NAMESPACES = [("namespace", "what it is", "calls"), ("---", "---", "---")]
NAMES = r"[a-z_0-9]+(?:, [a-z_0-9]+)*"


def written(page: str) -> str:
    """The page with its tables as they are now."""
    return TABLE.sub(lambda match: f"{match[1]}{match[2]}{table(match[1])}", page)


def table(name: str) -> str:
    """The arguments of a method, or the fields of a dataclass, one row for those told together."""
    rows: Iterable[tuple[str, ...]]
    if name == "namespaces":
        rows = [*_namespaces("rag", Rag), *_namespaces("docs", Collection)]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in [*NAMESPACES, *rows])
    kind, _, method = name.partition(".")
    if method:
        rows = _arguments(getattr(CLASSES[kind], method))
        head = "| argument | what it means |\n| --- | --- |\n"
    else:
        rows = _settings(CLASSES[kind])
        head = "| variable | meaning | default |\n| --- | --- | --- |\n"
    return head + "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def _namespaces(path: str, kind: type) -> Iterator[tuple[str, ...]]:
    """A class with its own calls, and each namespace that it holds."""
    members = {name: one for name, one in vars(kind).items() if not name.startswith("_")}
    inner = {name: found for name, one in members.items() if (found := _namespace(one))}
    calls = ", ".join(f"`{name}`" for name in members if name not in {*inner, "database"})
    summary = (inspect.getdoc(kind) or "").partition(". ")[0].partition(".\n")[0].removesuffix(".")
    yield f"`{path}`", " ".join(summary.split()), calls
    for name, one in inner.items():
        yield from _namespaces(f"{path}.{name}", one)


def _namespace(member: object) -> type | None:
    """The class of a namespace, where the member gives one."""
    if not isinstance(member, property) or member.fget is None:
        return None
    found = get_type_hints(member.fget, localns=vars(annexe))["return"]
    rooms = ("rag_pg.client.", "rag_pg.evaluation.client.")
    return found if getattr(found, "__module__", "").startswith(rooms) else None


def _arguments(method: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    text = inspect.getdoc(method) or ""
    told = re.search(r"^Args:\n(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    if told is None:
        raise ValueError(f"{method.__qualname__} has no Args")
    for names, meaning in _entries(inspect.cleandoc(told[1])):
        yield ", ".join(f"`{name}`" for name in names.split(", ")), meaning


def _settings(kind: type) -> Iterator[tuple[str, str, str]]:
    assert is_dataclass(kind)
    meanings = dict(_entries((inspect.getdoc(kind) or "").partition("\n\n")[2]))
    for field in fields(kind):
        default = "" if field.default in (None, field.default_factory) else f"`{field.default}`"
        shown = default if isinstance(field.default, str | int) else ""
        yield f"`RAG_PG_{field.name.upper()}`", meanings[field.name], shown


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Names and meaning of each `name, name: meaning`, as one line of Markdown."""
    starts = list(re.finditer(rf"(?:^|\.\s+)({NAMES}):\s", text, re.MULTILINE))
    ends = [*(match.start() for match in starts[1:]), len(text)]
    for match, end in zip(starts, ends, strict=True):
        meaning = " ".join(text[match.end() : end].split()).removesuffix(".")
        yield (
            match[1],
            re.sub(
                r"docs/guides/([\w-]+)\.md", r"[\1](\1.md)", re.sub(r"([|<])", r"\\\1", meaning)
            ),
        )


def main() -> None:
    for path in sorted(GUIDES.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        path.write_text(written(page), encoding="utf-8")


if __name__ == "__main__":
    main()
