"""a Python call -> one SQL statement -> values.

Connections, statements, the schema and its upgrades, the embedded server.
"""

from rag_pg.db import schema
from rag_pg.db.arguments import checked_json
from rag_pg.db.clone import Databases, make_fast, name_of, remove_servers
from rag_pg.db.connect import connect
from rag_pg.db.connection import API_VERSION
from rag_pg.db.database import Database
from rag_pg.db.embedded import EmbeddedServer, closed_above
from rag_pg.db.enrichment import ContextWork
from rag_pg.db.errors import database_errors
from rag_pg.db.job import IngestWork
from rag_pg.db.parted import PartedDatabase
from rag_pg.db.programs import client_program
from rag_pg.db.replica import read_notes
from rag_pg.db.request import Request
from rag_pg.db.source import TakenLocation
from rag_pg.db.space import Compared
from rag_pg.db.transfer import Page, RowKind
