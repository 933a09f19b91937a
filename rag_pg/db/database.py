"""The database: functions of schema rag as methods.

The files of this package hold the statements, a noun each, the same noun as in sql/; they are the
only runtime files with SQL on our own tables.
"""

from __future__ import annotations

from rag_pg.db.admin import Admin
from rag_pg.db.budget import Budgets
from rag_pg.db.calibration import Calibrations
from rag_pg.db.citation import Citations
from rag_pg.db.collection import Collections
from rag_pg.db.document import Documents
from rag_pg.db.enrichment import Enrichments
from rag_pg.db.function import Functions
from rag_pg.db.gate import Gates
from rag_pg.db.history import History
from rag_pg.db.job import Jobs
from rag_pg.db.metadata import Metadata
from rag_pg.db.request import Requests
from rag_pg.db.search import Searches
from rag_pg.db.service_key import ServiceKeys
from rag_pg.db.source import Sources
from rag_pg.db.space import Spaces
from rag_pg.db.transfer import Transfers
from rag_pg.db.usage import UsageFigures
from rag_pg.db.view import Views
from rag_pg.db.worker import Workers


class Database(
    Calibrations,
    Citations,
    Collections,
    Spaces,
    Documents,
    Metadata,
    Views,
    Enrichments,
    Functions,
    History,
    Searches,
    Jobs,
    Workers,
    Budgets,
    UsageFigures,
    Requests,
    ServiceKeys,
    Sources,
    Transfers,
    Gates,
    Admin,
):
    """rag_pg's functions as methods. Opens nothing until `open`."""
