"""A question becomes hits: rewritten, searched for, put into a better order."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack, cast

import numpy as np

from rag_pg.cache import Cache, Entries, keep_completions
from rag_pg.db import Database, read_notes
from rag_pg.deadline import half_of_the_time
from rag_pg.errors import InvalidInput, InvalidQuery, ModelUnavailable, ProviderError
from rag_pg.protocols import LLM, Embedder
from rag_pg.providers import Models, left_out
from rag_pg.search.active_space import ActiveSpace
from rag_pg.search.metadata import CollectionMetadata
from rag_pg.search.metering import (
    UsageRecorder,
    accounted,
    asks_models,
    asks_reranker,
    meter_search,
    open_helper,
)
from rag_pg.search.options import SearchOptions, check_names
from rag_pg.search.passages import join_hits
from rag_pg.search.query import Found, Query, read_query
from rag_pg.search.rerank import SECONDS, Scorer, rerank_hits
from rag_pg.search.rewrite import (
    Rewritten,
    Variant,
    choose_route,
    local_time,
    rewrite_question,
)
from rag_pg.search.sample import QuerySample
from rag_pg.search.search_cache import search_entry
from rag_pg.search.statement import find_by_statement
from rag_pg.text import clean_text, estimate_tokens
from rag_pg.tracing import LEG, span, tells_content
from rag_pg.types import (
    CollectionInfo,
    Hit,
    Hits,
    Message,
    MetadataField,
    MetadataQuery,
    MetadataResult,
    Route,
    Vectors,
)

OF_REWRITES = {"rewrite", "history", "helper_llm", "now", "time_zone"}
LONGEST_QUERY = 100_000  # bytes, as rag.search has it: a model is not asked about more


class Searcher:
    """The searches of one collection. Remembers its settings,
    its embedder and the vectors of recent queries.

    Args:
        entries: the cache; None: there is none.
    """

    def __init__(
        self,
        database: Database,
        info: CollectionInfo,
        models: Models,
        entries: Entries | None = None,
    ) -> None:
        self.database, self.models = database, models
        self._space = ActiveSpace(database, info, models)
        self._entries = entries
        self._metadata = CollectionMetadata(database, info.name)
        self.usage = UsageRecorder(database, info.name)
        self._sample: QuerySample | None = QuerySample(database, info)
        self._status: str | None = None
        self._status_at = float("-inf")

    @property
    def info(self) -> CollectionInfo:
        """The collection's settings, as they were when they were read last."""
        return self._space.info

    @property
    def embedder(self) -> Embedder:
        """The active space's. Raises CollectionMismatch, ModelUnavailable."""
        return self._space.embedder

    @property
    def remembering(self) -> Embedder:
        """The same, which remembers the vectors of recent texts. Raises: as `embedder`."""
        return self._space.remembering

    def refresh(self) -> None:
        """Read the settings again, after another space was activated or a field declared."""
        self._space.refresh()
        if self._sample is not None:
            self._sample = QuerySample(self.database, self.info)
        self.forget_metadata()

    def unsampled(self) -> Searcher:
        """Return this searcher with searches that nobody asked live: none of them is sampled."""
        other = copy.copy(self)
        other._sample = None
        return other

    def entries(self, cache: bool | Cache | None = None) -> Entries | None:
        """Return the cache as a call wants it; see `Entries.wanted`."""
        return None if self._entries is None else self._entries.wanted(cache)

    def question_vector(self, question: str, entries: Entries | None) -> Vectors:
        """Return the vector of a question. Raises: as the embedder, CollectionMismatch."""
        (vector,) = self._space.embed((Variant(query=question),), entries)
        return vector

    def forget_metadata(self) -> None:
        """Read the declared fields and their values anew when they are next needed."""
        self._metadata = CollectionMetadata(self.database, self.info.name)

    def search(
        self,
        query: str | None,
        *,
        embedding: Sequence[float] | Vectors | None = None,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> Hits:
        """See `Collection.search`."""
        if embedding is not None:
            return self._search_by(query, embedding, options)
        if query is None:
            raise InvalidQuery("there is nothing to search by; pass a query or an embedding")
        if not asks_models(options):
            return self._search(query, options)
        self.database.plain_arguments("search", options)  # before a model is opened
        with accounted(
            self.database, self.info.name, "search", max_tokens=max_tokens, max_cost=max_cost
        ) as account:
            meter_search(options, self.models, account)
            hits = self._search(query, options)
            hits.usage, hits.cost = account.usage, account.cost
            return hits

    def _search_by(
        self, query: str | None, embedding: Sequence[float] | Vectors, options: SearchOptions
    ) -> Hits:
        """Hits by a vector that the caller has, and by the query's words where there is one."""
        check_names(options)
        if asks_models(options) or (query is None and options.get("rerank") is not None):
            raise InvalidInput(
                "an embedding goes with a query as it stands: leave out rewrite, history and a"
                " reranker that is a language model, and every reranker where there is no query"
            )
        vector = np.asarray(embedding, dtype=np.float32)
        if vector.ndim != 1 or not np.isfinite(vector).all():
            raise InvalidQuery(
                f"the embedding is a list of finite numbers, not of shape {vector.shape}"
                if vector.ndim != 1
                else "the embedding holds NaN or infinity"
            )
        question = "" if query is None else check_query(query)
        variant = Variant(query=question, vector=tuple(vector.tolist()))
        plain = {name: value for name, value in options.items() if name not in OF_REWRITES}
        rewritten = Rewritten(question=question, variants=(variant,))
        return self.find(rewritten, **cast(SearchOptions, plain))

    def _search(self, query: str, options: SearchOptions) -> Hits:
        started = time.perf_counter()
        check_names(options)
        hits = self.find(self._rewrite(query, options), **options)
        hits.seconds = time.perf_counter() - started
        return hits

    def preview(self, query: str, options: SearchOptions) -> Rewritten:
        """See `Collection.rewrite`."""
        with accounted(self.database, self.info.name, "search") as account:
            meter_search(options, self.models, account)
            return self._rewrite(query, options)

    def _rewrite(self, query: str, options: SearchOptions) -> Rewritten:
        return self.rewrite(
            query,
            options.pop("rewrite", ()),
            history=options.pop("history", ()),
            helper_llm=options.pop("helper_llm", None),
            filter=options.get("filter"),
            now=options.pop("now", None),
            time_zone=options.pop("time_zone", None),
            cache=options.get("cache"),
        )

    def rewrite(
        self,
        question: str,
        names: Sequence[str],
        *,
        history: Sequence[Message | Mapping[str, Any]] = (),
        helper_llm: str | LLM | None = None,
        filter: Mapping[str, Any] | None = None,
        now: datetime | None = None,
        time_zone: str | None = None,
        cache: bool | Cache | None = None,
    ) -> Rewritten:
        """Return what a question asks to search for; see `rewrite_question`.

        Args:
            helper_llm: a model or its name; None: that of the settings. filter: what the search
                will be given beside that of the question.
        Raises: as `rewrite_question`, and InvalidQuery (no text, an empty one).
        """
        question = check_query(question)
        if not names and not history:
            return Rewritten(question=question, variants=(Variant(query=question),))
        llm = open_helper(self.models, helper_llm)
        llm = keep_completions(llm, self.entries(cache))
        return rewrite_question(
            question,
            names,
            history=history,
            helper_llm=llm,
            metadata=self._metadata,
            within=filter,
            now=now,
            time_zone=time_zone,
        )

    def route(
        self,
        question: str,
        *,
        helper_llm: LLM | None = None,
        reads: int | None = None,
        now: datetime | None = None,
        cache: bool | Cache | None = None,
    ) -> Route:
        """Return how a question that stands alone is best answered; see `choose_route`.

        Args:
            reads: how many tokens of sources the answering model may be shown; None: it does not
                say, or there is none.
        """
        return choose_route(
            question,
            fields=self._metadata.fields,
            now=local_time(now, None),
            helper_llm=keep_completions(helper_llm, self.entries(cache)),
            tokens=None if reads is None else self._metadata.tokens(),
            reads=reads,
        )

    def answer_metadata(
        self, query: MetadataQuery, filter: Mapping[str, Any] | None = None
    ) -> MetadataResult:
        """Return what a question asks of the metadata, within the caller's filter."""
        return self._metadata.answer(query, filter)

    def describe_metadata(self, filter: Mapping[str, Any] | None = None) -> Sequence[MetadataField]:
        """Return the metadata fields of the documents that pass a filter; see
        `CollectionMetadata.describe`."""
        return self._metadata.describe(filter)

    def find(self, rewritten: Rewritten, **options: Unpack[SearchOptions]) -> Hits:
        """Return the hits of a question's variants, fused by reciprocal rank where there are
        several."""
        check_names(options)
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.provider.name": "rag_pg",
            "gen_ai.data_source.id": self.info.name,
            "gen_ai.request.model": self.info.model,
            "gen_ai.request.top_k": options.get("limit", 10),
        }
        if options.get("filter"):
            attributes["rag_pg.filtered"] = True
        if tells_content():
            attributes["gen_ai.retrieval.query.text"] = rewritten.question
        with span(f"retrieval {self.info.name}", attributes, kind="client") as current:
            started = time.perf_counter()
            entries = self.entries(options.pop("cache", None))
            query = read_query(rewritten, options, self.database)
            entry = search_entry(query, self._space, entries)
            found = entry.found if entry is not None else None
            with read_notes() as read_from:
                if found is None:
                    found = self._find(query, entries)
                    if entry is not None:
                        entry.keep(found)
                hits = self._hits(
                    query, found, entry.refusal if entry is not None else "", read_from
                )
            hits.seconds = time.perf_counter() - started
            for part, seconds in found.parts.items():
                current.set_attribute(f"{LEG}{part}", seconds)
            current.set_attribute("rag_pg.hits", len(hits))
            current.set_attribute("rag_pg.method", hits.method)
            current.set_attribute("rag_pg.skipped", sorted(hits.skipped))
            current.set_attribute("rag_pg.cached", found.is_cached)
            if tells_content():
                told = [{"id": str(hit.chunk_id), "score": hit.score} for hit in hits]
                current.set_attribute("gen_ai.retrieval.documents", json.dumps(told))
        return hits

    def _find(self, query: Query, entries: Entries | None) -> Found:
        """What the cache does not have: embedded and searched for by one statement, sampled,
        reranked."""
        found = find_by_statement(query, self.database, self._space, entries)
        if self._sample is not None and query.variants[0].query:
            self._sample.offer(query, found)
        found = self._reranked(query, found)
        found.hits = found.hits[query.page]
        return found

    def _reranked(self, query: Query, found: Found) -> Found:
        """What was found in the reranker's order, or as it was where that does not answer."""
        rerank = query.rerank
        if rerank is None:
            return found
        began = time.perf_counter()
        try:
            reranker = rerank.reranker
            opened = self.models.reranker(reranker) if isinstance(reranker, str) else reranker
            with half_of_the_time():
                found.hits = rerank_hits(
                    opened,
                    query.rewritten.question,
                    found.hits,
                    timeout=rerank.timeout,
                    weight=rerank.weight,
                )
        except (ProviderError, ModelUnavailable) as exc:
            found.skipped.add("rerank")
            found.notes.append(left_out("reranking", exc))
        found.parts["rerank"] = time.perf_counter() - began
        return found

    def scorer(self, options: SearchOptions) -> Scorer | None:
        """Return what the reranker of a search gives other texts; None: it has none, or one that is
        a language model, which costs a call. Raises: InvalidInput, ModelUnavailable."""
        reranker = options.get("rerank")
        if reranker is None or asks_reranker(options):
            return None
        opened = self.models.reranker(reranker) if isinstance(reranker, str) else reranker
        return Scorer(opened, options.get("rerank_timeout", SECONDS))

    def _hits(self, query: Query, found: Found, refusal: str, read_from: list[str]) -> Hits:
        """What was found, and what has to be said of it now, and of where that was read."""
        notes = [*query.rewritten.notes, *found.notes]
        if waiting := self._waiting(found.is_short):
            notes.append(waiting)
        if refusal:
            notes.append(f"nothing is cached: {refusal}")
        return Hits(
            found.hits,
            [*notes, *read_from],
            found.skipped,
            method=found.method,
            count_tokens=estimate_tokens,
            question=query.rewritten.question,
            steps=query.rewritten.steps,
            cached=found.is_cached,
        )

    def expand(self, hits: Sequence[Hit], upto: str | None, *, longest: int) -> list[Hit]:
        """Return hits with the text around them; hits that stand beside each other become one.

        Args:
            upto: None (nothing beyond the hits), window (the chunk before and the one after) or
                section. longest: characters of a text; see `join_hits`.
        """
        documents = {hit.document_id for hit in hits}
        if upto is None and len(documents) == len(hits):
            return list(hits)
        beside = int(upto == "window")
        passages = self.database.expand(
            self.info.name,
            [hit.chunk_id for hit in hits],
            before=beside,
            after=beside,
            upto="section" if upto == "section" else "window",
        )
        return join_hits(hits, passages, longest=longest)

    def _waiting(self, short: bool) -> str | None:
        """That documents wait and no worker lives; asked for at most once a second, or, when a
        search found all that it wanted, once in ten."""
        now = time.monotonic()
        if now - self._status_at > (1 if short else 10):
            self._status, self._status_at = self.database.search_note(self.info.name), now
        return self._status


def check_query(query: str) -> str:
    """Return a query as it is searched for. Raises: InvalidQuery (no text, an empty one)."""
    if not isinstance(query, str):
        raise InvalidQuery(f"the query is a text, not {query!r:.100}")
    query, _ = clean_text(query)
    if not query.strip():
        raise InvalidQuery("the query is empty; ask for something")
    if (size := len(query.encode())) > LONGEST_QUERY:
        raise InvalidQuery(
            f"the query has {size} bytes; use at most {LONGEST_QUERY}: "
            "add a long text as a document and search for its passages"
        )
    return query
