"""A collection: documents that are searched together."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack
from uuid import UUID

from rag_pg.answer import AskOptions
from rag_pg.client.answers import Answers
from rag_pg.client.chunks import Chunks
from rag_pg.client.enrichment import Enrichment
from rag_pg.client.metadata import Metadata
from rag_pg.client.opened import OpenCollection
from rag_pg.client.rechunk import rechunk
from rag_pg.client.resources import Resources
from rag_pg.client.spaces import Spaces
from rag_pg.client.threaded import in_thread, kind_of_search
from rag_pg.client.versions import Versions
from rag_pg.errors import InvalidInput, NotFound, RagError
from rag_pg.ingest import (
    CHUNK_KEYS,
    Reading,
    Remarks,
    Report,
    Source,
    checked_chunks,
    compare_sources,
    key_notes,
    put_sources,
    refusal_recorded,
    sync_location,
    wait_until_searchable,
    work_queue,
)
from rag_pg.locations import Limits, Network, open_location
from rag_pg.protocols import LLM, Embedder
from rag_pg.search import Rewritten, SearchOptions, check_names
from rag_pg.types import (
    AddReport,
    Alteration,
    Answer,
    ChunkCount,
    CollectionInfo,
    CollectionStats,
    Document,
    Erasure,
    Existing,
    Hits,
    Message,
    Original,
    Ranking,
    SyncReport,
    Vectors,
    describes,
)

if TYPE_CHECKING:
    from rag_pg.answer import EventStream
    from rag_pg.evaluation.client import CollectionEvaluation


class Collection:
    """Documents that are searched together. Made by `Rag.collection`.

    What is about one noun stands in a namespace: `docs.spaces`, `docs.evaluation` and so on.
    """

    def __init__(self, rag: Resources, info: CollectionInfo) -> None:
        self._opened = OpenCollection(rag, info)
        self.rag = rag
        self.name = info.name

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, model={self.info.model!r})"

    @property
    def info(self) -> CollectionInfo:
        """The collection's settings, as they were when it was opened or refreshed."""
        return self._opened.info

    @property
    def embedder(self) -> Embedder:
        """What embeds this collection's documents and queries.
        Raises CollectionMismatch, ModelUnavailable."""
        return self._opened.embedder

    def refresh(self) -> None:
        """Read the settings again, after another embedding space was activated."""
        self._opened.searcher.refresh()

    @property
    def spaces(self) -> Spaces:
        """Its vectors by one model or another."""
        return Spaces(self._opened)

    @property
    def chunks(self) -> Chunks:
        """What its documents are cut into."""
        return Chunks(self._opened)

    @property
    def metadata(self) -> Metadata:
        """What its documents say of themselves."""
        return Metadata(self._opened)

    @property
    def versions(self) -> Versions:
        """What its documents said before."""
        return Versions(self._opened)

    @property
    def answers(self) -> Answers:
        """What was answered."""
        return Answers(self._opened)

    @property
    def enrichment(self) -> Enrichment:
        """What its documents are given beside their own."""
        return Enrichment(self._opened)

    @property
    def evaluation(self) -> CollectionEvaluation:
        """How good its searches and answers are."""
        from rag_pg.evaluation.client import CollectionEvaluation  # an annexe

        return CollectionEvaluation(self._opened)

    @in_thread("long")
    def add(
        self,
        *sources: Source,
        wait: bool = True,
        progress: Report | None = None,
        metadata: Mapping[str, Any] | None = None,
        exclude: Sequence[str] = (),
        keys: Mapping[str, str] | None = None,
        keep_original: bool | None = None,
        ocr: bool = False,
        existing: Existing = "replace",
        dry_run: bool = False,
    ) -> AddReport:
        """Put documents and work the queue until they are searchable.

        Args:
            sources: paths of files and folders, patterns, and documents as mappings with the keys
                uri, content and optionally title, metadata, media_type, language; other keys are
                metadata. What `load_bytes` returns. Iterators of these, read as they are needed.
            wait: False only queues them, for a worker.
            progress: called with a `Progress`: documents searchable of those to do,
                chunks embedded of about so many.
            metadata: of every document, beside its own, which goes first.
            exclude: what to leave out of folders and patterns, as in a .gitignore.
            keys: what records in JSON, CSV and TSV files call the keys above, e.g.
                {"id": "uri", "text": "content"}.
            keep_original: store the files themselves, too, for `original`; up to 100 MB each; None:
                as the collection says, see `alter`.
            ocr: read pages of PDF files that are only images by tesseract, where it is installed,
                in the collection's language: seconds a page. The metadata then have ocr: true.
            existing: what becomes of a document with the uri of one of them: replace, skip (it
                stays as it is) or error (it is among the failures).
            dry_run: read and compare only; the report says what would be added.
        Returns: counts, and what failed with its reason: one bad document does not stop the others.
        """
        database = self.rag.database
        reading = Reading(
            max_bytes=self.rag.settings.max_file_bytes,
            keys=keys or {},
            metadata=metadata or {},
            exclude=exclude,
            keep_original=self.info.keep_original if keep_original is None else keep_original,
            ocr=self.info.language if ocr else "",
            existing=existing,
        )
        remarks = Remarks()
        if dry_run:
            compared = compare_sources(database, self.info, sources, reading, remarks)
            added = sum(compared.values())
            return remarks.report([*compared], added=added, unchanged=len(compared) - added)
        ids = put_sources(database, self.name, sources, reading, remarks)
        todo = {d.document_id for d in database.unfinished(self.name, list(ids))}
        failures = remarks.failures
        if wait and todo:
            characters = sum(remarks.sizes.get(ids[i], 0) for i in todo)
            failures += work_queue(database, self.rag.worker, self.name, todo, progress, characters)
        failed, changed = {f.uri for f in failures}, todo | remarks.queued
        return remarks.report(
            [*ids.values()],
            added=sum(1 for i in changed if ids[i] not in failed),
            unchanged=len(ids) - len(changed),
            document_ids=tuple(ids),
        )

    @in_thread("long")
    def sync(
        self,
        location: str | Path,
        *,
        wait: bool = True,
        progress: Report | None = None,
        exclude: Sequence[str] = (),
        ocr: bool = False,
        dry_run: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> SyncReport:
        """Bring the collection in step with a location: add and update what changed, and delete the
        documents of it that are gone there; see `sync_location`.

        Args:
            location: a folder, or an address: s3://bucket/handbook/,
                https://docs.example.com/, git+https://host/repository.git@v1#docs.
            ocr: see `add`.
            options: of the location's kind, see docs/guides/sources.md; never a credential.
        Raises: InvalidInput, LocationUnavailable (it cannot be listed: nothing is deleted).
        """
        settings = self.rag.settings
        limits = Limits(
            max_bytes=settings.max_file_bytes,
            exclude=exclude,
            ocr=self.info.language if ocr else "",
        )
        network = Network(private_hosts=frozenset(settings.private_hosts))
        return sync_location(
            self.rag.database,
            self.name,
            open_location(location, limits, options or {}, network),
            lambda items: self.add(items, wait=wait, progress=progress, dry_run=dry_run),
            dry_run=dry_run,
        )

    @in_thread("long")
    def add_chunks(
        self,
        chunks: Iterable[Mapping[str, Any]],
        *,
        wait: bool = True,
        existing: Existing = "replace",
    ) -> ChunkCount:
        """Bulk-load chunks that are ready-made, in one transaction: a few by one statement, many by
        COPY.

        Args:
            chunks: mappings with uri, content and optionally embedding (dimensions of the
                collection), title, heading, metadata. Rows with the same uri make one document,
                in the order given.
            wait: embed those that came without an embedding before returning;
                False leaves them to a worker.
            existing: what becomes of a document with the uri of one of them: replace, skip (it
                stays as it is) or error.
        Returns: the number of chunks loaded; its `notes` name keys that became metadata and look
                like those of a chunk.
        Raises: InvalidInput naming the chunk at fault, AlreadyExists; then nothing is loaded.
        """
        self.refresh()
        database = self.rag.database
        keys: Counter[str] = Counter()
        checked = checked_chunks(chunks, keys)
        counts = database.load_chunks(self.name, checked, self.info.dimensions, existing)
        loaded = ChunkCount(counts.loaded_chunks)
        loaded.notes = key_notes(database, keys, CHUNK_KEYS, "chunk")
        if wait and counts.queued:
            failures = work_queue(database, self.rag.worker, self.name, set(counts.queued))
            if failures:
                raise RagError(
                    f"{counts.loaded_chunks} chunks are loaded, but {len(failures)} documents could"
                    f" not be embedded; {failures[0]}"
                )
        return loaded

    def delete(
        self, *uris: str, filter: Mapping[str, Any] | None = None, everything: bool = False
    ) -> int:
        """Delete documents, all or none, and return how many there were.

        Args:
            uris: of which. filter: those whose metadata pass it. everything: all; the collection
                stays.
        Raises: InvalidInput (uris and one of the others, an empty filter), InvalidQuery.
        """
        if filter is None and not everything:
            return self.rag.database.delete_documents(self.name, uris)
        if uris:
            raise InvalidInput("uris go with neither a filter nor everything; use one of them")
        return self.rag.database.value(
            int,
            "delete_where",
            collection=self.name,
            filter={} if filter is None else filter,
            everything=everything,
        )

    def clear(self) -> int:
        """Delete all documents, and return how many there were; the collection stays."""
        return self.delete(everything=True)

    @in_thread("long")
    def wait(self, document_ids: Iterable[UUID], *, timeout: float = 30) -> None:
        """Return when these documents are searchable in the version they have now or a later one.

        Raises: NotReady after `timeout` seconds, or at once for a document that failed.
        """
        wait_until_searchable(self.rag.database, self.name, document_ids, timeout)

    def get(self, uri: str) -> Document:
        """Return a document with its content. Raises NotFound."""
        found = self.rag.database.get_document(self.name, uri)
        if found is None:
            raise NotFound(f"collection {self.name!r} has no document {uri!r}")
        return found

    def get_many(self, uris: Iterable[str], *, embeddings: bool = False) -> builtins.list[Document]:
        """Return documents with their content, in the order of their uris here; those that there
        are none of are left out.

        Args:
            embeddings: with the vectors of their chunks, too: `Document.embeddings`.
        """
        if isinstance(uris, str):
            raise InvalidInput(f"uris are a list, not the text {uris!r:.100}")
        wanted = builtins.list(dict.fromkeys(uris))
        found = {one.uri: one for one in self.rag.database.get_documents(self.name, wanted)}
        if embeddings:
            chunks = self.chunks.list(*found)
            vectors = self.chunks.embeddings(chunk.chunk_id for chunk in chunks)
            of_uri: dict[str, builtins.list[Vectors | None]] = {uri: [] for uri in found}
            for chunk in chunks:
                of_uri[chunk.uri].append(vectors.get(chunk.chunk_id))
            found = {uri: replace(found[uri], embeddings=tuple(of_uri[uri])) for uri in found}
        return [found[uri] for uri in wanted if uri in found]

    def original(self, uri: str) -> Original:
        """Return the file that a document was made from, as `add(keep_original=True)` kept it.

        Raises: NotFound.
        """
        found = self.rag.database.row(Original, "get_original", collection=self.name, uri=uri)
        if found is None:
            raise NotFound(
                f"no file of document {uri!r} is kept in collection {self.name!r}; add it anew with"
                " keep_original"
            )
        return found

    def list(
        self,
        *,
        filter: Mapping[str, Any] | None = None,
        limit: int | None = None,
        uri_prefix: str | None = None,
        content: bool = False,
        after: str = "",
    ) -> Iterator[Document]:
        """Yield documents by uri, a page at a time.

        Args:
            after: only those whose uri comes after this one.
            uri_prefix: only those whose uri begins with it, letter by letter, e.g. "handbook/".
            content: with their texts; otherwise `Document.content` is None.
        """
        return self.rag.database.each_document(
            self.name,
            metadata_filter=filter,
            limit=limit,
            uri_prefix=uri_prefix,
            with_content=content,
            after=after,
        )

    def count(self, *, filter: Mapping[str, Any] | None = None) -> int:
        """How many documents there are whose metadata pass the filter."""
        return self.rag.database.count_documents(
            self.name, metadata_filter={} if filter is None else filter
        )

    @describes(Ranking)
    @in_thread(kind_of_search, can_stop=True)
    def search(
        self,
        query: str | None = None,
        *,
        embedding: Sequence[float] | Vectors | None = None,
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
            query: None with an embedding: the vector leg alone.
            embedding: a vector that is there already, as long as the collection's are: the query's,
                or of what it is to be like; nothing is embedded, so rewrites do not go with it.
            limit: 1 to 1000 hits, default 10.
            offset: how many hits to leave out, as the pages before had; limit + offset is at most
                10,000, with rerank at most the candidate_limit.
            filter: keep chunks whose metadata pass it, e.g. {"lang": "en", "year": {"$gte": 2024}};
                values may be dates, decimals, UUIDs and sets. See docs/guides/filters.md.
            {Ranking}
            rerank: what puts the candidates into a better order: onnx:<model or folder>,
                cross-encoder:<model or folder>, llm, llm:<language model>, or an object with `name`
                and `rerank`.
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
        return self._opened.search(
            query,
            options,
            embedding=embedding,
            wait_for=wait_for,
            timeout=timeout,
            max_tokens=max_tokens,
            max_cost=max_cost,
        )

    @in_thread("long", can_stop=True)
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
        asked: SearchOptions = {
            "rewrite": rewrite,
            "history": history,
            "helper_llm": helper_llm,
            "filter": filter,
            "now": now,
            "time_zone": time_zone,
        }
        return self._opened.searcher.preview(question, asked)

    @in_thread("long", can_stop=True)
    def ask(self, question: str, **options: Unpack[AskOptions]) -> Answer:
        """Answer from the documents, with citations, or say that they do not answer.

        Args:
            strategy: how: auto (the default) chooses; extractive, single, verify, self_ask,
                iterative, evidence, agent, full_context, a name given to `register_strategy`, or a
                function of a question and an `AnswerContext`. See docs/guides/answers.md.
            verify: once or strict: the helper judges the statements too, by one call, or by one for
                each. It may deny them, and lifts a doubt where it quotes what the source has.
            unsupported: drop, mark or keep the statements that are found to have no support, cited
                or not, and single citations that do not support a statement which others do. They
                are listed in `Answer.unsupported`, and told by `Citation.supports`, in any case.
                Default: mark; drop with verify, and for strategy verify. They are found by the
                words, figures and meaning of what they cite, or where they cite nothing of all that
                the model was shown, which tells other things and other figures, not a misreading.
            llm: extractive (no key needed; the default unless RAG_PG_LLM says otherwise),
                gemini[:<model>], openai:<model>, anthropic:<model>, local, or an object of the
                protocol `LLM`.
            rewrite: names of rewrites, see docs/guides/questions.md. history: the turns before the
                question, each with role and content; a follow-up is made to stand alone.
            helper_llm: what rewrites, checks and extracts; default: RAG_PG_HELPER_LLM, else llm.
            expand: window shows the model the chunk before and after each hit as well, section the
                hit's whole section; hits that stand beside each other are one source in any case.
            max_steps: 1 to 50, default 4: how often a strategy searches anew, or calls the model
                with tools. max_tokens, max_cost: of all calls, tokens and US dollars. timeout:
                seconds for the whole answer. A call that might pass one of these is not made; the
                answer is made of what there is, which notes and reason say.
            tools: what the model may call beside the collection's own, see docs/guides/tools.md:
                functions, `AgentTool`, names of SQL functions ("schema.function") or
                `SqlFunction`, `McpTools` or their servers ("stdio:…", "https://…"). With tools
                auto is agent.
            cache: True: an answer that was given before is given again while neither the collection
                nor the caller's rights have changed, and this one is kept; False: nothing is read
                from the cache or kept; None: as the client's settings say.
            min_support: 0 to 1: refuse what the calibration does not show to be right that often,
                see `evaluation.calibrate`; without one, and for what the strategy does not
                assess (agent, metadata), it is noted and nothing is refused for it.
            views: False keeps the agent from the exposed views that this role may read.
            options: as of `search`; limit, default 8: how many hits are shown to the model;
                rerank: llm is the model that answers.
        Returns: the answer; when the strategy fails that of `single`, when the model fails that of
            `extractive`, which `notes` say.
        Raises: as `search`, InvalidInput (unknown strategy or model, no model where one is
            needed, max_cost for a model without a known price), ProviderAuth (its key is refused),
            ModelUnavailable (its library is missing).
        """
        return self._opened.answer(question, options)

    def stream(self, question: str, **options: Unpack[AskOptions]) -> EventStream:
        """Yield what happens while a question is answered, and the answer last; see `Event`.

        The text comes in statements that were judged, as the answer has it; with verify after all.

        Args: as of `ask`. Leaving the loop, `close` or `cancel`, from any thread, ends the work:
            its statement is cancelled, and the call of its model closed. Raises: as `ask`.
        """
        from rag_pg.answer import EventStream  # not before there is a question

        opened = self._opened
        return EventStream(lambda listener: opened.answer(question, options, listener=listener))

    def stats(self) -> CollectionStats:
        """Counts, size and lag."""
        return self.rag.database.collection_stats(self.name)[0]

    def alter(self, **settings: Unpack[Alteration]) -> None:
        """Change settings of the collection; None leaves one as it is.

        Args:
            description: what the documents are and what they answer, for people and for programs
                that choose among collections; at most 1000 characters, "" for none.
            keep_versions: for so long texts that are replaced or deleted stay.
            keep_answers: for so long answers are logged with their questions, at most 100,000.
                timedelta(0), the default of a new collection: not at all.
            sample_queries: 0 to 1, the share of searches that is kept to be replayed; 0 at first.
            keep_query_text: with their words, not their vectors alone; False also removes words
                that are kept. keep_queries, max_queries: for so long and at most so many, 1 to
                10,000; 30 days and 1000 at first.
            recall_target: 0 to 1, maintenance measures once a day whether vector searches find that
                share of the nearest; 0, as at first: it does not.
            ef_search: 1 to 1000, how widely the index of the active space is searched; 0, as at
                first: as the number of chunks asks for. Gates (`evaluation.gates`) measure
                another value; the vectors of their questions are made here.
            keep_original: whether `add` and `sync` store the files themselves, too, for `original`.
            force: whatever the gates of the collection demand; it is recorded.
        Raises: InvalidInput (too long, out of range), GateFailed (that ef_search finds less),
            NotReady (a gate that cannot be measured). It takes the owner of the schema.
        """
        from rag_pg.ingest import embed_gated_queries

        check_names(settings, known=Alteration.__optional_keys__, call="alter")
        if settings.get("ef_search") is not None and not settings.get("force"):
            embed_gated_queries(self.rag.database, self.rag.models, self.name)
        with refusal_recorded(self.rag.database, self.name):
            self.rag.database.call("alter_collection", collection=self.name, **settings)
        self.refresh()

    @in_thread("long")
    def rechunk(
        self,
        chunking: Mapping[str, Any],
        *,
        wait: bool = True,
        progress: Report | None = None,
        force: bool = False,
    ) -> int:
        """Cut the documents anew; unchanged chunks keep their vectors,
        and all stay searchable meanwhile.

        Gates (`evaluation.gates`) want their sets run on documents that are cut so. Where there is
        no such run, the vectors of their questions are made, and they are run on a temporary copy
        first, which costs what cutting and embedding all documents costs.

        Args:
            force: whatever the gates of the collection demand; it is recorded.
        Returns: how many documents there are, 0 when they are cut like this already.
        Raises: NotReady (the set of a gate has no questions, or what its runs on a copy do not
            mend), GateFailed.
        """
        return rechunk(self._opened, chunking, wait=wait, progress=progress, force=force)

    @in_thread("long")
    def erase(self, uri: str | None = None, *, filter: Mapping[str, Any] | None = None) -> Erasure:
        """Remove documents from everything that rag_pg keeps, and return the receipt.

        Args:
            uri: of one document, which may be deleted already. filter: of all whose metadata pass.
        Raises: InvalidInput (neither or both). It takes the owner of the schema. What the text was
            read from is not touched; rows stay on disk until VACUUM, and in backups.
        """
        return self.rag.database.read_committed().only(
            Erasure, "erase", collection=self.name, uri=uri, filter=filter
        )
