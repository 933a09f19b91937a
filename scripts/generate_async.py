"""Write what `AsyncRag` and `AsyncCollection` have of the synchronous client, namespaces included,
into rag_pg/client/aio.py.

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

sys.modules["rag_pg.client.aio"] = ModuleType("")  # which may name what is no longer there
sys.modules["rag_pg.client.aio"].__dict__.update(AsyncRag=None, AsyncCollection=None)

from rag_pg import Collection, Rag  # noqa: E402

PAGE = Path(__file__).resolve().parents[1] / "rag_pg" / "client" / "aio.py"
PART = re.compile(r"(# written by make docs\n).*?( *# end\n)", re.DOTALL)
INNER = {"database"}  # what modules of the client share


def public(kind: type) -> dict[str, object]:
    return {name: one for name, one in vars(kind).items() if not name.startswith("_")}


def namespace_of(member: object) -> type | None:
    """The class of a namespace, where the member gives one."""
    if not isinstance(member, property) or member.fget is None:
        return None
    found: type = get_type_hints(member.fget)["return"]
    return found if found.__module__.startswith("rag_pg.client.") else None


def namespaces(kind: type) -> Iterator[type]:
    """Yield those of a class, what a namespace holds before it."""
    for member in public(kind).values():
        if found := namespace_of(member):
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


def written(page: str) -> str:
    """The page with its three parts as they are now."""
    by_hand = {
        node.name: {getattr(one, "name", "") for one in node.body}
        for node in ast.parse(PART.sub(r"\1\2", page)).body
        if isinstance(node, ast.ClassDef)
    }
    classes = []
    for kind in (*namespaces(Rag), *namespaces(Collection)):
        head = f"\n\nclass Async{kind.__name__}(Beside[{kind.__name__}]):\n"
        head += f'    """As `{kind.__name__}`."""\n\n'
        classes.append(head + body(members(kind, set())))
    parts = iter(
        [
            "".join(classes).lstrip("\n") + "\n\n",
            body(members(Rag, by_hand["AsyncRag"])),
            body(members(Collection, by_hand["AsyncCollection"])),
        ]
    )
    return PART.sub(lambda part: part[1] + next(parts) + part[2], page)


def body(lines: Iterator[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
