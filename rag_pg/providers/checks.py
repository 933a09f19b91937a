"""What every embedder checks of the texts it takes and of the vectors it gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rag_pg.errors import InvalidInput, UnusableReply
from rag_pg.protocols import Embedder
from rag_pg.types import Vectors


def check_texts(texts: Sequence[str]) -> list[str]:
    """Refuse what no tokenizer takes: lone surrogates, as in undecodable command-line arguments."""
    for index, text in enumerate(texts):
        try:
            text.encode()
        except UnicodeEncodeError as exc:
            raise InvalidInput(
                f"text {index} is not valid Unicode: {exc.reason}, at character {exc.start}"
            ) from exc
    return list(texts)


def check_finite(vectors: Vectors, name: str) -> Vectors:
    if not np.isfinite(vectors).all():
        rows = np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist()
        raise UnusableReply(f"{name} returned NaN or infinity for the texts at {rows[:10]}")
    return np.ascontiguousarray(vectors, dtype=np.float32)


def check_shape(embedder: Embedder, vectors: Vectors, count: int) -> Vectors:
    """Refuse what is not one finite vector of the embedder's dimensions for each of `count` texts.

    Raises: UnusableReply.
    """
    if vectors.shape != (count, embedder.dimensions):
        raise UnusableReply(
            f"{embedder.name} returned an array of {vectors.shape} for {count} texts; "
            f"({count}, {embedder.dimensions}) was asked for"
        )
    return check_finite(vectors, embedder.name)
