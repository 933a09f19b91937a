"""The Python client: `Rag` opens a database, `Collection` is what one works with."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import UUID

from rag_pg import schema
from rag_pg.answer import answer_extractive, answer_with_llm
from rag_pg.config import Settings
from rag_pg.db import Database
from rag_pg.embed import open_embedder
from rag_pg.errors import (
    CollectionMismatch,
    InvalidInput,
    InvalidQuery,
    ModelUnavailable,
    NotFound,
    ProviderError,
    RagError,
)
from rag_pg.llm import open_llm
from rag_pg.load import clean_text, find_files, load_file
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
from rag_pg.server import EmbeddedServer
from rag_pg.split import Splitter
from rag_pg.worker import Worker

log = logging.getLogger(__name__)

DEFAULT_MODEL = "minilm"
DOCUMENTS_PER_PUT = 64
CHARACTERS_PER_PUT = 4_000_000
QUERIES_CACHED = 1024

Source = str | Path | Mapping[str, Any]
Progress = Callable[[int, int, int], None]


class Hits(list[Hit]):
    """Search results, best first. `notes` says what was degraded, e.g. a leg that was skipped."""

    def __init__(self, hits: Iterable[Hit] = (), notes: Sequence[str] = ()) -> None:
        super().__init__(hits)
        self.notes = tuple(notes)


class Rag:
    """A database with schema rag. Connects on entering the `with` block.

    Args:
        dsn: a libpq connection string; None: RAG_PG_DSN, else an embedded server under RAG_PG_HOME,
            whose schema is kept up to date by itself. Elsewhere call `upgrade` once.
        settings: instead of the RAG_PG_* environment.
        embedders: further embedders by the prefix of their name, e.g. {"mine": open_mine}.
    """

    def __init__(
        self,
        dsn: str | None = None,
        *,
        settings: Settings | None = None,
        embedders: Mapping[str, Callable[[str], Embedder]] | None = None,
    ) -> None:
        self.settings = settings or Settings.from_environment()
        self.dsn = dsn or self.settings.dsn
        self._extra = embedders
        self._embedders: dict[str, Embedder] = {}
        self._database: Database | None = None

    def __enter__(self) -> Rag:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def open(self) -> None:
        """Connect, as entering the `with` block does.

        Raises DatabaseUnavailable or SchemaMismatch.
        """
        if self.dsn is None:
            self.dsn = EmbeddedServer(self.settings.home / "postgres").start()
            schema.upgrade(self.dsn)
        database = Database(self.dsn)
        database.open()
        self._database = database

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def upgrade(self) -> str:
        """Install or upgrade schema rag in the database of `dsn`; return its revision."""
        if self.dsn is None:
            self.dsn = EmbeddedServer(self.settings.home / "postgres").start()
        return schema.upgrade(self.dsn)

    @property
    def database(self) -> Database:
        if self._database is None:
            raise InvalidInput("Rag is not open: use it as `with Rag() as rag:`")
        return self._database

    def collection(
        self,
        name: str,
        *,
        model: str | None = None,
        language: str | None = None,
        distance: str | None = None,
        dimensions: int | None = None,
        chunking: Mapping[str, Any] | None = None,
        index_options: Mapping[str, Any] | None = None,
    ) -> Collection:
        """Open a collection, creating it on first use.

        Args:
            model: what makes the vectors: minilm (the default of a new collection),
                sentence-transformers:<model>, gemini:<model>, or a name of your own when you bring vectors.
            language: text search configuration, default english. distance: cosine (default), l2 or ip.
            dimensions: only for a model that rag_pg does not run; otherwise the model gives it.
            chunking: {"max_tokens": 256, "overlap": 0.12}.
            index_options: {"m": 16, "ef_construction": 64, "k1": 1.2, "b": 0.75}.
        Raises: CollectionMismatch when it exists with other settings than those given.
        """
        found = self._find(name)
        if found is None:
            model = model or DEFAULT_MODEL
            if dimensions is None:
                dimensions = _fitting(self.embedder(model), chunking or {}).dimensions
            self.database.create_collection(
                name,
                model=model,
                dimensions=dimensions,
                distance=distance or "cosine",
                language=language or "english",
                chunking=chunking or {},
                index_options=index_options or {},
            )
            found = self._find(name)
            assert found is not None
        _compare(found, model=model, language=language, distance=distance, dimensions=dimensions)
        with contextlib.suppress(InvalidInput, ModelUnavailable):  # of a model that others run
            self.embedder_of(name)
        return Collection(self, found)

    def collections(self) -> list[CollectionInfo]:
        """Return every collection's settings, by name."""
        return self.database.list_collections()

    def drop_collection(self, name: str) -> None:
        """Remove a collection and everything in it. Raises NotFound."""
        self.database.drop_collection(name)

    def worker(self, collections: Sequence[str] | None = None, **options: Any) -> Worker:
        """A worker for the queue; `run` it until stopped, or `drain` it once."""
        for name in collections or ():
            if self._find(name) is None:
                raise NotFound(f'there is no collection {name!r}; run "rag-pg status" to see them')
        return Worker(self.database, self.writing_embedder_of, collections=collections, **options)

    def embedder(self, model: str) -> Embedder:
        """The embedder of that name, opened once per process."""
        if model not in self._embedders:
            self._embedders[model] = open_embedder(
                model,
                cache_dir=self.settings.home / "models",
                weights=self.settings.minilm_path,
                extra=self._extra,
            )
        return self._embedders[model]

    def embedder_of(self, collection: str) -> Embedder:
        """The embedder of a collection, checked against what the collection stores."""
        info = self._find(collection)
        if info is None:
            raise NotFound(f"there is no collection {collection!r}")
        embedder = self.embedder(info.model)
        if embedder.dimensions != info.dimensions:
            raise CollectionMismatch(
                f"model {info.model!r} gives {embedder.dimensions} dimensions, collection "
                f"{collection!r} stores {info.dimensions}; use the model that made it, or a new collection"
            )
        if info.fingerprint not in (None, embedder.fingerprint):
            raise CollectionMismatch(
                f"collection {collection!r} holds vectors of {info.fingerprint}, this embedder is "
                f"{embedder.fingerprint}; open it with the same weights and settings, or use a new collection"
            )
        return embedder

    def writing_embedder_of(self, collection: str) -> Embedder:
        """As `embedder_of`, and the first that writes a collection's vectors is pinned as theirs."""
        embedder = self.embedder_of(collection)
        self.database.set_fingerprint(collection, embedder.fingerprint)
        return embedder

    def _find(self, name: str) -> CollectionInfo | None:
        return next((c for c in self.database.list_collections() if c.name == name), None)


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
            sources: paths of files and folders, and documents as mappings with the keys uri, content and
                optionally title, metadata, media_type, language.
            wait: False only queues them, for a worker.
            progress: called with (documents searchable, documents to do, chunks embedded).
        Returns: counts, and what failed with its reason: one bad document does not stop the others.
        """
        _spread(sources)
        failures: list[LoadFailure] = []
        removed: dict[str, int] = {}
        ids: dict[UUID, str] = {}
        pending: list[Mapping[str, Any]] = []
        for document in self._documents(sources, failures, removed):
            pending.append(document)
            size = sum(len(d["content"]) for d in pending)
            if len(pending) >= DOCUMENTS_PER_PUT or size >= CHARACTERS_PER_PUT:
                self._put(pending, ids, failures)
                pending = []
        self._put(pending, ids, failures)
        todo = {d.document_id for d in self.rag.database.unfinished(self.name, list(ids))}
        if progress:
            progress(0, len(todo), 0)
        if wait and todo:
            failures += self._work(todo, progress)
        failed = {str(f.path) for f in failures}
        changed = sum(1 for i in todo if ids[i] not in failed)
        return AddReport(
            added=changed,
            unchanged=len(ids) - len(todo),
            failures=tuple(failures),
            removed_characters=removed,
        )

    def _documents(
        self, sources: Iterable[Source], failures: list[LoadFailure], removed: dict[str, int]
    ) -> Iterator[Mapping[str, Any]]:
        """Yield documents ready to put; note failures and removed characters on the way."""
        for source in sources:
            if isinstance(source, Mapping):
                document = dict(source)
                for key in ("content", "title", "uri"):
                    if isinstance(document.get(key), str):
                        document[key], count = clean_text(document[key])
                        if count:
                            removed[str(document.get("uri"))] = count
                if isinstance(document.get("content"), str) and document.get("uri"):
                    yield document
                    continue
                failures.append(
                    LoadFailure(
                        path=Path(str(document.get("uri") or "?")),
                        error="a document needs uri and content, both text: this one has "
                        f"{', '.join(sorted(map(str, source))) or 'no keys'}",
                    )
                )
                continue
            found = find_files([Path(source)])
            failures += found.failures
            for path, uri in found.files:
                try:
                    loaded = load_file(path, uri, max_bytes=self.rag.settings.max_file_bytes)
                except InvalidInput as exc:
                    failures.append(LoadFailure(path=path, error=str(exc)))
                    continue
                if loaded.removed:
                    removed[uri] = loaded.removed
                yield {
                    "uri": loaded.uri,
                    "title": loaded.title,
                    "content": loaded.content,
                    "media_type": loaded.media_type,
                    "metadata": dict(loaded.metadata),
                }

    def _put(
        self,
        documents: Sequence[Mapping[str, Any]],
        ids: dict[UUID, str],
        failures: list[LoadFailure],
    ) -> None:
        """Put a batch; when the database refuses it, put its halves, down to the document at fault."""
        if not documents:
            return
        try:
            stored = self.rag.database.put_documents(self.name, documents)
        except InvalidInput as exc:
            if len(documents) == 1:
                failures.append(LoadFailure(path=Path(documents[0]["uri"]), error=str(exc)))
                return
            middle = len(documents) // 2
            self._put(documents[:middle], ids, failures)
            self._put(documents[middle:], ids, failures)
            return
        ids.update(zip(stored, (str(d["uri"]) for d in documents), strict=True))

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
            self.name, _checked_chunks(chunks), self.info.dimensions
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


def _compare(found: CollectionInfo, **given: object) -> None:
    differs = [
        f"{key} is {getattr(found, key)!r}, not {value!r}"
        for key, value in given.items()
        if value is not None and getattr(found, key) != value
    ]
    if differs:
        raise CollectionMismatch(
            f"collection {found.name!r} exists with other settings: {'; '.join(differs)}; "
            "open it without them, or use another name"
        )


def _fitting(embedder: Embedder, chunking: Mapping[str, Any]) -> Embedder:
    """Refuse chunking that the embedder cannot read or the splitter does not know."""
    Splitter.from_settings(chunking, embedder.count_tokens)
    wanted = chunking.get("max_tokens", 0)
    if wanted > embedder.max_tokens:
        raise InvalidInput(
            f"chunking max_tokens is {wanted}, but model {embedder.name!r} reads {embedder.max_tokens}; "
            "lower it, or use another model"
        )
    return embedder


def _spread(sources: Sequence[Source]) -> None:
    for source in sources:
        if not isinstance(source, str | Path | Mapping):
            raise InvalidInput(
                f"cannot add a {type(source).__name__}: pass paths, or documents as mappings with uri and content"
            )


def _checked_chunks(chunks: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for place, chunk in enumerate(chunks):
        if not isinstance(chunk.get("uri"), str) or not isinstance(chunk.get("content"), str):
            raise InvalidInput(
                f"chunk {place} needs uri and content, both text: {', '.join(sorted(chunk)) or 'no keys'}"
            )
        unknown = chunk.keys() - {"uri", "content", "embedding", "title", "heading", "metadata"}
        if unknown:
            raise InvalidInput(
                f"chunk {place} ({chunk['uri']}) has unknown keys: {', '.join(sorted(unknown))}; "
                "put them into metadata"
            )
        cleaned = dict(chunk)
        for key in ("uri", "content", "title", "heading"):
            if isinstance(chunk.get(key), str):
                cleaned[key], _ = clean_text(chunk[key])
        if not cleaned["content"].strip():
            raise InvalidInput(f"chunk {place} ({chunk['uri']}) is empty")
        yield cleaned
