"""How well do chunks fit what answers a question? Each chunking method on the set chroma-chunking.

    python bench/chunking.py [METHOD …]      default: all that suit prose

A question's answer is a set of character ranges. The best chunks of each leg, to about 1280 tokens
in all (five of 256), are laid over them: recall is the share of the answer that they cover,
precision the share of them that is answer, IoU both at once. "no header" embeds the chunks without
title and headings. Seconds are of cutting alone.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

import bm25s
import numpy as np
from lib import data
from rich.console import Console
from rich.table import Table

from rag_pg.chunk.splitter import Splitter
from rag_pg.config import Settings
from rag_pg.providers.minilm.embedder import MiniLM
from rag_pg.text.embedded import embedded_text
from rag_pg.types import Span

BUDGET = 1280  # tokens
SETTINGS: dict[str, dict[str, object]] = {
    "auto": {},
    "auto, 128 tokens": {"max_tokens": 128},
    "text": {"method": "text"},
    "fixed": {"method": "fixed"},
    "fixed, no overlap": {"method": "fixed", "overlap": 0},
    "semantic": {"method": "semantic"},
    "sentence": {"method": "sentence"},
    "small-to-big": {"method": "small-to-big"},
}
Ranges = dict[str, list[tuple[int, int]]]


def main() -> None:
    folder = data.folder("chroma-chunking")
    model = MiniLM(cache_dir=Settings.from_environment().home / "models")
    texts = {path.stem: path.read_bytes().decode() for path in (folder / "files").iterdir()}
    lines = (folder / "queries.jsonl").read_text().splitlines()
    queries = {query["_id"]: query["text"] for query in map(json.loads, lines)}
    answers: dict[str, Ranges] = {}
    for span in map(json.loads, (folder / "spans.jsonl").read_text().splitlines()):
        ranges = answers.setdefault(span["_id"], {}).setdefault(span["doc"], [])
        ranges.append((span["start"], span["end"]))
    asked = model.embed_documents(list(queries.values()))
    table = Table("method", "chunks", "tokens", "leg", "recall", "precision", "IoU", "seconds")
    for name in sys.argv[1:] or SETTINGS:
        began = time.monotonic()
        splitter = Splitter.from_settings(
            SETTINGS[name], model.count_tokens, embed=model.embed_documents
        )
        chunks = [
            (doc, span)
            for doc, text in texts.items()
            for span in splitter.split(text, media_type="text/markdown", title=doc)
        ]
        seconds = time.monotonic() - began
        sizes = model.count_tokens([span.text for _, span in chunks])
        for header in (True, False) if name == "auto" else (True,):
            embedded = [
                embedded_text(doc, span.heading, span.text) if header else span.text
                for doc, span in chunks
            ]
            scores = {
                "vector": asked @ model.embed_documents(embedded).T,
                "keyword": keyword_scores(embedded, list(queries.values())),
            }
            for leg, matrix in scores.items():
                found = [
                    judge(answers[key], chunks, best(of_query, sizes))
                    for key, of_query in zip(queries, matrix, strict=True)
                ]
                row = (
                    name if header else f"{name}, no header",
                    str(len(chunks)),
                    f"{np.mean(sizes):.0f}",
                    leg,
                    *(f"{figure:.3f}" for figure in np.mean(found, axis=0)),
                    f"{seconds:.0f}",
                )
                print(*row, file=sys.stderr, flush=True)
                table.add_row(*row)
    Console(width=110).print(table)


def keyword_scores(texts: Sequence[str], queries: Sequence[str]) -> np.ndarray:
    """BM25 as rag_pg has it: k1 1.2, b 0.75, idf as Lucene."""
    index = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    index.index(bm25s.tokenize(list(texts), show_progress=False), show_progress=False)
    asked = bm25s.tokenize(list(queries), return_ids=False, show_progress=False)
    return np.stack([index.get_scores(words) for words in asked])


def best(scores: np.ndarray, sizes: Sequence[int]) -> list[int]:
    """Return the best chunks within the budget, at least one."""
    taken: list[int] = []
    tokens = 0
    for place in np.argsort(-scores, kind="stable"):
        tokens += sizes[place]
        if taken and tokens > BUDGET:
            break
        taken.append(int(place))
    return taken


def judge(
    answer: Ranges, chunks: Sequence[tuple[str, Span]], taken: Sequence[int]
) -> tuple[float, float, float]:
    """Return recall, precision and IoU, in characters."""
    wanted = {(doc, at) for doc, ranges in answer.items() for a, b in ranges for at in range(a, b)}
    shown = {
        (chunks[place][0], at)
        for place in taken
        for at in range(chunks[place][1].start, chunks[place][1].stop)
    }
    hit = len(wanted & shown)
    return hit / len(wanted), hit / len(shown), hit / len(wanted | shown)


if __name__ == "__main__":
    main()
