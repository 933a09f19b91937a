"""What the documents of a collection are enriched with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.chunk import Chunking
from rag_pg.client.opened import OpenCollection
from rag_pg.errors import InvalidInput
from rag_pg.ingest import work_backlog, work_enrichment
from rag_pg.types import Enrichment, EnrichmentEstimate, RulePreview

Rules = Sequence[Mapping[str, Any]]
Fields = Mapping[str, Mapping[str, Any]]
CONTEXT_TOKENS = 64  # of a chunk's room: less makes contexts that are cut


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

    # --- by a language model

    def estimate_extraction(self, fields: Fields, model: str | None = None) -> EnrichmentEstimate:
        """What `set_extraction` would cost for the documents that are there; nothing is begun.

        Raises: ModelUnavailable (no model is named or set), InvalidInput.
        """
        from rag_pg.enrich import estimate_extraction

        llm = self.rag.models.writing_llm(model)
        return estimate_extraction(llm, self.rag.database.enrichment_size(self.name), len(fields))

    def set_extraction(self, fields: Fields, *, model: str | None = None, wait: bool = True) -> int:
        """Let a language model read fields out of every document, now and whenever one is put or
        changed. It costs money: see `estimate_extraction`.

        Args:
            fields: e.g. {"author": {"type": "text", "description": "who wrote it"}}; types: text,
                number, boolean, date, list (of texts), enum (with values). {} removes what was
                read.
            model: None: the helper model of whoever works the queue.
            wait: work the queue until all documents are read; False leaves that to workers.
        Returns: how many documents there are, 0 where it is set like this already.
        Raises: InvalidInput naming the field that is wrong, NotReady (documents failed; the others
            are done), ModelUnavailable.
        """
        if fields and wait:
            self.rag.models.writing_llm(model)
        count = self.rag.database.set_extraction(self.name, fields, model)
        if wait and count:
            work_enrichment(self.rag.database, self.rag.worker, self.name, "extract")
        return count

    def estimate_contexts(self, model: str | None = None) -> EnrichmentEstimate:
        """What `set_contexts` would cost for the chunks that are there; nothing is begun.

        Raises: as `set_contexts`.
        """
        from rag_pg.enrich import estimate_contexts

        self._check_chunk_size()
        llm = self.rag.models.writing_llm(model)
        return estimate_contexts(llm, self.rag.database.enrichment_size(self.name))

    def set_contexts(
        self, wanted: bool = True, *, model: str | None = None, wait: bool = True
    ) -> int:
        """Let a language model write, for every chunk, where in its document it stands (contextual
        retrieval), now and whenever a document changes. It costs money: see `estimate_contexts`.

        A context is embedded and found by keyword with its chunk, and shown nowhere.

        Args:
            wanted: False removes the contexts.
            model: None: the helper model of whoever works the queue.
            wait: work the queue until all chunks have theirs; False leaves that to workers.
        Returns: how many documents there are, 0 where it is set like this already.
        Raises: InvalidInput (chunks leave no room for contexts in what the embedder reads),
            NotReady (documents failed; the others are done), ModelUnavailable.
        """
        if wanted:
            self._check_chunk_size()
            if wait:
                self.rag.models.writing_llm(model)
        count = self.rag.database.set_contexts(self.name, wanted, model)
        if wait and count:
            work_enrichment(self.rag.database, self.rag.worker, self.name, "context")
        return count

    def _check_chunk_size(self) -> None:
        self.refresh()
        longest = self.embedder.max_tokens
        chunk = Chunking.read(self.info.chunking, longest).max_tokens
        if longest - chunk < CONTEXT_TOKENS:
            smaller = json.dumps({"max_tokens": max(16, longest - 100)})
            raise InvalidInput(
                f"chunks of up to {chunk} tokens leave no room for contexts in the {longest} that"
                f" {self.info.model} reads; make them smaller first: rag-pg rechunk {self.name}"
                f" --chunking '{smaller}'"
            )
