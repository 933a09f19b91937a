-- The role that installs schema rag need not be a superuser when the extension is there.
CREATE EXTENSION IF NOT EXISTS vector;
