"""The statement that checks the citations of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rag_pg.db.statements import Statements
from rag_pg.text import clean_text
from rag_pg.types import CheckedQuote, Citation

MOST = 50  # other chunks in which a quote is looked for


class Citations(Statements):
    """Citations: checked."""

    def check_citations(
        self,
        collection: str,
        citations: Sequence[Citation],
        retrieved: Sequence[int] = (),
        passages: Mapping[int, str] | None = None,
    ) -> list[CheckedQuote]:
        """Return where each citation's quote stands in its source, in their order.

        Args:
            retrieved: ids of further chunks in which a quote may stand.
            passages: the text of each source, by its number, as it was found: what stands there is
                superseded, not unknown, when the source has another text by now; else fabricated.
        """
        every = [*(i for citation in citations for i in chunks_of(citation)), *retrieved]
        given = [
            {
                "chunk_ids": chunks_of(citation),
                "uri": citation.uri,
                "quote": clean_text(citation.quote)[0],
                "others": [i for i in dict.fromkeys(every) if i not in chunks_of(citation)][:MOST],
            }
            for citation in citations
        ]
        rows = self.rows(CheckedQuote, "_check_citations", collection=collection, citations=given)
        if passages is None or all(row.status != "unknown" for row in rows):
            return rows
        return [
            self._as_it_was(row, passages[c.number], c.quote)
            if row.status == "unknown" and c.number in passages
            else row
            for c, row in zip(citations, rows, strict=True)
        ]

    def _as_it_was(self, row: CheckedQuote, passage: str, quote: str) -> CheckedQuote:
        stood = self.value(
            float, "_holds_quote", original=clean_text(passage)[0], quote=clean_text(quote)[0]
        )
        return replace(row, status="superseded" if stood else "fabricated", similarity=stood)


def chunks_of(citation: Citation) -> list[int]:
    """Return the chunks that are joined in a source."""
    return list(citation.chunk_ids) or [citation.chunk_id]
