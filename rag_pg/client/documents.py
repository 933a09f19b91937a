"""The documents of a collection: put, read, deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from rag_pg.client.opened import OpenCollection
from rag_pg.errors import NotFound, RagError
from rag_pg.ingest import (
    CHUNK_KEYS,
    SAMPLE,
    Reading,
    Remarks,
    Report,
    Source,
    adopt_table,
    checked_chunks,
    compare_sources,
    key_notes,
    put_sources,
    sync_folder,
    wait_until_searchable,
    work_queue,
)
from rag_pg.types import AddReport, AdoptReport, ChunkCount, Document, Original, SyncReport


class Documents(OpenCollection):
    """The methods of `Collection` about its documents."""

    def add(
        self,
        *sources: Source,
        wait: bool = True,
        progress: Report | None = None,
        metadata: Mapping[str, Any] | None = None,
        exclude: Sequence[str] = (),
        keys: Mapping[str, str] | None = None,
        keep_original: bool | None = None,
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
            keep_original: store the files themselves, too, for `original`; up to 100 MB each; None:
                as the collection says, see `alter`.
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

    def add_chunks(self, chunks: Iterable[Mapping[str, Any]], *, wait: bool = True) -> ChunkCount:
        """Bulk-load chunks that are ready-made, by COPY, in one transaction.

        Args:
            chunks: mappings with uri, content and optionally embedding (dimensions of the
                collection), title, heading, metadata. Rows with the same uri make one document,
                in the order given.
            wait: embed those that came without an embedding before returning;
                False leaves them to a worker.
        Returns: the number of chunks loaded; its `notes` name keys that became metadata and look
                like those of a chunk.
        Raises: InvalidInput naming the chunk at fault; then nothing is loaded.
        """
        self.refresh()
        database = self.rag.database
        keys: Counter[str] = Counter()
        checked = checked_chunks(chunks, keys)
        counts = database.load_chunks(self.name, checked, self.info.dimensions)
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
        return self.rag.database.delete_documents(self.name, uris)

    def wait_until_searchable(self, document_ids: Iterable[UUID], *, timeout: float = 30) -> None:
        """Return when these documents are searchable in the version they have now or a later one.

        Raises: NotReady after `timeout` seconds, or at once for a document that failed.
        """
        wait_until_searchable(self.rag.database, self.name, document_ids, timeout)

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

    def document(self, uri: str) -> Document:
        """Return a document with its content. Raises NotFound."""
        found = self.rag.database.get_document(self.name, uri)
        if found is None:
            raise NotFound(f"collection {self.name!r} has no document {uri!r}")
        return found

    def original(self, uri: str) -> Original:
        """Return the file that a document was made from, as `add(keep_original=True)` kept it.

        Raises: NotFound.
        """
        found = self.rag.database.get_original(self.name, uri)
        if found is None:
            raise NotFound(
                f"no file of document {uri!r} is kept in collection {self.name!r}; add it anew with"
                " keep_original"
            )
        return found
