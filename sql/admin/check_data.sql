-- Checks of rag.doctor that look at what is stored: vectors, chunks, metadata fields, languages.

CREATE OR REPLACE FUNCTION rag._check_vectors()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _version text := (SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'vector');
BEGIN
    IF string_to_array(regexp_replace(_version, '[^0-9.]', '', 'g'), '.')::integer[] <
        ARRAY[0, 8] THEN
        RETURN QUERY SELECT 'pgvector', 'fail', format('version %s is too old', _version),
            'install pgvector 0.8 or newer and run ALTER EXTENSION vector UPDATE';
    END IF;
    RETURN QUERY
    SELECT 'vector index', 'fail',
           format('the index of collection %L is %s', c.name,
                  CASE WHEN i.indexrelid IS NULL THEN 'missing' ELSE 'invalid' END),
           CASE WHEN i.indexrelid IS NULL
                THEN format('run SELECT rag.build_vector_index(%L) as the owner', c.name)
                ELSE format('run REINDEX INDEX CONCURRENTLY rag.%I as the owner',
                    rag._index_name(s.space_id)) END
    FROM rag.collections AS c
    JOIN rag.spaces AS s ON s.collection_id = c.collection_id AND s.state = 'active'
    LEFT JOIN pg_index AS i
        ON i.indexrelid = to_regclass(format('rag.%I', rag._index_name(s.space_id)))
    WHERE c.dropped_at IS NULL AND s.index_options ->> 'kind' <> 'exact' AND i.indisvalid
        IS NOT TRUE
    ORDER BY c.name;
END
$$;

COMMENT ON FUNCTION rag._check_vectors IS
$$rag.doctor: pgvector's version, vector indexes that are missing or invalid.$$;


CREATE OR REPLACE FUNCTION rag._check_data()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _c record;
    _count bigint;
    worthwhile CONSTANT integer := 10000;  -- where a range that no index serves costs tens of ms
BEGIN
    FOR _c IN
        SELECT c.collection_id, c.name, (rag._active_space(c.collection_id)).space_id
        FROM rag.collections AS c WHERE c.dropped_at IS NULL ORDER BY c.name
    LOOP
        SELECT count(*) INTO _count
        FROM rag.chunks AS k
        WHERE k.collection_id = _c.collection_id
            AND NOT EXISTS (SELECT FROM rag.embeddings AS e WHERE e.space_id = _c.space_id
                AND e.chunk_id = k.chunk_id)
            AND NOT EXISTS (SELECT FROM rag.jobs AS j
                            WHERE j.collection_id = _c.collection_id
                                AND j.document_id = k.document_id);
        IF _c.space_id IS NULL THEN
            RETURN QUERY SELECT 'chunks without vectors', 'fail',
                format('collection %L has no active embedding space', _c.name),
                'restore schema rag whole from a backup: rows of rag.spaces are missing'::text;
        ELSIF _count > 0 THEN
            RETURN QUERY SELECT 'chunks without vectors', 'fail',
                format('%s in collection %L, and no job will embed them', _count, _c.name),
                format('SELECT rag.repair_collection(%L)', _c.name);
        END IF;
        RETURN QUERY
        SELECT f.check_name, 'fail', format('%s in collection %L', f.count, _c.name),
            format('SELECT rag.repair_collection(%L)', _c.name)
        FROM (
            SELECT 'chunks without documents' AS check_name, count(*)
            FROM rag.chunks AS k
            WHERE k.collection_id = _c.collection_id
                AND NOT EXISTS (SELECT FROM rag.documents AS d
                                WHERE d.collection_id = _c.collection_id
                                    AND d.document_id = k.document_id)
            UNION ALL
            SELECT 'vectors without chunks', count(*)
            FROM rag.embeddings AS e
            WHERE e.space_id = _c.space_id
                AND NOT EXISTS (SELECT FROM rag.chunks AS k
                    WHERE k.collection_id = _c.collection_id AND k.chunk_id = e.chunk_id)
            UNION ALL
            SELECT 'files without documents', count(*)
            FROM rag.originals AS o
            WHERE o.collection_id = _c.collection_id
                AND NOT EXISTS (SELECT FROM rag.documents AS d
                                WHERE d.collection_id = _c.collection_id
                                    AND d.document_id = o.document_id)) AS f
        WHERE f.count > 0;
    END LOOP;
    FOR _c IN SELECT c.collection_id, c.name FROM rag.collections AS c WHERE c.dropped_at IS NULL
        ORDER BY c.name LOOP
        PERFORM FROM rag.chunks AS k WHERE k.collection_id = _c.collection_id OFFSET worthwhile - 1
            LIMIT 1;
        CONTINUE WHEN NOT FOUND;
        RETURN QUERY
        SELECT 'fields to declare', 'ok',
               format('%L of collection %L holds %s, %s to %s; a filter by its range reads every '
                   'chunk', u.field, _c.name,
                      CASE u.type WHEN 'numeric' THEN 'numbers' ELSE 'dates' END,
                      left(u.lowest::text, 50), left(u.highest::text, 50)),
               format('SELECT rag.index_field(%L, %L, %L)', _c.name, u.field, u.type)
        FROM rag._undeclared_fields(_c.collection_id) AS u
        ORDER BY u.field;
    END LOOP;
    RETURN QUERY
    SELECT 'languages', CASE WHEN u.own THEN 'fail' ELSE 'warn' END,
           format('text search configuration %s is %s; %s%s documents of collection %L use it',
               u.language, p.state,
                  CASE WHEN u.own THEN 'the collection and ' ELSE '' END, d.documents, u.name),
           CASE p.state WHEN 'gone'
               THEN format('CREATE TEXT SEARCH CONFIGURATION %s (COPY = pg_catalog.simple)',
                   u.language)
               ELSE 'put them again with another language, or GRANT USAGE on its schema' END
    FROM (
        SELECT c.collection_id, c.name, c.language, true AS own FROM rag.collections AS c
        WHERE c.dropped_at IS NULL
        UNION
        SELECT c.collection_id, c.name, l.language, false FROM rag.collections AS c
        JOIN rag.keyword_languages AS l ON l.collection_id = c.collection_id
            AND l.language <> c.language
        WHERE c.dropped_at IS NULL
    ) AS u
    CROSS JOIN LATERAL (
        SELECT count(*) AS documents FROM rag.documents AS x
        WHERE x.collection_id = u.collection_id AND coalesce(x.language, u.language) = u.language
            AND (u.own OR x.language IS NOT NULL)
        OFFSET 0
    ) AS d
    CROSS JOIN LATERAL (SELECT CASE WHEN u.language ~ '^pg_temp' THEN 'temporary'
        WHEN EXISTS (SELECT FROM pg_ts_config AS t JOIN pg_namespace AS n ON n.oid = t.cfgnamespace
            WHERE format('%I.%I', n.nspname, t.cfgname) = u.language) THEN 'out of reach'
        ELSE 'gone' END AS state) AS p
    WHERE NOT rag._has_language(u.language) AND (u.own OR d.documents > 0)
    ORDER BY u.name, u.language;
END
$$;

COMMENT ON FUNCTION rag._check_data IS
$$rag.doctor: chunks without vectors that no job embeds, chunks and kept files without documents,
vectors without chunks; metadata fields of larger collections that rag.index_field would serve;
text search configurations that were dropped or renamed while documents use them, or that the
caller cannot reach.

A field is advice, so its status is ok: only the application knows what it asks for. Chunks of a
configuration that is gone are found by the words that the other configurations of the collection
make of a question, and new text in them is refused; the remedy's COPY should be what it was.$$;


CREATE OR REPLACE FUNCTION rag._undeclared_fields(collection_id integer)
RETURNS TABLE (field text, type text, lowest jsonb, highest jsonb)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    looked_at CONSTANT integer := 300;
    _first bigint;
    _last bigint;
BEGIN
    SELECT min(k.chunk_id), max(k.chunk_id) INTO _first, _last FROM rag.chunks AS k
        WHERE k.collection_id = _undeclared_fields.collection_id;
    RETURN QUERY
    WITH RECURSIVE leaf (steps, value) AS (
        SELECT ARRAY[e.key], e.value
        FROM generate_series(0, looked_at - 1) AS p (step),
        LATERAL (SELECT k.metadata FROM rag.chunks AS k
                 WHERE k.collection_id = _undeclared_fields.collection_id
                     AND k.chunk_id >= _first + (_last - _first) / looked_at * p.step
                 ORDER BY k.chunk_id LIMIT 1) AS s,
        LATERAL jsonb_each(s.metadata) AS e
        UNION ALL
        SELECT l.steps || e.key, e.value
        FROM leaf AS l, LATERAL
            jsonb_each(CASE jsonb_typeof(l.value) WHEN 'object' THEN l.value ELSE '{}' END) AS e
        WHERE cardinality(l.steps) < 32
    ), typed AS MATERIALIZED (
        SELECT l.steps, CASE WHEN count(h.number) > 0 THEN 'numeric' ELSE 'timestamptz' END AS type,
               (array_agg(l.value ORDER BY h.number, h.day))[1] AS lowest,
               (array_agg(l.value ORDER BY h.number DESC, h.day DESC))[1] AS highest
        FROM leaf AS l, LATERAL
            (SELECT rag._as_numeric(l.value) AS number, rag._as_timestamptz(l.value) AS day) AS h
        WHERE jsonb_typeof(l.value) <> 'null'
        GROUP BY l.steps
        HAVING count(*) >= looked_at / 10 AND count(*) IN (count(h.number), count(h.day))
            AND count(DISTINCT l.value) >= 3
    )
    SELECT n.field, h.type, h.lowest, h.highest
    FROM typed AS h, LATERAL (SELECT rag._field_name(h.steps) AS field) AS n
    WHERE octet_length(n.field) BETWEEN 1 AND 500
        AND NOT EXISTS (SELECT FROM rag.fields AS f WHERE f.collection_id =
            _undeclared_fields.collection_id
            AND f.field = n.field)
    ORDER BY n.field;
END
$$;

COMMENT ON FUNCTION rag._undeclared_fields IS
$$The fields whose ranges somebody may ask for and that are not declared, from a look at 300 chunks
spread evenly.

Each is on a tenth of them or more, and holds nothing but numbers, or nothing but ISO dates, of
three or more values.$$;
