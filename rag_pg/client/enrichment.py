"""What the documents of a collection are enriched with."""

from __future__ import annotations

import builtins
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rag_pg.chunk import Chunking
from rag_pg.client.opened import OfCollection
from rag_pg.client.threaded import in_thread
from rag_pg.errors import InvalidInput
from rag_pg.ingest import work_backlog, work_enrichment
from rag_pg.types import Enrichment as Enriched
from rag_pg.types import EnrichmentEstimate, RulePreview

Rules = Sequence[Mapping[str, Any]]
Fields = Mapping[str, Mapping[str, Any]]
CONTEXT_TOKENS = 64  # of a chunk's room: less makes contexts that are cut


class Enrichment(OfCollection):
    """What documents are given beside their own: by rules, and by a language model."""

    def list(self) -> list[Enriched]:
        """What the documents are enriched with, and how far that is."""
        return self._database.get_enrichment(self._name)

    @in_thread("long")
    def set_rules(self, rules: Rules, *, wait: bool = True) -> int:
        """Give documents and chunks metadata by rules: regular expressions over their text.

        Args:
            rules: e.g. [{"field": "is_critical", "pattern": "MANDATORY|CRITICAL", "value": True,
                "scope": "chunk"}]; [] removes what rules gave. See docs/guides/enrich.md.
            wait: work the queue until all documents have it; False leaves that to workers.
        Returns: how many documents there are, 0 where the rules are these already.
        Raises: InvalidInput naming the rule that is wrong.
        """
        count = self._database.set_enrichment(self._name, rules)
        if wait and count:
            worker = self._opened.rag.worker([self._name], llm_of=None)
            work_backlog(self._database, worker, self._name)
        return count

    @in_thread("long")
    def preview_rules(
        self, rules: Rules | None = None, *, documents: int = 100
    ) -> builtins.list[RulePreview]:
        """What each rule would find in so many documents (1 to 100,000); nothing is stored.

        Args:
            rules: None: those that are set.
        Raises: InvalidInput naming the rule that is wrong.
        """
        return self._database.rows(
            RulePreview, "preview_enrichment", collection=self._name,
            rules=None if rules is None else [*rules], document_limit=documents,
        )  # fmt: skip

    @in_thread("long")
    def estimate_extraction(self, fields: Fields, model: str | None = None) -> EnrichmentEstimate:
        """What `set_extraction` would cost for the documents that are there; nothing is begun.

        Raises: ModelUnavailable (no model is named or set), InvalidInput.
        """
        from rag_pg.enrich import estimate_extraction

        llm = self._opened.rag.models.writing_llm(model)
        return estimate_extraction(llm, self._database.enrichment_size(self._name), len(fields))

    @in_thread("long")
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
            self._opened.rag.models.writing_llm(model)
        count = self._database.value(
            int, "set_extraction", collection=self._name, fields=fields, model=model
        )
        if wait and count:
            work_enrichment(self._database, self._opened.rag.worker, self._name, "extract")
        return count

    @in_thread("long")
    def estimate_contexts(self, model: str | None = None) -> EnrichmentEstimate:
        """What `set_contexts` would cost for the chunks that are there; nothing is begun.

        Raises: as `set_contexts`.
        """
        from rag_pg.enrich import estimate_contexts

        self._check_chunk_size()
        llm = self._opened.rag.models.writing_llm(model)
        return estimate_contexts(llm, self._database.enrichment_size(self._name))

    @in_thread("long")
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
                self._opened.rag.models.writing_llm(model)
        count = self._database.value(
            int, "set_contexts", collection=self._name, wanted=wanted, model=model
        )
        if wait and count:
            work_enrichment(self._database, self._opened.rag.worker, self._name, "context")
        return count

    def _check_chunk_size(self) -> None:
        self._opened.searcher.refresh()
        longest = self._opened.embedder.max_tokens
        chunk = Chunking.read(self._opened.info.chunking, longest).max_tokens
        if longest - chunk < CONTEXT_TOKENS:
            smaller = json.dumps({"max_tokens": max(16, longest - 100)})
            raise InvalidInput(
                f"chunks of up to {chunk} tokens leave no room for contexts in the {longest} that"
                f" {self._opened.info.model} reads; make them smaller first:"
                f" rag-pg rechunk {self._name} --chunking '{smaller}'"
            )
