-- Health as rows. Each check is a function of its own and returns nothing where all is well.

CREATE OR REPLACE FUNCTION rag.check_vectors()
RETURNS TABLE ("check" text, status text, detail text, remedy text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _version text := (SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'vector');
BEGIN
    IF string_to_array(regexp_replace(_version, '[^0-9.]', '', 'g'), '.')::integer[] < ARRAY[0, 8] THEN
        RETURN QUERY SELECT 'pgvector', 'fail', format('version %s is too old', _version),
            'install pgvector 0.8 or newer and run ALTER EXTENSION vector UPDATE';
    END IF;
    RETURN QUERY
    SELECT 'vector index', 'fail',
           format('the index of collection %L is %s', c.name,
                  CASE WHEN i.indexrelid IS NULL THEN 'missing' ELSE 'invalid' END),
           CASE WHEN i.indexrelid IS NULL
                THEN format('run CALL rag.build_index(rag.active_space(%s)) as the owner', c.collection_id)
                ELSE format('run REINDEX INDEX CONCURRENTLY rag.%I as the owner', 'embeddings_' || s.space_id || '_hnsw') END
    FROM rag.collections AS c
    JOIN rag.spaces AS s ON s.collection_id = c.collection_id AND s.state = 'active'
    LEFT JOIN pg_index AS i ON i.indexrelid = to_regclass(format('rag.%I', 'embeddings_' || s.space_id || '_hnsw'))
    WHERE c.dropped_at IS NULL AND s.index_options ->> 'kind' <> 'exact' AND i.indisvalid IS NOT TRUE
    ORDER BY c.name;
END
$$;

COMMENT ON FUNCTION rag.check_vectors() IS $$rag.doctor: pgvector's version, vector indexes that are missing or invalid.$$;


CREATE OR REPLACE FUNCTION rag.check_jobs()
RETURNS TABLE ("check" text, status text, detail text, remedy text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT 'dead jobs', 'fail',
           format('%s of collection %L; the last error: %s', count(*), c.name,
                  (array_agg(j.errors -> -1 ->> 'error' ORDER BY j.job_id DESC))[1]),
           format('mend the cause, then SELECT rag.retry_jobs(%L)', c.name)
    FROM rag.jobs AS j
    JOIN rag.collections AS c ON c.collection_id = j.collection_id AND c.dropped_at IS NULL
    WHERE j.state = 'dead'
    GROUP BY c.name
    ORDER BY c.name;
    RETURN QUERY
    SELECT 'waiting jobs', 'warn',
           format('%s of collection %L are due, the oldest for %s; workers alive: %s', count(*), c.name,
                  date_trunc('second', clock_timestamp() - min(j.run_at)), (SELECT count(*) FROM rag.list_workers())),
           'start more workers (rag-pg worker), or look at what they log'
    FROM rag.jobs AS j
    JOIN rag.collections AS c ON c.collection_id = j.collection_id AND c.dropped_at IS NULL
    WHERE j.state = 'waiting' AND j.run_at < clock_timestamp()
        AND (j.lease IS NULL OR j.lease_expires_at < clock_timestamp())
    GROUP BY c.name
    HAVING min(j.run_at) < clock_timestamp() - interval '5 minutes'
    ORDER BY c.name;
END
$$;

COMMENT ON FUNCTION rag.check_jobs() IS $$rag.doctor: dead jobs, and jobs that nobody takes.$$;


CREATE OR REPLACE FUNCTION rag.check_chunks()
RETURNS TABLE ("check" text, status text, detail text, remedy text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _c record;
    _count bigint;
BEGIN
    FOR _c IN
        SELECT c.collection_id, c.name, (rag.active_space(c.collection_id)).space_id
        FROM rag.collections AS c WHERE c.dropped_at IS NULL ORDER BY c.name
    LOOP
        SELECT count(*) INTO _count
        FROM rag.chunks AS k
        WHERE k.collection_id = _c.collection_id
            AND NOT EXISTS (SELECT FROM rag.embeddings AS e WHERE e.space_id = _c.space_id AND e.chunk_id = k.chunk_id)
            AND NOT EXISTS (SELECT FROM rag.jobs AS j
                            WHERE j.collection_id = _c.collection_id AND j.document_id = k.document_id);
        IF _count > 0 THEN
            RETURN QUERY SELECT 'chunks without vectors', 'fail',
                format('%s in collection %L, and no job will embed them', _count, _c.name),
                format('SELECT rag.queue_missing_vectors(%s, ARRAY(SELECT document_id FROM rag.list_documents(%L, '
                       'result_limit => NULL)))', _c.collection_id, _c.name);
        END IF;
        SELECT count(*) INTO _count
        FROM rag.chunks AS k
        WHERE k.collection_id = _c.collection_id
            AND NOT EXISTS (SELECT FROM rag.documents AS d
                            WHERE d.collection_id = _c.collection_id AND d.document_id = k.document_id);
        IF _count > 0 THEN
            RETURN QUERY SELECT 'chunks without documents', 'fail', format('%s in collection %L', _count, _c.name),
                format('SELECT rag.remove_chunks(%s, ARRAY(SELECT chunk_id FROM rag.chunks AS k WHERE collection_id = %1$s '
                       'AND NOT EXISTS (SELECT FROM rag.documents AS d WHERE d.collection_id = %1$s '
                       'AND d.document_id = k.document_id)))', _c.collection_id);
        END IF;
        SELECT count(*) INTO _count
        FROM rag.embeddings AS e
        WHERE e.space_id = _c.space_id
            AND NOT EXISTS (SELECT FROM rag.chunks AS k
                            WHERE k.collection_id = _c.collection_id AND k.chunk_id = e.chunk_id);
        IF _count > 0 THEN
            RETURN QUERY SELECT 'vectors without chunks', 'fail', format('%s in collection %L', _count, _c.name),
                format('DELETE FROM rag.embeddings AS e WHERE space_id = %s AND NOT EXISTS (SELECT FROM rag.chunks AS k '
                       'WHERE k.collection_id = %s AND k.chunk_id = e.chunk_id)', _c.space_id, _c.collection_id);
        END IF;
    END LOOP;
END
$$;

COMMENT ON FUNCTION rag.check_chunks() IS
$$rag.doctor: chunks without vectors that no job embeds, chunks without documents, vectors without chunks. Reads all of them.$$;


CREATE OR REPLACE FUNCTION rag.check_sources()
RETURNS TABLE ("check" text, status text, detail text, remedy text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT 'broken sources', 'fail', format('%s of collection %L: %s', l.source_table, l.collection_name, l.last_error),
           'mend it or attach it again; its changes are kept'
    FROM rag.list_sources() AS l WHERE l.state = 'broken';
    RETURN QUERY
    SELECT 'rows of sources', 'warn',
           format('%s rows of %s failed; the last: %s', l.failed_rows, l.source_table, l.last_error),
           'correct the rows: they are read again when they change'
    FROM rag.list_sources() AS l WHERE l.failed_rows > 0;
    RETURN QUERY
    SELECT 'sources without triggers', 'warn',
           format('partition %s of %s has none, or they are disabled: writing it directly is not noticed',
                  rag.table_name(m.relid), rag.table_name(r.relation)),
           'attach the source again'
    FROM rag.sources AS s,
    LATERAL (SELECT rag.source_relation(s.source_id) AS relation) AS r,
    LATERAL (SELECT r.relation AS relid WHERE r.relation IS NOT NULL
             UNION SELECT p.relid FROM pg_partition_tree(r.relation) AS p) AS m
    JOIN pg_class AS c ON c.oid = m.relid AND c.relkind IN ('r', 'p')
    WHERE (SELECT count(*) FROM pg_trigger AS t
           WHERE t.tgrelid = m.relid AND t.tgfoid = 'rag.note_changes'::regproc AND t.tgenabled IN ('O', 'A')
               AND t.tgname ~ format('^rag_source_%s_', s.source_id)) < 4;
END
$$;

COMMENT ON FUNCTION rag.check_sources() IS
$$rag.doctor: sources that are broken, rows that could not be put, tables and partitions whose triggers are missing.$$;


CREATE OR REPLACE FUNCTION rag.doctor()
RETURNS TABLE ("check" text, status text, detail text, remedy text)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    WITH found AS (
        SELECT f.* FROM rag.check_vectors() AS f
        UNION ALL SELECT f.* FROM rag.check_jobs() AS f
        UNION ALL SELECT f.* FROM rag.check_chunks() AS f
        UNION ALL SELECT f.* FROM rag.check_sources() AS f
    )
    SELECT 'schema', 'ok', format('release %s, revision %s', rag.version(), v.version_num), NULL::text
    FROM rag.alembic_version AS v
    UNION ALL
    SELECT k.name, coalesce(f.status, 'ok'), coalesce(f.detail, k.fine), f.remedy
    FROM (VALUES ('pgvector', 'recent enough'), ('vector index', 'all there and valid'), ('dead jobs', 'none'),
                 ('waiting jobs', 'taken in time'), ('chunks without vectors', 'none that no job embeds'),
                 ('chunks without documents', 'none'), ('vectors without chunks', 'none'), ('broken sources', 'none'),
                 ('rows of sources', 'all could be put'), ('sources without triggers', 'none')) AS k (name, fine)
    LEFT JOIN found AS f ON f."check" = k.name;
END
$$;

COMMENT ON FUNCTION rag.doctor() IS
$$Health as rows: each check with its status (ok, warn or fail), what was found, and what to do about it.

It reads every chunk of every collection: seconds for a million. "rag-pg db check" compares the functions themselves.$$;
