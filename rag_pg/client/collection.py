"""A collection: documents that are searched together."""

from __future__ import annotations

from rag_pg.client.answers import Answers
from rag_pg.client.audit import Audited
from rag_pg.client.calibration import Calibrating
from rag_pg.client.enrichment import Enriching
from rag_pg.client.evaluation import Evaluation
from rag_pg.client.gates import Gates
from rag_pg.client.history import History
from rag_pg.client.live import LiveQueries
from rag_pg.client.metadata import Metadata
from rag_pg.client.search import Searching
from rag_pg.client.settings import CollectionSettings
from rag_pg.client.spaces import Spaces
from rag_pg.client.sweep import Sweeping
from rag_pg.types import CollectionStats


class Collection(
    Calibrating,
    Audited,
    Sweeping,
    Evaluation,
    Gates,
    LiveQueries,
    Searching,
    Answers,
    History,
    Metadata,
    Spaces,
    Enriching,
    CollectionSettings,
):
    """Documents that are searched together. Made by `Rag.collection`.

    Each part of the class is a noun, in a file of its own.
    """

    def stats(self) -> CollectionStats:
        """Counts, size and lag."""
        return self.rag.database.collection_stats(self.name)[0]
