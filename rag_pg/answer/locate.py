"""Citations -> the same with where their quotes stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rag_pg.answer.context import AnswerContext
from rag_pg.answer.reading.freshness import source_date
from rag_pg.errors import BudgetExceeded
from rag_pg.types import CheckedQuote, Citation


def locate_quotes(
    citations: Sequence[Citation], passages: Mapping[int, str], context: AnswerContext
) -> list[tuple[Citation, CheckedQuote | None]]:
    """Return the citations with where they stand, in one call of the database.

    Args:
        passages: what the model was shown of each source, by its number.
    """
    found: Sequence[CheckedQuote] | None = None
    hits = context.retrieved
    try:
        if citations:
            found = context.retriever.check_citations(citations, [*hits], passages)
    except BudgetExceeded as exc:
        context.trace.note(f"where the citations stand was not looked up: {exc}")
    if found is None:
        return [(citation, None) for citation in citations]
    return [
        (
            replace(
                citation,
                chunk_id=row.chunk_key if row.chunk_key is not None else citation.chunk_id,
                chunk_start=row.chunk_start,
                chunk_stop=row.chunk_stop,
                document_start=row.document_start,
                document_stop=row.document_stop,
                version=row.document_version,
                page=row.page,
                page_kind=row.page_kind,
                status=row.status,
                similarity=row.similarity,
                as_of=source_date(
                    row.metadata or {},
                    f"{citation.title}\n{citation.uri}",
                    hit.content if (hit := hits.get(citation.chunk_id)) else citation.quote,
                ),
            )
            if row.status != "misattributed"
            else replace(citation, status=row.status, similarity=row.similarity),
            row,
        )
        for citation, row in zip(citations, found, strict=True)
    ]
