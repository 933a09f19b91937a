"""A collection: documents that are searched together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Unpack
from uuid import UUID

from rag_pg.answer import stream_events
from rag_pg.client.ask import AskOptions, ask
from rag_pg.client.resources import Resources
from rag_pg.errors import (
    NotFound,
    RagError,
)
from rag_pg.ingest import (
    SAMPLE,
    Query,
    Reading,
    Remarks,
    Report,
    Source,
    adopt_table,
    build_space,
    checked_chunks,
    compare_sources,
    compare_spaces,
    create_space,
    find_space,
    put_sources,
    rechunk,
    sync_folder,
    wait_until_searchable,
    work_queue,
)
from rag_pg.protocols import LLM, Embedder
from rag_pg.search import Rewritten, Searcher, SearchOptions
from rag_pg.text import clean_text
from rag_pg.types import (
    AddReport,
    AdoptReport,
    Answer,
    CollectionInfo,
    CollectionStats,
    Document,
    Event,
    Facet,
    Hit,
    Hits,
    Message,
    Space,
    SpaceComparison,
    SyncReport,
)


class Collection:
    """Documents that are searched together. Made by `Rag.collection`."""

    def __init__(self, rag: Resources, info: CollectionInfo) -> None:
        self.rag = rag
        self.name = info.name
        self._searcher = Searcher(
            rag.database,
            info,
            read=rag.database.get_collection,
            embedder=partial(rag.models.embedder_of, rag.database),
            reranker=rag.models.reranker,
            llm=lambda name: rag.models.helper_llm(name) or rag.models.llm(name),
        )

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, model={self.info.model!r})"

    @property
    def info(self) -> CollectionInfo:
        """The collection's settings, as they were when it was opened or refreshed."""
        return self._searcher.info

    @property
    def embedder(self) -> Embedder:
        """What embeds this collection's documents and queries.
        Raises CollectionMismatch, ModelUnavailable."""
        return self._searcher.embedder

    def refresh(self) -> None:
        """Read the settings again, after another embedding space was activated."""
        self._searcher.refresh()

    # --- writing

    def add(
        self,
        *sources: Source,
        wait: bool = True,
        progress: Report | None = None,
        metadata: Mapping[str, Any] | None = None,
        exclude: Sequence[str] = (),
        keys: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> AddReport:
        """Put documents and work the queue until they are searchable.

        Args:
            sources: paths of files and folders, patterns, and documents as mappings with the keys
                uri, content and optionally title, metadata, media_type, language; other keys are
                metadata. What `load_bytes` returns.
            wait: False only queues them, for a worker.
            progress: called with a `Progress`: documents searchable of those to do,
                chunks embedded of about so many.
            metadata: of every document, beside its own, which goes first.
            exclude: what to leave out of folders and patterns, as in a .gitignore.
            keys: what records in JSON, CSV and TSV files call the keys above, e.g.
                {"id": "uri", "text": "content"}.
            dry_run: read and compare only; the report says what would be added.
        Returns: counts, and what failed with its reason: one bad document does not stop the others.
        """
        database = self.rag.database
        reading = Reading(
            max_bytes=self.rag.settings.max_file_bytes,
            keys=keys or {},
            metadata=metadata or {},
            exclude=exclude,
        )
        remarks = Remarks()
        if dry_run:
            compared = compare_sources(database, self.info, sources, reading, remarks)
            return AddReport(
                added=sum(compared.values()),
                unchanged=len(compared) - sum(compared.values()),
                uris=tuple(compared),
                failures=tuple(remarks.failures),
                removed_characters=remarks.removed,
                skipped=remarks.skipped,
                notes=tuple(remarks.notes),
            )
        ids = put_sources(database, self.name, sources, reading, remarks)
        todo = {d.document_id for d in database.unfinished(self.name, list(ids))}
        failures = remarks.failures
        if wait and todo:
            characters = sum(remarks.sizes[ids[i]] for i in todo)
            failures += work_queue(database, self.rag.worker, self.name, todo, progress, characters)
        failed = {f.uri for f in failures}
        return AddReport(
            added=sum(1 for i in todo if ids[i] not in failed),
            unchanged=len(ids) - len(todo),
            uris=tuple(ids.values()),
            failures=tuple(failures),
            removed_characters=remarks.removed,
            skipped=remarks.skipped,
            notes=tuple(remarks.notes),
            document_ids=tuple(ids),
        )

    def sync(
        self,
        folder: str | Path,
        *,
        wait: bool = True,
        progress: Report | None = None,
        exclude: Sequence[str] = (),
        dry_run: bool = False,
    ) -> SyncReport:
        """Bring the collection in step with a folder: add and update what changed, and delete the
        documents of that folder whose files are gone; see `sync_folder`."""
        return sync_folder(
            self.rag.database,
            self.name,
            Path(folder),
            lambda path: self.add(
                path, wait=wait, progress=progress, exclude=exclude, dry_run=dry_run
            ),
            dry_run=dry_run,
        )

    def add_chunks(self, chunks: Iterable[Mapping[str, Any]], *, wait: bool = True) -> int:
        """Bulk-load chunks that are ready-made, by COPY, in one transaction.

        Args:
            chunks: mappings with uri, content and optionally embedding (dimensions of the
                collection), title, heading, metadata. Rows with the same uri make one document,
                in the order given.
            wait: embed those that came without an embedding before returning;
                False leaves them to a worker.
        Returns: the number of chunks loaded.
        Raises: InvalidInput naming the chunk at fault; then nothing is loaded.
        """
        self.refresh()
        database = self.rag.database
        counts = database.load_chunks(self.name, checked_chunks(chunks), self.info.dimensions)
        if wait and counts.queued:
            failures = work_queue(database, self.rag.worker, self.name, set(counts.queued))
            if failures:
                raise RagError(
                    f"{counts.loaded_chunks} chunks are loaded, but {len(failures)} documents could"
                    f" not be embedded; {failures[0]}"
                )
        return counts.loaded_chunks

    def adopt(
        self,
        table: str,
        *,
        layout: str,
        source_dsn: str | None = None,
        langchain_collection: str | None = None,
        uri_key: str | None = None,
        sample: int = SAMPLE,
    ) -> AdoptReport:
        """Take over a table that another program filled, with its embeddings; see `Rag.adopt`."""
        dsn = source_dsn or self.rag.dsn
        assert dsn is not None  # of an open client
        return adopt_table(
            self.rag.database,
            self.rag.models,
            table,
            self.name,
            layout=layout,
            model=None,
            distance=None,
            language=None,
            source_dsn=dsn,
            langchain_collection=langchain_collection,
            uri_key=uri_key,
            sample=sample,
        )

    def delete(self, uri: str) -> bool:
        """Delete a document. False when there is none with that uri."""
        return self.rag.database.delete_document(self.name, uri)

    def delete_many(self, uris: Iterable[str]) -> int:
        """Delete documents by their uris, all or none, and return how many there were."""
        return self.rag.database.delete_documents(self.name, list(uris))

    # --- embedding spaces

    def spaces(self) -> list[Space]:
        """The collection's embedding spaces, with their progress."""
        return self.rag.database.list_spaces(self.name)

    def reembed(
        self,
        model: str,
        *,
        distance: str | None = None,
        index_options: Mapping[str, Any] | None = None,
        wait: bool = True,
        activate: bool = False,
        progress: Report | None = None,
    ) -> Space:
        """Build the vectors of another model in a space beside the active one,
        which is searched meanwhile.

        Args:
            distance: as the active space's by default.
            wait: work the queue until the space is complete; False leaves it to workers.
            activate: then search with it, see `activate_space`; implies waiting.
            progress: called with a `Progress`: chunks embedded, of all.
        Raises: InvalidInput (an unknown model, one that does not read the chunks whole, the active
            one), NotReady when chunks cannot be embedded.
        """
        space_id = create_space(
            self.rag.database,
            self.rag.models,
            self.name,
            model,
            distance or self.info.distance,
            index_options or {},
        )
        if wait or activate:
            build_space(self.rag.database, self.rag.worker, self.name, space_id, progress)
        if activate:
            self.activate_space(space_id)
        return find_space(self.rag.database, self.name, space_id)

    def rechunk(
        self, chunking: Mapping[str, Any], *, wait: bool = True, progress: Report | None = None
    ) -> int:
        """Cut the documents anew; unchanged chunks keep their vectors,
        and all stay searchable meanwhile.

        Returns: how many documents there are, 0 when they are cut like this already.
        """
        count = rechunk(
            self.rag.database, self.rag.models, self.rag.worker, self.name, chunking, wait, progress
        )
        self.refresh()
        return count

    def compare_spaces(self, queries: Sequence[Query], *, limit: int = 10) -> list[SpaceComparison]:
        """What each embedding space finds for the same queries, by exact vector search.

        Args:
            queries: texts, or mappings with query and relevant: uris, or grades by uri.
        """
        return compare_spaces(self.rag.database, self.rag.models, self.name, queries, limit)

    def activate_space(self, space_id: int, *, forced: bool = False) -> int:
        """Search with that space from now on; return how many chunks have no vector in it.

        Raises: NotReady while chunks lack vectors, unless `forced`; NotFound.
        """
        missing = self.rag.database.activate_space(space_id, forced=forced)
        self.refresh()
        return missing

    def rollback_space(self, *, forced: bool = False) -> int:
        """Search with the space that was active before; return its id.
        Raises: NotFound, NotReady."""
        space_id = self.rag.database.rollback_space(self.name, forced=forced)
        self.refresh()
        return space_id

    def drop_space(self, space_id: int) -> None:
        """Remove a space that is not active. Raises: InvalidInput, NotFound."""
        self.rag.database.drop_space(space_id)

    # --- metadata fields

    def index_field(self, field: str, type: str) -> None:
        """Declare a metadata field, so that an index serves ranges and prefixes of it in filters.

        Args:
            field: a path as in filters, e.g. "year" or "author.name".
            type: text, numeric, timestamptz or boolean.
        Raises: CollectionMismatch when it is declared with another type. Writers wait meanwhile.
        """
        self.rag.database.index_field(self.name, field, type)
        self._searcher.refresh()

    def unindex_field(self, field: str) -> bool:
        """Take back a declaration. False when there was none."""
        found = self.rag.database.unindex_field(self.name, field)
        self._searcher.refresh()
        return found

    def fields(self) -> dict[str, str]:
        """The declared metadata fields and their types."""
        return self.rag.database.list_fields(self.name)

    # --- reading

    def wait_until_searchable(self, document_ids: Iterable[UUID], *, timeout: float = 30) -> None:
        """Return when these documents are searchable in the version they have now or a later one.

        Raises: NotReady after `timeout` seconds, or at once for a document that failed.
        """
        wait_until_searchable(self.rag.database, self.name, document_ids, timeout)

    def search(
        self,
        query: str,
        *,
        wait_for: Iterable[UUID] = (),
        timeout: float = 30,
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
            wait_for: ids of documents (AddReport.document_ids) that have to be searchable first.
            timeout: seconds to wait for them.
        Returns: at most `limit` hits; `Hit.score` is larger-is-better,
            comparable within one call only.
        Raises: InvalidQuery, InvalidInput (unknown option, unknown reranker), NotFound, NotReady,
            SchemaMismatch, DatabaseUnavailable.
        """
        if wait_for := list(wait_for):
            self.wait_until_searchable(wait_for, timeout=timeout)
        return self._searcher.search(query, **options)

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
        return self._searcher.rewrite(
            question,
            rewrite,
            history=history,
            helper_llm=helper_llm,
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

    def ask(self, question: str, **options: Unpack[AskOptions]) -> Answer:
        """Answer from the documents, with citations, or say that they do not answer.

        Args:
            strategy: how: auto (the default) chooses; extractive, single, verify, self_ask,
                iterative, evidence, agent, full_context, a name given to `register_strategy`, or a
                function of a question and an `AnswerContext`. See docs/guides/answers.md.
            verify: once or strict: take out the statements that their sources do not support, by
                one call of the helper, or by one for each statement.
            llm: extractive (no key needed; the default unless RAG_PG_LLM says otherwise),
                gemini[:<model>], openai:<model>, anthropic:<model>, local, or an object of the
                protocol `LLM`.
            rewrite: names of rewrites, see docs/guides/questions.md. history: the turns before the
                question, each with role and content; a follow-up is made to stand alone.
            helper_llm: what rewrites, checks and extracts; default: RAG_PG_HELPER_LLM, else llm.
            expand: window shows the model the chunk before and after each hit as well, section the
                hit's whole section; hits that stand beside each other are one source in any case.
            max_steps: 1 to 50, default 4: how often a strategy searches anew, or calls the model
                with tools. max_tokens, max_cost: of all calls, tokens and US dollars; above them no
                further step begins, but the answer is still written.
            options: as of `search`; limit, default 8: how many hits are shown to the model;
                rerank: llm is the model that answers.
        Returns: the answer; when the strategy fails that of `single`, when the model fails that of
            `extractive`, which `notes` say.
        Raises: as `search`, InvalidInput (unknown strategy or model, no model where one is
            needed), ProviderAuth (its key is refused), ModelUnavailable (its library is missing).
        """
        return self._ask(question, options)

    def stream(self, question: str, **options: Unpack[AskOptions]) -> Generator[Event]:
        """Yield what happens while a question is answered, and the answer last; see `Event`.

        Args: as of `ask`. Closing the iterator ends the work at its next event. Raises: as `ask`.
        """
        return stream_events(lambda listener: self._ask(question, options, listener))

    def _ask(
        self,
        question: str,
        options: AskOptions,
        listener: Callable[[Event], None] | None = None,
    ) -> Answer:
        return ask(
            question,
            options,
            searcher=self._searcher,
            models=self.rag.models,
            read=lambda uri: self.rag.database.get_document(self.name, uri),
            listener=listener,
        )

    def documents(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int | None = None,
        uri_prefix: str | None = None,
    ) -> Iterator[Document]:
        """Yield documents by uri, without their content, a page at a time.

        Args:
            uri_prefix: only those whose uri begins with it, letter by letter, e.g. "handbook/".
        """
        return self.rag.database.each_document(
            self.name, metadata_filter=filter, limit=limit, uri_prefix=uri_prefix
        )

    def count(self, *, filter: Mapping[str, Any] | None = None) -> int:
        """How many documents there are whose metadata pass the filter."""
        return self.rag.database.count_documents(self.name, metadata_filter=filter or {})

    def facets(
        self, field: str, *, filter: Mapping[str, Any] | None = None, limit: int = 20
    ) -> list[Facet]:
        """The values of a metadata field and how many documents hold each, the most frequent first.

        Of an array each element counts, once per document; documents without the field do not.
        """
        return self.rag.database.facets(self.name, field, metadata_filter=filter or {}, limit=limit)

    def select(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        order_by: str = "uri",
        descending: bool = False,
        limit: int = 20,
        offset: int = 0,
    ) -> list[Document]:
        """Return the first documents in some order, without their content;
        `documents` yields them all.

        Args:
            order_by: uri, title, created_at, updated_at, or a metadata field. Numbers sort by
                value, ISO dates by time, texts by code point;
                documents without the field come last, descending or not.
            limit: 1 to 1000 documents.
            offset: how many to leave out, as the pages before had.
        """
        return self.rag.database.select_documents(
            self.name,
            metadata_filter=filter or {},
            order_by=order_by,
            descending=descending,
            limit=limit,
            offset=offset,
        )

    def document(self, uri: str) -> Document:
        """Return a document with its content. Raises NotFound."""
        found = self.rag.database.get_document(self.name, uri)
        if found is None:
            raise NotFound(f"collection {self.name!r} has no document {uri!r}")
        return found

    def stats(self) -> CollectionStats:
        """Counts, size and lag."""
        return self.rag.database.collection_stats(self.name)[0]
