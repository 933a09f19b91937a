"""The language model that helps to search: one call per rewrite, and what becomes of a failed
one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.deadline import half_of_the_time
from rag_pg.errors import ModelUnavailable, ProviderError, UnusableReply
from rag_pg.protocols import LLM
from rag_pg.providers import complete_json, failing_as, left_out
from rag_pg.text import Fence, clean_text
from rag_pg.types import Message, Step, Usage

LONGEST_WORDING = 500  # characters of a query that a model wrote


class Helper:
    """Asks a language model on behalf of the rewrites of one question, and keeps the account.

    A model that does not answer is asked no more: the rewrites after it do without.
    """

    def __init__(self, llm: LLM | None) -> None:
        self.llm = llm
        self.notes: list[str] = []
        self.steps: list[Step] = []
        self._down: Exception | None = None

    @property
    def usage(self) -> Usage:
        """The tokens of all calls."""
        return sum((step.usage for step in self.steps), Usage())

    def ask(
        self,
        rewrite: str,
        rules: str,
        data: Mapping[str, str],
        schema: Mapping[str, Any],
        *,
        otherwise: str,
        max_tokens: int = 512,
    ) -> Any:
        """Return what the model answers, as the schema says; None where it does not, and a note
        says why.

        Args:
            rewrite: whose call it is. data: names and texts that the model reads as quotations.
            otherwise: what happens without an answer, for the note.
        """
        if self.llm is None:
            self.notes.append(f"{rewrite} needs a language model (helper_llm); {otherwise}")
            return None
        if self._down is not None:
            self.notes.append(f"{rewrite} was not asked of {self.llm.name}; {otherwise}")
            return None
        started = time.perf_counter()
        try:
            with half_of_the_time(), failing_as(self.llm.name):
                got = complete_json(self.llm, _messages(rules, data), schema, max_tokens=max_tokens)
        except (ProviderError, ModelUnavailable) as exc:
            if not isinstance(exc, UnusableReply):
                self._down = exc
            self.notes.append(f"{left_out(rewrite, exc)}; {otherwise}")
            if isinstance(exc, ProviderError):
                self._tell_call(rewrite, started, exc.usage or Usage())
            return None
        self._tell_call(rewrite, started, got.usage)
        return got.parsed

    def _tell_call(self, rewrite: str, started: float, usage: Usage) -> None:
        assert self.llm is not None
        detail = {"purpose": rewrite, "model": self.llm.name}
        seconds = time.perf_counter() - started
        self.steps.append(Step(kind="llm", detail=detail, seconds=seconds, usage=usage))

    def tell(self, rewrite: str, **detail: Any) -> None:
        """Write down what a rewrite did."""
        self.steps.append(Step(kind="rewrite", detail={"rewrite": rewrite, **detail}))


def tidy(text: object, longest: int = LONGEST_WORDING) -> str:
    """Return a model's text as one line of at most so many characters; "" for what is no text."""
    if not isinstance(text, str):
        return ""
    line = " ".join(clean_text(text)[0].split())
    return line if len(line) <= longest else line[:longest].rsplit(" ", 1)[0]


def _messages(rules: str, data: Mapping[str, str]) -> Sequence[Message]:
    fence = Fence()
    blocks = "\n\n".join(fence.quote(name, text) for name, text in data.items())
    return [
        Message(role="system", content=f"{rules}\n{fence.rule}"),
        Message(role="user", content=blocks),
    ]
