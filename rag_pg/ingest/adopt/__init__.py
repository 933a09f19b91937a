"""a table of another program -> documents with its vectors."""
