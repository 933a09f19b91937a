"""What does fusing gain? nDCG@10 of keyword, vector, rrf,
weighted (0.7) and auto on evaluation sets.

    python bench/fusion.py [SET …] [--model NAME] [--queries N] [--candidates N]  default: scifact

Each leg gives its best chunks through rag.search_keyword and rag.search_vector, every one of them
gets its exact score in the other leg, and the formulas of tests/support/fusion_oracle.py fuse them.
The last column is auto's mean gain over the better leg with its 95 % interval over queries.
Vectors: the set's own, which are of minilm, otherwise embedded once and kept. arxiv-100k is asked
about its first 40,000 documents, for which it brings vectors. --model: minilm, e5, projection:64
(MiniLM's vectors, projected at random) or words:128 (random vectors of words, see lib/models.py);
their cosines count by the spread of their space.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psycopg
import quality
from lib import data
from lib.models import Projection, RandomWords
from rich.console import Console
from rich.table import Table

from rag_pg import Rag, Settings
from rag_pg.client.collection import Collection
from rag_pg.protocols import Embedder
from rag_pg.providers import Models
from rag_pg.types import Vectors

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
import fusion_oracle

METHODS = ("keyword", "vector", "rrf", "weighted", "auto")
LIMITS = {"arxiv-100k": 40_000}
COSINES = """
    SELECT e.chunk_id, (1 - (e.embedding <=> %(vector)s::halfvec) - s.subtracted) * s.factor
    FROM rag._active_space(%(key)s) AS a
    CROSS JOIN LATERAL rag._similarity_scale(a) AS s
    JOIN rag.embeddings AS e ON e.space_id = a.space_id
    WHERE e.chunk_id = ANY (%(ids)s)"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=["scifact"])
    parser.add_argument(
        "--queries", type=int, default=1000, help="at most so many, drawn by chance"
    )
    parser.add_argument("--candidates", type=int, default=40, help="of each leg")
    parser.add_argument("--model", default="minilm", help="what makes the vectors")
    arguments = parser.parse_args()
    ready = arguments.model == "minilm"
    table = Table("set", "queries", *METHODS, "auto - better leg", box=None)
    results = []
    models = Models(Settings.from_environment())
    made: dict[str, Callable[[str], Embedder]] = {
        "projection": lambda name: Projection(name, models.embedder("minilm")),
        "words": RandomWords,
    }
    with Rag(embedders=made) as rag, psycopg.connect(rag.dsn or "", autocommit=True) as db:
        for name in arguments.sets:
            evaluation = data.read(name, limit=LIMITS.get(name))
            docs = quality.load(rag, evaluation, ready=ready, model=arguments.model)
            rag.database.maintain()  # measures the spread of the space
            asked = sorted(evaluation.queries)
            asked = random.Random(3).sample(asked, min(arguments.queries, len(asked)))
            vectors = evaluation.query_vectors if ready else {}
            scores = [
                ask(db, docs, evaluation, query, vectors.get(query), arguments.candidates)
                for query in asked
            ]
            means = {method: statistics.fmean(s[method] for s in scores) for method in METHODS}
            better = max(("keyword", "vector"), key=lambda leg: means[leg])
            gains = [s["auto"] - s[better] for s in scores]
            interval = 1.96 * statistics.stdev(gains) / math.sqrt(len(gains))
            gain = f"{statistics.fmean(gains):+.4f} ± {interval:.4f}"
            results.append(
                {"set": name, "model": arguments.model, "queries": len(asked), **means}
                | {"gain": gain}
            )
            table.add_row(name, str(len(asked)), *(f"{means[m]:.4f}" for m in METHODS), gain)
    Console().print(table)
    data.keep("fusion", results)


def ask(
    db: psycopg.Connection,
    docs: Collection,
    evaluation: data.EvalSet,
    query: str,
    vector: Vectors | None,
    candidates: int,
) -> dict[str, float]:
    """Return each method's nDCG@10 for one query. vector: its own, None: by the model."""
    text = evaluation.queries[query]
    if vector is None:
        vector = docs.embedder.embed_query(text)
    literal = str(np.asarray(vector, dtype=np.float32).tolist())
    found = {
        "keyword": db.execute(
            "SELECT chunk_id, uri FROM rag.search_keyword(%s, %s, %s)",
            [docs.name, text, candidates],
        ).fetchall(),
        "vector": db.execute(
            "SELECT chunk_id, uri FROM rag.search_vector(%s, %s::halfvec, %s)",
            [docs.name, literal, candidates],
        ).fetchall(),
    }
    uris: dict[int, str] = dict(found["keyword"] + found["vector"])
    legs = {leg: [chunk for chunk, _ in hits] for leg, hits in found.items()}
    key = docs.info.collection_id
    cosines: dict[int, float] = dict(
        db.execute(COSINES, {"vector": literal, "key": key, "ids": list(uris)})
    )
    words: dict[int, float] = dict(
        db.execute(
            "SELECT chunk_id, score FROM rag._score_chunks(rag._prepare_keyword(%s, %s), %s)",
            [key, text, list(uris)],
        )
    )
    fused = {
        "rrf": fusion_oracle.rrf([(0.5, legs["vector"]), (0.5, legs["keyword"])]),
        "weighted": fusion_oracle.weighted(cosines, words, 0.7),
        "auto": fusion_oracle.auto(cosines, words),
    }
    rankings = legs | {method: [chunk for chunk, _ in ranking] for method, ranking in fused.items()}
    relevant = evaluation.qrels[query]
    return {m: ndcg([relevant.get(uris[c], 0) for c in rankings[m]], relevant) for m in METHODS}


def ndcg(gains: list[int], relevant: dict[str, int]) -> float:
    """nDCG@10 with linear gains, as trec_eval."""
    discounted = [
        sum(gain / math.log2(place + 1) for place, gain in enumerate(ranked[:10], 1))
        for ranked in (gains, sorted(relevant.values(), reverse=True))
    ]
    return discounted[0] / discounted[1]


if __name__ == "__main__":
    main()
