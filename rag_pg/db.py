"""The database: one method, one statement, named parameters.

The files db_*.py hold the statements, a noun each; they are the only runtime files with SQL on our own tables.
"""

from __future__ import annotations

from rag_pg.db_collection import Collections
from rag_pg.db_document import Documents
from rag_pg.db_job import IngestWork, Jobs
from rag_pg.db_search import Searches
from rag_pg.db_space import Spaces
from rag_pg.db_structured import Structured
from rag_pg.db_worker import Workers

__all__ = ["Database", "IngestWork"]


class Database(Collections, Spaces, Documents, Jobs, Workers, Searches, Structured):
    """rag_pg's functions as methods. Opens nothing until `open`."""
