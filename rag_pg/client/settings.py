"""Settings of a collection that are no part of how it is cut or searched: changed."""

from __future__ import annotations

from datetime import timedelta

from rag_pg.client.gates import refusal_recorded
from rag_pg.client.opened import OpenCollection


class CollectionSettings(OpenCollection):
    """The method of `Collection` that changes its settings."""

    def alter(
        self,
        *,
        description: str | None = None,
        keep_versions: timedelta | None = None,
        keep_answers: timedelta | None = None,
        sample_queries: float | None = None,
        keep_query_text: bool | None = None,
        keep_queries: timedelta | None = None,
        max_queries: int | None = None,
        recall_target: float | None = None,
        ef_search: int | None = None,
        keep_original: bool | None = None,
        forced: bool = False,
    ) -> None:
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
                first: as the number of chunks asks for. Gates of the collection (`set_gate`)
                measure another value; the vectors of their questions are made here.
            keep_original: whether `add` and `sync` store the files themselves, too, for `original`.
            forced: whatever the gates of the collection demand; it is recorded.
        Raises: InvalidInput (too long, out of range), GateFailed (that ef_search finds less),
            NotReady (a gate that cannot be measured). It takes the owner of the schema.
        """
        from rag_pg.evaluation import embed_gated_queries

        if ef_search is not None and not forced:
            embed_gated_queries(self.rag.database, self.rag.models, self.name)
        with refusal_recorded(self.rag.database, self.name):
            self.rag.database.alter_collection(
                self.name,
                description=description,
                keep_versions=keep_versions,
                keep_answers=keep_answers,
                sample_queries=sample_queries,
                keep_query_text=keep_query_text,
                keep_queries=keep_queries,
                max_queries=max_queries,
                recall_target=recall_target,
                ef_search=ef_search,
                keep_original=keep_original,
                forced=forced,
            )
        self.refresh()
