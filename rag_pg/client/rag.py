"""The Python client: `Rag` opens a database."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Any

from rag_pg.chunk.splitter import Splitter
from rag_pg.client.collection import Collection
from rag_pg.config import Settings
from rag_pg.db import schema
from rag_pg.db.database import Database
from rag_pg.db.embedded import EmbeddedServer
from rag_pg.errors import CollectionMismatch, InvalidInput, ModelUnavailable, NotFound
from rag_pg.ingest.adopt.adopt import SAMPLE, adopt_table
from rag_pg.protocols import Embedder, Reranker
from rag_pg.providers.registry import open_embedder, open_llm, open_reranker
from rag_pg.types import AdoptReport, Checked, CollectionInfo
from rag_pg.worker.worker import Worker

DEFAULT_MODEL = "minilm"


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
        self._rerankers: dict[str, Reranker] = {}
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
            schema.ensure(self.dsn)
        database = Database(self.dsn, pool_size=self.settings.pool_size)
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
            dimensions: for a model that rag_pg does not run, or has no key for here; otherwise the model gives it,
                and a new collection's model is asked once whether it answers.
            chunking: {"method": "auto", "max_tokens": 256, "overlap": 0.12}; see `Chunking`.
            index_options: {"m": 16, "ef_construction": 64, "k1": 1.2, "b": 0.75}.
        Raises: CollectionMismatch when it exists with other settings than those given; ProviderAuth and
            ProviderError for a new one whose model does not answer.
        """
        found = self._find(name)
        if found is None:
            model = model or DEFAULT_MODEL
            if dimensions is None:
                embedder = self.check_chunking(model, chunking or {})
                if isinstance(embedder, Checked):
                    embedder.check()
                dimensions = embedder.dimensions
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
        _compare(
            found,
            model=model,
            language=language,
            distance=distance,
            dimensions=dimensions,
            chunking=chunking,
        )
        with contextlib.suppress(InvalidInput, ModelUnavailable):  # of a model that others run
            self.embedder_of(name)
        return Collection(self, found)

    def check_chunking(self, model: str, chunking: Mapping[str, Any]) -> Embedder:
        """The embedder of that name, when it reads chunks of that size. Raises InvalidInput."""
        return _fitting(self.embedder(model), chunking)

    def collections(self) -> list[CollectionInfo]:
        """Return every collection's settings, by name."""
        return self.database.list_collections()

    def drop_collection(self, name: str) -> None:
        """Remove a collection and everything in it. Raises NotFound."""
        self.database.drop_collection(name)

    def adopt(
        self,
        table: str,
        into: str,
        *,
        layout: str,
        model: str | None = None,
        source_dsn: str | None = None,
        distance: str | None = None,
        language: str | None = None,
        langchain_collection: str | None = None,
        uri_key: str | None = None,
        sample: int = SAMPLE,
    ) -> AdoptReport:
        """Take over a table that another program filled, with its embeddings; it is only read.

        Rows of the same source document become the chunks of one document. Nothing is embedded: rows without a
        vector are queued for a worker. Taken over again, what has not changed stays as it is.

        Args:
            table: a table or view, named as in SQL.
            into: the collection; it is created where it does not exist, with the dimensions found.
            layout: pgai, langchain, llamaindex or haystack.
            model: what made the vectors, so that queries are embedded alike; a new collection needs it.
            source_dsn: the table's database, where it is another.
            distance, language: of a new collection.
            langchain_collection: which, in a langchain_pg_embedding that holds several.
            uri_key: the metadata that tells a row's document, where the layout's own rules do not.
            sample: for so many vectors the nearest rows and the nearest chunks are compared; 0: for none.
        Raises: InvalidInput (another layout, no vectors), CollectionMismatch, NotFound. Then nothing is loaded.
        """
        return adopt_table(
            self,
            table,
            into,
            layout=layout,
            model=model,
            source_dsn=source_dsn,
            distance=distance,
            language=language,
            langchain_collection=langchain_collection,
            uri_key=uri_key,
            sample=sample,
        )

    def worker(self, collections: Sequence[str] | None = None, **options: Any) -> Worker:
        """A worker for the queue; `run` it until stopped, or `drain` it once."""
        for name in collections or ():
            if self._find(name) is None:
                raise NotFound(f'there is no collection {name!r}; run "rag-pg status" to see them')
        answerers = {"embed_query": self._answer_embed_query, "ask": self._answer_ask}
        return Worker(
            self.database,
            self.writing_embedder_of,
            collections=collections,
            answerers=answerers,
            **options,
        )

    def _answer_embed_query(self, collection: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        return {"embedding": self.embedder_of(collection).embed_query(asked["question"]).tolist()}

    def _answer_ask(self, collection: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        target = self.collection(collection)
        answer = target.ask(asked["question"], limit=asked["limit"], filter=asked["filter"])
        return asdict(answer)

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

    def reranker(self, name: str) -> Reranker:
        """The reranker of that name, opened once per process; "llm" is the model of the settings.

        Raises: InvalidInput (unknown name), ModelUnavailable.
        """
        if name not in self._rerankers:
            llm = self.settings.llm
            self._rerankers[name] = open_reranker(name, llm=llm, open_llm=open_llm)
        return self._rerankers[name]

    def embedder_of(self, collection: str, space_id: int | None = None) -> Embedder:
        """The embedder of a collection's space (None: the active one), checked against what it stores."""
        space = self.database.space_settings(collection, space_id)
        embedder = self.embedder(space.model)
        if embedder.dimensions != space.dimensions:
            raise CollectionMismatch(
                f"model {space.model!r} gives {embedder.dimensions} dimensions, collection "
                f"{collection!r} stores {space.dimensions}; use the model that made it, or a new collection"
            )
        if space.fingerprint not in (None, embedder.fingerprint):
            raise CollectionMismatch(
                f"collection {collection!r} holds vectors of {space.fingerprint}, this embedder is "
                f"{embedder.fingerprint}; open it with the same weights and settings, or use a new collection"
            )
        return embedder

    def writing_embedder_of(self, collection: str, space_id: int | None = None) -> Embedder:
        """As `embedder_of`, and the first that writes a space's vectors is pinned as theirs."""
        embedder = self.embedder_of(collection, space_id)
        self.database.set_fingerprint(collection, embedder.fingerprint, space_id)
        return embedder

    def info(self, collection: str) -> CollectionInfo:
        """A collection's settings as they are now. Raises NotFound."""
        found = self._find(collection)
        if found is None:
            raise NotFound(f"there is no collection {collection!r}")
        return found

    def _find(self, name: str) -> CollectionInfo | None:
        return next((c for c in self.database.list_collections() if c.name == name), None)


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
    Splitter.from_settings(
        chunking,
        embedder.count_tokens,
        embed=embedder.embed_documents,
        longest=embedder.max_tokens,
    )
    wanted = chunking.get("max_tokens", 0)
    if wanted > embedder.max_tokens:
        raise InvalidInput(
            f"chunking max_tokens is {wanted}, but model {embedder.name!r} reads {embedder.max_tokens}; "
            "lower it, or use another model"
        )
    return embedder
