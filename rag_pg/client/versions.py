"""Earlier versions of the documents of a collection."""

from __future__ import annotations

import builtins
from datetime import datetime

from rag_pg.client.opened import OfCollection
from rag_pg.types import DocumentText, DocumentVersion, LineChange


class Versions(OfCollection):
    """What documents said before; kept where `Collection.alter(keep_versions=…)` says so."""

    def list(self, uri: str) -> list[DocumentVersion]:
        """Return the versions of a document that are there, the newest first; earlier ones are kept
        where `alter(keep_versions=…)` says so."""
        return self._database.rows(DocumentVersion, "list_versions", collection=self._name, uri=uri)

    def at(self, uri: str, moment: datetime) -> DocumentText | None:
        """Return what a document said at a moment; None where there was none, or it is not kept."""
        return self._database.row(
            DocumentText, "document_at", collection=self._name, uri=uri, moment=moment
        )

    def diff(
        self, uri: str, old: int, new: int, *, context_lines: int | None = 3
    ) -> builtins.list[LineChange]:
        """Return how two versions of a document differ, line by line.

        Args:
            context_lines: equal lines beside each change; None: all.
        Raises: NotFound (a version that is not kept).
        """
        return self._database.rows(
            LineChange,
            "diff_versions",
            collection=self._name,
            uri=uri,
            old_version=old,
            new_version=new,
            context_lines=context_lines,
        )
