"""Whose budget an embedder's calls count for."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from fakes import HashEmbedder

from rag_pg.errors import ProviderUnavailable, RateLimited
from rag_pg.types import Vectors
from rag_pg.worker.throttle import DOWN, REFUSALS, REFUSED, Throttle


class Budgets:
    """Stands in for the database: keeps what was taken and blocked."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.blocked: list[tuple[str, float]] = []

    def take_budget(self, provider: str, requests: int, tokens: int) -> float:
        self.taken.append(provider)
        return 0.0

    def block_provider(self, provider: str, seconds: float, reason: str) -> None:
        self.blocked.append((provider, seconds))


def throttle(budgets: Any) -> Throttle:
    return Throttle(budgets, threading.Event())


def embed(embedder: HashEmbedder, budgets: Budgets) -> dict[str, Vectors]:
    known: dict[str, Vectors] = {}
    throttle(budgets).embed(embedder, ["a", "b"], known, lambda count: None)
    return known


@pytest.mark.parametrize(("provider", "taken"), [(None, []), ("corp", ["corp"])])
def test_an_embedder_says_its_provider_whatever_its_name(
    provider: str | None, taken: list[str]
) -> None:
    embedder, budgets = HashEmbedder("minilm:32"), Budgets()
    embedder.provider = provider
    assert embed(embedder, budgets).keys() == {"a", "b"}
    assert budgets.taken == taken


def test_refusals_block_the_provider_for_growing_pauses_and_then_end() -> None:
    embedder, budgets = HashEmbedder(), Budgets()

    def refuse(texts: Any) -> None:
        raise RateLimited("slow down")

    embedder.fail = refuse
    with pytest.raises(RateLimited):
        embed(embedder, budgets)
    assert budgets.blocked == [("hash", REFUSED.pause(n)) for n in range(1, REFUSALS + 1)]
    assert len(budgets.taken) == REFUSALS


def test_outages_in_a_row_block_the_provider_for_longer() -> None:
    embedder, budgets = HashEmbedder(), Budgets()

    def down(texts: Any) -> None:
        raise ProviderUnavailable("down")

    embedder.fail = down
    asked = throttle(budgets)
    assert asked.is_down(embedder) and asked.is_down(embedder)
    assert budgets.blocked == [("hash", DOWN.pause(1)), ("hash", DOWN.pause(2))]
    embedder.provider = None
    assert not asked.is_down(embedder)
