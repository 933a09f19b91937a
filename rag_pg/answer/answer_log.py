"""The log of answers, of collections that keep one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID, uuid4

from rag_pg.answer.answer_cache import NOT_KEPT
from rag_pg.answer.strategy import is_built_in
from rag_pg.db import Database
from rag_pg.errors import RagError
from rag_pg.types import Answer, CollectionInfo


def log_answer(database: Database, info: CollectionInfo, question: str, answer: Answer) -> Answer:
    """Log an answer where its collection says so, and return it; a note says why it was not."""
    if info.keep_answers <= 0 or not answer.trace_id:
        return answer
    kept = {
        "text": answer.text,
        "found": answer.found,
        "sufficient": answer.sufficient,
        "reason": answer.reason,
        "strategy": answer.strategy,
        "model": answer.model,
        "citations": [
            {key: value for key, value in asdict(citation).items() if key != "document_id"}
            for citation in answer.citations
        ],
        "retrieved": sorted({uri for step in answer.steps for uri in _uris(step.detail)})
        if _knows_sources(answer)
        else None,
        "notes": list(answer.notes),
        "usage": asdict(answer.usage),
        "cost": answer.cost,
        "seconds": answer.seconds,
    }
    try:
        if database.log_answer(info.name, UUID(answer.trace_id), question, kept):
            return answer
        other = uuid4()  # a trace may have several answers, and the log one of each id
        if not database.log_answer(info.name, other, question, kept):
            return answer
        note = f"the trace has another answer: this one is logged as {other}"
    except RagError as exc:  # the question is answered
        note = f"the answer was not logged: {exc}"
    return replace(answer, notes=(*answer.notes, note))


def _knows_sources(answer: Answer) -> bool:
    """Whether the steps name all that an answer was made from."""
    return not (
        answer.cached
        or answer.tool_results
        or answer.strategy in NOT_KEPT
        or not is_built_in(answer.strategy)
    )


def _uris(detail: Any) -> Iterator[str]:
    """Yield what is called uri anywhere in the details of a step."""
    if isinstance(detail, Mapping):
        for key, value in detail.items():
            if key == "uri" and isinstance(value, str):
                yield value
            else:
                yield from _uris(value)
    elif isinstance(detail, list | tuple):
        for value in detail:
            yield from _uris(value)
