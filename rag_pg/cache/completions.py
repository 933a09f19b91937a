"""A language model whose completions are kept, for the calls that help to search."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Unpack

from rag_pg.cache.entries import Entries
from rag_pg.cache.values import digest, pack, unpack
from rag_pg.protocols import LLM, CompletionOptions
from rag_pg.types import Completion, Message, Usage

# Quotations carry a mark that is another in each prompt; the texts within cannot hold it.
_MARK = re.compile(r"^--- end of .* ([0-9a-f]{16})$", re.MULTILINE)


class KeptCompletions:
    """An `LLM` that is asked the same prompt once: with the same model, schema and settings.

    Only a completion that came to its end is kept. `usage` of a kept one is none: nothing was
    spent.
    """

    def __init__(self, llm: LLM, fingerprint: str, entries: Entries) -> None:
        self.name = llm.name
        self.capabilities = llm.capabilities
        self._llm, self._fingerprint, self._entries = llm, fingerprint, entries
        self._since = time.monotonic()  # prompts hold what was read a minute before at most

    def complete(
        self, messages: Sequence[Message], **options: Unpack[CompletionOptions]
    ) -> Completion:
        """As `LLM.complete`."""

        def ask() -> Completion:
            return self._llm.complete(messages, **options)

        key = digest(self._fingerprint, _without_marks(messages), options)
        if key is None:
            return ask()
        looked = self._entries.look("completion", [key])
        kept = unpack(Completion, looked.values[0])
        if kept is not None:
            self._entries.uses.add("completion", 0, hits={key}, misses=0, saved_tokens=_sum(kept))
            return replace(kept, usage=Usage())
        got = ask()
        self._entries.uses.add("completion", 0, hits=set(), misses=1)
        if got.finish == "stop":
            self._entries.keep(
                "completion",
                {key: pack(got)},
                looked.version,
                saved_tokens=_sum(got),
                age=time.monotonic() - self._since,
            )
        return got

    def stream(
        self, messages: Sequence[Message], **options: Unpack[CompletionOptions]
    ) -> Iterator[str | Completion]:
        """As `LLM.stream`; nothing of it is kept."""
        return self._llm.stream(messages, **options)


def keep_completions(llm: LLM | None, entries: Entries | None) -> LLM | None:
    """Return a model whose completions are kept, where the settings say so and the model says what
    it is: `fingerprint`, its name and all else that its answers depend on."""
    fingerprint = getattr(llm, "fingerprint", None)
    if llm is None or entries is None or not entries.settings.completions or not fingerprint:
        return llm
    return KeptCompletions(llm, str(fingerprint), entries)


def _without_marks(messages: Sequence[Message]) -> list[Message]:
    marks = {mark for message in messages for mark in _MARK.findall(message.content)}
    plain = []
    for message in messages:
        content = message.content
        for mark in marks:
            content = content.replace(mark, "\0")  # which no stored text holds
        plain.append(replace(message, content=content))
    return plain


def _sum(completion: Completion) -> int:
    return completion.usage.prompt_tokens + completion.usage.answer_tokens
