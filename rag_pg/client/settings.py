"""Settings of a collection that are no part of how it is cut or searched: changed."""

from __future__ import annotations

from rag_pg.client.opened import OpenCollection


class CollectionSettings(OpenCollection):
    """The method of `Collection` that changes its settings."""

    def alter(self, *, description: str | None = None) -> None:
        """Change settings of the collection; None leaves one as it is.

        Args:
            description: what the documents are and what they answer, for people and for programs
                that choose among collections; at most 1000 characters, "" for none.
        Raises: InvalidInput (too long). It takes the owner of the schema.
        """
        self.rag.database.alter_collection(self.name, description=description)
        self.refresh()
