"""The statement that checks the citations of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg.types.json import Jsonb

from rag_pg.db.connection import Statements
from rag_pg.text import clean_text
from rag_pg.types import CheckedQuote, Citation

MOST = 50  # other chunks in which a quote is looked for


class Citations(Statements):
    """Citations: checked."""

    def check_citations(
        self, collection: str, citations: Sequence[Citation], retrieved: Sequence[int] = ()
    ) -> list[CheckedQuote]:
        """Return where each citation's quote stands in its source, in their order.

        retrieved: ids of further chunks in which a quote may stand.
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
        return self._rows(
            CheckedQuote,
            "SELECT * FROM rag._check_citations(%(collection)s, %(citations)s)",
            collection=collection,
            citations=Jsonb(given),
        )


def chunks_of(citation: Citation) -> list[int]:
    """Return the chunks that are joined in a source."""
    return list(citation.chunk_ids) or [citation.chunk_id]
