-- Following a source: a worker brings the documents of its changed rows in step.

CREATE OR REPLACE FUNCTION rag._put_source_rows(of_source rag.sources, relation oid, keys jsonb,
    only_missing boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _collection text := (SELECT c.name FROM rag.collections AS c
        WHERE c.collection_id = of_source.collection_id);
    _sql record := rag._source_sql(relation, of_source.definition);
    _row record;
    _uri text;
    _id uuid;
BEGIN
    -- content is NULL where the row is gone, the condition is not met, or the content columns are
    -- all NULL or empty. A key that equals a row's and is written otherwise (1.0 and 1.00) is not
    -- that row's: its document goes, and the row has one under the key as it is written now.
    FOR _row IN EXECUTE format(
        'SELECT _rag.key AS row_key, r.title, nullif(r.content, '''') AS content, r.metadata,
             r.language
         FROM jsonb_array_elements($1) AS _rag (key)
         LEFT JOIN LATERAL (SELECT %s FROM %s AS t WHERE %s AND %s = _rag.key AND %s OFFSET 0) AS '
             'r ON true',
        _sql.row_sql, rag._table_name(relation), _sql.match_sql, _sql.key_sql, _sql.condition_sql)
        USING keys
    LOOP
        -- In a composite key % and / of the values are written %25 and %2F, so that no two keys
        -- share a uri.
        _uri := (
            SELECT string_agg(CASE
                WHEN jsonb_typeof(p.piece) = 'string' THEN p.piece #>> '{}'
                WHEN jsonb_array_length(_row.row_key) > 1
                    THEN replace(replace(v.value, '%', '%25'), '/', '%2F')
                ELSE v.value END, '' ORDER BY p.position)
            FROM jsonb_array_elements(of_source.definition -> 'uri') WITH ORDINALITY
                AS p (piece, position),
            LATERAL (SELECT CASE WHEN jsonb_typeof(p.piece) = 'number'
                THEN _row.row_key ->> (p.piece #>> '{}')::integer END AS value) AS v);
        IF _row.content IS NULL THEN
            DELETE FROM rag.source_documents AS d
            WHERE d.source_id = of_source.source_id
                AND d.document_id = rag.document_id(_collection, _uri);
            IF FOUND THEN
                PERFORM rag.delete_document(_collection, _uri);
            END IF;
        ELSIF NOT only_missing THEN
            _id := rag.put_document(_collection, _uri, _row.content, _row.title, _row.metadata,
                                    of_source.definition ->> 'media_type',
                                        rag._find_language(_row.language));
            INSERT INTO rag.source_documents AS d (source_id, document_id, key)
            VALUES (of_source.source_id, _id, _row.row_key)
            ON CONFLICT ON CONSTRAINT source_documents_pkey DO NOTHING;
        END IF;
    END LOOP;
EXCEPTION WHEN OTHERS THEN
    -- The whole source's: its table, its columns, rights, the database.
    IF left(SQLSTATE, 2) IN ('08', '25', '3D', '3F', '40', '42', '53', '55', '57', '58')
        OR SQLSTATE IN ('RG002', 'RG006') THEN
        RAISE;
    END IF;
    -- One row's fault: the others go in without it.
    IF jsonb_array_length(keys) = 1 THEN
        UPDATE rag.sources AS s
        SET rows_failed = s.rows_failed + 1, row_error = format('row %s: %s', keys -> 0, SQLERRM)
        WHERE s.source_id = of_source.source_id;
    ELSE
        FOR _row IN SELECT k.key FROM jsonb_array_elements(keys) AS k (key) LOOP
            PERFORM rag._put_source_rows(of_source, relation, jsonb_build_array(_row.key),
                only_missing);
        END LOOP;
    END IF;
END
$$;

COMMENT ON FUNCTION rag._put_source_rows IS
$$Put the documents of the rows with these keys, and delete those of rows that have none (any more).

only_missing: only delete. A row that cannot be put is counted and named in rag.list_sources; it
stops no other.$$;


CREATE OR REPLACE FUNCTION rag._remove_source_documents(of_source rag.sources, batch integer)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
SET row_security = off  -- a document that a policy hides is not taken for one that is gone
AS $$
DECLARE
    _collection text := (SELECT c.name FROM rag.collections AS c
                         WHERE c.collection_id = of_source.collection_id);
    _uris text[];
BEGIN
    SELECT array_agg(d.uri) INTO _uris
    FROM (SELECT y.document_id FROM rag.source_documents AS y
        WHERE y.source_id = of_source.source_id LIMIT batch) AS x
    JOIN rag.documents AS d ON d.collection_id = of_source.collection_id
        AND d.document_id = x.document_id;
    IF _uris IS NOT NULL THEN
        PERFORM rag.delete_documents(_collection, _uris);
    END IF;
    DELETE FROM rag.source_documents AS x
    WHERE x.source_id = of_source.source_id AND NOT EXISTS (
        SELECT FROM rag.documents AS d
        WHERE d.collection_id = of_source.collection_id AND d.document_id = x.document_id);
    RETURN coalesce(cardinality(_uris), 0);
END
$$;

COMMENT ON FUNCTION rag._remove_source_documents IS
$$Delete up to batch documents that a source has put. Returns how many; 0 when none is left.$$;


CREATE OR REPLACE FUNCTION rag._may_follow(of_source rag.sources, relation oid)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _owner CONSTANT oid := (SELECT c.relowner FROM pg_class AS c
        WHERE c.oid = 'rag.sources'::regclass);
    _ends CONSTANT bytea := decode('00', 'hex');
    _arguments CONSTANT bytea := convert_to(of_source.source_id::text, getdatabaseencoding())
        || _ends || convert_to(of_source.definition::text, getdatabaseencoding()) || _ends;
BEGIN
    RETURN NOT pg_has_role(_owner, 'MEMBER') OR EXISTS (
        SELECT FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
        WHERE t.tgrelid = relation AND pg_has_role(c.relowner, _owner, 'MEMBER')
            AND t.tgname = format('rag_source_%s_insert', of_source.source_id)
            -- the triggers' own arguments: the row may be of whoever attaches sources
            AND substr(t.tgargs, 1, length(_arguments)) = _arguments);
END
$$;

COMMENT ON FUNCTION rag._may_follow IS
$$Whether reading a source gives nobody else the caller's rights: its definition, and the types,
functions and casts that the table's owner gave its columns, run as who reads it.

Who has a worker's rights and no more reads all. The owner of schema rag, who has every right
there, and superusers read tables of that owner or a superuser, with the definition that their
triggers hold.$$;


CREATE OR REPLACE FUNCTION rag._advance_source(of_source rag.sources, batch integer)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET plan_cache_mode = force_custom_plan
AS $$
DECLARE
    _s rag.sources := of_source;
    _relation oid := rag._source_relation(_s.source_id);
    _sql record;
    _keys jsonb;
    _count integer;
BEGIN
    IF _s.phase = 'remove' THEN
        _count := rag._remove_source_documents(_s, batch);
        IF _count = 0 THEN
            DELETE FROM rag.sources AS s WHERE s.source_id = _s.source_id;
        END IF;
        RETURN _count;
    END IF;
    IF _relation IS NULL THEN
        RAISE EXCEPTION 'table % or its triggers are gone', _s.table_name
        USING ERRCODE = 'RG002', HINT = 'attach it again, or rag.detach_source(NULL, collection)';
    ELSIF NOT rag._may_follow(_s, _relation) THEN
        RAISE NOTICE 'source % is left to a worker: what others wrote would run as role %',
            _s.table_name, current_user
        USING HINT = 'run a worker as a role that has rag.grant_access(role, ''worker'') alone';
        RETURN NULL;
    END IF;
    _sql := rag._source_sql(_relation, _s.definition);

    IF EXISTS (SELECT FROM rag.source_changes AS c WHERE c.source_id = _s.source_id AND c.key
        IS NULL) THEN
        -- The reading of every row that begins now covers all changes before it.
        WITH covered AS (DELETE FROM rag.source_changes AS c WHERE c.source_id = _s.source_id
            RETURNING c.reason)
        UPDATE rag.sources AS s
        SET phase = 'backfill', reached = NULL, rows_done = 0,
            row_error = coalesce((SELECT max(c.reason) FROM covered AS c), s.row_error)
        WHERE s.source_id = _s.source_id;
        RETURN 1;
    END IF;
    WITH taken AS (
        DELETE FROM rag.source_changes AS c
        WHERE c.source_id = _s.source_id AND c.change_id IN (
            SELECT x.change_id FROM rag.source_changes AS x
            WHERE x.source_id = _s.source_id ORDER BY x.change_id LIMIT batch)
        RETURNING c.key
    )
    SELECT jsonb_agg(DISTINCT t.key), count(*) INTO _keys, _count FROM taken AS t;
    IF _count > 0 THEN
        PERFORM rag._put_source_rows(_s, _relation, _keys, false);
        RETURN _count;
    END IF;

    IF _s.phase = 'backfill' THEN
        IF _s.reached IS NULL THEN
            EXECUTE format('SELECT count(*) FROM %s', rag._table_name(_relation))
                INTO _s.rows_total;
        END IF;
        EXECUTE format('SELECT jsonb_agg(x.key), count(*) FROM (SELECT %s AS key FROM %s AS t '
            'WHERE %s ORDER BY %s LIMIT %s) AS x',
                       _sql.key_sql, rag._table_name(_relation),
                       CASE WHEN _s.reached IS NULL THEN 'true' ELSE _sql.after_sql END,
                           _sql.order_sql, batch)
        INTO _keys, _count USING _s.reached;
        IF _count > 0 THEN
            PERFORM rag._put_source_rows(_s, _relation, _keys, false);
        END IF;
    ELSIF _s.phase = 'sweep' THEN
        SELECT jsonb_agg(x.key), count(*), to_jsonb(max(x.document_id::text)) INTO _keys, _count,
            _s.reached
        FROM (SELECT d.key, d.document_id FROM rag.source_documents AS d
              WHERE d.source_id = _s.source_id
                  AND (_s.reached IS NULL OR d.document_id > (_s.reached #>> '{}')::uuid)
              ORDER BY d.document_id LIMIT batch) AS x;
        IF _count > 0 THEN
            PERFORM rag._put_source_rows(_s, _relation, _keys, true);
        END IF;
    ELSE
        RETURN 0;
    END IF;
    UPDATE rag.sources AS s
    SET rows_total = _s.rows_total,
        rows_done = s.rows_done + CASE WHEN _s.phase = 'backfill' THEN _count ELSE 0 END,
        reached = CASE WHEN _count < batch THEN NULL WHEN _s.phase = 'backfill' THEN _keys -> -1
            ELSE _s.reached END,
        phase = CASE WHEN _count = batch THEN s.phase WHEN s.phase = 'backfill' THEN 'sweep'
            ELSE 'follow' END
    WHERE s.source_id = _s.source_id;
    RETURN greatest(_count, 1);
END
$$;

COMMENT ON FUNCTION rag._advance_source IS
$$One batch of a source's work: changes that were noted before the rows that are read for the first
time, and then the documents whose rows are gone. Returns how much there was; 0 when it is in
step, NULL where it is left to a role of fewer rights (rag._may_follow).$$;


CREATE OR REPLACE FUNCTION rag.break_source(of_source integer, error text)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
BEGIN
    UPDATE rag.sources AS s
        SET broken = coalesce(nullif(left(break_source.error, 2000), ''), 'unknown')
    WHERE s.source_id = of_source;
END
$$;

COMMENT ON FUNCTION rag.break_source IS
$$Mark a source broken with the reason: it is left alone until rag.due_sources is told to retry,
which maintenance does.
Circle: worker, Maintenance and versions.
SELECT rag.break_source(1, 'why')$$;


CREATE OR REPLACE FUNCTION rag.follow_source(of_source integer, batch integer DEFAULT 500)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
-- an error where a policy would hide rows, which must not count as deleted
SET row_security TO off
SET TimeZone TO 'UTC'
SET DateStyle TO 'ISO, YMD'
SET IntervalStyle TO 'postgres'
SET extra_float_digits TO 1
SET bytea_output TO 'hex'
SET lc_monetary TO 'C'
AS $$
DECLARE
    _source rag.sources;
    _done integer;
    _hint text;
    _now timestamptz;
BEGIN
    SELECT s.* INTO _source FROM rag.sources AS s
        WHERE s.source_id = of_source FOR UPDATE SKIP LOCKED;
    IF _source.source_id IS NULL THEN
        RETURN 0;
    END IF;
    _done := rag._advance_source(_source, batch);
    IF _done > 0 OR _done = 0 AND _source.broken IS NOT NULL THEN
        _now := clock_timestamp();
        UPDATE rag.sources AS s SET followed_at = _now, broken = NULL
            WHERE s.source_id = of_source;
    END IF;
    RETURN coalesce(_done, 0);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS _hint = PG_EXCEPTION_HINT;
    PERFORM rag.break_source(of_source, concat_ws('; ', SQLERRM, nullif(_hint, '')));
    RETURN 0;
END
$$;

COMMENT ON FUNCTION rag.follow_source IS
$$One batch of one source; nothing when another session is at it. Returns how much there was.

A source that cannot be followed (a column is gone, no right to read the table, row-level security
would hide rows, a deadlock) is marked broken with the reason and keeps its changes; no error of it
reaches the caller, except a cancelled statement. The owner of schema rag and superusers leave what
others attached, and tables of others, to a worker of fewer rights: a notice says so.
Circle: worker, Maintenance and versions.
SELECT rag.follow_source(1)$$;


CREATE OR REPLACE FUNCTION rag.due_sources(collections text[] DEFAULT NULL,
    retry_broken boolean DEFAULT false)
RETURNS SETOF integer
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT s.source_id
    FROM rag.sources AS s
    JOIN rag.collections AS c ON c.collection_id = s.collection_id AND c.dropped_at IS NULL
    WHERE (collections IS NULL OR c.name = ANY (collections))
        AND CASE WHEN s.broken IS NOT NULL THEN retry_broken
                 ELSE s.phase <> 'follow'
                      OR EXISTS (SELECT FROM rag.source_changes AS x
                          WHERE x.source_id = s.source_id) END
    ORDER BY s.source_id;
END
$$;

COMMENT ON FUNCTION rag.due_sources IS
$$The sources that have something to do, for rag.follow_source. retry_broken: the broken ones,
too.
Circle: worker, Maintenance and versions.
SELECT * FROM rag.due_sources()$$;
