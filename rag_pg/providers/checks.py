"""What every embedder checks of the texts it takes and of the vectors it gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from rag_pg.errors import InvalidInput, ProviderError, RagError, UnusableReply
from rag_pg.protocols import Embedder
from rag_pg.types import Completion, Vectors

LARGEST = 65504  # that a halfvec holds


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
    fits = np.abs(vectors) <= LARGEST  # NaN is not
    if not fits.all():
        rows = np.flatnonzero(~fits.all(axis=1)).tolist()
        raise UnusableReply(
            f"{name} returned NaN or numbers beyond {LARGEST} for the texts at {rows[:10]}"
        )
    return np.ascontiguousarray(vectors, dtype=np.float32)


def check_shape(embedder: Embedder, given: object, count: int) -> Vectors:
    """Return one finite vector of the embedder's dimensions for each of `count` texts.

    Raises: UnusableReply (it is something else).
    """
    try:
        vectors = np.asarray(given, dtype=np.float32)
    except (TypeError, ValueError) as exc:
        raise UnusableReply(f"{embedder.name} returned no array of numbers ({exc})") from exc
    if vectors.shape != (count, embedder.dimensions):
        raise UnusableReply(
            f"{embedder.name} returned an array of {vectors.shape} for {count} texts; "
            f"({count}, {embedder.dimensions}) was asked for"
        )
    return check_finite(vectors, embedder.name)


def unit_vectors(
    rows: Sequence[Sequence[float]], *, count: int, dimensions: int, name: str
) -> Vectors:
    """Return what a provider gave for `count` texts as float32 (count, dimensions), L2-normalised.

    Raises: UnusableReply (another number of vectors or dimensions, zero, NaN or infinity).
    """
    if len(rows) != count:
        raise UnusableReply(f"{name} gave {len(rows)} vectors for {count} texts")
    for row in rows:
        if len(row) != dimensions:
            raise UnusableReply(
                f"{name} gave {len(row)} dimensions, {dimensions} were asked for; "
                "choose a number the model offers"
            )
    try:
        vectors = np.asarray(rows, dtype=np.float64).reshape(count, dimensions)
    except (TypeError, ValueError) as exc:
        raise UnusableReply(f"{name} gave a vector that is no list of numbers ({exc})") from exc
    with np.errstate(over="ignore"):  # is refused below
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(np.isfinite(norms) & (norms > 0)):
        raise UnusableReply(f"{name} gave a vector that is zero or not a number")
    unit: Vectors = (vectors / norms).astype(np.float32)
    return unit


def check_completion(got: object, name: str) -> Completion:
    """Return what a model gave. Raises: UnusableReply (it is no Completion, or has no text or count
    where one belongs)."""
    wrong: list[object] = [got]
    if isinstance(got, Completion):
        texts = [got.text, *(call.name for call in got.tool_calls)]
        counts = [got.usage.prompt_tokens, got.usage.answer_tokens]
        wrong = [one for one in texts if not isinstance(one, str)]
        wrong += [one for one in counts if not isinstance(one, int) or one < 0]
        if not wrong:
            return got
    raise UnusableReply(f"{name} gave a reply that cannot be read ({wrong[0]!r:.100})")


@contextmanager
def failing_as(name: str) -> Iterator[None]:
    """Let what a model's own code raises be a ProviderError: a search must not end with it."""
    try:
        yield
    except RagError:
        raise
    except Exception as exc:  # a model is anybody's code
        raise ProviderError(f"{name} failed: {type(exc).__name__}: {exc}") from exc
