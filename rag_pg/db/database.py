"""The database: one method, one statement, named parameters.

The files db_*.py hold the statements, a noun each; they are the only runtime files with SQL on our own tables.
"""

from __future__ import annotations

from rag_pg.db.collection import Collections
from rag_pg.db.document import Documents
from rag_pg.db.job import IngestWork, Jobs
from rag_pg.db.metadata import Structured
from rag_pg.db.search import Searches
from rag_pg.db.space import Spaces
from rag_pg.db.worker import Workers

__all__ = ["Database", "IngestWork"]


class Database(Collections, Spaces, Documents, Jobs, Workers, Searches, Structured):
    """rag_pg's functions as methods. Opens nothing until `open`."""
