"""How many documents does each embedder that runs here embed in a second of CPU?

    python bench/embedders.py [SET] [--documents 100] [--threads 1]     default: piaf-fr

The embedders take the same 20 documents after each other, then the next 20, so that all meet the
same load. CPU is that of this process, tokenizer included; the models are loaded before.
"""

from __future__ import annotations

import argparse
import random
import time
from statistics import median

from lib import data
from rich.console import Console
from rich.table import Table

from rag_pg.config import Settings
from rag_pg.providers.e5.embedder import E5
from rag_pg.providers.minilm.embedder import MiniLM

PART = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("set", nargs="?", default="piaf-fr")
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1, help="of one run")
    options = parser.parse_args()
    chance = random.Random(7)
    documents = list(data.read(options.set).documents.values())
    texts = [f"{d['title']}\n{d['text']}" for d in documents]
    texts = chance.sample(texts, min(options.documents, len(texts)))
    cache_dir = Settings.from_environment().home / "models"
    embedders = [kind(cache_dir=cache_dir, threads=options.threads) for kind in (MiniLM, E5)]
    for embedder in embedders:
        embedder.embed_query("load the model")
    seconds: dict[str, list[float]] = {embedder.name: [] for embedder in embedders}
    for start in range(0, len(texts), PART):
        part = texts[start : start + PART]
        for embedder in chance.sample(embedders, len(embedders)):
            began = time.process_time()
            embedder.embed_documents(part)
            seconds[embedder.name].append((time.process_time() - began) / len(part))
    base = seconds[MiniLM.name]
    table = Table("embedder", "CPU ms a document", "documents a CPU second", "beside minilm")
    for name, found in seconds.items():
        ratio = median(a / b for a, b in zip(base, found, strict=True))
        mean = sum(found) / len(found)
        table.add_row(name, f"{mean * 1e3:.1f}", f"{1 / mean:.1f}", f"{ratio:.3f}")
    Console().print(table)
    data.keep("embedders", {**vars(options), "seconds": seconds})


if __name__ == "__main__":
    main()
