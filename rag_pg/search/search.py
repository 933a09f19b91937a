"""A question becomes hits: embed it, search, put what was found into a better order."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack, cast

from rag_pg.cache import Cache, Entries, keep_completions
from rag_pg.db import Database, plain_arguments
from rag_pg.deadline import call_within, current_scope, half_of_the_time
from rag_pg.errors import InvalidQuery, ModelUnavailable, ProviderError, RagError, SpaceChanged
from rag_pg.protocols import LLM, Embedder, Reranker
from rag_pg.search.metadata import CollectionMetadata
from rag_pg.search.metering import UsageRecorder
from rag_pg.search.options import SearchOptions, StatementOptions, check_names
from rag_pg.search.passages import join_hits
from rag_pg.search.rerank import SECONDS, rerank_hits, reranked_limit
from rag_pg.search.rewrite import (
    Rewritten,
    Variant,
    choose_route,
    combine,
    local_time,
    rewrite_question,
)
from rag_pg.search.sample import QuerySample
from rag_pg.search.search_cache import find_kept, search_key
from rag_pg.search.vectors import QueryVectors
from rag_pg.text import clean_text, estimate_tokens
from rag_pg.tracing import span
from rag_pg.types import (
    CollectionInfo,
    Hit,
    Hits,
    Leg,
    Message,
    MetadataField,
    MetadataQuery,
    MetadataResult,
    Method,
    Route,
    Vectors,
)

LONGEST_QUERY = 100_000  # bytes, as rag.search has it: a model is not asked about more


class Searcher:
    """The searches of one collection. Remembers its settings,
    its embedder and the vectors of recent queries.

    Args:
        read: the collection's settings as they are now. embedder, reranker, llm: open one by its
            name, the first by the collection's. entries: the cache; None: there is none.
    """

    def __init__(
        self,
        database: Database,
        info: CollectionInfo,
        *,
        read: Callable[[str], CollectionInfo],
        embedder: Callable[[str], Embedder],
        reranker: Callable[[str], Reranker],
        llm: Callable[[str | None], LLM | None],
        entries: Entries | None = None,
    ) -> None:
        self.database = database
        self.info = info
        self._read = read
        self._open_embedder = embedder
        self._open_reranker = reranker
        self._embedder: Embedder | None = None
        self._open_llm = llm
        self._entries = entries
        self._vectors: QueryVectors | None = None
        self._metadata = CollectionMetadata(database, info.name)
        self.usage = UsageRecorder(database, info.name)
        self._sample: QuerySample | None = QuerySample(database, info)
        self._status: str | None = None
        self._status_at = float("-inf")

    @property
    def embedder(self) -> Embedder:
        """The active space's. Raises CollectionMismatch, ModelUnavailable."""
        if self._embedder is None:
            self._embedder = call_within(
                current_scope(), lambda: self._open_embedder(self.info.name), self.info.model
            )
        return self._embedder

    def refresh(self) -> None:
        """Read the settings again, after another space was activated or a field declared."""
        self.info = self._read(self.info.name)
        self._embedder = None
        self._vectors = None
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
        if self._vectors is None:
            self._vectors = QueryVectors(self.embedder)
        (vector,) = self._vectors.embed((Variant(query=question),), entries)
        return vector

    def forget_metadata(self) -> None:
        """Read the declared fields and their values anew when they are next needed."""
        self._metadata = CollectionMetadata(self.database, self.info.name)

    def search(self, query: str, **options: Unpack[SearchOptions]) -> Hits:
        """See `Collection.search`."""
        started = time.perf_counter()
        check_names(options)
        rewritten = self.rewrite(
            query,
            options.pop("rewrite", ()),
            history=options.pop("history", ()),
            helper_llm=options.pop("helper_llm", None),
            filter=options.get("filter"),
            now=options.pop("now", None),
            time_zone=options.pop("time_zone", None),
            cache=options.get("cache"),
        )
        hits = self.find(rewritten, **options)
        hits.seconds = time.perf_counter() - started
        return hits

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
        llm = self._open_llm(helper_llm) if isinstance(helper_llm, str | None) else helper_llm
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
        time_zone: str | None = None,
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
            now=local_time(now, time_zone),
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
            "gen_ai.data_source.id": self.info.name,
            "gen_ai.request.model": self.info.model,
            "gen_ai.request.top_k": options.get("limit", 10),
        }
        with span(f"retrieval {self.info.name}", attributes) as current:
            entries = self.entries(options.pop("cache", None))
            if entries is not None and entries.settings.searches:
                hits = self._find_kept(rewritten, options, entries)
            else:
                hits = self._find(rewritten, options, entries)
            current.set_attribute("rag_pg.hits", len(hits))
            current.set_attribute("rag_pg.method", hits.method)
            current.set_attribute("rag_pg.skipped", sorted(hits.skipped))
        return hits

    def _find_kept(self, rewritten: Rewritten, options: SearchOptions, entries: Entries) -> Hits:
        """The hits that were found before, or are found now; see `find_kept`."""
        options = cast(SearchOptions, plain_arguments(options))
        try:
            embedder = self.embedder if _wants_vectors(cast(StatementOptions, options)) else None
            key = search_key(self.info, rewritten, options, embedder)
        except ModelUnavailable:  # keywords alone answer
            key = None
        if key is None:
            return self._find(rewritten, options, entries)
        limit = options.get("limit", 10)
        return find_kept(
            key,
            rewritten,
            entries,
            collection=self.info.name,
            find=lambda: self._find(rewritten, cast(SearchOptions, {**options}), entries),
            waiting=lambda found: self._waiting(found < limit),
        )

    def _find(self, rewritten: Rewritten, options: SearchOptions, entries: Entries | None) -> Hits:
        started = time.perf_counter()
        rerank = options.pop("rerank", None)
        rerank_timeout = options.pop("rerank_timeout", SECONDS)
        rerank_weight = options.pop("rerank_weight", 1.0)
        statement = cast(StatementOptions, options)
        if rewritten.filter:
            statement["filter"] = combine(statement.get("filter"), rewritten.filter)
        if rewritten.boosts:
            statement["boosts"] = [*(statement.get("boosts") or ()), *rewritten.boosts]
        plain_arguments(statement)
        limit = statement.setdefault("limit", 10)
        page = slice(limit)
        if rerank is not None:
            offset = statement.pop("offset", 0)
            page = slice(offset, offset + limit)
            count = reranked_limit(
                limit, statement.get("candidate_limit"), rerank_timeout, rerank_weight
            )
            if not 0 <= offset < count:
                raise InvalidQuery(
                    f"offset {offset} is out of range: {count} candidates are reranked; "
                    "raise candidate_limit"
                )
            statement["limit"] = statement["candidate_limit"] = count
        notes = list(rewritten.notes)
        skipped: set[Leg] = set()
        hits = self._ask_database(rewritten.variants, statement, notes, skipped, entries)
        if rerank is not None:
            try:
                reranker = self._open_reranker(rerank) if isinstance(rerank, str) else rerank
                with half_of_the_time():
                    hits = rerank_hits(
                        reranker,
                        rewritten.question,
                        hits,
                        timeout=rerank_timeout,
                        weight=rerank_weight,
                    )
            except (ProviderError, ModelUnavailable) as exc:
                skipped.add("rerank")
                notes.append(f"reranking was skipped: {exc}")
        if note := self._waiting(len(hits) < statement["limit"]):
            notes.append(note)
        return Hits(
            hits[page],
            notes,
            skipped,
            method=_method(rewritten.variants, statement, skipped),
            count_tokens=estimate_tokens,
            seconds=time.perf_counter() - started,
            question=rewritten.question,
            steps=rewritten.steps,
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
        passages = self.database.expand(
            self.info.name,
            [hit.chunk_id for hit in hits],
            neighbours=1 if upto == "window" else 0,
            upto="section" if upto == "section" else "window",
        )
        return join_hits(hits, passages, longest=longest)

    def _ask_database(
        self,
        variants: Sequence[Variant],
        options: StatementOptions,
        notes: list[str],
        skipped: set[Leg],
        entries: Entries | None,
    ) -> list[Hit]:
        """Search with the variants' vectors;
        anew by another model when another space was activated meanwhile."""
        started = time.perf_counter()
        for attempt in range(3):
            embeddings, failure = self._embed(variants, options, entries)
            given: dict[str, Any] = {**options}
            if embeddings is None:
                given["vector_weight"] = 0.0
            else:
                given["expected_space"] = self.info.space_id
            try:
                if len(variants) == 1:
                    hits = self.database.search(
                        self.info.name,
                        variants[0].query,
                        None if embeddings is None else embeddings[0],
                        notes=notes,
                        **given,
                    )
                else:
                    queries = [variant.query for variant in variants]
                    hits = self.database.search_variants(
                        self.info.name, queries, embeddings, notes=notes, **given
                    )
            except SpaceChanged:
                if attempt == 2:
                    raise
                self.refresh()
                continue
            if failure is not None:
                skipped.add("vector")
                notes.append(f"vector search was skipped: {failure}")
            elif self._sample is not None:
                self._sample.offer(
                    variants[0].query,
                    None if embeddings is None else embeddings[0],
                    options,
                    expected_space=self.info.space_id,
                    seconds=time.perf_counter() - started,
                )
            return hits
        raise AssertionError("the last attempt returns or raises")

    def _embed(
        self, variants: Sequence[Variant], options: StatementOptions, entries: Entries | None
    ) -> tuple[list[Vectors] | None, Exception | None]:
        """Embed variants: float32 (dimensions,) each.
        None where that is not wanted or not possible, and then why."""
        if not _wants_vectors(options):
            return None, None
        try:
            with half_of_the_time():
                if self._vectors is None:
                    self._vectors = QueryVectors(self.embedder)
                return self._vectors.embed(variants, entries), None
        except (ProviderError, ModelUnavailable) as exc:
            if options.get("keyword_weight") == 0:
                self._check(variants, options)
                raise
            return None, exc
        except RagError:
            self._check(variants, options)
            raise

    def _check(self, variants: Sequence[Variant], options: StatementOptions) -> None:
        """Raise what is wrong with the arguments, which is told before what is wrong with a
        model."""
        given: dict[str, Any] = {**options, "vector_weight": 0.0, "keyword_weight": 1.0}
        self.database.search(self.info.name, variants[0].query, None, **given)

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


def _wants_vectors(options: StatementOptions) -> bool:
    return options.get("vector_weight") != 0


def _method(variants: Sequence[Variant], options: StatementOptions, skipped: set[Leg]) -> Method:
    """Return which legs searched."""
    if "vector" in skipped or not _wants_vectors(options):
        return "keyword"
    return "vector" if options.get("keyword_weight") == 0 else "hybrid"
