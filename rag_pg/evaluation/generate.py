"""Chunks -> questions that they answer, written by a language model and checked by a round trip.

A question is kept when it finds its own chunk among the first hits, and the chunk alone answers it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rag_pg.db import Database
from rag_pg.errors import ModelUnavailable, ProviderAuth, RagError
from rag_pg.evaluation.statements import SampledChunk, SavedQuery, sample_chunks
from rag_pg.protocols import LLM
from rag_pg.providers import complete_json, cost
from rag_pg.text import Fence, estimate_tokens
from rag_pg.threads import Threads
from rag_pg.types import Hits, Message, Usage

AT_ONCE = 4
ANSWER_TOKENS = 80  # about, of a question with its answer
SHORTEST = 80  # characters of a chunk that says something
WRITE = """\
Write one question that a user could ask and that the passage alone answers, and its short answer \
in the words of the passage. The question must make sense to somebody who has not seen the passage \
and does not know of it: name what it is about. If the passage says nothing to ask about, leave \
the question empty."""
CHECK = """\
Does the passage alone answer the question, so that nobody needs to know anything else?"""
_WRITTEN: Mapping[str, Any] = {
    "type": "object",
    "properties": {"question": {"type": "string"}, "answer": {"type": "string"}},
    "required": ["question", "answer"],
}
_CHECKED: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answerable": {"type": "boolean"}},
    "required": ["answerable"],
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """What generating questions will take, at most about. cost: US dollars; None: the model's price
    is not known."""

    calls: int
    usage: Usage
    cost: float | None


def estimate_questions(
    database: Database, collection: str, llm: LLM, *, count: int, seed: int = 0
) -> Estimate:
    """Return what `generate_questions` with the same arguments will take. Asks no model."""
    chunks = sample_chunks(database, collection, count, SHORTEST, seed)
    overhead = estimate_tokens([WRITE + CHECK])[0] + 200
    shown = sum(estimate_tokens([chunk.content for chunk in chunks]))
    usage = Usage(
        prompt_tokens=2 * shown + overhead * len(chunks),
        answer_tokens=(ANSWER_TOKENS + 10) * len(chunks),
    )
    return Estimate(calls=2 * len(chunks), usage=usage, cost=cost(llm.name, usage))


def generate_questions(
    database: Database,
    collection: str,
    set_name: str,
    search: Callable[[str], Hits],
    llm: LLM,
    *,
    count: int,
    seed: int = 0,
) -> tuple[Mapping[str, int], Usage]:
    """Write questions to sampled chunks into a set, marked synthetic; return what became of the
    chunks, by reason, and the tokens.

    Args:
        search: what a question has to find its chunk by. count: of chunks; a question of each at
            most. seed: another one samples other chunks.
    Raises: ProviderAuth, ModelUnavailable. Another failure costs its chunk alone.
    """

    def attempt(chunk: SampledChunk) -> tuple[str, Usage, dict[str, Any] | None]:
        usage = Usage()
        try:
            got = _ask(llm, WRITE, _WRITTEN, passage=_shown(chunk))
            usage += got[1]
            question, answer = got[0]["question"].strip(), got[0]["answer"].strip()
            if not question or not answer:
                return "nothing to ask", usage, None
            if chunk.chunk_id not in [hit.chunk_id for hit in search(question)]:
                return "not found again", usage, None
            got = _ask(llm, CHECK, _CHECKED, passage=_shown(chunk), question=question)
            usage += got[1]
        except (ProviderAuth, ModelUnavailable):
            raise
        except RagError as exc:
            return f"failed: {exc}", usage, None
        if not got[0]["answerable"]:
            return "not answered by its passage", usage, None
        relevant: dict[str, Any] = {"uri": chunk.uri, "quote": chunk.content}
        if chunk.start_offset is not None:
            relevant |= {"start": chunk.start_offset, "stop": chunk.stop_offset}
        return "kept", usage, {
            "question": question, "answers": [answer], "relevant": [relevant],
        }  # fmt: skip

    counts: Counter[str] = Counter()
    used, entries = Usage(), []
    with Threads(AT_ONCE, "rag-pg-eval") as threads:
        for reason, usage, entry in threads.map(
            attempt, sample_chunks(database, collection, count, SHORTEST, seed)
        ):
            counts[reason] += 1
            used += usage
            if entry is not None:
                entries.append(entry)
    for saved in database.rows(
        SavedQuery, "put_eval_queries", set_name=set_name, queries=entries, source="synthetic"
    ):
        if saved.state != "added":  # the same question of another chunk, or an earlier run
            counts["kept"] -= 1
            counts[saved.state] += 1
    return counts, used


def _shown(chunk: SampledChunk) -> str:
    heading = chunk.heading or chunk.title
    return f"{heading}\n{chunk.content}" if heading else chunk.content


def _ask(llm: LLM, task: str, schema: Mapping[str, Any], **quoted: str) -> tuple[Any, Usage]:
    fence = Fence()
    parts = [fence.quote(name, text) for name, text in quoted.items()]
    text = "\n\n".join([task, fence.rule, *parts])
    got = complete_json(llm, [Message(role="user", content=text)], schema)
    return got.parsed, got.usage
