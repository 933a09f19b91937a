CREATE OR REPLACE FUNCTION rag.compile_filter(
    collection_key integer, metadata_filter jsonb,
    OUT condition text, OUT indexed boolean, OUT undeclared text[]
)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT CASE WHEN metadata_filter <> '{}' THEN format('c.metadata @> %L::jsonb', metadata_filter) END, true, '{}'::text[] $$;

COMMENT ON FUNCTION rag.compile_filter(integer, jsonb) IS
$$A filter as an SQL condition on alias c of rag.chunks; NULL for the empty filter. Values are quoted by the database.$$;
