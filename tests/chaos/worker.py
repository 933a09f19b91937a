"""A worker process of the run: `rag-pg worker` with a short lease,
and an embedder with a short time-out."""

import logging
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from rag_pg import DatabaseUnavailable, Rag, Settings
from rag_pg.providers.gemini.embedder import GeminiEmbedder

dsn, home, url, key, dimensions, timeout, lease = sys.argv[1:]
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
embedder = GeminiEmbedder(
    "fake", dimensions=int(dimensions), api_key=key, base_url=url, timeout=float(timeout)
)
with ExitStack() as stack:
    while True:  # as whoever supervises it would do
        try:
            rag = stack.enter_context(
                Rag(
                    dsn,
                    settings=Settings(home=Path(home)),
                    embedders={"gemini": lambda name: embedder},
                )
            )
            break
        except DatabaseUnavailable as exc:
            logging.warning("%s", exc)
            time.sleep(0.5)
    worker = rag.worker(lease_seconds=float(lease))
    signal.signal(signal.SIGTERM, lambda *_: worker.stop.set())
    worker.run()
