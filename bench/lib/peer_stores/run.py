"""Fill one store, then answer questions one by one; run by the interpreter that has its packages.

    python -P bench/lib/peer_stores/run.py STORE SET ADDRESS

ADDRESS: a connection string, or a folder for LanceDB. Requests and replies are JSON lines on
standard input and output: after a first reply {"versions", "ingest"} (seconds), {"limit"} is
answered by {"modes"}, and {"mode", "query"} by {"ids", "wall", "cpu"}: milliseconds of the call,
and of CPU that this process spent in it on all its threads. What fails is answered by {"error"}.
-P: haystack.py beside this file would hide the library.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

import numpy as np

sys.path.append(str(Path(__file__).parents[2]))
from lib import data
from lib.peer_stores import STORES, Search


def serve(name: str, set_name: str, address: str, replies: TextIO) -> None:
    """Fill the store, then answer until standard input ends."""

    def reply(**fields: object) -> None:
        replies.write(json.dumps(fields) + "\n")
        replies.flush()

    try:
        evaluation = data.read_part(set_name)
        module_name, tuned = STORES[name]
        module_name, _, kind = module_name.partition(".")
        module = import_module(f"lib.peer_stores.{module_name}")
        store = getattr(module, kind or "Store")(address, tuned)
        vectors = {key: as_list(evaluation.document_vectors[key]) for key in evaluation.documents}
        began = time.perf_counter()
        store.fill(evaluation.documents, vectors)
        seconds = time.perf_counter() - began
        if address.startswith("postgresql:"):
            vacuum(address)
        del vectors
    except Exception as exc:
        reply(error=f"{type(exc).__name__}: {exc}")
        return
    reply(versions={package: version(package) for package in module.PACKAGES}, ingest=seconds)
    searches: dict[str, Search] = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "limit" in request:
                searches = store.searches(request["limit"])
                reply(modes=list(searches))
            else:
                key = request["query"]
                vector = as_list(evaluation.query_vectors[key])
                reply(**timed(searches[request["mode"]], evaluation.queries[key], vector))
        except Exception as exc:
            reply(error=f"{type(exc).__name__}: {exc}")


def as_list(vector: np.ndarray) -> list[float]:
    return [float(x) for x in vector.astype(np.float32)]


def vacuum(dsn: str) -> None:
    """Do what autovacuum does within a minute."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute("VACUUM ANALYZE")


def timed(search: Search, text: str, vector: list[float]) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    ids = search(text, vector)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"ids": list(dict.fromkeys(ids)), "wall": 1e3 * wall, "cpu": 1e3 * cpu}


def main() -> None:
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as replies:
        os.dup2(2, 1)  # what the libraries print goes to standard error
        serve(sys.argv[1], sys.argv[2], sys.argv[3], replies)
    os._exit(0)  # some leave threads behind that do not end


if __name__ == "__main__":
    main()
