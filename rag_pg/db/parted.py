"""A corpus in parts: documents dealt over several databases, asked side by side.

An id of a chunk is told from those of other parts by its remainder: `id * parts + part`. So who has
a hit finds its part, as long as the parts are the same ones in the same order.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any, LiteralString, Self, TypeVar
from uuid import UUID

from rag_pg.db.citation import MOST, chunks_of
from rag_pg.db.database import Database
from rag_pg.db.document import LoadCounts
from rag_pg.deadline import Scope, call_within, current_scope
from rag_pg.errors import (
    BudgetExceeded,
    CollectionMismatch,
    DatabaseUnavailable,
    InvalidInput,
)
from rag_pg.threads import Threads
from rag_pg.types import (
    PROVEN,
    SHORT,
    CheckedQuote,
    Citation,
    CollectionInfo,
    CollectionStats,
    Document,
    Existing,
    Facet,
    Hit,
    Original,
    Passage,
    SearchCheck,
    TermMatch,
    Vectors,
)

T = TypeVar("T")
# Functions that any part answers for all.
ANY = {
    "_cosine_spread", "_holds_quote", "_mistaken_keys", "detect_language", "get_calibration",
    "list_collections", "list_fields", "list_views", "record_usage", "space_settings",
    "visible_tenants",
}  # fmt: skip
# Functions whose rows are those of all parts, and those whose numbers are summed.
ALL = {"_synced_documents", "list_versions", "pending_documents"}
SUMMED = {
    "collection_version", "count_documents", "delete_document", "delete_documents", "delete_where",
}  # fmt: skip
# Functions of documents that are named, each of which is in one part.
NAMED = {"document_at", "get_document", "get_documents", "get_original", "list_chunks"}
ALIKE = ("model", "dimensions", "distance", "language", "fingerprint")
MOST_FACETS = 1000  # values that rag.facets gives
MOST_CANDIDATES = 10_000  # of each leg
MOST_URIS = 500  # in a filter


class PartedDatabase(Database):
    """Several databases, each with a part of the documents of its collections.

    Who searches is told which parts did not answer; what counts, lists or writes fails then.

    Args:
        bases: the parts, not opened. seconds: in which each has to answer a question.
    """

    def __init__(self, bases: Sequence[Database], seconds: float) -> None:
        self.schema, self.dsn = bases[0].schema, ""
        self._bases, self._parts, self._seconds = bases, list(bases), seconds
        self._infos: dict[str, dict[int, CollectionInfo]] = defaultdict(dict)
        self._settings: Mapping[str, str] = {}

    def with_settings(self, settings: Mapping[str, str]) -> Self:
        other = type(self)(self._bases, self._seconds)
        other._parts = [part.with_settings(settings) for part in self._parts]
        other._infos = self._infos
        return other

    def open(self, *, upgrade: bool = False) -> None:
        """Connect. Raises DatabaseUnavailable when no part can be reached; SchemaMismatch."""
        self._living(lambda number, part: None)

    def close(self) -> None:
        for base in self._bases:
            base.close()

    def plain_arguments(self, function: str, values: Mapping[str, Any]) -> dict[str, Any]:
        opened = (p for p, base in zip(self._parts, self._bases, strict=True) if base._opened)
        return next(opened, self._parts[0]).plain_arguments(function, values)

    def _each(
        self,
        ask: Callable[[int, Database], T],
        only: Iterable[int] | None = None,
        *,
        bounded: bool = True,
    ) -> dict[int, T | DatabaseUnavailable]:
        """Ask the parts side by side; what keeps one from answering stands for its answer."""
        numbers = [*(range(len(self._parts)) if only is None else only)]

        def answer(number: int) -> T:
            if not self._bases[number]._opened:
                self._bases[number].open()
            return ask(number, self._parts[number])

        def answer_in_time(number: int) -> T | DatabaseUnavailable:
            name = f"part {number + 1} of {len(self._parts)}"
            ends_at = time.monotonic() + self._seconds if bounded else None
            try:
                with Scope(ends_at, f"part_timeout ({self._seconds:g} s)").entered():
                    return call_within(current_scope(), lambda: answer(number), name)
            except BudgetExceeded as exc:
                return DatabaseUnavailable(str(exc))
            except DatabaseUnavailable as exc:
                return DatabaseUnavailable(f"{name} does not answer: {exc}")

        pool = Threads(max(1, len(numbers)), "rag-pg-part")
        try:
            asked: dict[int, Future[T | DatabaseUnavailable]] = {
                number: pool.submit(answer_in_time, number) for number in numbers
            }
            found = {number: future.result() for number, future in asked.items()}
        finally:
            pool.shutdown(wait=False)
        if scope := current_scope():
            scope.check("the parts")
        return found

    def _all(
        self,
        ask: Callable[[int, Database], T],
        only: Iterable[int] | None = None,
        *,
        bounded: bool = True,
    ) -> dict[int, T]:
        """What all parts answer. Raises: DatabaseUnavailable, naming one that does not."""
        found: dict[int, T] = {}
        for number, answer in self._each(ask, only, bounded=bounded).items():
            if isinstance(answer, DatabaseUnavailable):
                raise answer
            found[number] = answer
        return found

    def _living(
        self, ask: Callable[[int, Database], T], notes: list[str] | None = None
    ) -> dict[int, T]:
        """What the parts answer that do. Raises: DatabaseUnavailable where none does."""
        answers = self._each(ask)
        found = {n: a for n, a in answers.items() if not isinstance(a, DatabaseUnavailable)}
        failed = [a for a in answers.values() if isinstance(a, DatabaseUnavailable)]
        if not found:
            raise failed[0]
        if notes is not None:
            notes += map(str, failed)
        return found

    def _any(self, ask: Callable[[int, Database], T]) -> T:
        """What the first part answers that does."""
        for number in range(len(self._parts)):
            try:
                return self._all(ask, [number])[number]
            except DatabaseUnavailable as exc:
                failed = exc
        raise failed

    def _outer(self, number: int, chunk_id: int) -> int:
        return chunk_id * len(self._parts) + number

    def _by_part(self, chunk_ids: Iterable[int]) -> dict[int, list[int]]:
        """Ids of chunks by their parts, as these call them."""
        found: dict[int, list[int]] = defaultdict(list)
        for chunk_id in chunk_ids:
            inner, number = divmod(chunk_id, len(self._parts))
            found[number].append(inner)
        return found

    def _combined(
        self, function: str, ask: Callable[[Database], list[T]], arguments: Mapping[str, Any]
    ) -> list[T]:
        if function in ANY:
            return self._any(lambda number, part: ask(part))
        if function in NAMED:
            answers = self._each(lambda number, part: ask(part))
            failed = [a for a in answers.values() if isinstance(a, DatabaseUnavailable)]
            rows = [
                replace(row, chunk_id=self._outer(number, row.chunk_id))  # type: ignore[type-var, attr-defined]
                if function == "list_chunks"
                else row
                for number, answer in answers.items()
                if not isinstance(answer, DatabaseUnavailable)
                for row in answer
            ]
            if failed and len(rows) < len(arguments.get("uris", (None,))):
                raise failed[0]
            return rows
        if function not in ALL | SUMMED:
            raise InvalidInput(
                f"{function} is not there for a corpus in parts: call it on each of Rag.parts"
            )
        lists = self._all(lambda number, part: ask(part), bounded=function not in SUMMED).values()
        if function in ALL:
            return [row for rows in lists for row in rows]
        values: list[Any] = [value for values in lists for value in values]
        return [type(values[0])(sum(values))]

    def rows(self, cls: type[T], function: LiteralString, /, **arguments: object) -> list[T]:
        return self._combined(
            function, lambda part: part.rows(cls, function, **arguments), arguments
        )

    def values(self, cls: type[T], function: LiteralString, /, **arguments: object) -> list[T]:
        return self._combined(
            function, lambda part: part.values(cls, function, **arguments), arguments
        )

    def tuples(
        self, columns: tuple[str, ...], function: LiteralString, /, **arguments: object
    ) -> list[tuple[Any, ...]]:
        return self._combined(
            function, lambda part: part.tuples(columns, function, **arguments), arguments
        )

    def call(self, function: LiteralString, /, **arguments: object) -> None:
        self.tuples((), function, **arguments)

    def connection(self, *, reads: bool = False, moves: bool = True) -> Any:
        raise InvalidInput("this is not there for a corpus in parts: call it on each of Rag.parts")

    def get_collection(self, collection: str) -> CollectionInfo:
        """The settings of the first part that answers.

        Raises: CollectionMismatch, where a part has another model.
        """
        infos = self._infos[collection]
        infos.update(self._living(lambda number, part: part.get_collection(collection)))
        return self._compared(collection)

    def _compared(self, collection: str) -> CollectionInfo:
        infos = self._infos[collection]
        first = min(infos)
        for number, info in sorted(infos.items()):
            for name in ALIKE:
                here, there = getattr(infos[first], name), getattr(info, name)
                if here != there and None not in (here, there):
                    raise CollectionMismatch(
                        f"part {number + 1} has {name} {there!r} for collection {collection!r},"
                        f" part {first + 1} {here!r}: hits of both cannot be compared"
                    )
        return infos[first]

    def _space_of(self, number: int, part: Database, collection: str) -> int:
        """The active space of a part, where that was looked at; it is compared first."""
        infos = self._infos[collection]
        if number not in infos:
            infos[number] = part.get_collection(collection)
            self._compared(collection)
        return infos[number].space_id

    def search(
        self,
        collection: str,
        query: str | None,
        embedding: Vectors | None,
        *,
        expected_space: int | None = None,
        notes: list[str] | None = None,
        **options: Any,
    ) -> list[Hit]:
        """The candidates of all parts, fused anew by what they carry; notes name the parts that did
        not answer. Copies of a text are told by title, heading and content."""
        given = {name: value for name, value in options.items() if value is not None}
        limit, where = given.pop("limit", 10), given.pop("filter", {})
        asked: dict[str, Any] = {
            "collection": collection,
            "query": query,
            "embedding": embedding,
            "limit": limit,
            "filter": where,
            "options": {SHORT.get(name, name): value for name, value in given.items()},
        }

        def ask(number: int, part: Database) -> tuple[list[Hit], list[str]]:
            told: list[str] = []
            own = None if expected_space is None else self._space_of(number, part, collection)
            hits = part._hits("_search_part", {**asked, "expected_space": own}, told)
            return hits, told

        while True:
            told: list[str] = []
            answers = self._living(ask, told)
            fused = self._fused(asked, answers)
            if boosts := given.get("boosts"):
                fused = self._boosted(collection, fused, boosts)
            kept = [*_kept(fused, given.get("duplicates"), given.get("per_document"))]
            offset = given.get("offset", 0)
            most = max(len(hits) for hits, _ in answers.values())
            # What was taken out may have kept others from the list: then more are asked for.
            if len(kept) >= offset + limit or len(fused) == len(kept) or most >= MOST_CANDIDATES:
                break
            asked["options"]["candidate_limit"] = min(MOST_CANDIDATES, 4 * most)
        told += (note for _, of_part in answers.values() for note in of_part)
        if notes is not None:
            notes += dict.fromkeys(told)
        return kept[offset : offset + limit]

    def _fused(
        self, asked: Mapping[str, Any], answers: Mapping[int, tuple[list[Hit], list[str]]]
    ) -> list[Hit]:
        """The candidates of all parts, best first."""
        found = [
            replace(hit, chunk_id=self._outer(number, hit.chunk_id))
            for number, (hits, _) in answers.items()
            for hit in hits
        ]
        ranked = self._any(
            lambda number, part: part.tuples(
                ("hit_number", "score", "vector_rank", "keyword_rank"),
                "_fuse_parts",
                collection=asked["collection"],
                query=asked["query"],
                embedding=asked["embedding"],
                limit=asked["limit"],
                filter=asked["filter"],
                options=asked["options"],
                vector_ranks=[hit.vector_rank for hit in found],
                vector_distances=[hit.vector_distance for hit in found],
                keyword_ranks=[hit.keyword_rank for hit in found],
                keyword_scores=[hit.keyword_score for hit in found],
            )
        )
        return [
            replace(found[i - 1], score=score, vector_rank=vector_rank, keyword_rank=keyword_rank)
            for i, score, vector_rank, keyword_rank in ranked
        ]

    def _boosted(self, collection: str, hits: Sequence[Hit], boosts: object) -> list[Hit]:
        scores = {hit.chunk_id: hit.score for hit in hits}
        ids = self._by_part(scores)

        def boost(number: int, part: Database) -> list[float]:
            own = [scores[self._outer(number, inner)] for inner in ids[number]]
            return part.value(
                list,
                "_boost_part",
                collection=collection,
                chunk_ids=ids[number],
                scores=own,
                boosts=boosts,
            )

        for number, boosted in self._all(boost, ids).items():
            scores |= zip((self._outer(number, i) for i in ids[number]), boosted, strict=True)
        return sorted(
            (replace(hit, score=scores[hit.chunk_id]) for hit in hits),
            key=lambda hit: -hit.score,
        )

    def search_variants(self, *arguments: Any, **options: Any) -> list[Hit]:
        raise InvalidInput(
            "a corpus in parts is searched by one wording: leave out rewrites that make several"
        )

    def expand(
        self,
        collection: str,
        chunk_ids: Sequence[int],
        *,
        before: int = 0,
        after: int = 0,
        upto: str,
    ) -> list[Passage]:
        ids = self._by_part(chunk_ids)
        found = self._all(
            lambda number, part: part.expand(
                collection, ids[number], before=before, after=after, upto=upto
            ),
            ids,
        )
        index = {chunk_id: rank for rank, chunk_id in reversed([*enumerate(chunk_ids, 1)])}
        passages = [
            replace(
                passage,
                chunk_keys=[self._outer(number, key) for key in passage.chunk_keys],
                rank=index[self._outer(number, ids[number][passage.rank - 1])],
            )
            for number, of_part in found.items()
            for passage in of_part
        ]
        return sorted(passages, key=lambda passage: passage.rank)

    def why_not(
        self, collection: str, chunk_id: int, *arguments: Any, **options: Any
    ) -> list[SearchCheck]:
        """As of the part, among whose hits the chunk is or is not."""
        inner, number = divmod(chunk_id, len(self._parts))
        return self._all(
            lambda number, part: part.why_not(collection, inner, *arguments, **options), [number]
        )[number]

    def snippets(
        self, collection: str, query: str, chunk_ids: Sequence[int], **marks: Any
    ) -> list[str | None]:
        ids = self._by_part(chunk_ids)
        found = self._all(
            lambda number, part: part.snippets(collection, query, ids[number], **marks), ids
        )
        texts = {
            self._outer(number, inner): text
            for number, of_part in found.items()
            for inner, text in zip(ids[number], of_part, strict=True)
        }
        return [texts[chunk_id] for chunk_id in chunk_ids]

    def get_embeddings(self, collection: str, chunk_ids: Iterable[int]) -> dict[int, Vectors]:
        ids = self._by_part(chunk_ids)
        found = self._all(lambda number, part: part.get_embeddings(collection, ids[number]), ids)
        return {
            self._outer(number, inner): vector
            for number, of_part in found.items()
            for inner, vector in of_part.items()
        }

    def match_terms(self, collection: str, query: str, texts: Sequence[str]) -> list[TermMatch]:
        """Chunks are counted in the parts that answer."""
        found = self._living(lambda number, part: part.match_terms(collection, query, texts))
        chunks = sum(matches[0].chunk_count for matches in found.values() if matches)
        merged: dict[tuple[str, str], TermMatch] = {}
        for match in (one for matches in found.values() for one in matches):
            key = match.word, match.term
            seen = merged.get(key, replace(match, df=0))
            merged[key] = replace(
                seen,
                df=seen.df + match.df,
                chunk_count=chunks,
                found_in=sorted({*seen.found_in, *match.found_in}),
            )
        return [*merged.values()]

    def check_citations(
        self,
        collection: str,
        citations: Sequence[Citation],
        retrieved: Sequence[int] = (),
        passages: Mapping[int, str] | None = None,
    ) -> list[CheckedQuote]:
        """Each is checked in the part of its source; a quote that does not stand there is looked
        for in the chunks of the other parts, too."""
        mine: dict[int, list[int]] = defaultdict(list)
        for index, citation in enumerate(citations):
            mine[chunks_of(citation)[0] % len(self._parts)].append(index)
        others = self._by_part(
            dict.fromkeys([*(i for c in citations for i in chunks_of(c)), *retrieved])
        )

        def check(number: int, part: Database) -> list[CheckedQuote]:
            inner = [
                replace(c, chunk_id=chunks[0], chunk_ids=chunks)
                for c in (citations[index] for index in mine[number])
                for chunks in [[i // len(self._parts) for i in chunks_of(c)]]
            ]
            return part.check_citations(collection, inner, others[number], passages)

        rows: dict[int, CheckedQuote] = {}
        for number, checked in self._all(check, list(mine)).items():
            for index, row in zip(mine[number], checked, strict=True):
                if row.status == "fabricated":
                    row = self._elsewhere(collection, citations[index], number, others) or row
                elif row.chunk_key is not None:
                    row = replace(row, chunk_key=self._outer(number, row.chunk_key))
                rows[index] = row
        return [rows[index] for index in range(len(citations))]

    def _elsewhere(
        self, collection: str, citation: Citation, home: int, others: Mapping[int, list[int]]
    ) -> CheckedQuote | None:
        """A quote that stands in a chunk of another part."""

        def look(number: int, part: Database) -> list[CheckedQuote]:
            given = [
                replace(citation, chunk_id=i, chunk_ids=(), uri="") for i in others[number][:MOST]
            ]
            return part.check_citations(collection, given)

        for number, rows in self._all(look, [n for n in others if n != home]).items():
            for row in rows:
                if row.status in PROVEN and row.chunk_key is not None:
                    key = self._outer(number, row.chunk_key)
                    return replace(row, status="misattributed", chunk_key=key)
        return None

    def search_note(self, collection: str) -> str | None:
        found = self._living(lambda number, part: part.search_note(collection))
        return next((note for note in found.values() if note), None)

    def facets(
        self, collection: str, field: str, *, metadata_filter: Mapping[str, Any], limit: int
    ) -> list[Facet]:
        """Exact where no part has more than 1000 values."""
        found = self._all(
            lambda number, part: part.facets(
                collection, field, metadata_filter=metadata_filter, limit=MOST_FACETS
            )
        )
        summed: dict[str, Facet] = {}
        for facet in (one for facets in found.values() for one in facets):
            seen = summed.get(repr(facet.value), replace(facet, documents=0))
            summed[repr(facet.value)] = replace(seen, documents=seen.documents + facet.documents)
        ordered = sorted(summed.values(), key=lambda facet: (-facet.documents, repr(facet.value)))
        return [replace(facet, total_values=len(summed)) for facet in ordered[:limit]]

    def collection_stats(self, name: str | None = None) -> list[CollectionStats]:
        found = self._all(lambda number, part: part.collection_stats(name))
        by_name: dict[str, list[CollectionStats]] = defaultdict(list)
        for stats in (one for of_part in found.values() for one in of_part):
            by_name[stats.collection].append(stats)
        return [_summed(of_parts) for of_parts in by_name.values()]

    def each_document(
        self, collection: str, *, limit: int | None = None, after: str = "", **options: Any
    ) -> Iterator[Document]:
        """One part after the other, each by uri."""
        if after:
            raise InvalidInput("a corpus in parts is listed part by part: leave out after")
        self._all(lambda number, part: None)
        for part in self._parts:
            for document in part.each_document(collection, limit=limit, **options):
                yield document
                limit = None if limit is None else limit - 1

    def _homes(self, collection: str, uris: Iterable[str]) -> dict[str, int]:
        """The part of each document: where it stands, or by its uri where it is new."""
        every = [*dict.fromkeys(uris)]
        homes = {
            uri: int.from_bytes(sha256(uri.encode()).digest()[:8], "big") % len(self._parts)
            for uri in every
        }
        for start in range(0, len(every), MOST_URIS):
            some = every[start : start + MOST_URIS]
            given = {"metadata_filter": {"$uri": {"$in": some}}, "limit": len(some)}
            found = self._all(
                lambda number, part, given=given: part.list_documents(  # type: ignore[misc]
                    collection, after_uri="", **given
                )
            )
            homes |= {one.uri: number for number, of_it in found.items() for one in of_it}
        return homes

    def _dealt(
        self, collection: str, items: Iterable[Mapping[str, Any]]
    ) -> dict[int, list[tuple[int, Mapping[str, Any]]]]:
        """Documents or chunks with their places in the list, by part."""
        every = [*items]
        homes = self._homes(collection, (str(item["uri"]) for item in every))
        dealt: dict[int, list[tuple[int, Mapping[str, Any]]]] = defaultdict(list)
        for index, item in enumerate(every):
            dealt[homes[str(item["uri"])]].append((index, item))
        return dealt

    def put_documents(
        self,
        collection: str,
        documents: Sequence[Mapping[str, Any]],
        existing: Existing = "replace",
        queued: set[UUID] | None = None,
    ) -> list[UUID]:
        """Put each into its part: all or none of those of a part."""
        dealt = self._dealt(collection, documents)
        put = self._all(
            lambda number, part: part.put_documents(
                collection, [d for _, d in dealt[number]], existing, queued
            ),
            dealt,
            bounded=False,
        )
        ids = {
            index: document_id
            for number, of_part in put.items()
            for (index, _), document_id in zip(dealt[number], of_part, strict=True)
        }
        return [ids[index] for index in range(len(ids))]

    def load_chunks(
        self,
        collection: str,
        records: Iterable[Mapping[str, Any]],
        dimensions: int,
        existing: Existing = "replace",
    ) -> LoadCounts:
        """Store ready-made chunks, which are gathered in memory first: all or none of a part."""
        dealt = self._dealt(collection, records)
        loaded = self._all(
            lambda number, part: part.load_chunks(
                collection, (record for _, record in dealt[number]), dimensions, existing
            ),
            dealt,
            bounded=False,
        ).values()
        return LoadCounts(
            loaded_documents=sum(one.loaded_documents for one in loaded),
            loaded_chunks=sum(one.loaded_chunks for one in loaded),
            queued=[document_id for one in loaded for document_id in one.queued],
        )

    def keep_original(self, collection: str, uri: str, original: Original) -> bool:
        home = self._homes(collection, [uri])[uri]
        return self._all(lambda n, part: part.keep_original(collection, uri, original), [home])[
            home
        ]

    def note_synced(self, collection: str, states: Mapping[str, Mapping[str, Any]]) -> None:
        homes = self._homes(collection, states)
        self._all(
            lambda number, part: part.note_synced(
                collection, {uri: state for uri, state in states.items() if homes[uri] == number}
            )
        )


def _kept(hits: Sequence[Hit], duplicates: bool | None, per_document: int | None) -> Iterator[Hit]:
    """Hits without those whose text stands above, and at most so many of a document."""
    texts: set[tuple[str, str, str]] = set()
    counts: Counter[UUID] = Counter()
    for hit in hits:
        text = hit.title, hit.heading, hit.content
        if text not in texts or duplicates:
            texts.add(text)
            counts[hit.document_id] += 1
            if per_document is None or counts[hit.document_id] <= per_document:
                yield hit


def _summed(of_parts: Sequence[CollectionStats]) -> CollectionStats:
    numbers = [f.name for f in fields(CollectionStats) if f.type in ("int", "float")]
    summed = {name: sum(getattr(one, name) for one in of_parts) for name in numbers}
    reason = next((one.reason for one in of_parts if one.reason), None)
    lag = max(one.lag for one in of_parts)
    times = [one.eta for one in of_parts if one.eta is not None]
    return replace(
        of_parts[0], **{**summed, "lag": lag, "eta": max(times, default=None), "reason": reason}
    )
