"""What enriching a collection by a language model costs, before it begins."""

from __future__ import annotations

from rag_pg.enrich.context import ANSWER_TOKENS as CONTEXT_TOKENS
from rag_pg.protocols import LLM
from rag_pg.providers import cost
from rag_pg.types import EnrichmentEstimate, EnrichmentSize, Usage

BYTES_PER_TOKEN = 3.5  # of English; other scripts have fewer characters and more bytes
INSTRUCTION_TOKENS = 150  # of a call, beside the texts
FIELD_TOKENS = 30  # of a field, in the schema and in the answer


def estimate_extraction(llm: LLM, size: EnrichmentSize, fields: int) -> EnrichmentEstimate:
    """What it costs to read `fields` fields out of each document."""
    prompt = _tokens(size.document_bytes) + size.documents * (
        INSTRUCTION_TOKENS + FIELD_TOKENS * fields
    )
    answer = size.documents * FIELD_TOKENS * fields
    return _estimate("extract", llm, size, size.documents, prompt, 0, answer)


def estimate_contexts(llm: LLM, size: EnrichmentSize) -> EnrichmentEstimate:
    """What it costs to write a context for each chunk: every call reads the whole document."""
    repeated = _tokens(size.repeated_bytes)
    texts = _tokens(size.document_bytes) + _tokens(size.chunk_bytes) + repeated
    prompt = texts + size.chunks * INSTRUCTION_TOKENS
    answer = size.chunks * CONTEXT_TOKENS * 2 // 3
    return _estimate("context", llm, size, size.chunks, prompt, repeated, answer)


def _estimate(
    kind: str, llm: LLM, size: EnrichmentSize, calls: int, prompt: int, repeated: int, answer: int
) -> EnrichmentEstimate:
    usage = Usage(prompt_tokens=prompt, answer_tokens=answer)
    return EnrichmentEstimate(
        kind=kind,
        model=llm.name,
        documents=size.documents,
        calls=calls,
        prompt_tokens=prompt,
        repeated_tokens=repeated,
        answer_tokens=answer,
        cost=cost(llm.name, usage),
    )


def _tokens(size: int) -> int:
    return round(size / BYTES_PER_TOKEN)
