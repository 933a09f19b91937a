"""Live queries of a collection: replayed, and what its vector searches find of the nearest."""

from __future__ import annotations

from typing import Unpack

from rag_pg.client.opened import OpenCollection
from rag_pg.providers import embed_query
from rag_pg.search import StatementOptions, check_names
from rag_pg.types import RecallMeasure, Replay, ReplayedQuery

CHANGED = StatementOptions.__optional_keys__ - {"limit", "offset", "filter"}


class LiveQueries(OpenCollection):
    """The methods of `Collection` about the queries that it was asked live."""

    def replay(
        self,
        candidate: str | None = None,
        *,
        sample: int = 100,
        k: int = 10,
        **options: Unpack[StatementOptions],
    ) -> Replay:
        """Ask the latest sampled live queries again, each with its own options and filter, and of a
        candidate: with other options, of another collection, or both. Nothing is written, and no
        judgement is needed; `alter(sample_queries=…)` begins the sample.

        Args:
            candidate: another collection, such as a copy; None: this one.
            sample: 1 to 10,000 queries. k: the first so many hits are compared, by chunk, and by
                uri where the candidate is another collection.
            options: of `search`, that the candidate is asked with in place of the live ones, but
                for limit, offset and filter.
        Raises: InvalidQuery, InvalidInput, NotFound; ModelUnavailable, ProviderError of a candidate
            with another model.
        """
        check_names(options, known=CHANGED, call="replay")
        database = self.rag.database
        found = database.replay_queries(self.name, options, candidate, k=k, sample=sample)
        if candidate is not None:
            found = self._embed_anew(found, candidate, options, k)
        notes = []
        if not found:
            notes.append(
                "no live query of this model is kept: alter(sample_queries=0.05) keeps a share of"
                " those that are asked from now on"
            )
        if count := sum(query.query_text is None for query in found):
            notes.append(
                f"{count} of {len(found)} queries were kept without their words: they are replayed"
                " by their vectors alone"
            )
        return Replay(k=k, queries=found, notes=notes)

    def _embed_anew(
        self,
        found: list[ReplayedQuery],
        candidate: str,
        options: StatementOptions,
        k: int,
    ) -> list[ReplayedQuery]:
        """Ask those again that the candidate has no vectors for, by its own model."""
        database = self.rag.database
        ours, theirs = (database.space_settings(name) for name in (self.name, candidate))
        if ours.fingerprint is not None and ours.fingerprint == theirs.fingerprint:
            return found
        texts = {q.query_id: q.query_text for q in found if q.legs == "hybrid" and q.query_text}
        if not texts:
            return found
        embedder = self.rag.models.embedder_of(database, candidate)
        embedded = database.replay_queries(
            self.name,
            options,
            candidate,
            k=k,
            sample=len(texts),
            query_ids=list(texts),
            embeddings=[embed_query(embedder, text) for text in texts.values()],
        )
        anew = {query.query_id: query for query in embedded}
        return [anew.get(query.query_id, query) for query in found]

    def measure_recall(
        self,
        *,
        sample: int = 100,
        k: int = 10,
        target: float | None = None,
        seconds: float = 60.0,
    ) -> RecallMeasure:
        """Run sampled vector searches as they are run live and once more exactly, and keep which
        share of the nearest k was found; where that is below the target, doubled values of
        ef_search are tried. See rag.measure_recall.

        Args:
            sample: 1 to 10,000 live queries; where fewer than 20 are kept, vectors of chunks.
            k: 1 to 100. target: 0 to 1; None: the collection's, else 0.95.
            seconds: after so many nothing further is begun.
        Raises: InvalidQuery, NotReady (nothing is embedded).
        """
        return self.rag.database.measure_recall(
            self.name, sample=sample, k=k, target=target, seconds=seconds
        )

    def recall_measures(self, *, limit: int = 100) -> list[RecallMeasure]:
        """What was measured of its vector searches, the latest first."""
        return self.rag.database.list_recall(self.name, limit)
