-- The versions that a client checks when it opens.

CREATE OR REPLACE FUNCTION rag.api_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1;

COMMENT ON FUNCTION rag.api_version() IS
$$The version of the SQL functions' contract, raised on incompatible change. Clients compare it when they open.$$;


CREATE OR REPLACE FUNCTION rag.version()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '0.1.0';

COMMENT ON FUNCTION rag.version() IS
$$The release of rag_pg that installed these functions.$$;


COMMENT ON SCHEMA rag IS
'RAG inside PostgreSQL: documents, chunks, vectors and keywords, searched by functions. The functions are the interface:
rag.create_collection, rag.put_document, rag.search, rag.search_text, rag.list_collections, rag.doctor. The tables are
read by them and may change. docs/reference/sql-api.md lists every function.';
