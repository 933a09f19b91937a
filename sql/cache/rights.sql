-- Who may use the cache: only a role whose results its rights do not narrow.

CREATE OR REPLACE FUNCTION rag._cache_refusal()
RETURNS text
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    read_tables CONSTANT text[] := ARRAY[
        'rag.collections', 'rag.spaces', 'rag.fields', 'rag.documents', 'rag.chunks',
        'rag.embeddings', 'rag.keyword_changes', 'rag.keyword_slots', 'rag.keyword_postings',
        'rag.keyword_removed', 'rag.keyword_segments', 'rag.keyword_totals',
        'rag.keyword_languages', 'rag.collection_changes'];
    called_functions CONSTANT text[] := ARRAY[
        'rag.search', 'rag.search_variants', 'rag.expand', 'rag.match_terms', 'rag.get_document',
        'rag.count_documents', 'rag.facets', 'rag.select_documents'];
BEGIN
    IF pg_is_in_recovery() THEN
        RETURN 'this server is a standby, whose cache cannot be read';
    END IF;
    IF NOT has_table_privilege('rag.cache_entries', 'SELECT') THEN
        RETURN format('role %I may not read rag.cache_entries', current_user);
    END IF;
    IF EXISTS (SELECT FROM unnest(read_tables) AS t (name) WHERE row_security_active(t.name)) THEN
        RETURN 'a row-level security policy limits what this role sees';
    END IF;
    IF NOT (SELECT bool_and(has_table_privilege(t.name, 'SELECT'))
            FROM unnest(read_tables) AS t (name))
        OR NOT (SELECT bool_and(has_function_privilege(to_regproc(f.name)::oid, 'EXECUTE'))
                FROM unnest(called_functions) AS f (name)) THEN
        RETURN format('role %I may not search', current_user);
    END IF;
    RETURN NULL;
END
$$;

COMMENT ON FUNCTION rag._cache_refusal IS
$$Why the caller's role can be given nothing from the cache, as its rights are now; NULL: it can.

A policy may read anything, so no key could say all that it depends on: roles under one use no
cache.$$;


CREATE OR REPLACE FUNCTION rag._cache_version(of_collection text)
RETURNS bigint
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    settings CONSTANT text[] := ARRAY[
        'TimeZone', 'DateStyle', 'IntervalStyle', 'hnsw.ef_search', 'hnsw.iterative_scan',
        'hnsw.max_scan_tuples', 'hnsw.scan_mem_multiplier'];
BEGIN
    IF of_collection IS NULL THEN
        RETURN 0;
    END IF;
    -- the settings of pgvector are known once its library is loaded
    PERFORM {vector}.vector_dims('[1]'::{vector}.halfvec);
    RETURN rag.collection_version(of_collection)
        # hashtextextended((SELECT string_agg(concat(s.name, '=', current_setting(s.name, true)),
                                              ' ' ORDER BY s.name)
                            FROM unnest(settings) AS s (name)), 0);
END
$$;

COMMENT ON FUNCTION rag._cache_version IS
$$The version of a collection, and of the settings of this session that a search depends on.
of_collection NULL (what depends on none): 0.$$;
