"""Two collections, and a server over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fakes import HashEmbedder

from rag_pg import Rag, Settings
from rag_pg.server.mcp import RagServer, make_server

ANIMALS = [
    {
        "uri": f"animals/{kind}-{number:02}.md",
        "title": f"{kind.title()} {number}",
        "content": f"# {kind.title()} {number}\n\nThis {kind} lives {number} years in the"
        f" {'sea' if kind == 'fish' else 'tree'}.",
        "metadata": {"kind": kind, "years": number, "tags": ["wild", kind]},
    }
    for kind in ("bird", "fish")
    for number in range(1, 16)
]
MACHINES = [
    {"uri": "pump", "content": "The pump runs at two bar."},
    {"uri": "https://example.com/valve", "content": "The valve opens at three bar."},
]


@pytest.fixture(scope="module")
def filled(new_database: Callable[..., str], template: str, tmp_path_factory: Any) -> Iterator[Rag]:
    """A client of a database with both collections, which no test changes."""
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    with Rag(
        new_database(template), settings=settings, embedders={"hash": lambda name: HashEmbedder()}
    ) as rag:
        animals = rag.collection("animals", model="hash:32")
        animals.alter(description="Animals and how long they live.")
        animals.add(*ANIMALS)
        rag.collection("machines", model="hash:32").add(*MACHINES)
        yield rag


@pytest.fixture(scope="module")
def server(filled: Rag) -> RagServer:
    return make_server(filled)


@pytest.fixture(scope="module")
def animals_server(filled: Rag) -> RagServer:
    return make_server(filled, collections=["animals"])
