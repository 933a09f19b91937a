"""The chunks of a collection."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import Unpack

from rag_pg.client.opened import OfCollection
from rag_pg.client.threaded import in_thread
from rag_pg.providers import embed_query
from rag_pg.search import check_names
from rag_pg.text import clean_text
from rag_pg.types import Chunk, Hit, Passage, SearchCheck, StatementOptions, Vectors


class Chunks(OfCollection):
    """What documents are cut into: read, shown with what is around, explained."""

    def list(self, *uris: str) -> list[Chunk]:
        """Return the chunks of documents, by uri and in their order."""
        return self._database.rows(Chunk, "list_chunks", collection=self._name, uris=uris)

    def embeddings(self, chunk_ids: Iterable[int]) -> dict[int, Vectors]:
        """Return the vectors of chunks, float32 (dimensions,), as they are stored: in half
        precision. Chunks that are gone, or have none yet, are left out."""
        return self._database.get_embeddings(self._name, chunk_ids)

    def around(
        self, chunk_ids: Iterable[int], *, neighbours: int = 1, upto: str = "window"
    ) -> builtins.list[Passage]:
        """Return the passages around chunks, joined where they touch; chunks that are gone are left
        out.

        Args:
            neighbours: of a window, before and after each. upto: window, parent, section or
                document. Raises: InvalidQuery.
        """
        return self._database.expand(
            self._name, [*chunk_ids], before=neighbours, after=neighbours, upto=upto
        )

    def snippets(
        self,
        query: str,
        hits: Sequence[Hit],
        *,
        max_length: int = 200,
        start_mark: str = "<b>",
        stop_mark: str = "</b>",
        ellipsis: str = "…",
    ) -> builtins.list[str]:
        """Return the passage of each hit that best matches the query's words,
        which stand between marks.

        The text is as it is stored: for HTML pass marks that no text holds, escape,
        then replace them.

        Args:
            max_length: 10 to 10,000 characters of the chunk, cut between words;
                `ellipsis` stands where it was cut.
        Returns: a text for each hit; the chunk's beginning, unmarked, where no word matches, and ""
            where the chunk was deleted meanwhile. Raises: InvalidQuery.
        """
        query, _ = clean_text(query)
        found = self._database.snippets(
            self._name, query, [hit.chunk_id for hit in hits], max_length=max_length,
            start_mark=start_mark, stop_mark=stop_mark, ellipsis=ellipsis,
        )  # fmt: skip
        return [text or "" for text in found]

    @in_thread("search", can_stop=True)
    def why_not(
        self, chunk_id: int, query: str, **options: Unpack[StatementOptions]
    ) -> builtins.list[SearchCheck]:
        """Return why a search does not find a chunk, or that it does, step by step: stored, filter,
        vector, keyword, result.

        Args:
            options: of the search; see `search`.
        Raises: InvalidQuery, InvalidInput (unknown option).
        """
        check_names(options, known=StatementOptions.__optional_keys__, call="why_not")
        embedding = embed_query(self._opened.embedder, query)
        return self._database.why_not(self._name, chunk_id, query, embedding, **options)
