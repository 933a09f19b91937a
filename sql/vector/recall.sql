-- The recall of vector searches: what the index finds of what an exact search finds.

CREATE OR REPLACE FUNCTION rag._recall_interval(recalls double precision[], k integer,
    OUT lower_bound double precision, OUT upper_bound double precision)
LANGUAGE plpgsql IMMUTABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _n bigint := cardinality(recalls);
    _mean double precision;
    _variance double precision;
    _trials bigint;
BEGIN
    SELECT avg(r.value), coalesce(var_samp(r.value), 0) INTO _mean, _variance
    FROM unnest(recalls) AS r (value);
    _trials := greatest(_n, least(_n * k,
        _mean * (1 - _mean) * _n / greatest(_variance, 1e-9)))::bigint;
    SELECT i.lower_bound, i.upper_bound INTO lower_bound, upper_bound
    FROM rag._clopper_pearson(least(_trials, round(_mean * _trials)::bigint), _trials) AS i;
END
$$;

COMMENT ON FUNCTION rag._recall_interval IS
$$The 95 % interval of a mean recall: Clopper and Pearson's over as many trials as the variance
between queries says that their neighbours are worth, between one and k a query.

Neighbours of one query are found or lost together, so they are not trials of their own (the design
effect, Kish 1965).$$;


CREATE OR REPLACE FUNCTION rag._recall_queries(space rag.spaces, sample_size integer)
RETURNS TABLE (source text, own_chunk bigint, embedding {vector}.halfvec, metadata_filter jsonb,
    ef_search integer)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET row_security TO on
AS $$
DECLARE
    few CONSTANT integer := 20;
BEGIN
    RETURN QUERY
    SELECT 'live', NULL::bigint, l.embedding, l.metadata_filter,
        (l.options ->> 'ef_search')::integer
    FROM rag.live_queries AS l
    WHERE l.collection_id = space.collection_id AND l.space_id = space.space_id
        AND (SELECT count(*) FROM rag.live_queries AS x
             WHERE x.collection_id = space.collection_id AND x.space_id = space.space_id)
            >= least(few, sample_size)
    ORDER BY random()
    LIMIT sample_size;
    RETURN QUERY
    SELECT 'stored', v.chunk_id, v.embedding, '{}'::jsonb, NULL::integer
    FROM rag._sample_vectors(space.space_id, greatest(2, sample_size)) AS v
    LIMIT sample_size;
END
$$;

COMMENT ON FUNCTION rag._recall_queries IS
$$What a recall is measured with: sampled live queries of the space (source live), drawn at random,
none where there are fewer than 20; then, for where none of them can be run, vectors of chunks,
spread evenly (source stored; own_chunk: whose).
$$;


CREATE OR REPLACE FUNCTION rag._found_share(collection_id integer,
    query_embedding {vector}.halfvec, k integer, own_chunk bigint, filter_sql text,
    filter_indexed boolean, ef_search integer, exact_distances double precision[])
RETURNS double precision
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN (
        SELECT least(count(*), cardinality(exact_distances))::double precision
            / cardinality(exact_distances)
        FROM rag._rank_vector(_found_share.collection_id, query_embedding,
            k + (own_chunk IS NOT NULL)::integer, filter_sql, filter_indexed, ef_search)
            AS r (chunk_id, distance)
        WHERE r.chunk_id IS DISTINCT FROM own_chunk
            AND r.distance <= exact_distances[cardinality(exact_distances)]);
END
$$;

COMMENT ON FUNCTION rag._found_share IS
$$The share of the nearest chunks that a vector search finds: those that are no farther than the
last of exact_distances, which an exact search gave. Another chunk of the same distance is as good.

own_chunk: the query is this chunk's vector, and it does not count.$$;


CREATE OR REPLACE FUNCTION rag.measure_recall(
    collection text,
    sample integer DEFAULT 100,
    k integer DEFAULT 10,
    target double precision DEFAULT NULL,
    seconds double precision DEFAULT 60)
RETURNS rag.recall_measures
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
SET row_security TO off
AS $$
DECLARE
    kept CONSTANT integer := 100;
    _ends_at timestamptz;
    _collection rag.collections := rag._require_collection(measure_recall.collection);
    _key integer := _collection.collection_id;
    _space rag.spaces := rag._require_active_space(_key);
    _query record;
    _filter record;
    _plan record;
    _distances double precision[];
    _recalls double precision[] := '{}';
    _tries integer := 0;
    _walked jsonb := '[]';  -- what a trial with another ef_search needs of each query
    _embeddings {vector}.halfvec[] := '{}';
    _trial integer;
    _tried double precision;
    _measure rag.recall_measures;
BEGIN
    PERFORM rag._require_writable('rag.measure_recall', 'keeps what it measures');
    PERFORM rag._check_range('sample', sample, 1, 10000),
        rag._check_range('k', measure_recall.k, 1, 100),
        rag._check_range('seconds', measure_recall.seconds, 0.01, 86400),
        rag._check_range('target', coalesce(measure_recall.target, 1), 0, 1);
    _ends_at := clock_timestamp() + make_interval(secs => measure_recall.seconds);
    _measure.target := coalesce(measure_recall.target, nullif(_collection.recall_target, 0), 0.95);
    _measure.chunk_count := coalesce((SELECT t.chunk_count FROM rag.keyword_totals AS t
        WHERE t.collection_id = _key), 0);
    _measure.ef_search := rag._choose_ef_search(_space.ef_search, NULL, _measure.chunk_count,
        measure_recall.k);
    FOR _query IN SELECT q.* FROM rag._recall_queries(_space, sample) AS q LOOP
        EXIT WHEN _tries > 0 AND clock_timestamp() > _ends_at
            OR cardinality(_recalls) > 0 AND _query.source <> _measure.source;
        _tries := _tries + 1;
        _measure.source := _query.source;
        BEGIN
            SELECT f.* INTO _filter FROM rag._compile_filter(_key, _query.metadata_filter) AS f;
            _plan := rag._plan_vector(_key, _space, _filter.condition, _filter.indexed, NULL,
                _query.ef_search, measure_recall.k, measure_recall.k);
            IF _plan.method NOT IN ('index', 'iterative') THEN
                _recalls := _recalls || 1.0::double precision;
                CONTINUE;
            END IF;
            SELECT array_agg(e.distance ORDER BY e.distance) INTO _distances
            FROM (SELECT x.distance
                  FROM rag._exact_search(_key, _space, _query.embedding, measure_recall.k + 1,
                      NULL, _filter.condition) AS x (chunk_id, distance)
                  WHERE x.chunk_id IS DISTINCT FROM _query.own_chunk
                  ORDER BY x.distance, x.chunk_id LIMIT measure_recall.k) AS e;
            IF _distances IS NULL THEN  -- nothing passes the filter, so nothing is missed
                _recalls := _recalls || 1.0::double precision;
                CONTINUE;
            END IF;
            _recalls := _recalls || rag._found_share(_key, _query.embedding, measure_recall.k,
                _query.own_chunk, _filter.condition, _filter.indexed, _query.ef_search,
                _distances);
        EXCEPTION WHEN SQLSTATE 'RG004' OR data_exception THEN
            CONTINUE;  -- its filter is none any more
        END;
        _embeddings := _embeddings || _query.embedding;
        _walked := _walked || jsonb_build_object('own', _query.own_chunk,
            'condition', _filter.condition, 'indexed', _filter.indexed, 'ef', _query.ef_search,
            'least', CASE WHEN _plan.share IS NOT NULL
                THEN rag._choose_ef_search(NULL, _plan.share, _measure.chunk_count,
                    measure_recall.k) ELSE 1 END,
            'recall', _recalls[cardinality(_recalls)], 'distances', _distances);
    END LOOP;
    IF cardinality(_recalls) = 0 AND _tries > 0 THEN
        RAISE EXCEPTION 'none of % queries of collection % could be run in % seconds', _tries,
            quote_literal(_collection.name), measure_recall.seconds
        USING ERRCODE = 'RG007', HINT = 'their filters are not valid any more: give more seconds';
    ELSIF cardinality(_recalls) = 0 THEN
        RAISE EXCEPTION 'collection % has no vector to search with', quote_literal(_collection.name)
        USING ERRCODE = 'RG007', HINT = 'wait until its documents are embedded';
    END IF;
    _measure.recall := round((SELECT avg(r.value) FROM unnest(_recalls) AS r (value))::numeric, 6);
    _measure.walked_count := cardinality(_embeddings);
    _measure.query_count := cardinality(_recalls);
    SELECT i.* INTO _measure.lower_bound, _measure.upper_bound
    FROM rag._recall_interval(_recalls, measure_recall.k) AS i;
    _trial := _measure.ef_search;
    WHILE _measure.recall < _measure.target AND _trial < 1000
        AND coalesce(_measure.advised_recall, 0) < _measure.target
        AND clock_timestamp() < _ends_at
    LOOP
        _trial := least(1000, 2 * _trial);
        SELECT (_measure.query_count - _measure.walked_count + sum(CASE
            WHEN w.value ->> 'ef' IS NOT NULL THEN (w.value ->> 'recall')::double precision
            ELSE rag._found_share(_key, e.embedding, measure_recall.k,
                (w.value ->> 'own')::bigint, w.value ->> 'condition',
                (w.value ->> 'indexed')::boolean,
                greatest(_trial, (w.value ->> 'least')::integer),
                ARRAY(SELECT d::double precision
                      FROM jsonb_array_elements_text(w.value -> 'distances')
                          WITH ORDINALITY AS d (d, position) ORDER BY d.position)) END))
            / _measure.query_count
        INTO _tried
        FROM unnest(_embeddings) WITH ORDINALITY AS e (embedding, position)
        JOIN jsonb_array_elements(_walked) WITH ORDINALITY AS w (value, position)
            ON w.position = e.position;
        _measure.advised_ef_search := _trial;
        _measure.advised_recall := round(_tried::numeric, 6);
    END LOOP;
    INSERT INTO rag.recall_measures AS m (collection_id, space_id, source, query_count,
        walked_count, k, recall, lower_bound, upper_bound, target, chunk_count, ef_search,
        set_ef_search, advised_ef_search, advised_recall)
    VALUES (_key, _space.space_id, _measure.source, _measure.query_count, _measure.walked_count,
        measure_recall.k, _measure.recall, _measure.lower_bound, _measure.upper_bound,
        _measure.target, _measure.chunk_count, _measure.ef_search, _space.ef_search,
        _measure.advised_ef_search, _measure.advised_recall)
    RETURNING m.* INTO _measure;
    DELETE FROM rag.recall_measures AS m
    WHERE m.collection_id = _key AND m.measure_id IN (
        SELECT x.measure_id FROM rag.recall_measures AS x WHERE x.collection_id = _key
        ORDER BY x.measure_id DESC OFFSET kept);
    RETURN _measure;
END
$$;

COMMENT ON FUNCTION rag.measure_recall IS
$$How much of the nearest the vector index finds.

Run sampled vector searches as they are run live and once more exactly, with the same filters,
and keep what share of the nearest k was found: a row of rag.recall_measures, with a 95 % interval.

Queries are those of rag.log_query (source live); where fewer than 20 of the active space are kept,
or no filter of those that are drawn is valid any more, vectors of chunks (source stored), each
without itself: they lie among the others, so their recall may be higher than that of questions. Of
a query whose filter nothing passes nothing is missed. query_count: how many there were time for;
walked_count: of how many the index was walked, since small collections and narrow filters are
searched exactly. Where the recall is below target (NULL: that of the collection, else 0.95),
doubled values of ef_search are tried on the same queries: advised_ef_search is the first that
reaches it, or the last that was tried, with its recall; rag.alter_collection sets it. seconds:
after so many no further query or value is begun. An exact search reads every vector. The last 100
measures of a collection stay.
Circle: application, Evaluation.
SELECT * FROM rag.measure_recall('docs')$$;


CREATE OR REPLACE FUNCTION rag.list_recall(collection text DEFAULT NULL,
    result_limit integer DEFAULT 100)
RETURNS TABLE (measure_id bigint, collection_name text, measured_at timestamptz, source text,
    query_count integer, walked_count integer, k integer, recall double precision,
    lower_bound double precision, upper_bound double precision, target double precision,
    chunk_count bigint, ef_search integer, advised_ef_search integer,
    advised_recall double precision, space_id integer, is_current boolean)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM rag._check_range('limit', list_recall.result_limit, 1, 1000);
    IF list_recall.collection IS NOT NULL THEN
        PERFORM rag._require_collection(list_recall.collection);
    END IF;
    RETURN QUERY
    SELECT m.measure_id, c.name, m.measured_at, m.source, m.query_count, m.walked_count, m.k,
        m.recall, m.lower_bound, m.upper_bound, m.target, m.chunk_count, m.ef_search,
        m.advised_ef_search, m.advised_recall, m.space_id,
        s.state IS NOT DISTINCT FROM 'active' AND s.ef_search IS NOT DISTINCT FROM m.set_ef_search
    FROM rag.recall_measures AS m
    JOIN rag.collections AS c ON c.collection_id = m.collection_id AND c.dropped_at IS NULL
    LEFT JOIN rag.spaces AS s ON s.space_id = m.space_id
    WHERE list_recall.collection IS NULL OR c.name = list_recall.collection
    ORDER BY m.measure_id DESC
    LIMIT list_recall.result_limit;
END
$$;

COMMENT ON FUNCTION rag.list_recall IS
$$What rag.measure_recall has measured, the latest first. is_current: of the space that is active,
with the ef_search that is set now.
Circle: application, Evaluation.
SELECT * FROM rag.list_recall('docs')$$;


CREATE OR REPLACE FUNCTION rag._recall_is_due(collection_id integer)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN rag._count_chunks(_recall_is_due.collection_id) > 0 AND NOT EXISTS (
        SELECT FROM rag.recall_measures AS m
        JOIN rag.spaces AS s ON s.space_id = m.space_id AND s.state = 'active'
            AND s.ef_search IS NOT DISTINCT FROM m.set_ef_search
        WHERE m.collection_id = _recall_is_due.collection_id
            AND m.measured_at > clock_timestamp() - interval '1 day');
END
$$;

COMMENT ON FUNCTION rag._recall_is_due IS
$$Whether the recall of a collection was not measured within a day, as its space and ef_search are
now.$$;


CREATE OR REPLACE FUNCTION rag._maintain_recall(collection_id integer)
RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path FROM CURRENT
AS $$
DECLARE
    _name text := (SELECT c.name FROM rag.collections AS c
        WHERE c.collection_id = _maintain_recall.collection_id AND c.dropped_at IS NULL);
BEGIN
    IF _name IS NOT NULL AND rag._recall_is_due(_maintain_recall.collection_id) THEN
        PERFORM rag.measure_recall(_name, 50, seconds => 10);
    END IF;
EXCEPTION WHEN SQLSTATE 'RG007' THEN
    NULL;  -- nothing is embedded yet
END
$$;

COMMENT ON FUNCTION rag._maintain_recall IS
$$rag.measure_recall as maintenance does it, once a day: 50 queries, for 10 seconds at most.$$;


CREATE OR REPLACE FUNCTION rag._check_recall()
RETURNS SETOF rag.finding
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN QUERY
    SELECT 'vector recall', 'warn',
        format('%s: a vector search finds %s of the nearest %s (%s to %s, %s %s), the target is %s',
            m.collection_name, round(m.recall::numeric, 3), m.k, round(m.lower_bound::numeric, 3),
            round(m.upper_bound::numeric, 3), m.query_count, CASE m.source
                WHEN 'live' THEN 'live queries' ELSE 'vectors of its own' END, m.target),
        CASE WHEN m.advised_recall >= m.target THEN
            format('SELECT rag.alter_collection(%L, ef_search => %s), which finds %s',
                m.collection_name, m.advised_ef_search, round(m.advised_recall::numeric, 3))
        WHEN m.advised_ef_search = 1000 OR m.ef_search = 1000 THEN
            format('ef_search 1000 finds %s: build the vectors anew with a denser index, '
                'rag.create_space(%L, ..., index_options => ''{"m": 32, "ef_construction": 200}'')',
                round(coalesce(m.advised_recall, m.recall)::numeric, 3), m.collection_name)
        ELSE format('measure it with more time: rag.measure_recall(%L, seconds => 600)',
            m.collection_name) END
    FROM rag.collections AS c
    CROSS JOIN LATERAL (
        SELECT l.* FROM rag.list_recall(c.name, 1) AS l) AS m
    WHERE c.dropped_at IS NULL AND m.is_current AND m.recall < m.target
    ORDER BY c.name;
END
$$;

COMMENT ON FUNCTION rag._check_recall IS
$$rag.doctor: collections whose vector searches were measured to find less than their target.$$;
