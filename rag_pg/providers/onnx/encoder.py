"""Runs a graph that maps token ids to sentence embeddings, in batches of a bounded size."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_pg.errors import ModelUnavailable, ProviderError
from rag_pg.extras import extra
from rag_pg.providers.checks import check_finite
from rag_pg.types import Vectors

_INTEGERS = {"tensor(int32)": np.int32, "tensor(int64)": np.int64}
BATCH_TOKENS = 512  # padded tokens per run; more is slower on a CPU, and takes more memory
RUN_TOKENS = 20  # padding that costs more than another run does, on a CPU


Pool = Callable[[NDArray[Any], NDArray[np.int64]], Vectors]


class Encoder:
    """A graph from input_ids and attention_mask, (batch, tokens) padded on the right, to float32
    (batch, dimensions). It is opened at the first use, once; safe to share between threads.

    Args:
        name: of the model, for errors. graph: returns the ONNX file.
        threads: of one run; None: every CPU that this process may use.
        padding: the id beside the text. pool: makes the embeddings of the first output and the
            mask; None: the output is the embeddings.
    """

    def __init__(
        self,
        name: str,
        graph: Callable[[], Path],
        *,
        dimensions: int,
        threads: int | None = None,
        padding: int = 0,
        pool: Pool | None = None,
    ) -> None:
        self._name = name
        self._padding = padding
        self._pool = pool
        self._graph = graph
        self._dimensions = dimensions
        self._threads = threads
        self._lock = threading.Lock()
        self._session: Any = None

    def open(self) -> None:
        """Open the graph now. Raises: ModelUnavailable."""
        self._get_session()

    def encode(
        self, rows: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None
    ) -> Vectors:
        """Return float32 (len(rows), dimensions) for rows of token ids, in their order.

        Args:
            types: of each token, where the model has token types: which text it is of; None: 0.
        Raises: ModelUnavailable, ProviderError, UnusableReply (not finite).
        """
        vectors = np.empty((len(rows), self._dimensions), dtype=np.float32)
        for batch in _batches([len(row) for row in rows], BATCH_TOKENS):
            vectors[batch] = self._run(
                [rows[index] for index in batch],
                [types[index] for index in batch] if types else None,
            )
        return check_finite(vectors, self._name)

    def _run(self, rows: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None) -> Vectors:
        shape = len(rows), max(map(len, rows))
        ids = np.full(shape, self._padding, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.int64)
        segments = np.zeros(shape, dtype=np.int64)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
            if types:
                segments[number, : len(row)] = types[number]
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": segments}
        session = self._get_session()
        try:
            inputs = {
                declared.name: known[declared.name].astype(_INTEGERS[declared.type])
                for declared in session.get_inputs()
            }
            output = session.run(None, inputs)[0]
        except Exception as exc:  # onnxruntime's errors have no common base of their own
            raise ProviderError(f"{self._name} failed on a batch of {shape}: {exc}") from exc
        pooled: Vectors = output if self._pool is None else self._pool(output, mask)
        return pooled

    def _get_session(self) -> Any:
        with self._lock:
            if self._session is None:
                self._session = _open_session(self._graph(), self._threads)
            return self._session


def cut(ids: Sequence[int], limit: int) -> Sequence[int]:
    """Drop what is over `limit` before the last token, which ends the text."""
    return ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]


def usable_cpus() -> int:
    """How many CPUs this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield the indices of `lengths`, longest first, in groups of at most `budget` once padded, of
    which no more than RUN_TOKENS are padding."""
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        longest = lengths[order[start]]
        stop, padding = start + 1, 0
        while stop < len(order) and (stop + 1 - start) * longest <= budget:
            padding += longest - lengths[order[stop]]
            if padding > RUN_TOKENS:
                break
            stop += 1
        yield order[start:stop]
        start = stop


def _open_session(graph: Path, threads: int | None) -> Any:
    with extra("onnx", "a model that runs here needs"):
        import onnxruntime

    options = onnxruntime.SessionOptions()
    # By default onnxruntime counts the machine's CPUs, not this process's, and its threads spin
    # between runs, which takes CPU time from the PostgreSQL server beside it.
    options.intra_op_num_threads = threads or usable_cpus()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as exc:  # onnxruntime's errors have no common base of their own
        raise ModelUnavailable(
            f"onnxruntime cannot load {graph}: {exc}; delete the file, it will be written again"
        ) from exc
