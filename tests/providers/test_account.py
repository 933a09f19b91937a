"""What a language model of one's own may give, as an account takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from rag_pg.errors import UnusableReply
from rag_pg.protocols import LLM
from rag_pg.providers import Account
from rag_pg.types import Capabilities, Completion, Usage


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
