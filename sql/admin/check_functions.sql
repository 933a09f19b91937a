-- Checks of rag.doctor: the functions of schema rag beside those that the last upgrade made.

CREATE OR REPLACE FUNCTION rag._check_functions()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    WITH installed AS (
        -- quote_all_identifiers of whoever upgraded may have quoted them
        SELECT DISTINCT replace(split_part(substr(i.name, length('rag.') + 1), '(', 1), '"', '')
            AS name
        FROM rag.installed AS i WHERE i.kind = 'function'
    ), present AS (
        SELECT p.proname::text AS name, count(*) AS copies,
               string_agg(s.signature, '; ' ORDER BY s.signature) AS signatures
        FROM pg_proc AS p, LATERAL format('rag.%I(%s)', p.proname,
            pg_get_function_identity_arguments(p.oid)) AS s (signature)
        WHERE p.pronamespace = 'rag'::regnamespace AND NOT EXISTS (
            SELECT FROM pg_depend AS d
            WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e')
        GROUP BY p.proname
    )
    SELECT 'functions', 'fail',
           CASE WHEN p.name IS NULL THEN format('rag.%s is missing', i.name)
                WHEN i.name IS NULL THEN format('%s is not of rag_pg', p.signatures)
                ELSE format('rag.%s is there %s times, so calls of it may fail or find the wrong '
                    'one: %s', p.name, p.copies, p.signatures) END,
           CASE WHEN i.name IS NULL
                THEN 'move it to another schema; "rag-pg db upgrade" drops what is not its own'
                ELSE 'run "rag-pg db upgrade"' END
    FROM installed AS i FULL JOIN present AS p ON p.name = i.name
    WHERE (p.name IS NULL OR i.name IS NULL OR p.copies > 1)
        AND EXISTS (SELECT FROM installed)  -- not in a copy without rows
    ORDER BY coalesce(i.name, p.name);
END
$$;

COMMENT ON FUNCTION rag._check_functions IS
$$rag.doctor: functions of schema rag that are missing, there more than once, or not of rag_pg.

No name of the release has two functions. Their bodies are compared by "rag-pg db check".$$;
