"""A model that was taken in: what it writes reaches no reader, by any strategy and no stream."""

from __future__ import annotations

from typing import Any

import pytest
from contexts import context_of
from fakes import HashEmbedder
from hostile_completions import CANARY, HOSTILE, SOURCE, HostileLLM, K
from markdown_it import MarkdownIt
from passages import hits

from rag_pg.answer import answer_question
from rag_pg.answer.reading.markers import cited_numbers
from rag_pg.types import Answer, Event, Hits

STRATEGIES = [
    "auto", "single", "verify", "self_ask", "iterative", "evidence", "agent", "full_context",
]  # fmt: skip
KNOWN = ("https://docs.example.com/pump_(new)?a=1&amp;b=2", "../manual.md")


def ask(text: str, strategy: str, events: list[Event] | None = None, **options: Any) -> Answer:
    context = context_of(
        "How does the pump run?",
        lambda query, **more: Hits(hits(SOURCE)),
        embedder=HashEmbedder,
        llm=HostileLLM(text),
        listener=None if events is None else events.append,
        **options,
    )
    return answer_question(context, strategy)


def assert_harmless(text: str) -> None:
    """By a library that renders Markdown: no canary outside what a reader takes for a text, no
    element that loads, no address that the source does not have."""
    assert CANARY not in text and K not in text
    assert not any(c in text for c in "\x1b\x9b\u202e\u2066\u200b")
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    for part in html.split("<")[1:]:
        tag = part.split(">")[0]
        assert "src=" not in tag and "style=" not in tag.replace("text-align", ""), tag
        assert "href=" not in tag or any(f'href="{known}"' in tag for known in KNOWN), tag
    assert "evil" not in text


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.few(4)
def test_no_strategy_shows_it(strategy: str) -> None:
    for text, _ in HOSTILE:
        answer = ask(text, strategy)
        assert_harmless(answer.text)
        assert_harmless(answer.reason)
        assert_harmless(" ".join(answer.unsupported))
        assert answer.text.startswith("The pump runs at 50 bar"), text
        assert cited_numbers(answer.text) <= {c.number for c in answer.citations}
        assert any(note.startswith(("taken out of the answer", "dropped citation"))
                   for note in answer.notes), (text, answer.notes)  # fmt: skip


@pytest.mark.parametrize("action", ["drop", "mark", "keep"])
@pytest.mark.few(2)
def test_no_stream_shows_it_first(action: str) -> None:
    for text, _ in HOSTILE:
        events: list[Event] = []
        answer = ask(f"{text}\n\nThe pump runs at 50 bar ¤.", "single", events, unsupported=action)
        shown = ""
        for event in events:
            if event.kind == "token":
                shown += event.text
                assert_harmless(shown)
        assert answer.text.startswith(shown) and shown, text


def test_refusals_and_small_talk_are_cleaned_too() -> None:
    for text, _ in HOSTILE:
        answer = ask(f"NOT_IN_DOCUMENTS {text.replace('¤', '')}", "single")
        assert not answer.found
        assert_harmless(answer.text)
