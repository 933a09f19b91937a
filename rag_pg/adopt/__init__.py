"""a table of another program -> documents with its vectors."""

from rag_pg.adopt.adopt import adopt_table
