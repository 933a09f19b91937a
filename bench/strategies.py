"""What does each strategy cost beside its searches and its models? Steps, calls, tokens and time.

    python bench/strategies.py [--questions 40] [--latency 0.2]

Questions and documents are those of anthropic-docs, with the set's own vectors. The language model
is a stand-in that answers after a fixed time what each strategy asks for, so that every loop turns
twice.
"ours" is the time of an answer beyond its searches (as the hits tell it), the time in which
at least one call of a model was waited for, and the embedding of sentences (extractive embeds the
question once more, which is counted as ours); a step is a search or a call. Time is wall time: on a
busy machine read the medians.
"""

from __future__ import annotations

import argparse
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Unpack

from lib import data
from lib.clock import percentile
from quality import load
from rich.console import Console
from rich.table import Table

from rag_pg import Rag
from rag_pg.client.collection import Collection
from rag_pg.protocols import CompletionOptions
from rag_pg.types import Capabilities, Completion, Message, ToolCall, Usage, Vectors

STRATEGIES = (
    "extractive",
    "single",
    "verify",
    "self_ask",
    "iterative",
    "evidence",
    "agent",
    "auto",
)
SOURCE = re.compile(r"^--- source \[(\w{6})\]", re.M)
TURNS = 2  # further searches of a strategy that searches again


class StandIn:
    """A model that answers after `latency` seconds; `spans` are when calls began and ended."""

    name = "stand-in"
    capabilities = Capabilities(schema=True, tools=True, context_tokens=128_000)

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.spans: list[tuple[float, float]] = []
        self._turns = 0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Forget the question before."""
        self.spans, self._turns = [], 0

    def complete(
        self, messages: Sequence[Message], **options: Unpack[CompletionOptions]
    ) -> Completion:
        began = time.perf_counter()
        time.sleep(self.latency)
        with self._lock:
            self.spans.append((began, time.perf_counter()))
            self._turns += 1
            turn = self._turns
        usage = Usage(prompt_tokens=sum(len(m.content) for m in messages) // 4, answer_tokens=20)
        if (schema := options.get("schema")) is not None:
            parsed = _fill(schema, turn)
            return Completion(text=json.dumps(parsed), parsed=parsed, usage=usage)
        if options.get("tools") and turn <= TURNS:
            call = ToolCall(id=str(turn), name="search", arguments={"query": f"prompt {turn}"})
            return Completion(text="", tool_calls=[call], finish="tool_calls", usage=usage)
        keys = [key for m in messages for key in SOURCE.findall(m.content)]
        text = " ".join(f"So it is [{key}]." for key in keys[:2])
        return Completion(text=text, usage=usage)

    def stream(
        self, messages: Sequence[Message], **options: Unpack[CompletionOptions]
    ) -> Iterator[str | Completion]:
        whole = self.complete(messages, **options)
        yield whole.text
        yield whole


def _fill(schema: Mapping[str, Any], turn: int) -> dict[str, Any]:
    """Return an object that fits the schema, and lets a loop turn TURNS times."""
    again = "" if turn > TURNS else f"prompt caching {turn}"
    told = {
        "query": again,
        "follow_up": again,
        "sufficient": turn > TURNS,
        "final": "So it is.",
        "score": 8 - turn % 4,
    }
    samples = {"string": "A sentence.", "boolean": True, "integer": 1, "array": []}
    return {
        name: told.get(name, samples[str(kind["type"])])
        for name, kind in schema["properties"].items()
    }


class TimedEmbedder:
    """An embedder whose `seconds` are those of embedding sentences."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        began = time.perf_counter()
        vectors: Vectors = self._inner.embed_documents(texts)
        self.seconds += time.perf_counter() - began
        return vectors


def waited(spans: Sequence[tuple[float, float]]) -> float:
    """Return how long at least one of the spans lasted, in seconds."""
    ordered = sorted(spans)
    ends = [max(end for _, end in ordered[: n + 1]) for n in range(len(ordered))]
    gaps = [max(0.0, ordered[n + 1][0] - ends[n]) for n, _ in enumerate(pairwise(ordered))]
    return ends[-1] - ordered[0][0] - sum(gaps) if ordered else 0.0


def measure(
    docs: Collection, questions: Sequence[str], strategy: str, model: StandIn, timed: TimedEmbedder
) -> dict[str, float]:
    """Return medians of one strategy, and the 95th percentile of what is ours in a step."""
    rows = []
    for question in questions:
        model.begin()
        timed.seconds = 0.0
        began = time.perf_counter()
        answer = docs.ask(question, strategy=strategy, llm=model)
        wall = time.perf_counter() - began
        searches = [step for step in answer.steps if step.kind == "search"]
        calls = len(model.spans)
        ours = wall - sum(s.seconds for s in searches) - waited(model.spans) - timed.seconds
        rows.append(
            {
                "searches": len(searches),
                "calls": calls,
                "tokens": answer.usage.prompt_tokens + answer.usage.answer_tokens,
                "ms": wall * 1e3,
                "ours": ours * 1e3,
                "a step": ours * 1e3 / (len(searches) + calls),
            }
        )
    found = {name: percentile([row[name] for row in rows], 0.5) for name in rows[0]}
    found["p95"] = percentile([row["ms"] for row in rows], 0.95)
    found["a step, p95"] = percentile([row["a step"] for row in rows], 0.95)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds of a model's call")
    arguments = parser.parse_args()
    evaluation = data.read("anthropic-docs")
    questions = list(evaluation.queries.values())[: arguments.questions]
    model = StandIn(arguments.latency)
    results = {}
    with Rag() as rag:
        timed = TimedEmbedder(rag.embedder("minilm"))
        rag.models._embedders["minilm"] = timed
        docs = load(rag, evaluation, ready=True)
        docs.ask(questions[0])  # loads the model
        for strategy in STRATEGIES:
            results[strategy] = measure(docs, questions, strategy, model, timed)
    table = Table("strategy", *results["single"], title=f"a call takes {arguments.latency} s")
    for strategy, row in results.items():
        table.add_row(strategy, *(f"{value:.1f}" for value in row.values()))
    Console().print(table)
    data.keep("strategies", results)


if __name__ == "__main__":
    main()
