"""Statements that read a collection for an export, and that make one of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

import numpy as np
from psycopg.types.json import Jsonb

from rag_pg.db.statements import Statements

HalfVectors = np.ndarray[Any, np.dtype[np.float16]]
RowKind = Literal["documents", "versions", "originals"]


@dataclass(kw_only=True, slots=True)
class Page:
    """Rows of a collection. rows: JSON texts; last: the id of the last one and its version. chunks:
    JSON texts by id. vectors: of the spaces, the active one first, by chunk."""

    rows: list[str] = field(default_factory=list)
    last: tuple[UUID, int] | None = None
    chunks: dict[int, tuple[UUID, str]] = field(default_factory=dict)
    vectors: dict[tuple[int, int], HalfVectors] = field(default_factory=dict)


class Transfers(Statements):
    """Exports and imports."""

    def export_page(
        self, collection: str, kind: RowKind, after: tuple[UUID, int] | None, page_bytes: int
    ) -> Page:
        """Return what follows a row: as of one moment, and at least one row where there is one."""
        document, version = after or (None, None)
        page = Page()
        if kind != "documents":
            found = self.tuples(
                ("document_id", "version", "line"),
                "_export_rows",
                collection=collection,
                kind=kind,
                after_document=document,
                after_version=version,
                page_bytes=page_bytes,
            )
            for document_id, number, line in found:
                page.rows.append(line)
                page.last = document_id, number
            return page
        columns = ("document_id", "line", "chunk_id", "space", "embedding")
        for document_id, line, chunk_id, space, vector in self.tuples(
            columns,
            "_export_page",
            collection=collection,
            after_document=document,
            page_bytes=page_bytes,
        ):
            if vector is not None:
                page.vectors[chunk_id, space] = vector.to_numpy()
            elif chunk_id is not None:
                page.chunks[chunk_id] = document_id, line
            else:
                page.rows.append(line)
                page.last = document_id, 0
        return page

    def import_file(
        self,
        name: str,
        export_id: str,
        number: int,
        kind: RowKind,
        rows: Sequence[str],
        chunks: Sequence[str] = (),
        vectors: Iterable[tuple[int, int, HalfVectors]] = (),
    ) -> list[str]:
        """Store a file; return the names of columns that the database has not.

        Args:
            rows, chunks: JSON texts. vectors: with the chunk and the space of each.
        """
        every = [*vectors]
        return self.value(
            list,
            "_import_file",
            name=name,
            export_id=export_id,
            file_number=number,
            kind=kind,
            of_rows=_as_array(rows),
            of_chunks=_as_array(chunks),
            vector_chunks=[chunk_id for chunk_id, _, _ in every],
            vector_spaces=[space for _, space, _ in every],
            vectors=[vector for _, _, vector in every] or None,
        )


def _as_array(texts: Sequence[str]) -> Jsonb:
    """JSON texts as one array, each as it stands: a number keeps all of its digits."""
    return Jsonb(f"[{','.join(texts)}]", dumps=str)
