"""The throttle: no provider is asked for more than its budget, by all workers together.

The budget is a row in the database (rag.set_budget).
Models that run here have no provider, and cost no look-up.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from rag_pg.db import Database
from rag_pg.errors import ProviderUnavailable, RagError, RateLimited, UnusableReply
from rag_pg.protocols import LLM, Embedder
from rag_pg.providers import embed_documents
from rag_pg.retry import Backoff, retry
from rag_pg.text import estimate_tokens
from rag_pg.types import Vectors

T = TypeVar("T")
log = logging.getLogger(__name__)
TEXTS_PER_CALL = 64  # between calls progress is reported
GRACE_SECONDS = 10.0  # a stopping worker goes on so long, then it hands back
LONGEST_WAIT = 86_400.0  # seconds, for which a provider is left alone at once
PATIENCE = 60.0  # seconds: longer waits are not sat out; the jobs go back to the queue
REFUSED = Backoff(first=5.0)  # after refusals without Retry-After
REFUSALS = 5  # in a row, of the same texts
DOWN = Backoff(first=5.0, longest=60.0)  # while a provider is down, for every worker


class Stopping(Exception):
    """The worker was told to stop before all texts were embedded."""


def may_be_an_outage(exc: BaseException) -> bool:
    """Whether an embedder that fails so may fail on every text:
    also by an exception that is not rag_pg's."""
    return isinstance(exc, ProviderUnavailable | UnusableReply) or not isinstance(
        exc, RagError | Stopping
    )


class Throttle:
    """Calls embedders within their budgets; a refusal (429) blocks the provider
    for every worker."""

    def __init__(self, database: Database, stop: threading.Event) -> None:
        self.database = database
        self.stop = stop
        self._ends_at: float | None = None
        self._outages: dict[str, int] = {}  # in a row, by provider

    def embed(
        self,
        embedder: Embedder,
        texts: Sequence[str],
        known: dict[str, Vectors],
        done: Callable[[int], None],
    ) -> None:
        """Put the vector of each text into `known`, where it is not there yet.
        Texts of like length go together.

        done: called after each call of the embedder with its number of texts.
        Raises: RateLimited (it may not be asked for long), Stopping, and what the embedder raises.
        """
        todo = sorted((t for t in dict.fromkeys(texts) if t not in known), key=len)
        for start in range(0, len(todo), TEXTS_PER_CALL):
            if self._must_end():
                raise Stopping
            part = todo[start : start + TEXTS_PER_CALL]
            known.update(zip(part, self._call(embedder, part), strict=True))
            done(len(part))

    def is_down(self, embedder: Embedder) -> bool:
        """After what may be an outage: is the provider down for everybody, or is it these texts?

        Asks it for one word. When that fails too, every worker leaves the provider alone for a
        while, which doubles with each further outage. Raises: what else the embedder raises.
        """
        provider = embedder.provider
        if provider is None:
            return False
        try:
            self._call(embedder, ["word"])
        except Exception as exc:
            if not may_be_an_outage(exc):
                raise
            self._leave_alone(provider, exc)
            return True
        return False

    def _call(self, embedder: Embedder, texts: Sequence[str]) -> Vectors:
        if embedder.provider is None:
            return embed_documents(embedder, texts)
        tokens = sum(embedder.count_tokens(texts))
        return self._within_budget(
            embedder.provider, tokens, lambda: embed_documents(embedder, texts)
        )

    def write(self, llm: LLM, texts: Sequence[str], action: Callable[[], T]) -> T:
        """Return what `action` makes of the texts by the language model.

        Raises: RateLimited (it may not be asked for long, or is down, for every worker), Stopping,
            and what the action raises.
        """
        if self._must_end():
            raise Stopping
        provider = llm.name.partition(":")[0]
        try:
            return self._within_budget(provider, sum(estimate_tokens(texts)), action)
        except ProviderUnavailable as exc:
            pause = self._leave_alone(provider, exc)
            raise RateLimited(str(exc), pause) from exc

    def _leave_alone(self, provider: str, exc: Exception) -> float:
        """Let every worker leave a provider alone that is down; return for how many seconds."""
        self._outages[provider] = self._outages.get(provider, 0) + 1
        pause = DOWN.pause(self._outages[provider])
        error = str(exc) if isinstance(exc, RagError) else f"{type(exc).__name__}: {exc}"
        self._block(provider, pause, f"it is down: {error}")
        return pause

    def _block(self, provider: str, seconds: float, reason: str) -> None:
        """Let every worker leave a provider alone, and log it."""
        self.database.block_provider(provider, seconds, reason)
        text = "%s is left alone for %.0f s: %s"
        log.warning(text, provider, seconds, reason, extra={"provider": provider})

    def _within_budget(self, provider: str, tokens: int, action: Callable[[], T]) -> T:
        def act() -> T:
            result = action()
            self._outages.pop(provider, None)
            return result

        def block(exc: Exception, refusals: int) -> float | None:
            """Every worker leaves the provider alone for the pause; `_wait` sits it out."""
            if not isinstance(exc, RateLimited):
                return None
            pause = REFUSED.pause(refusals) if exc.retry_after is None else exc.retry_after
            self._block(provider, min(pause, LONGEST_WAIT), str(exc))
            return None if pause > PATIENCE or refusals == REFUSALS else pause

        self._wait(provider, tokens)
        return retry(act, pause_after=block, sleep=lambda _: self._wait(provider, tokens))

    def _wait(self, provider: str, tokens: int) -> None:
        while wait := self.database.take_budget(provider, 1, tokens):
            if wait > PATIENCE:
                raise RateLimited(
                    f"{provider} may not be asked now; see rag.list_budgets()", PATIENCE
                )
            if self.stop.wait(wait + random.uniform(0, 0.1)):
                raise Stopping

    def _must_end(self) -> bool:
        if not self.stop.is_set():
            return False
        if self._ends_at is None:
            self._ends_at = time.monotonic() + GRACE_SECONDS
        return time.monotonic() > self._ends_at
