CREATE OR REPLACE FUNCTION rag.compile_filter(metadata_filter jsonb)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN metadata_filter <> '{}' THEN format('c.metadata @> %L::jsonb', metadata_filter) END;

COMMENT ON FUNCTION rag.compile_filter(jsonb) IS
$$A filter as an SQL condition on alias c of rag.chunks; NULL for the empty filter. Values are quoted by the database.$$;
