"""The Python client: `Rag` opens a database."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from rag_pg.answer import read_request
from rag_pg.cache import OFF, Cache, Entries, UseCounter, parse_cache
from rag_pg.client.admin import Admin
from rag_pg.client.collection import Collection
from rag_pg.client.jobs import Jobs
from rag_pg.client.parts import PartWorkers
from rag_pg.client.threaded import in_thread
from rag_pg.client.views import Views
from rag_pg.config import Settings
from rag_pg.db import Database, EmbeddedServer, PartedDatabase
from rag_pg.db import schema as of_rag
from rag_pg.errors import InvalidInput
from rag_pg.ingest import export_collection, import_collection, open_collection
from rag_pg.protocols import Embedder, Reranker
from rag_pg.providers import Models, embed_query
from rag_pg.search import check_names
from rag_pg.types import (
    Adoption,
    AdoptReport,
    CollectionInfo,
    CollectionOptions,
    SyncReport,
    Transfer,
    to_json,
)

if TYPE_CHECKING:
    from rag_pg.evaluation.client import Evaluation
    from rag_pg.worker import Worker

COLLECTIONS_CACHED = 100


class Rag:
    """A database with schema rag. Connects on entering the `with` block.

    Args:
        dsn: a libpq connection string; several, or clients that are not open, for a corpus in
            parts, whose documents lie in several databases or schemas and are searched side by
            side, see docs/guides/scale.md. None: RAG_PG_DSN, else an embedded server under
            RAG_PG_HOME, whose schema is kept up to date by itself. Elsewhere call `upgrade` once.
            Of several hosts in one ("host=a,b dbname=app") a standby is read and the primary
            written; with target_session_attrs, all goes where that says.
        settings: instead of the RAG_PG_* environment.
        cache: what is kept in the database, to be read again while nothing that it depends on has
            changed; False: nothing; None: as the settings say.
        embedders: further embedders by the prefix of their name, e.g. {"mine": open_mine}.
        tenant: whose collections it sees, for a role of rag.grant_tenant: its own tenant, or the
            one that a trusted application chooses; None: as the role's rights say.
        schema: the name of the schema, where `upgrade` made one of another name than rag; None:
            RAG_PG_SCHEMA, else rag. Several are in one database, each for itself.
        groups: of the tenant, in which the user is for whom a trusted application asks: what
            access lists of shared collections name.
        part_timeout: seconds in which each part of a corpus has to answer, or is left out.
    """

    def __init__(
        self,
        dsn: str | Sequence[str | Rag] | None = None,
        *,
        settings: Settings | None = None,
        cache: Cache | bool | None = None,
        embedders: Mapping[str, Callable[[str], Embedder]] | None = None,
        tenant: str | None = None,
        schema: str | None = None,
        groups: Iterable[str] = (),
        part_timeout: float = 10.0,
    ) -> None:
        of_parts: Sequence[str | Rag] = ()
        if isinstance(dsn, Sequence) and not isinstance(dsn, str):
            of_parts, dsn = dsn, None
        if not isinstance(dsn, str | None) or not isinstance(settings, Settings | None):
            raise InvalidInput(
                f"dsn is a {type(dsn).__name__}, settings are {type(settings).__name__}: "
                "use Rag('host=… dbname=…', settings=Settings(…))"
            )
        self.settings = settings or Settings.from_environment()
        self.dsn = None if of_parts else dsn or self.settings.dsn
        self.tenant = tenant
        self.schema = of_rag.check_name(schema or self.settings.schema)
        self.groups = tuple(groups)
        if self.groups and tenant is None:
            raise InvalidInput("groups are of a tenant: pass it, as in tenant='acme'")
        self.models = Models(self.settings, embedders=embedders)
        self.parts = [
            part
            if isinstance(part, Rag)
            else Rag(part, settings=self.settings, tenant=tenant, schema=schema, groups=groups)
            for part in of_parts
        ]
        self.part_timeout = part_timeout
        for part in self.parts:
            part.models = self.models
        kept = Entries(lambda: self.database, OFF, UseCounter(lambda: self.database))
        self.cache_entries = replace(kept, settings=parse_cache(self.settings.cache)).wanted(cache)
        if self.parts:  # an entry would be of one part
            self.cache_entries = kept
        self._database: Database | None = None
        self._collections: dict[str, Collection] = {}  # that a worker was asked about

    def __enter__(self) -> Rag:
        self.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def open(self) -> None:
        """Connect, as entering the `with` block does.

        Raises DatabaseUnavailable or SchemaMismatch.
        """
        if self.parts:
            for part in self.parts:
                part._database = part._new_database(part.dsn or "")
            bases = [part.database for part in self.parts]
            database: Database = PartedDatabase(bases, self.part_timeout)
            database.open()
        else:
            embedded = self.dsn is None
            if self.dsn is None:
                self.dsn = EmbeddedServer(self.settings.home / "postgres").start()
            database = self._new_database(self.dsn)
            database.open(upgrade=embedded)
        self._database = database

    def _new_database(self, dsn: str) -> Database:
        return Database(
            dsn,
            pool_size=self.settings.pool_size,
            tenant=self.tenant,
            groups=self.groups,
            schema=self.schema,
        )

    def close(self) -> None:
        if self._database is not None:
            self.cache_entries.uses.flush()
            self._database.close()
            self._database = None
        for part in self.parts:
            part._database = None

    @in_thread("long")
    def upgrade(self) -> str:
        """Install or upgrade schema rag in the database of `dsn`; return its revision."""
        if self.parts:
            return ", ".join(dict.fromkeys(part.upgrade() for part in self.parts))
        if self.dsn is None:
            self.dsn = EmbeddedServer(self.settings.home / "postgres").start()
        return of_rag.upgrade(self.dsn, self.schema)

    def with_settings(self, settings: Mapping[str, str]) -> Rag:
        """Return this client with settings of the database that hold for each of its statements,
        e.g. {"transaction_read_only": "on"}.

        It shares the connections and the models, and is closed with what it was made from.
        """
        other = copy.copy(self)
        other._database = self.database.with_settings(settings)
        other._collections = {}
        other.cache_entries = Entries(
            lambda: other.database, self.cache_entries.settings, UseCounter(lambda: other.database)
        )
        return other

    @property
    def database(self) -> Database:
        if self._database is None:
            raise InvalidInput("Rag is not open: use it as `with Rag() as rag:`")
        return self._database

    @property
    def jobs(self) -> Jobs:
        """The queue: what is not done, and why."""
        return Jobs(self)

    @property
    def views(self) -> Views:
        """Views of the application's own tables that questions may be put to."""
        return Views(self)

    @property
    def admin(self) -> Admin:
        """Health, upkeep, cost and cache."""
        return Admin(self)

    @property
    def evaluation(self) -> Evaluation:
        """Sets of questions, runs of them, judges of runs."""
        from rag_pg.evaluation.client import Evaluation  # an annexe

        return Evaluation(self)

    @in_thread("long")
    def collection(
        self,
        name: str,
        *,
        embedder: Embedder | None = None,
        **options: Unpack[CollectionOptions],
    ) -> Collection:
        """Open a collection, creating it on first use.

        Args:
            embedder: an object that makes its vectors; its name is stored as the model. This client
                and its workers have it; others are given it alike, by this call or by
                `Rag(embedders=…)`.
            model: what makes the vectors: minilm, e5, onnx:<model>,
                sentence-transformers:<model>, gemini:<model>, openai:<model>,
                or a name of your own when you bring vectors. A new collection's default is minilm;
                for a language other than english it is e5, where that is installed.
            language: text search configuration, default english; auto: the language of each
                document is detected where it has none (rag.detect_language).
            distance: cosine (default), l2 or ip.
            dimensions: for a model that rag_pg does not run, or has no key for here; otherwise the
                model gives it, and a new collection's model is asked once whether it answers.
            chunking: {"method": "auto", "max_tokens": 256, "overlap": 0.12}; see `Chunking`.
            preset: chunking for a kind of content: documentation, code, conversations or papers;
                what stands in `chunking` goes first.
            index_options: {"m": 16, "ef_construction": 64, "k1": 1.2, "b": 0.75}.
        Raises: CollectionMismatch when it exists with other settings than those given; ProviderAuth
            and ProviderError for a new one whose model does not answer.
        """
        check_names(options, known=CollectionOptions.__optional_keys__, call="collection")
        if embedder is not None:
            if options.setdefault("model", embedder.name) != embedder.name:
                raise InvalidInput(
                    f"model is {options['model']!r}, the embedder is {embedder.name!r}; leave out"
                    " one of them"
                )
            self.models.add_embedder(embedder)
        for part in self.parts:
            open_collection(part.database, self.models, name, **options)
        if self.parts:
            return Collection(self, self.info(name))
        info = open_collection(self.database, self.models, name, **options)
        return Collection(self, info)

    def collections(self) -> list[CollectionInfo]:
        """Return every collection's settings, by name."""
        return self.database.list_collections()

    def drop_collection(self, name: str) -> None:
        """Remove a collection and everything in it. Raises NotFound."""
        if self.parts:
            for part in self.parts:
                part.drop_collection(name)
            return
        self.database.drop_collection(name)
        self.database.remove_dropped()

    @in_thread("long")
    def export_collection(
        self,
        name: str,
        folder: str | Path,
        *,
        versions: bool = False,
        originals: bool = False,
    ) -> Transfer:
        """Write a collection into a folder, for `import_collection`: documents as JSONL,
        chunks with the vectors of all spaces as Parquet, a page of 4 MB of text in each.

        A tenant's role exports what it sees. An export that was killed goes on when it is made
        again. Needs the extra `export`.

        Args:
            folder: a new or empty one, or that of an export of this collection that goes on.
            versions: earlier texts of documents, too. originals: the files that are kept, too.
        Raises: InvalidInput (the folder holds something else), ModelUnavailable (no pyarrow).
        """
        return export_collection(
            self.database, name, Path(folder), versions=versions, originals=originals
        )

    @in_thread("long")
    def import_collection(self, folder: str | Path, name: str | None = None) -> Transfer:
        """Make a collection of what `export_collection` wrote; nothing is embedded.

        Until it is whole it is called name~import, and its description says how far it is; an
        import that was killed goes on when it is made again. Needs the extra `export`, and the
        owner of the schema.

        Args:
            name: of the collection; None: as it was called where it comes from.
        Raises: InvalidInput (no complete export), AlreadyExists (a collection of that name),
            NotFound (it was a tenant's that there is not here).
        """
        return import_collection(self.database, Path(folder), name)

    @in_thread("long")
    def adopt(
        self,
        table: str,
        into: str,
        *,
        layout: str,
        source_dsn: str | None = None,
        **options: Unpack[Adoption],
    ) -> AdoptReport:
        """Take over a table that another program filled, with its embeddings; it is only read.

        Rows of the same source document become the chunks of one document. Nothing is embedded:
        rows without a vector are queued for a worker.
        Taken over again, what has not changed stays as it is.

        Args:
            table: a table or view, named as in SQL.
            into: the collection; it is created where it does not exist, with the dimensions found.
            layout: pgai, langchain, llamaindex or haystack.
            model: what made the vectors, so that queries are embedded alike;
                a new collection needs it.
            source_dsn: the table's database, where it is another.
            distance, language: of a new collection.
            langchain_collection: which, in a langchain_pg_embedding that holds several.
            uri_key: the metadata that tells a row's document, where the layout's own rules do not;
                $id: each row is a document of its own with the row's id as its uri, as the stores
                of rag_pg.langchain, rag_pg.llama_index and rag_pg.haystack have them.
            sample: for so many vectors the nearest rows and the nearest chunks are compared;
                0: for none; 20.
        Raises: InvalidInput (another layout, no vectors), CollectionMismatch, NotFound.
            Then nothing is loaded.
        """
        from rag_pg.adopt import adopt_table  # an annexe

        if self.dsn is None:
            raise InvalidInput("adopt is not there for a corpus in parts: call it on each of parts")
        check_names(options, known=Adoption.__optional_keys__, call="adopt")
        dsn = source_dsn or self.dsn
        return adopt_table(
            self.database, self.models, table, into, layout=layout, source_dsn=dsn, **options
        )

    @in_thread("long")
    def worker(self, collections: Sequence[str] | None = None, **options: Any) -> Worker:
        """A worker for the queue; `run` it until stopped, or `drain` it once."""
        from rag_pg.worker import Worker  # a search needs none

        if self.parts:
            workers = [part.worker(collections, **options) for part in self.parts]
            return cast("Worker", PartWorkers(workers))

        for name in collections or ():
            self.database.get_collection(name)
        answerers = {"embed_query": self._answer_embed_query, "ask": self._answer_ask}
        return Worker(
            self.database.on_primary(),
            self._writing_embedder_of,
            collections=collections,
            answerers=answerers,
            sync=self._sync_location,
            locations=self.settings.locations,
            **{"llm_of": self.models.writing_llm, **options},
        )

    def _sync_location(
        self, collection: str, location: str, options: Mapping[str, Any]
    ) -> SyncReport:
        return self.get_collection(collection).sync(location, wait=False, options=options)

    def _answer_embed_query(self, collection: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        vector = embed_query(self.embedder_of(collection), asked["question"])
        return {"embedding": vector.tolist()}

    def _answer_ask(self, collection: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to rag.ask. Who may only call workers chooses none of their models, and what
        all of them spend stays within the budgets of the providers.

        Raises: InvalidInput (an option that names a model), and what `Collection.ask` raises.
        """
        from rag_pg.worker import take_budgets

        options, admit = read_request(asked), take_budgets(self.database)
        opened = self.get_collection(collection)._opened
        answered: dict[str, Any] = to_json(opened.answer(asked["question"], options, admit=admit))
        return answered

    def get_collection(self, name: str) -> Collection:
        """Open a collection that exists, as its settings are now; the same object, with the
        vectors of its recent queries, until they change. Raises NotFound."""
        info = self.info(name)
        known = self._collections.get(name)
        if known is None or known.info != info:
            if len(self._collections) >= COLLECTIONS_CACHED:
                self._collections.clear()
            self._collections[name] = known = Collection(self, info)
        return known

    @in_thread("long")
    def embedder(self, model: str) -> Embedder:
        """The embedder of that name, opened once per process."""
        return self.models.embedder(model)

    @in_thread("long")
    def embedder_of(self, collection: str, space_id: int | None = None) -> Embedder:
        """The embedder of a collection's space (None:
        the active one), checked against what it stores."""
        return self.models.embedder_of(self.database, collection, space_id)

    @in_thread("long")
    def reranker(self, name: str) -> Reranker:
        """The reranker of that name, opened once per process; "llm" is the model of the settings.

        Raises: InvalidInput (unknown name), ModelUnavailable.
        """
        return self.models.reranker(name)

    def info(self, collection: str) -> CollectionInfo:
        """A collection's settings as they are now. Raises NotFound."""
        return self.database.get_collection(collection)

    def _writing_embedder_of(self, collection: str, space_id: int | None = None) -> Embedder:
        """As `embedder_of`, and the first that writes a space's vectors is pinned as theirs."""
        embedder = self.embedder_of(collection, space_id)
        self.database.set_fingerprint(collection, embedder.fingerprint, space_id)
        return embedder
