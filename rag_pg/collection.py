"""A collection: documents that are searched together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from rag_pg.answer import answer_extractive, answer_with_llm
from rag_pg.errors import InvalidQuery, ModelUnavailable, NotFound, ProviderError, RagError
from rag_pg.ingest import Source, check_sources, checked_chunks, put, read_sources
from rag_pg.llm import open_llm
from rag_pg.load import clean_text
from rag_pg.models import (
    LLM,
    AddReport,
    Answer,
    CollectionInfo,
    CollectionStats,
    Document,
    Embedder,
    Hit,
    LoadFailure,
    Vectors,
)
from rag_pg.sync import SyncReport, sync_folder

if TYPE_CHECKING:
    from rag_pg.rag import Rag

DOCUMENTS_PER_PUT = 64
CHARACTERS_PER_PUT = 4_000_000
QUERIES_CACHED = 1024

Progress = Callable[[int, int, int], None]


class Hits(list[Hit]):
    """Search results, best first. `notes` says what was degraded, e.g. a leg that was skipped."""

    def __init__(self, hits: Iterable[Hit] = (), notes: Sequence[str] = ()) -> None:
        super().__init__(hits)
        self.notes = tuple(notes)


class Collection:
    """Documents that are searched together. Made by `Rag.collection`."""

    def __init__(self, rag: Rag, info: CollectionInfo) -> None:
        self.rag = rag
        self.info = info
        self.name = info.name
        self._embed_query = lru_cache(QUERIES_CACHED)(self._embed_uncached)
        self._embedder: Embedder | None = None

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, model={self.info.model!r})"

    @property
    def embedder(self) -> Embedder:
        """What embeds this collection's documents and queries. Raises CollectionMismatch, ModelUnavailable."""
        if self._embedder is None:
            self._embedder = self.rag.embedder_of(self.name)
        return self._embedder

    def _embed_uncached(self, query: str) -> Vectors:
        return self.embedder.embed_query(query)

    # --- writing

    def add(
        self,
        *sources: Source,
        wait: bool = True,
        progress: Progress | None = None,
    ) -> AddReport:
        """Put documents and work the queue until they are searchable.

        Args:
            sources: paths of files and folders, patterns, and documents as mappings with the keys uri, content
                and optionally title, metadata, media_type, language.
            wait: False only queues them, for a worker.
            progress: called with (documents searchable, documents to do, chunks embedded).
        Returns: counts, and what failed with its reason: one bad document does not stop the others.
        """
        check_sources(sources)
        database, limit = self.rag.database, self.rag.settings.max_file_bytes
        failures: list[LoadFailure] = []
        removed: dict[str, int] = {}
        ids: dict[UUID, str] = {}
        pending: list[Mapping[str, Any]] = []
        for document in read_sources(sources, limit, failures, removed):
            pending.append(document)
            size = sum(len(d["content"]) for d in pending)
            if len(pending) >= DOCUMENTS_PER_PUT or size >= CHARACTERS_PER_PUT:
                put(database, self.name, pending, ids, failures)
                pending = []
        put(database, self.name, pending, ids, failures)
        todo = {d.document_id for d in database.unfinished(self.name, list(ids))}
        if progress:
            progress(0, len(todo), 0)
        if wait and todo:
            failures += self._work(todo, progress)
        failed = {str(f.path) for f in failures}
        changed = sum(1 for i in todo if ids[i] not in failed)
        return AddReport(
            added=changed,
            unchanged=len(ids) - len(todo),
            uris=tuple(ids.values()),
            failures=tuple(failures),
            removed_characters=removed,
        )

    def sync(
        self, folder: str | Path, *, wait: bool = True, progress: Progress | None = None
    ) -> SyncReport:
        """Bring the collection in step with a folder: add and update what changed, and delete the
        documents of that folder whose files are gone; see `sync_folder`."""
        return sync_folder(self, Path(folder), wait=wait, progress=progress)

    def _work(self, todo: set[UUID], progress: Progress | None) -> list[LoadFailure]:
        """Work this collection's queue until none of `todo` is pending; return what failed for good."""
        report = progress or (lambda done, of, chunks: None)
        done = embedded = 0

        def on_progress(documents: int, chunks: int) -> None:
            nonlocal done, embedded
            done, embedded = done + documents, embedded + chunks
            report(min(done, len(todo)), len(todo), embedded)

        worker = self.rag.worker([self.name], on_progress=on_progress)
        while True:
            worker.drain()
            states = self.rag.database.unfinished(self.name, list(todo))
            done = len(todo) - len(states)
            report(done, len(todo), embedded)
            if not any(s.state == "pending" for s in states):
                return [LoadFailure(path=Path(s.uri), error=s.error or "unknown") for s in states]
            time.sleep(0.2)  # another worker has it, or it waits for its next attempt

    def add_chunks(self, chunks: Iterable[Mapping[str, Any]], *, wait: bool = True) -> int:
        """Bulk-load chunks that are ready-made, by COPY, in one transaction.

        Args:
            chunks: mappings with uri, content and optionally embedding (dimensions of the collection), title,
                heading, metadata. Rows with the same uri make one document, in the order given.
            wait: embed those that came without an embedding before returning; False leaves them to a worker.
        Returns: the number of chunks loaded.
        Raises: InvalidInput naming the chunk at fault; then nothing is loaded.
        """
        counts = self.rag.database.load_chunks(
            self.name, checked_chunks(chunks), self.info.dimensions
        )
        if wait and counts.queued:
            failures = self._work(set(counts.queued), None)
            if failures:
                raise RagError(
                    f"{counts.loaded_chunks} chunks are loaded, but {len(failures)} documents could not be "
                    f"embedded; {failures[0].path}: {failures[0].error}"
                )
        return counts.loaded_chunks

    def delete(self, uri: str) -> bool:
        """Delete a document. False when there is none with that uri."""
        return self.rag.database.delete_document(self.name, uri)

    # --- reading

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        filter: Mapping[str, Any] | None = None,
        vector_weight: float = 0.5,
        keyword_weight: float = 0.5,
        candidate_limit: int | None = None,
    ) -> Hits:
        """Return the chunks that best answer `query`, best first.

        Vector and keyword rankings are fused by reciprocal rank in rag.search. When the embedder does not
        answer, keywords alone do, and `notes` says so.

        Args:
            limit: 1 to 1000 hits.
            filter: keep chunks whose metadata contains it, e.g. {"lang": "en"}.
            vector_weight, keyword_weight: 0 leaves a leg out.
            candidate_limit: how many each leg contributes; default the larger of 4 * limit and 40.
        Returns: at most `limit` hits; `Hit.score` is larger-is-better, comparable within one call only.
        Raises: InvalidQuery, NotFound, SchemaMismatch, DatabaseUnavailable.
        """
        query, _ = clean_text(query)
        if not query.strip():
            raise InvalidQuery("the query is empty; ask for something")
        embedding = None
        notes = []
        if vector_weight > 0 and len(query) <= 100_000:
            try:
                embedding = self._embed_query(query)
            except (ProviderError, ModelUnavailable) as exc:
                if keyword_weight <= 0:
                    raise
                notes.append(f"vector search was skipped: {exc}")
        hits = self.rag.database.search(
            self.name,
            query,
            embedding,
            limit=limit,
            metadata_filter=filter or {},
            vector_weight=vector_weight if embedding is not None else 0.0,
            keyword_weight=keyword_weight,
            candidate_limit=candidate_limit,
        )
        return Hits(hits, notes)

    def ask(
        self,
        question: str,
        *,
        limit: int = 8,
        filter: Mapping[str, Any] | None = None,
        llm: str | LLM | None = None,
    ) -> Answer:
        """Answer from the documents, with citations, or say that they do not answer.

        Args:
            limit: how many hits are shown to the model.
            llm: extractive (no key needed; the default unless RAG_PG_LLM says otherwise), gemini[:model], or an
                object with `name` and `generate`.
        Raises: as `search`, and ProviderError and its kinds when the model fails.
        """
        hits = self.search(question, limit=limit, filter=filter)
        model = open_llm(llm or self.rag.settings.llm) if isinstance(llm, str | None) else llm
        if model is None:
            working = None if hits.notes else self.embedder
            answer = answer_extractive(question, hits, embedder=working)
        else:
            answer = answer_with_llm(question, hits, model)
        if not hits.notes:
            return answer
        return replace(answer, notes=(*hits.notes, *answer.notes))

    def documents(
        self, *, filter: Mapping[str, Any] | None = None, limit: int | None = None
    ) -> Iterator[Document]:
        """Yield documents by uri, without their content, a page at a time."""
        after = ""
        left = limit
        while left is None or left > 0:
            page = self.rag.database.list_documents(
                self.name,
                metadata_filter=filter or {},
                limit=min(500, left or 500),
                after_uri=after,
            )
            yield from page
            if len(page) < 500:
                return
            after = page[-1].uri
            left = None if left is None else left - len(page)

    def document(self, uri: str) -> Document:
        """Return a document with its content. Raises NotFound."""
        found = self.rag.database.get_document(self.name, uri)
        if found is None:
            raise NotFound(f"collection {self.name!r} has no document {uri!r}")
        return found

    def stats(self) -> CollectionStats:
        """Counts, size and lag."""
        return self.rag.database.collection_stats(self.name)[0]
