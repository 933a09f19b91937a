-- The sample of live queries: a share of searches is kept, where a collection says so.

CREATE OR REPLACE FUNCTION rag._takes_queries(of_collection rag.collections)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF of_collection.sample_queries = 0 OR of_collection.keep_queries <= interval '0'
        OR current_setting('transaction_read_only')::boolean
        OR NOT has_table_privilege('rag.live_queries', 'INSERT')
        OR NOT has_column_privilege('rag.live_queries', 'collection_id', 'SELECT')
        OR row_security_active('rag.live_queries'::regclass)
            AND (row_security_active('rag.documents'::regclass)
                OR row_security_active('rag.chunks'::regclass)) THEN
        RETURN false;
    END IF;
    -- Maintenance removes those beyond the bound; without it there are twice as many at most.
    RETURN (SELECT count(*) FROM (
        SELECT FROM rag.live_queries AS l WHERE l.collection_id = of_collection.collection_id
        LIMIT 2 * of_collection.max_queries) AS l) < 2 * of_collection.max_queries;
END
$$;

COMMENT ON FUNCTION rag._takes_queries IS
$$Whether the caller can add a query to the sample of a collection: it is on and not full, the
transaction writes, and the caller may, and is under no policy on documents or chunks.$$;


CREATE OR REPLACE FUNCTION rag._without_nulls(options jsonb)
RETURNS jsonb
LANGUAGE sql IMMUTABLE
RETURN (SELECT coalesce(jsonb_object_agg(o.key, o.value), '{}')
        FROM jsonb_each(options) AS o WHERE o.value <> 'null');

COMMENT ON FUNCTION rag._without_nulls IS
$$Options of a search without those that are null. A null within a value stays: in a filter it has a
meaning.$$;


CREATE OR REPLACE FUNCTION rag.log_query(
    collection text,
    query_text text DEFAULT NULL,
    query_embedding {vector}.halfvec DEFAULT NULL,
    result_limit integer DEFAULT 10,
    metadata_filter jsonb DEFAULT '{}',
    options jsonb DEFAULT '{}',
    expected_space integer DEFAULT NULL,
    sampled boolean DEFAULT false,
    seconds double precision DEFAULT 0)
RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    longest CONSTANT integer := 10000;
    _collection rag.collections := rag._require_collection(log_query.collection);
    _space rag.spaces;
    _text text;
BEGIN
    IF NOT coalesce(sampled, false) AND random() >= _collection.sample_queries
        OR NOT rag._takes_queries(_collection) THEN
        RETURN false;
    END IF;
    PERFORM rag._check_search_options(log_query.options),
        rag._check_search_arguments(log_query.collection, log_query.query_text,
            log_query.query_embedding, log_query.result_limit, log_query.metadata_filter,
            log_query.options);
    _text := CASE WHEN _collection.keep_query_text AND octet_length(log_query.query_text) <= longest
        THEN nullif(btrim(log_query.query_text), '') END;
    IF query_embedding IS NOT NULL THEN
        _space := rag._require_active_space(_collection.collection_id);
        IF expected_space <> _space.space_id THEN
            RETURN false;
        END IF;
        PERFORM rag._check_dimensions(_space, query_embedding);
    END IF;
    IF _text IS NULL AND query_embedding IS NULL
        OR pg_column_size(log_query.metadata_filter) + pg_column_size(log_query.options) > longest
        OR rag._was_erased(_collection, NULL, log_query.seconds) THEN
        RETURN false;
    END IF;
    INSERT INTO rag.live_queries (collection_id, query_text, embedding, space_id, result_limit,
        metadata_filter, options)
    VALUES (_collection.collection_id, _text, query_embedding, _space.space_id,
        log_query.result_limit, log_query.metadata_filter,
        rag._without_nulls(log_query.options) - 'result_offset');
    RETURN true;
END
$$;

COMMENT ON FUNCTION rag.log_query IS
$$Offer a search to the sample of live queries.
With the arguments that rag.search was given: a program that searches by SQL calls it after a
search; the Python client does so by itself. Returns whether it was kept, which chance decides by
the collection's share (rag.alter_collection, sample_queries).

Nothing is kept, without an error, where the collection keeps no sample, in a read-only transaction
or on a standby, for a role that may not insert into rag.live_queries or that is under a policy on
documents or chunks, where twice max_queries are there, and within a minute of an erasure. The words
are kept where the collection says so, up to 10,000 bytes; otherwise the vector alone. What was
found is never kept. Error RG004 for arguments that rag.search would refuse: call it in a
transaction of its own, so that it undoes nothing else.
options: other arguments of rag.search, e.g. {"fusion": "rrf"}. expected_space: the space whose
model made the vector. sampled: true where the caller has drawn by the share already. seconds: how
long ago the search was, for erasures.
Circle: client, Evaluation.
SELECT rag.log_query('docs', 'fish', '[1, 0, 0]')$$;


CREATE OR REPLACE FUNCTION rag._forget_query_texts(collection_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO on
AS $$
BEGIN
    DELETE FROM rag.live_queries AS l
    WHERE l.collection_id = _forget_query_texts.collection_id AND l.embedding IS NULL;
    UPDATE rag.live_queries AS l SET query_text = NULL
    WHERE l.collection_id = _forget_query_texts.collection_id AND l.query_text IS NOT NULL;
END
$$;

COMMENT ON FUNCTION rag._forget_query_texts IS
$$Remove the words of a collection's sampled queries; those that have no vector go whole.$$;


CREATE OR REPLACE FUNCTION rag._trim_live_queries(collection_id integer)
RETURNS integer
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO on
AS $$
DECLARE
    _collection rag.collections;
    _removed integer;
    _now CONSTANT timestamptz := clock_timestamp();
BEGIN
    SELECT c.* INTO _collection FROM rag.collections AS c
    WHERE c.collection_id = _trim_live_queries.collection_id;
    DELETE FROM rag.live_queries AS l
    WHERE l.collection_id = _trim_live_queries.collection_id
        AND (l.searched_at <= _now - _collection.keep_queries
            -- Logged while keep_query_text was set to false.
            OR l.query_text IS NOT NULL AND NOT _collection.keep_query_text
            OR l.query_id IN (SELECT x.query_id FROM rag.live_queries AS x
                WHERE x.collection_id = _trim_live_queries.collection_id
                ORDER BY x.searched_at DESC, x.query_id DESC OFFSET _collection.max_queries));
    GET DIAGNOSTICS _removed = ROW_COUNT;
    RETURN _removed;
END
$$;

COMMENT ON FUNCTION rag._trim_live_queries IS
$$Remove the sampled queries of a collection that are older than it keeps them, those before the
last max_queries, and those with words where it keeps no words. Returns how many. For
rag.maintain.$$;
