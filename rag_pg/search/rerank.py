"""A search's best candidates in a better order, by a reranker that reads them beside the query.

`score_texts` calls it with a time limit and believes nothing that is not one finite number for each
text.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace

import numpy as np

from rag_pg.deadline import call_within, current_scope
from rag_pg.errors import (
    InvalidQuery,
    ModelUnavailable,
    ProviderError,
    ProviderTimeout,
)
from rag_pg.protocols import Reranker
from rag_pg.text import embedded_text
from rag_pg.threads import start_thread
from rag_pg.tracing import rerank_span
from rag_pg.types import Hit, Scores

SECONDS = 10.0
LIMIT_MAX = 1000  # of hits and of candidates, as in rag.search
MAX_RUNNING = 16  # calls at once, those included that were given up but have not returned


_running = threading.BoundedSemaphore(MAX_RUNNING)


@dataclass(frozen=True, slots=True)
class Scorer:
    """The reranker of a search, for other texts than its hits. timeout: in seconds; None: as long
    as it takes."""

    reranker: Reranker
    timeout: float | None

    def __call__(self, query: str, texts: Sequence[str]) -> Scores:
        """Return the scores of texts. Raises: as `score_texts`."""
        with rerank_span(self.reranker, len(texts)):
            return call_within(
                current_scope(),
                lambda: score_texts(self.reranker, query, texts, timeout=self.timeout),
                self.reranker.name,
            )


def score_texts(
    reranker: Reranker, query: str, texts: Sequence[str], *, timeout: float | None = SECONDS
) -> Scores:
    """Return the reranker's scores: float64 (len(texts),), all finite.

    A call that takes longer is given up. It cannot be stopped, so it goes on in its thread. A
    reranker with a method `load()` is loaded first: the limit is for what the model computes.

    Args:
        timeout: in seconds; None waits as long as it takes.
    Raises: ProviderTimeout, ProviderError (it failed, or gave something else), ModelUnavailable.
    """
    try:
        if load := getattr(reranker, "load", None):
            load()
        given = (
            reranker.rerank(query, texts)
            if timeout is None
            else _call_in_time(reranker, query, texts, timeout)
        )
        scores = np.asarray(given, dtype=np.float64)
    except (ProviderError, ModelUnavailable):
        raise
    except Exception as exc:  # a reranker is anybody's code: a search must not end with it
        raise ProviderError(f"{reranker.name} failed: {type(exc).__name__}: {exc}") from exc
    if scores.shape != (len(texts),):
        raise ProviderError(
            f"{reranker.name} gave scores of shape {scores.shape} for {len(texts)} texts"
        )
    if not np.isfinite(scores).all():
        raise ProviderError(f"{reranker.name} gave a score that is NaN or infinite")
    return scores


def _call_in_time(reranker: Reranker, query: str, texts: Sequence[str], timeout: float) -> Scores:
    late = ProviderTimeout(f"{reranker.name} did not answer within {timeout:g} s")
    deadline = time.monotonic() + timeout
    if not _running.acquire(timeout=timeout):
        raise late
    answer: Future[Scores] = Future()

    def call() -> None:
        try:
            answer.set_result(reranker.rerank(query, texts))
        except BaseException as exc:
            answer.set_exception(exc)
        finally:
            _running.release()

    try:
        start_thread(call, "rag-pg-rerank")
    except RuntimeError:  # no more threads: `call` will not release it
        _running.release()
        raise
    wait([answer], timeout=max(0.0, deadline - time.monotonic()))
    if not answer.done():
        raise late
    return answer.result()


def rerank_hits(
    reranker: Reranker,
    query: str,
    hits: list[Hit],
    *,
    timeout: float | None,
    weight: float = 1.0,
) -> list[Hit]:
    """Return the hits by rerank_score, or by `blend_scores`; equal ones keep their order.

    Args:
        weight: of rerank_score beside `Hit.score`, 0 to 1.
    Raises: as `score_texts`.
    """
    if not hits:
        return hits
    texts = [embedded_text(hit.title, hit.heading, hit.content) for hit in hits]
    scores = Scorer(reranker, timeout)(query, texts)
    scored = [replace(h, rerank_score=s) for h, s in zip(hits, scores.tolist(), strict=True)]
    order = scores if weight == 1 else blend_scores(scores, [hit.score for hit in hits], weight)
    return [scored[at] for at in np.argsort(-order, kind="stable")]


def blend_scores(reranked: Scores, fused: Sequence[float], weight: float) -> Scores:
    """Return weight * reranked + (1 - weight) * fused, each scaled to 0 to 1 over the candidates.

    Scores that are all equal count for nothing. Source: Bruch, Gai, Ingber, An Analysis of Fusion
    Functions for Hybrid Retrieval, TOIS 2023 (convex combination after min-max scaling).
    """
    blended: Scores = weight * _scaled(reranked) + (1 - weight) * _scaled(np.asarray(fused))
    return blended


def _scaled(scores: Scores) -> Scores:
    lowest, range_ = scores.min(), np.ptp(scores)
    scaled: Scores = (scores - lowest) / range_ if range_ > 0 else np.zeros(len(scores))
    return scaled


def reranked_limit(
    limit: int, candidate_limit: int | None, timeout: float | None, weight: float
) -> int:
    """Return how many hits to rerank. The database sees that number, and `limit` only here."""
    if not 1 <= limit <= LIMIT_MAX:
        raise InvalidQuery(f"limit {limit} is out of range; use 1 to {LIMIT_MAX}")
    if timeout is not None and not timeout > 0:
        raise InvalidQuery(f"rerank_timeout is {timeout}; use seconds above 0, or None")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
        raise InvalidQuery(f"rerank_weight is {weight!r:.100}; use 0 to 1")
    if candidate_limit is None:
        return min(max(4 * limit, 40), LIMIT_MAX)
    if not limit <= candidate_limit <= LIMIT_MAX:
        raise InvalidQuery(
            f"candidate_limit {candidate_limit} is out of range; to rerank, use {limit} (the limit)"
            f" to {LIMIT_MAX}"
        )
    return candidate_limit
