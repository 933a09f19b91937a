"""What one question may find in its collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from rag_pg.answer.extractive.compose import question_subject
from rag_pg.answer.extractive.passage_scores import Evidence, examine
from rag_pg.answer.question import PASSAGES, Expand, Question
from rag_pg.answer.reading.passage import AFTER, BEFORE
from rag_pg.answer.tools import GivenTools
from rag_pg.answer.toolset import make_toolset
from rag_pg.protocols import LLM, Embedder
from rag_pg.search import Rewritten, Scorer, Searcher, SearchOptions, combine
from rag_pg.text import words
from rag_pg.types import (
    Calibration,
    CheckedQuote,
    Citation,
    CosineSpread,
    Document,
    Hit,
    Hits,
    MetadataQuery,
    MetadataResult,
    Passage,
    Route,
    TermMatch,
    Toolset,
)

LONGEST_PASSAGE = 6000  # characters
WHOLE_SHARE = 0.75  # of what a model reads, for sources


class Retriever:
    """Retrieves from a collection for one question: within its filter, by its rewrites and options.

    Args:
        options: of every search, without those of a rewrite. now: what relative dates refer to.
            expand: what is shown around hits. tools: that the caller gives; views: whether exposed
            ones are tools too.
    """

    def __init__(
        self,
        searcher: Searcher,
        options: SearchOptions,
        *,
        now: datetime,
        expand: Expand | None = None,
        tools: GivenTools | None = None,
        views: bool = False,
    ) -> None:
        self.collection = searcher.info.name
        self._searcher, self._database = searcher, searcher.database
        self._options, self._filter = options, options.get("filter")
        self._rewritten = Rewritten(question="", variants=())
        self._now, self._expand = now, expand
        self._tools, self._views = tools, views

    @property
    def expands(self) -> bool:
        """Whether the question asks for more than the hits themselves."""
        return self._expand is not None

    def rewrite(
        self, question: Question, names: Sequence[str], *, helper_llm: LLM | None
    ) -> Rewritten:
        """Return the question after its rewrites; from then on it is searched for by them.

        Raises: as `Searcher.rewrite`.
        """
        self._rewritten = self._searcher.rewrite(
            question.text,
            names,
            history=question.history,
            helper_llm=helper_llm or "extractive",
            filter=self._filter,
            now=self._now,
            cache=self._options.get("cache"),
        )
        return self._rewritten

    def search(self, query: str, **options: Any) -> Hits:
        """Return the hits of a query. options: as of `Collection.search`, instead of those of the
        question. Raises: as that."""
        wanted = self._rewritten
        if query != wanted.question:
            wanted = wanted.about(query)
        return self._searcher.find(wanted, **cast(SearchOptions, {**self._options, **options}))

    def expand(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """Put hits that stand beside each other together, and more around them where the question
        asks for it."""
        return self._searcher.expand(hits, self._expand, longest=LONGEST_PASSAGE)

    def read(self, uri: str) -> Document | None:
        """Return a document with its content; None where there is none that passes the filter."""
        if self._filter:
            wanted = combine(self._filter, {"$uri": uri})
            if not self._database.count_documents(self.collection, metadata_filter=wanted):
                return None
        return self._database.get_document(self.collection, uri)

    def read_around(self, chunk_id: int, before: int = BEFORE) -> Passage | None:
        """Return the text around a chunk; None where it is gone."""
        found = self._database.expand(
            self.collection, [chunk_id], before=before, after=AFTER, upto="window"
        )
        return found[0] if found else None

    def examine(self, question: str, hits: Sequence[Hit]) -> Evidence | None:
        """Return how well hits answer a question, as its answer, its assessment and a calibration
        see it. Raises: as `embedder`."""
        is_embedded = not (isinstance(hits, Hits) and "vector" in hits.skipped)
        return examine(
            question_subject(question, hits),
            hits,
            embedder=self.embedder() if is_embedded else None,
            match_terms=self.match_terms,
            spread=self.cosine_spread(),
            scorer=self.scorer(hits),
            read_around=self.read_around,
        )

    def embedder(self) -> Embedder | None:
        """Return what embeds the collection's documents and queries; None: there is nothing.

        Raises: CollectionMismatch, ModelUnavailable.
        """
        return self._searcher.remembering

    def scorer(self, hits: Sequence[Hit]) -> Scorer | None:
        """Return the reranker that has put hits into their order, but for a language model."""
        is_reranked = any(hit.rerank_score is not None for hit in hits)
        return self._searcher.scorer(self._options) if is_reranked else None

    def cosine_spread(self) -> CosineSpread | None:
        """Return that of the collection's space; None where it was not measured."""
        return self._database.cosine_spread(self._searcher.info.name)

    def match_terms(self, question: str, texts: Sequence[str]) -> Sequence[TermMatch]:
        """Return how rare the terms of a question are, and which texts have them; without those
        that the filter was read from, which speak neither for nor against a text."""
        found = self._database.match_terms(self.collection, question, texts)
        left = [t for t in found if self._rewritten.filter_words.isdisjoint(words(t.word))]
        return left or found

    def route(self, question: str, *, helper_llm: LLM | None, reads: int | None) -> Route:
        """Return how a question is best answered.

        Args:
            reads: how many tokens the answering model reads; None: it does not say.
        """
        # Who says which passages, or how many, wants no whole collection.
        is_free = self._options.get("rerank") is None and self._options.get("limit") == PASSAGES
        return self._searcher.route(
            question,
            helper_llm=helper_llm,
            reads=int(WHOLE_SHARE * reads) if is_free and reads is not None else None,
            now=self._now,
            cache=self._options.get("cache"),
        )

    def ask_metadata(self, query: MetadataQuery) -> MetadataResult:
        """Return what the metadata say. Raises: InvalidQuery (the filter does not compile)."""
        within = combine(self._filter, self._rewritten.filter)
        return self._searcher.answer_metadata(query, within)

    def toolset(self) -> Toolset:
        """Return what a model may call beside searching and calculating."""
        return make_toolset(
            self._tools, self._searcher, self._filter, self._now.date(), views=self._views
        )

    def calibration(self) -> Calibration | None:
        """Return when answers are right; None where that was not measured."""
        return self._database.get_calibration(self.collection)

    def check_citations(
        self,
        citations: Sequence[Citation],
        others: Sequence[int],
        passages: Mapping[int, str],
    ) -> Sequence[CheckedQuote] | None:
        """Return where quotes stand in their sources, or in the chunks `others`; None: nobody
        looks. passages: what the model was shown of each source, by its number."""
        return self._database.check_citations(self.collection, citations, others, passages)
