"""Does an ingest keep the embedder busy? Wall time
of `add` against embedding the same chunks alone.

    python bench/ingest.py [FOLDER]      default: docs-fastapi-en of RAG_PG_EVAL_DATA

Both are timed in one run, in turns, so that a noisy machine treats them alike. CPU seconds of this
process are given beside the wall time. A ratio of 1 means that chunking,
the queue and the database cost no time of their own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lib import data
from rich.console import Console
from rich.table import Table

from rag_pg import Rag
from rag_pg.types import Vectors

Embed = Callable[[Sequence[str]], Vectors]

ROUNDS = 2


def timed(action: Callable[[], object]) -> tuple[float, float]:
    """Return wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else data.folder("docs-fastapi-en") / "files"
    rounds: list[dict[str, Any]] = []
    with Rag() as rag:
        rag.embedder("minilm").embed_query("load the model")
        for number in range(ROUNDS):
            name = f"bench-ingest-{number}"
            docs = rag.collection(name, model="minilm")
            texts: list[str] = []
            embed = docs.embedder.embed_documents

            def keep(
                batch: Sequence[str], texts: list[str] = texts, embed: Embed = embed
            ) -> Vectors:
                texts.extend(batch)
                return embed(batch)

            docs.embedder.embed_documents = keep  # type: ignore[method-assign, assignment]
            ingest = timed(partial(docs.add, source))
            docs.embedder.embed_documents = embed  # type: ignore[method-assign]
            alone = timed(partial(embed, texts))
            rounds.append({"chunks": len(texts), "ingest": ingest, "alone": alone})
            rag.drop_collection(name)
            rag.database.remove_dropped()
    table = Table(
        "round", "chunks", "ingest wall s", "ingest CPU s", "embed wall s", "embed CPU s", "ratio"
    )
    for number, row in enumerate(rounds, 1):
        (wall, cpu), (alone, alone_cpu) = row["ingest"], row["alone"]
        table.add_row(
            str(number),
            str(row["chunks"]),
            *(f"{x:.1f}" for x in (wall, cpu, alone, alone_cpu)),
            f"{wall / alone:.3f}",
        )
    Console().print(table)
    data.keep("ingest", rounds)


if __name__ == "__main__":
    main()
