"""Write what `AsyncRag` and `AsyncCollection` have of the synchronous client, namespaces included,
into rag_pg/client/aio.py and, for the namespaces of the annexe, rag_pg/evaluation/client/aio.py.

python scripts/generate_async.py    `make docs` runs it; a test compares what it would write
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import get_type_hints

WRITTEN = {  # modules that may name what is no longer there
    "rag_pg.client.aio": ("AsyncRag", "AsyncCollection"),
    "rag_pg.evaluation.client.aio": ("AsyncEvaluation", "AsyncCollectionEvaluation"),
}
for module, names in WRITTEN.items():
    sys.modules[module] = ModuleType("")
    sys.modules[module].__dict__.update(dict.fromkeys(names))

from rag_pg import Collection, Rag  # noqa: E402
from rag_pg.evaluation.client import CollectionEvaluation, Evaluation  # noqa: E402

PACKAGE = Path(__file__).resolve().parents[1] / "rag_pg"
PAGES = {  # the classes whose namespaces stand there
    PACKAGE / "client" / "aio.py": (Rag, Collection),
    PACKAGE / "evaluation" / "client" / "aio.py": (Evaluation, CollectionEvaluation),
}
PART = re.compile(r"(# written by make docs\n).*?( *# end\n)", re.DOTALL)
INNER = {"database"}  # what modules of the client share


def public(kind: type) -> dict[str, object]:
    return {name: one for name, one in vars(kind).items() if not name.startswith("_")}


def namespace_of(member: object) -> type | None:
    """The class of a namespace, where the member gives one."""
    if not isinstance(member, property) or member.fget is None:
        return None
    annexe = {one.__name__: one for one in (Evaluation, CollectionEvaluation)}
    found: type = get_type_hints(member.fget, localns=annexe)["return"]
    rooms = ("rag_pg.client.", "rag_pg.evaluation.client.")
    return found if found.__module__.startswith(rooms) else None


def namespaces(kind: type) -> Iterator[type]:
    """Yield those of a class that stand on the same page, what a namespace holds before it."""
    for member in public(kind).values():
        found = namespace_of(member)
        if found and found not in (Evaluation, CollectionEvaluation):
            yield from namespaces(found)
            yield found


def members(kind: type, by_hand: set[str]) -> Iterator[str]:
    """Yield the lines of a class that runs the calls of another."""
    for name, member in public(kind).items():
        if name in by_hand | INNER:
            continue
        if inner := namespace_of(member):
            yield f"{name} = Inner(Async{inner.__name__})"
        else:
            yield f"{name} = Threaded({kind.__name__}.{name})"


def written(page: str, kinds: tuple[type, type]) -> str:
    """The page of two classes with its parts as they are now: classes of their namespaces, then
    what is missing in each class itself, if that is written by hand."""
    by_hand = {
        node.name: {getattr(one, "name", "") for one in node.body}
        for node in ast.parse(PART.sub(r"\1\2", page)).body
        if isinstance(node, ast.ClassDef)
    }
    inner = []
    for kind in kinds:
        inner += [*namespaces(kind), *([] if f"Async{kind.__name__}" in by_hand else [kind])]
    classes = "".join(
        f"\n\nclass Async{kind.__name__}(Beside[{kind.__name__}]):\n"
        f'    """As `{kind.__name__}`."""\n\n{body(members(kind, set()))}'
        for kind in inner
    )
    parts = [classes.lstrip("\n") + "\n\n"] + [
        body(members(kind, by_hand[f"Async{kind.__name__}"]))
        for kind in kinds
        if f"Async{kind.__name__}" in by_hand
    ]
    rest = iter(parts)
    return PART.sub(lambda part: part[1] + next(rest) + part[2], page)


def body(lines: Iterator[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)


if __name__ == "__main__":
    for path, kinds in PAGES.items():
        path.write_text(written(path.read_text(), kinds))
