-- The versions that a client checks when it opens, and a worker with each heartbeat.

CREATE OR REPLACE FUNCTION rag.api_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 3;

COMMENT ON FUNCTION rag.api_version IS
$$The version of what clients and workers call.
Raised by a release that adds to it. A client of a higher version needs an upgrade of the schema.
Circle: worker, Maintenance and versions.
SELECT rag.api_version()$$;


CREATE OR REPLACE FUNCTION rag.min_api_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 3;

COMMENT ON FUNCTION rag.min_api_version IS
$$The oldest version of clients that is served.
Raised by a release that takes away what clients and workers call. What is added in 0.n is taken
away in 0.n+1 at the earliest.
Circle: worker, Maintenance and versions.
SELECT rag.min_api_version()$$;


CREATE OR REPLACE FUNCTION rag.version()
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '0.1.0';

COMMENT ON FUNCTION rag.version IS
$$The release of rag_pg that installed these functions.
Circle: application, Maintenance and versions.
SELECT rag.version()$$;
