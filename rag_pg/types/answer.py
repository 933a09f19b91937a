"""Answers, their citations, and the events while they are made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rag_pg.types.usage import Step, Usage

_MARKUP = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)")  # what Markdown would act on in a name


@dataclass(frozen=True, kw_only=True, slots=True)
class Citation:
    """Source [number] of an answer: where it is, and the passage that was shown to the model."""

    number: int
    chunk_id: int
    uri: str
    title: str
    heading: str
    quote: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """An answer with its sources.

    found: False when the documents do not answer. sufficient: whether what was found was judged
    enough for a whole answer; None where nobody judged. reason: why it is not found, or not whole.
    strategy: what made it, after fallbacks. model: what wrote the text. notes: what was degraded (a
    leg that was skipped, a citation that was dropped, a fallback). steps: what was done, in order.
    usage: tokens of all calls.
    cost: US dollars; None where a model's price is not known. seconds: all of it. trace_id: 32
    hexadecimal digits, as in W3C trace contexts.
    """

    text: str
    found: bool
    citations: Sequence[Citation] = ()
    sufficient: bool | None = None
    reason: str = ""
    strategy: str = ""
    model: str = ""
    notes: Sequence[str] = ()
    steps: Sequence[Step] = ()
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    seconds: float = 0.0
    trace_id: str = ""

    def markdown(self) -> str:
        """Return the text, and a section that names its sources by their numbers."""
        if not self.citations:
            return self.text
        lines = [f"- [{c.number}] {_source_line(c)}" for c in self.citations]
        return "\n".join([self.text, "", "## Sources", "", *lines])


def _source_line(citation: Citation) -> str:
    """Return title, heading and uri of a source as a line of Markdown."""
    title = "" if citation.heading.startswith(citation.title) else citation.title
    names = [title, citation.heading, citation.uri]
    shown = [_MARKUP.sub(r"\\\g<0>", " ".join(name.split())) for name in names]
    return " · ".join(dict.fromkeys(filter(None, shown)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """What happens while a question is answered.

    kind: search, tool_call, tool_result and step carry `step`; token a piece of the answer's
    `text`; citation the `citation` that the text before it has first; answer, the last, the whole
    `answer`, which replaces the tokens where its text is another: after a fallback or a check.
    """

    kind: Literal["search", "step", "tool_call", "tool_result", "token", "citation", "answer"]
    text: str = ""
    step: Step | None = None
    citation: Citation | None = None
    answer: Answer | None = None
