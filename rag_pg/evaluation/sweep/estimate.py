"""What a sweep will take of language models and embedders, before it begins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rag_pg.evaluation.types import Candidate, SweepEstimate
from rag_pg.protocols import LLM, Reranker
from rag_pg.providers import cost
from rag_pg.types import EnrichmentEstimate, EnrichmentSize, Usage

BYTES_PER_TOKEN = 3.5  # of English, as in enrich
OVERLAP = 1.12  # chunks beside their documents
REWRITE = Usage(prompt_tokens=300, answer_tokens=150)
INSTRUCTION = 500  # tokens of a prompt that answers, beside its sources
WRITTEN = 250  # tokens of an answer
PASSAGES = 8  # that an answer is made from
STEPS = 3  # that strategies of several steps take, about
LLM_STRATEGIES: Mapping[str, Callable[[int, int], Usage]] = {
    "single": lambda shown, whole: Usage(prompt_tokens=INSTRUCTION + shown, answer_tokens=WRITTEN),
    "verify": lambda shown, whole: Usage(
        prompt_tokens=INSTRUCTION + shown, answer_tokens=3 * WRITTEN
    ),
    "evidence": lambda shown, whole: Usage(
        prompt_tokens=INSTRUCTION * (PASSAGES + 1) + 2 * shown, answer_tokens=WRITTEN * PASSAGES
    ),
    "full_context": lambda shown, whole: Usage(
        prompt_tokens=INSTRUCTION + whole, answer_tokens=WRITTEN
    ),
}
CALLS = {
    "evidence": PASSAGES + 1,
    "iterative": STEPS + 1,
    "self_ask": 2 * STEPS,
    "agent": STEPS + 1,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Corpus:
    """How large a collection is. contexts: what writing them costs, None: not known."""

    size: EnrichmentSize
    contexts: EnrichmentEstimate | None = None

    @property
    def tokens(self) -> int:
        """Of all documents, about."""
        return round(self.size.document_bytes / BYTES_PER_TOKEN)

    @property
    def chunk_tokens(self) -> int:
        """Of a chunk, about."""
        return round(self.size.chunk_bytes / BYTES_PER_TOKEN / max(self.size.chunks, 1))


def estimate_sweep(
    candidates: Sequence[Candidate],
    reused: int,
    *,
    questions: int,
    corpus: Corpus,
    model: str,
    llm: LLM | None,
    helper: LLM | None,
) -> SweepEstimate:
    """Return what the runs of candidates will take.

    Args:
        candidates: those that are to be run. reused: how many are not. model: of the collection's
            vectors. llm: that answers; helper: that rewrites and reranks.
    """
    calls, total, price = 0, Usage(), 0.0
    known = True
    for one in candidates:
        for asked, used, count in _asked(one, corpus, llm, helper):
            usage = Usage(
                prompt_tokens=used.prompt_tokens * questions,
                answer_tokens=used.answer_tokens * questions,
            )
            calls, total = calls + count * questions, total + usage
            paid = cost(asked.name, usage)
            price, known = price + (paid or 0.0), known and paid is not None
    copies = list({copy_key(one): one for one in candidates if one.is_copied}.values())
    embedded: dict[str, int] = {}
    for one in copies:
        name = one.model or model
        embedded[name] = embedded.get(name, 0) + round(corpus.tokens * OVERLAP)
        if one.contexts and corpus.contexts is not None:
            calls += corpus.contexts.calls
            total += Usage(
                prompt_tokens=corpus.contexts.prompt_tokens,
                answer_tokens=corpus.contexts.answer_tokens,
            )
            price += corpus.contexts.cost or 0.0
            known = known and corpus.contexts.cost is not None
    return SweepEstimate(
        candidates=tuple(candidates),
        runs=len(candidates),
        reused=reused,
        questions=questions,
        copies=len(copies),
        documents=corpus.size.documents,
        embedded_tokens=embedded,
        calls=calls,
        usage=total,
        cost=price if known else None,
    )


def copy_key(candidate: Candidate) -> str:
    """A text that is equal for candidates that are measured on the same copy."""
    return repr((sorted((candidate.chunking or {}).items()), candidate.model, candidate.contexts,
                 candidate.chunking is None))  # fmt: skip


def _asked(
    one: Candidate, corpus: Corpus, llm: LLM | None, helper: LLM | None
) -> list[tuple[LLM, Usage, int]]:
    """Which language models a question asks, with tokens and calls."""
    options = one.options
    found: list[tuple[LLM, Usage, int]] = []
    helper = helper or llm
    if options.get("helper_llm") == "extractive":
        helper = None
    rewrites = list(options.get("rewrite", ()))
    if helper is not None:
        found += [(helper, REWRITE, 1)] * len(rewrites)
    limit = options.get("limit") or (10 if one.kind == "search" else PASSAGES)
    reranker: Any = options.get("rerank")
    if _is_llm(reranker) and (llm or helper) is not None:
        count = options.get("candidate_limit") or max(4 * limit, 40)
        used = Usage(
            prompt_tokens=INSTRUCTION + count * corpus.chunk_tokens, answer_tokens=4 * count
        )
        ranks = llm or helper
        assert ranks is not None
        found.append((ranks, used, 1))
    if one.kind != "ask" or llm is None:
        return found
    strategy = options.get("strategy", "auto")
    if strategy == "extractive":
        return found
    shown = limit * corpus.chunk_tokens * (3 if options.get("expand") else 1)
    count = CALLS.get(strategy, 1) if isinstance(strategy, str) else STEPS
    usage_of = LLM_STRATEGIES.get(strategy if count == 1 or strategy in LLM_STRATEGIES else "")
    if usage_of is None:
        usage = LLM_STRATEGIES["single"](shown, 0)
        used = Usage(
            prompt_tokens=usage.prompt_tokens * count, answer_tokens=usage.answer_tokens * count
        )
    else:
        used = usage_of(shown, corpus.tokens)
    found.append((llm, used, count))
    if options.get("verify"):
        found.append((helper or llm, replace(used, answer_tokens=WRITTEN), 1))
    return found


def _is_llm(reranker: str | Reranker | None) -> bool:
    name = reranker if isinstance(reranker, str) else getattr(reranker, "name", "")
    return str(name).partition(":")[0] == "llm"
