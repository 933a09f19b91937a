"""Measure one store; run by the interpreter that has its packages.

    python -P bench/peer_stores/run.py STORE SET PLACE        PLACE: a connection string, or a folder for LanceDB

Measurements go to standard output as JSON lines. -P: bench/keyword.py would hide a module of the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
import data

from peer_stores import LIMIT, STORES


def measure(name: str, set_name: str, place: str, report: Callable[..., None]) -> None:
    """Fill the store and ask every question with every search; a search that raises is reported as failed."""
    evaluation = data.read(set_name)
    vectors = {key: v.astype(np.float32).tolist() for key, v in evaluation.document_vectors.items()}
    asked = {key: v.astype(np.float32).tolist() for key, v in evaluation.query_vectors.items()}
    module_name, tuned = STORES[name]
    module = import_module(f"peer_stores.{module_name}")
    store = module.Store(place, tuned)
    report(versions={package: version(package) for package in module.PACKAGES})
    began = time.perf_counter()
    store.fill(evaluation.documents, vectors)
    report(ingest=time.perf_counter() - began)
    if place.startswith("postgresql:"):
        import psycopg

        with psycopg.connect(place, autocommit=True) as db:
            db.execute("VACUUM ANALYZE")  # what autovacuum does within a minute
    for mode, search in store.searches.items():
        try:
            first = next(iter(evaluation.queries))
            search(evaluation.queries[first], asked[first], LIMIT)  # opens connections
            for key, text in evaluation.queries.items():
                began = time.perf_counter()
                ids = search(text, asked[key], LIMIT)
                ms = 1000 * (time.perf_counter() - began)
                report(mode=mode, query=key, ids=list(dict.fromkeys(ids))[:LIMIT], ms=ms)
        except Exception as exc:
            report(mode=mode, error=f"{type(exc).__name__}: {exc}")


def main() -> None:
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as lines:
        os.dup2(2, 1)  # what the libraries print goes to standard error

        def report(**fields: object) -> None:
            lines.write(json.dumps(fields) + "\n")

        try:
            measure(*sys.argv[1:4], report)
        except Exception as exc:
            report(mode="-", error=f"{type(exc).__name__}: {exc}")
    os._exit(0)  # some leave threads behind that do not end


if __name__ == "__main__":
    main()
