"""Takes over the tables of other programs: their rows become chunks, with the vectors they have."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from rag_pg.adopt.layouts import PROGRAMS, Layout, find_layout
from rag_pg.adopt.table import NOT_METADATA, ForeignTable, Row, Selection, open_table
from rag_pg.db import Database
from rag_pg.errors import CollectionMismatch, InvalidInput, ModelUnavailable
from rag_pg.ingest import open_collection
from rag_pg.providers import Models
from rag_pg.text import clean_text
from rag_pg.types import Adoption, AdoptReport, Vectors

SAMPLE = 20
NEIGHBOURS = 10
URI_BYTES = 2000
HALF_MAX = float(np.finfo(np.float16).max)


def adopt_table(
    database: Database,
    models: Models,
    table: str,
    into: str,
    *,
    layout: str,
    source_dsn: str,
    **options: Unpack[Adoption],
) -> AdoptReport:
    """See Rag.adopt. source_dsn: the database that holds the table."""
    sample = options.get("sample", SAMPLE)
    langchain_collection = options.get("langchain_collection")
    if layout not in PROGRAMS:
        raise InvalidInput(f"unknown layout {layout!r}; use {', '.join(PROGRAMS)}")
    if sample < 0:
        raise InvalidInput(f"sample is {sample}; use a number of vectors, or 0 to compare none")
    if langchain_collection is not None and layout != "langchain":
        raise InvalidInput(f"langchain_collection does not go with layout {layout!r}; leave it out")
    with open_table(source_dsn, table) as source:
        found = find_layout(source, layout)
        selection, key = _select(source, found, langchain_collection)
        dimensions = _dimensions(source, selection)
        metric = _prepare(database, models, into, source.name, dimensions, options)
        reader = _Reader(found, source.name, key, options.get("uri_key"), sample)
        counts = database.load_chunks(into, reader.records(source.rows(selection)), dimensions)
        report = AdoptReport(
            layout=layout,
            table=source.name,
            collection=into,
            dimensions=dimensions,
            rows=reader.rows,
            skipped=dict(reader.skipped),
            documents=counts.loaded_documents,
            chunks=counts.loaded_chunks,
            vectors=reader.vectors,
            without_vector=counts.loaded_chunks - reader.vectors,
            queued=len(counts.queued),
        )
        if not reader.sample:
            return report
        return replace(
            report,
            sampled=len(reader.sample),
            overlap=_overlap(database, into, source, selection, reader.sample, metric),
            notes=_others(database, into, counts.loaded_documents),
        )


def _select(
    table: ForeignTable, layout: Layout, langchain_collection: str | None
) -> tuple[Selection, list[str]]:
    """Return what to read, and the columns whose values tell a row's document."""
    key = table.keys_beside(layout.keyed_beside) if layout.keyed_beside else []
    extras: list[str] = []
    if layout.extras:
        left_out = {*layout.columns, table.pgai_loaded_column() if layout.keyed_beside else None}
        extras = [
            name
            for name, column in table.columns.items()
            if name not in left_out and column.type not in NOT_METADATA
        ]
    if layout.keyed_beside and not key:
        raise InvalidInput(
            f"{table.name} has no unique key with {layout.keyed_beside}, so its documents cannot be"
            " told; adopt the vectorizer's own table or view"
        )
    where = {}
    if layout.program == "langchain" and "collection_id" in layout.also:
        where = _langchain_where(table, langchain_collection)
    elif langchain_collection is not None:
        raise InvalidInput(
            f"{table.name} holds one store, not several collections; leave langchain_collection out"
        )
    selection = Selection(
        id=layout.id,
        content=layout.content,
        embedding=layout.embedding,
        metadata=layout.metadata,
        extras=extras,
        order_columns=layout.order_columns,
        order_keys=layout.order_keys,
        where=where,
    )
    return selection, key


def _langchain_where(table: ForeignTable, wanted: str | None) -> dict[str, Any]:
    collections = table.langchain_collections()
    if wanted is None and len(collections) <= 1:
        return {}
    if wanted is None or wanted not in collections:
        wrong = "several collections" if wanted is None else f"no collection {wanted!r}"
        raise InvalidInput(
            f"{table.name} holds {wrong}; name one with langchain_collection"
            f" (--langchain-collection): {', '.join(collections) or 'it has none'}"
        )
    return {"collection_id": collections[wanted]}


def _dimensions(table: ForeignTable, selection: Selection) -> int:
    found = table.dimensions(selection)
    if not found:
        raise InvalidInput(f"{table.name} holds no vector; add its texts instead of adopting it")
    if len(found) > 1:
        sizes = ", ".join(f"{rows} rows of {size}" for size, rows in found.items())
        raise InvalidInput(
            f"{table.name} holds vectors of several models: {sizes} dimensions; adopt a view for"
            " each"
        )
    return next(iter(found))


def _prepare(
    database: Database,
    models: Models,
    into: str,
    table: str,
    dimensions: int,
    options: Adoption,
) -> str:
    """Open the collection, or create it; return its distance."""
    model = options.get("model")
    existing = database.find_collection(into)
    stored = existing.dimensions if existing else dimensions
    if existing is None and model is None:
        raise InvalidInput(
            f"there is no collection {into!r} yet; name what made the vectors of {table} with model"
            " (--model)"
        )
    if existing is None and model is not None:
        with contextlib.suppress(InvalidInput, ModelUnavailable):  # one that others run
            stored = models.embedder(model).dimensions
    if stored != dimensions:
        says = f"collection {into!r} stores" if existing else f"model {model!r} gives"
        remedy = "adopt into another collection" if existing else "name the model that made them"
        raise CollectionMismatch(
            f"{table} holds vectors of {dimensions} dimensions, {says} {stored}; {remedy}"
        )
    return open_collection(
        database,
        models,
        into,
        model=model,
        distance=options.get("distance"),
        language=options.get("language"),
        dimensions=None if existing else dimensions,
    ).distance


BY_ROW = "$id"  # as a uri_key: each row is a document of its own


class _Reader:
    """Turns rows into the records of Database.load_chunks;
    counts them, and keeps a sample of the vectors."""

    def __init__(
        self, layout: Layout, table: str, key: Sequence[str], uri_key: str | None, sample: int
    ) -> None:
        self._layout = layout
        self._source = table.removesuffix("_store").removesuffix("_embedding")
        self._key = () if uri_key else key
        keys = () if uri_key == BY_ROW else (uri_key,)
        self._uri_keys = keys if uri_key else layout.uri_keys
        self._wanted = sample
        self._random = random.Random(0)
        self.rows = 0
        self.vectors = 0
        self.skipped: Counter[str] = Counter()
        self.sample: list[Vectors] = []

    def records(self, rows: Iterator[Row]) -> Iterator[Mapping[str, Any]]:
        for row in rows:
            self.rows += 1
            content, _ = clean_text(row.content or "")
            uri, _ = clean_text(self._uri(row))
            if reason := _unfit(content, uri, row.embedding):
                self.skipped[reason] += 1
                continue
            if row.embedding is not None:
                self._keep(row.embedding)
            title = row.metadata.get("title")
            yield {
                "uri": uri,
                "title": title if isinstance(title, str) else "",
                "content": content,
                "metadata": {k: v for k, v in row.metadata.items() if k not in self._layout.hidden},
                "embedding": row.embedding,
            }

    def _uri(self, row: Row) -> str:
        if self._key:
            return "/".join([self._source, *(str(row.metadata[name]) for name in self._key)])
        for key in self._uri_keys:
            value = row.metadata.get(key)
            if isinstance(value, str | int) and str(value) not in ("", "None"):
                return str(value)
        return row.id or ""

    def _keep(self, vector: Vectors) -> None:
        """Sample evenly from a stream of unknown length (Vitter's algorithm R)."""
        self.vectors += 1
        if len(self.sample) < self._wanted:
            self.sample.append(vector)
        elif (index := self._random.randrange(self.vectors)) < self._wanted:
            self.sample[index] = vector


def _unfit(content: str, uri: str, embedding: Vectors | None) -> str | None:
    """Return why a row cannot be taken, or None."""
    if not content.strip():
        return "without text"
    if len(uri.encode()) > URI_BYTES:
        return f"with a uri longer than {URI_BYTES} bytes"
    if embedding is not None and not np.abs(embedding).max() <= HALF_MAX:
        return f"with a vector beyond {HALF_MAX:.0f}, the largest number of halfvec"
    return None


def _overlap(
    database: Database,
    collection: str,
    source: ForeignTable,
    selection: Selection,
    sample: Sequence[Vectors],
    distance: str,
) -> float:
    """Return the part of the nearest rows that are among the nearest chunks.
    Texts are compared, as ids differ."""
    shares = []
    for vector in sample:
        old = source.nearest(selection, vector, distance, NEIGHBOURS)
        hits = database.search(
            collection,
            None,
            vector.astype(np.float32),
            limit=NEIGHBOURS,
            filter={},
            keyword_weight=0.0,
            duplicates=True,
        )
        before = Counter(clean_text(text)[0] for text in old)
        after = Counter(hit.content for hit in hits)
        shares.append((before & after).total() / before.total())
    return float(np.mean(shares))


def _others(database: Database, collection: str, adopted: int) -> list[str]:
    others = database.collection_stats(collection)[0].documents - adopted
    if not others:
        return []
    return [f"the collection holds {others} other documents, which are neighbours too in overlap"]
