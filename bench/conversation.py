"""What do follow-ups find, as asked and rewritten? Recall and reciprocal rank of their pages.

    python bench/conversation.py

Reads tests/quality/follow_ups.jsonl over docs-fastapi-en, which is embedded once and kept in its
collection. Odd follow-ups were looked at while the rules were made, even ones were not.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lib import data
from rich.console import Console
from rich.table import Table

from rag_pg import Capabilities, Completion, Message, Rag
from rag_pg.client.collection import Collection

Row = dict[str, Any]
QUESTIONS = Path(__file__).parent.parent / "tests" / "quality" / "follow_ups.jsonl"


class GoodModel:
    """A model that answers with the question as a person rewrote it."""

    name = "scripted"
    capabilities = Capabilities(schema=True)

    def __init__(self, question: str) -> None:
        self._reply = json.dumps({"question": question})

    def complete(self, messages: list[Message], **options: Any) -> Completion:
        return Completion(text=self._reply)

    def stream(self, messages: list[Message], **options: Any) -> Iterator[str | Completion]:
        yield self.complete(messages)


def main() -> None:
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    others = random.Random(1).sample(rows, len(rows))
    another = {row["id"]: other["history"] for row, other in zip(rows, others, strict=True)}
    ways: dict[str, Callable[[Row], dict[str, Any]]] = {
        "the whole question": lambda row: {"query": row["question"]},
        "as asked": lambda row: {"query": row["follow_up"]},
        "rules": lambda row: {"query": row["follow_up"], "history": row["history"]},
        "a good model": lambda row: {
            "query": row["follow_up"],
            "history": row["history"],
            "helper_llm": GoodModel(row["question"]),
        },
        "the whole question, another topic before it": lambda row: {
            "query": row["question"],
            "history": another[row["id"]],
        },
    }
    table = Table("search for", "half", "recall@10", "recall@3", "MRR@10", "ms per query")
    with Rag() as rag:
        docs = load(rag)
        for way, search in ways.items():
            for half, name in ((1, "seen"), (0, "not seen")):
                measured = measure(docs, [row for row in rows if row["id"] % 2 == half], search)
                table.add_row(way, name, *measured)
    Console().print(table)


def load(rag: Rag) -> Collection:
    """Open the collection, filling it on the first run."""
    docs = rag.collection("eval-docs-fastapi-en")
    docs.add(data.folder("docs-fastapi-en") / "files")
    return docs


def measure(
    docs: Collection, rows: list[Row], search: Callable[[Row], dict[str, Any]]
) -> list[str]:
    ranks = []
    began = time.perf_counter()
    for row in rows:
        hits = docs.search(limit=10, **search(row))
        places = [
            place
            for place, hit in enumerate(hits, 1)
            if any(hit.uri.endswith(f"files/{page}") for page in row["pages"])
        ]
        ranks.append(min(places, default=None))
    took = 1e3 * (time.perf_counter() - began) / len(rows)
    found = [rank for rank in ranks if rank is not None]
    return [
        f"{len(found) / len(rows):.2f}",
        f"{sum(rank <= 3 for rank in found) / len(rows):.2f}",
        f"{sum(1 / rank for rank in found) / len(rows):.3f}",
        f"{took:.0f}",
    ]


if __name__ == "__main__":
    main()
