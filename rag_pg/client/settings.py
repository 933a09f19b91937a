"""Settings of a collection that are no part of how it is cut or searched: changed."""

from __future__ import annotations

from datetime import timedelta

from rag_pg.client.opened import OpenCollection


class CollectionSettings(OpenCollection):
    """The method of `Collection` that changes its settings."""

    def alter(
        self,
        *,
        description: str | None = None,
        keep_versions: timedelta | None = None,
        keep_answers: timedelta | None = None,
    ) -> None:
        """Change settings of the collection; None leaves one as it is.

        Args:
            description: what the documents are and what they answer, for people and for programs
                that choose among collections; at most 1000 characters, "" for none.
            keep_versions: for so long texts that are replaced or deleted stay.
            keep_answers: for so long answers are logged with their questions, at most 100,000.
                timedelta(0), the default of a new collection: not at all.
        Raises: InvalidInput (too long). It takes the owner of the schema.
        """
        self.rag.database.alter_collection(
            self.name,
            description=description,
            keep_versions=keep_versions,
            keep_answers=keep_answers,
        )
        self.refresh()
