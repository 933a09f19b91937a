"""Searching a collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack
from uuid import UUID

from rag_pg.client.documents import Documents
from rag_pg.protocols import LLM
from rag_pg.search import Rewritten, SearchOptions, accounted, asks_models, meter_search
from rag_pg.text import clean_text
from rag_pg.types import Hit, Hits, Message


class Searching(Documents):
    """The methods of `Collection` that search."""

    def search(
        self,
        query: str,
        *,
        wait_for: Iterable[UUID] = (),
        timeout: float = 30,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> Hits:
        """Return the chunks that best answer `query`, best first.

        Vector and keyword rankings are fused in rag.search, in one round trip. When the embedder
        does not answer, keywords alone do; when the reranker fails or is late, the fused order
        stands. `notes` and `skipped` say so.

        Args:
            limit: 1 to 1000 hits, default 10.
            offset: how many hits to leave out, as the pages before had; limit + offset is at most
                10,000, with rerank at most the candidate_limit.
            filter: keep chunks whose metadata pass it, e.g. {"lang": "en", "year": {"$gte": 2024}};
                values may be dates, decimals, UUIDs and sets. See docs/guides/filters.md.
            vector_weight, keyword_weight: 0 leaves a leg out; the defaults are those of the fusion.
            fusion: "auto" (weights chosen for the query;
                the default), "weighted" or "rrf" (with rrf_k).
            candidate_limit: how many each leg contributes, and how many are reranked; default the
                larger of 4 * limit and 40.
            diversity: 0 to 1; prefer chunks unlike those before them (maximal marginal relevance).
            per_document: at most so many chunks of a document.
            boosts: e.g. [{"filter": {"lang": "en"}, "multiply": 1.2}, {"recency":
                "date", "half_life": "90 days"}].
            duplicates: keep chunks whose text was found before.
            ef_search: 1 to 1000, how widely the vector index is searched;
                the default follows the limit.
            typo_tolerance: False: words that no chunk has are searched for neither in British or
                American spelling nor as the words that one typing error makes of them. `notes` say
                where hits have one of those.
            rerank: what puts the candidates into a better order: cross-encoder:<model or folder>,
                llm, llm:<language model>, or an object with `name` and `rerank`.
            rerank_timeout: seconds, without loading the model, default 10;
                None: as long as it takes.
            rerank_weight: 0 to 1, of the reranker's score beside the fused one, each scaled to 0 to
                1 over the candidates; default 1: the reranker alone decides.
            rewrite: names of rewrites, see docs/guides/questions.md: filters, multi_query,
                decomposition, step_back, hyde.
            history: the turns before the query, each with role (user or assistant) and content; a
                follow-up is made to stand alone.
            helper_llm: the language model that rewrites, or its name; default: RAG_PG_HELPER_LLM,
                else RAG_PG_LLM.
            now, time_zone: what relative dates of the query refer to; default: the clock, and the
                machine's zone, else an IANA name such as Europe/Zurich.
            cache: True: hits that were found before are given again while neither the collection
                nor the caller's rights have changed, and these are kept; False: nothing is read
                from the cache or kept; None: as the client's settings say.
            wait_for: ids of documents (AddReport.document_ids) that have to be searchable first.
            timeout: seconds to wait for them.
            max_tokens, max_cost: of all calls of language models for this search, tokens and US
                dollars. A call that might pass one is not made, which `notes` say.
        Returns: at most `limit` hits; `Hit.score` is larger-is-better,
            comparable within one call only.
        Raises: InvalidQuery, InvalidInput (unknown option, unknown reranker), NotFound, NotReady,
            SchemaMismatch, DatabaseUnavailable.
        """
        if wait_for := list(wait_for):
            self.wait_until_searchable(wait_for, timeout=timeout)
        if not asks_models(options):
            return self._searcher.search(query, **options)
        with accounted(
            self.rag.database, self.name, "search", max_tokens=max_tokens, max_cost=max_cost
        ) as account:
            meter_search(options, self.rag.models, account)
            hits = self._searcher.search(query, **options)
            hits.usage, hits.cost = account.usage, account.cost
            return hits

    def rewrite(
        self,
        question: str,
        rewrite: Sequence[str] = (),
        *,
        history: Sequence[Message | Mapping[str, Any]] = (),
        helper_llm: str | LLM | None = None,
        filter: Mapping[str, Any] | None = None,
        now: datetime | None = None,
        time_zone: str | None = None,
    ) -> Rewritten:
        """Return what `search` would search for with these arguments, without searching.

        Raises: InvalidInput (an unknown rewrite or time zone, a turn that is none), InvalidQuery.
        """
        asked: SearchOptions = {"rewrite": rewrite, "history": history, "helper_llm": helper_llm}
        with accounted(self.rag.database, self.name, "search") as account:
            meter_search(asked, self.rag.models, account)
            return self._searcher.rewrite(
                question,
                rewrite,
                history=history,
                helper_llm=asked["helper_llm"],
                filter=filter,
                now=now,
                time_zone=time_zone,
            )

    def snippets(
        self,
        query: str,
        hits: Sequence[Hit],
        *,
        max_length: int = 200,
        start_mark: str = "<b>",
        stop_mark: str = "</b>",
        ellipsis: str = "…",
    ) -> list[str]:
        """Return the passage of each hit that best matches the query's words,
        which stand between marks.

        The text is as it is stored: for HTML pass marks that no text holds, escape,
        then replace them.

        Args:
            max_length: 10 to 10,000 characters of the chunk, cut between words;
                `ellipsis` stands where it was cut.
        Returns: a text for each hit; the chunk's beginning, unmarked, where no word matches, and ""
            where the chunk was deleted meanwhile. Raises: InvalidQuery.
        """
        query, _ = clean_text(query)
        found = self.rag.database.snippets(
            self.name, query, [hit.chunk_id for hit in hits], max_length=max_length,
            start_mark=start_mark, stop_mark=stop_mark, ellipsis=ellipsis,
        )  # fmt: skip
        return [text or "" for text in found]
