-- The versions that a client checks when it opens, and a worker with each heartbeat.

CREATE OR REPLACE FUNCTION rag.api_version()
RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 4;

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
RETURN '0.2.0.dev0';

COMMENT ON FUNCTION rag.version IS
$$The release of rag_pg that installed these functions.
Circle: application, Maintenance and versions.
SELECT rag.version()$$;


CREATE OR REPLACE FUNCTION rag._lexer_version()
RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1::smallint;

COMMENT ON FUNCTION rag._lexer_version IS
$$The version of what makes lexemes of texts (rag._lexemes and all that it calls).
A collection keeps the oldest one by which chunks of it are lexed: see rag._relex_chunks.$$;


CREATE OR REPLACE FUNCTION rag._index_format()
RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN 1::smallint;

COMMENT ON FUNCTION rag._index_format IS
$$The version of how the keyword index is stored: bits of a posting, slots of a block, weights.
A collection keeps the one that its index was made in.$$;


CREATE OR REPLACE FUNCTION rag._check_formats()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT 'stored formats', 'warn',
        format('version %s of the lexer lexed chunks of collection %L, and version %s lexes them '
            'anew: %s of %s are done; searches ask for the words of both', c.lexer_version, c.name,
            rag._lexer_version(), coalesce(t.relexed, 0), coalesce(t.chunk_count, 0)),
        'a worker does it, or CALL rag.maintain()'
    FROM rag.collections AS c
    LEFT JOIN rag.keyword_totals AS t ON t.collection_id = c.collection_id
    WHERE c.dropped_at IS NULL AND c.lexer_version <> rag._lexer_version()
    ORDER BY c.name;
    RETURN QUERY
    SELECT 'stored formats', 'warn',
        format('collection %L was indexed in format %s, this release has %s', c.name,
            c.index_format, rag._index_format()),
        'put its documents into a new collection'
    FROM rag.collections AS c
    WHERE c.dropped_at IS NULL AND c.index_format <> rag._index_format()
    ORDER BY c.name;
END
$$;

COMMENT ON FUNCTION rag._check_formats IS
$$rag.doctor: collections that an earlier release lexed or indexed in another way, and how far they
are lexed anew.$$;
