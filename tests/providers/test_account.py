"""What a language model of one's own may give, as an account takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from rag_pg.errors import ProviderTimeout, ProviderUnavailable, UnusableReply
from rag_pg.protocols import LLM
from rag_pg.providers import Account, token_counter
from rag_pg.types import Capabilities, Completion, Message, Usage


class Odd:
    """A model that gives the same to everything."""

    name = "odd"
    capabilities = Capabilities()

    def __init__(self, given: Any) -> None:
        self.given = given

    def complete(self, messages: Any, **options: Any) -> Any:
        return self.given

    def stream(self, messages: Any, **options: Any) -> Iterator[Any]:
        yield "A word"
        yield self.given


@pytest.mark.parametrize(
    "given",
    [
        None,
        7,
        {"text": "A word"},
        Completion(text=cast(Any, None)),
        Completion(text="A word", usage=Usage(prompt_tokens=-1, answer_tokens=0)),
    ],
    ids=str,
)
def test_what_is_no_completion_is_unusable(given: Any) -> None:
    metered = Account().meter(cast(LLM, Odd(given)), "answer")
    with pytest.raises(UnusableReply, match="^odd gave a reply that cannot be read"):
        metered.complete([])
    pieces = metered.stream([])
    assert next(pieces) == "A word"
    with pytest.raises(UnusableReply, match="^odd gave a reply that cannot be read"):
        next(pieces)


class Slow:
    """A model that thinks for ever after what it says first."""

    name = "openai:gpt-4o-mini"
    capabilities = Capabilities()

    def complete(self, messages: Any, **options: Any) -> Any:
        raise ProviderTimeout("it thinks")

    def stream(self, messages: Any, **options: Any) -> Iterator[Any]:
        yield "Once upon a time, "
        yield "there was a valve."
        raise ProviderUnavailable("the connection broke")


@pytest.mark.parametrize("way", ["given up", "left", "broken"])
def test_a_call_that_ends_before_its_end_counts_what_was_sent_and_read(way: str) -> None:
    account, asked = Account(), [Message(role="user", content="Tell me of valves. " * 100)]
    metered = account.meter(Slow(), "answer")
    if way == "given up":
        with pytest.raises(ProviderTimeout):
            metered.complete(asked)
    elif way == "left":
        pieces = metered.stream(asked)
        assert len([next(pieces), next(pieces)]) == 2
        pieces.close()
    else:
        with pytest.raises(ProviderUnavailable):
            [*metered.stream(asked)]
    (line,) = account.lines
    counter = token_counter(Slow())
    assert line.usage.prompt_tokens == counter.of_prompt(asked) > 400
    said = [] if way == "given up" else ["Once upon a time, there was a valve."]
    assert line.usage.answer_tokens == sum(counter.count(said))
    assert (line.calls, line.failures, line.cost > 0) == (1, 1, True)
