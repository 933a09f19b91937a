"""What the documents of a collection are enriched with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.client.opened import OpenCollection
from rag_pg.ingest import work_backlog
from rag_pg.types import Enrichment, RulePreview

Rules = Sequence[Mapping[str, Any]]


class Enriching(OpenCollection):
    """The methods of `Collection` about what its documents are enriched with."""

    def set_enrichment(self, rules: Rules, *, wait: bool = True) -> int:
        """Give documents and chunks metadata by rules: regular expressions over their text.

        Args:
            rules: e.g. [{"field": "is_critical", "pattern": "MANDATORY|CRITICAL", "value": True,
                "scope": "chunk"}]; [] removes what rules gave. See docs/guides/enrich.md.
            wait: work the queue until all documents have it; False leaves that to workers.
        Returns: how many documents there are, 0 where the rules are these already.
        Raises: InvalidInput naming the rule that is wrong.
        """
        count = self.rag.database.set_enrichment(self.name, rules)
        if wait and count:
            work_backlog(self.rag.database, self.rag.worker, self.name)
        return count

    def enrichment(self) -> list[Enrichment]:
        """What the documents are enriched with, and how far that is."""
        return self.rag.database.get_enrichment(self.name)

    def preview_enrichment(
        self, rules: Rules | None = None, *, documents: int = 100
    ) -> list[RulePreview]:
        """What each rule would find in so many documents (1 to 100,000); nothing is stored.

        Args:
            rules: None: those that are set.
        Raises: InvalidInput naming the rule that is wrong.
        """
        return self.rag.database.preview_enrichment(self.name, rules, documents)
