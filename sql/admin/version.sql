-- The versions that a client checks when it opens.

CREATE OR REPLACE FUNCTION rag.api_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 2;

COMMENT ON FUNCTION rag.api_version() IS
$$The version of the SQL functions' contract, raised on incompatible change. Clients compare it when
they open.$$;


CREATE OR REPLACE FUNCTION rag.version()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '0.1.0';

COMMENT ON FUNCTION rag.version() IS
$$The release of rag_pg that installed these functions.$$;
