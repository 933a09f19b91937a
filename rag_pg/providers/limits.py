"""What is known of language models: limits and prices, from the dated file models.toml."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rag_pg.errors import InvalidInput
from rag_pg.protocols import LLM
from rag_pg.text import estimate_tokens
from rag_pg.types import Message, Tool, Usage

FILE = Path(__file__).with_name("models.toml")
MESSAGE_TOKENS = 8  # around each message, about
SHARE = 0.75  # of a model's context that a prompt may fill
_SUFFIX = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{2}-\d{4}|\d{3}|latest)$")  # of a dated version


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """US dollars for a million tokens."""

    prompt: float
    answer: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFacts:
    """What is known of a model.

    context_tokens: of prompt and answer together. prices: None: not known. long_prompt: a prompt of
    more tokens costs long_prices. thoughts: tokens to leave for what it thinks before it answers.
    temperature: whether it takes one. reasoning_effort:
    what to ask of it, so that it answers at once.
    """

    context_tokens: int | None = None
    prices: Prices | None = None
    long_prompt: int | None = None
    long_prices: Prices | None = None
    thoughts: int = 0
    temperature: bool = True
    reasoning_effort: str | None = None


@cache
def known_models() -> dict[str, ModelFacts]:
    """Every model of the file, by its name, such as openai:gpt-4.1."""
    models = {}
    for name, facts in tomllib.loads(FILE.read_text())["models"].items():
        for key in ("prices", "long_prices"):
            if key in facts:
                facts[key] = Prices(prompt=facts[key][0], answer=facts[key][1])
        models[name] = ModelFacts(**facts)
    return models


def find_model(name: str) -> ModelFacts | None:
    """What is known of the model, or of the one that it is a dated version of."""
    models = known_models()
    return models.get(name) or models.get(_SUFFIX.sub("", name))


def cost(model: str, usage: Usage) -> float | None:
    """US dollars for so many tokens by the list prices of the file;
    None: the model's are not known.

    Discounts, as for a cached prompt, are not counted.
    """
    facts = find_model(model)
    if facts is None or facts.prices is None:
        return None
    prices = facts.prices
    if facts.long_prompt and facts.long_prices and usage.prompt_tokens > facts.long_prompt:
        prices = facts.long_prices
    return (usage.prompt_tokens * prices.prompt + usage.answer_tokens * prices.answer) / 1e6


def prompt_budget(llm: LLM, *, max_tokens: int = 1024, share: float = SHARE) -> int | None:
    """The tokens that a prompt to `llm` may have; None: its limit is not known.

    Args:
        max_tokens: room that is kept for the answer.
        share: of the model's context, above 0 to 1.
    Raises: InvalidInput (share).
    """
    if not 0 < share <= 1:
        raise InvalidInput(f"share is {share:g}; use a number above 0, at most 1")
    limit = llm.capabilities.context_tokens
    return None if limit is None else max(0, min(int(limit * share), limit - max_tokens))


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenCounter:
    """Counts the tokens of texts; exact: by the model's own tokenizer, else by an estimate that
    errs on the high side."""

    count: Callable[[Sequence[str]], Sequence[int]]
    exact: bool

    def of_prompt(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        schema: Mapping[str, Any] | None = None,
    ) -> int:
        """Return about how many tokens a prompt has."""
        texts = [message.content for message in messages]
        for message in messages:
            texts += [f"{s.key} {s.title} {s.text}" for s in message.sources]
            texts += [f"{c.name} {json.dumps(dict(c.arguments))}" for c in message.tool_calls]
        texts += [f"{t.name} {t.description} {json.dumps(dict(t.parameters))}" for t in tools]
        if schema is not None:
            texts.append(json.dumps(schema))
        return sum(self.count(texts)) + MESSAGE_TOKENS * len(texts)


def token_counter(llm: LLM) -> TokenCounter:
    """Return what counts tokens for `llm`: its method `count_tokens` where it has one."""
    own = getattr(llm, "count_tokens", None)
    if callable(own):
        return TokenCounter(count=own, exact=True)
    return TokenCounter(count=estimate_tokens, exact=False)
