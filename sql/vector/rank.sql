-- Vector search: how a search is run (rag._plan_vector), and the search (rag._rank_vector).

CREATE OR REPLACE FUNCTION rag._exact_search_limit(ef_search integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN ef_search IS NULL THEN 2500 ELSE greatest(4500, 17 * ef_search) END;

COMMENT ON FUNCTION rag._exact_search_limit IS
$$Up to so many vectors are compared one by one: exact, and about as fast as a walk of the index
that keeps ef_search (measured: docs/internals/vector-search.md). NULL: under a filter, which reads
the chunks, too.$$;


CREATE OR REPLACE FUNCTION rag._exact_match_limit(share double precision)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN share < 0.05 THEN 20000 ELSE 5000 END;

COMMENT ON FUNCTION rag._exact_match_limit IS
$$Up to so many chunks that pass a filter are compared one by one. The smaller the share that
passes, the longer an index has to be walked, and the more comparisons pay.$$;


CREATE OR REPLACE FUNCTION rag._default_ef_search(share double precision, chunk_count bigint,
    wanted integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN least(1000, CASE
    WHEN share IS NULL THEN 120 * (greatest(1, wanted / 10.0::double precision)
        * greatest(1, chunk_count / 20000.0::double precision)) ^ 0.3
    ELSE CASE WHEN share < 0.05 THEN 1000 ELSE 500 END
        * greatest(1, chunk_count / 100000.0::double precision) ^ 0.6 END)::integer;

COMMENT ON FUNCTION rag._default_ef_search IS
$$hnsw.ef_search for a recall of 0.99 and more among the first `wanted`: it grows with them and with
the chunks, of which the same walk finds fewer of the nearest (measured: 120 to 20,000 chunks and
240 for 100 wanted, 390 at a million). More where a filter (share: what passes, NULL without) thins
the neighbours.$$;


CREATE OR REPLACE FUNCTION rag._choose_ef_search(
    set_ef_search integer, share double precision, chunk_count bigint, wanted integer)
RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN set_ef_search IS NULL THEN rag._default_ef_search(share, chunk_count, wanted)
    WHEN share IS NULL THEN set_ef_search
    ELSE greatest(set_ef_search, rag._default_ef_search(share, chunk_count, wanted)) END;

COMMENT ON FUNCTION rag._choose_ef_search IS
$$hnsw.ef_search of a search that does not say it: what is set for the space, with a filter at least
rag._default_ef_search, which is also taken where nothing is set (NULL).$$;


CREATE OR REPLACE FUNCTION rag._distance_expression(space rag.spaces)
RETURNS text
LANGUAGE sql STABLE
RETURN format('(e.embedding::{vector}.halfvec(%s)) %s $2::{vector}.halfvec(%1$s)',
    space.dimensions,
              rag._distance_operator(space.distance));

COMMENT ON FUNCTION rag._distance_expression IS
$$The distance of rag.embeddings e to the query's embedding ($2) as an expression that the space's
index serves.$$;


CREATE OR REPLACE FUNCTION rag._plan_vector(
    collection_id integer, space rag.spaces, filter_sql text, filter_indexed boolean,
    exact_below integer, ef_search integer, candidate_limit integer, wanted integer,
    OUT method text, OUT chunk_keys bigint[], OUT share double precision, OUT chunk_count bigint,
    OUT ef integer
)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _exact integer := exact_below;
BEGIN
    SELECT t.chunk_count INTO chunk_count FROM rag.keyword_totals AS t
        WHERE t.collection_id = _plan_vector.collection_id;
    chunk_count := coalesce(chunk_count, 0);
    ef := least(1000, greatest(candidate_limit,
        coalesce(ef_search, rag._choose_ef_search(space.ef_search, NULL, chunk_count, wanted))));
    IF chunk_count <= coalesce(_exact,
            rag._exact_search_limit(CASE WHEN filter_sql IS NULL THEN ef END))
        OR NOT rag._has_index(space) THEN
        method := 'exact';
        RETURN;
    ELSIF filter_sql IS NULL THEN
        method := 'index';
        RETURN;
    END IF;
    share := rag._filter_share(_plan_vector.collection_id, filter_sql);
    ef := least(1000, greatest(candidate_limit,
        coalesce(ef_search, rag._choose_ef_search(space.ef_search, share, chunk_count, wanted))));
    _exact := coalesce(_exact, rag._exact_match_limit(share));
    IF filter_indexed AND share * chunk_count < 2 * _exact THEN
        chunk_keys := rag._list_indexed_matches(_plan_vector.collection_id, filter_sql, NULL,
            _exact);
    END IF;
    method := CASE
        WHEN chunk_keys IS NOT NULL THEN 'matches'
        WHEN NOT filter_indexed AND share * chunk_count < _exact THEN 'exact'
        ELSE 'iterative' END;
END
$$;

COMMENT ON FUNCTION rag._plan_vector IS
$$How a vector search is run. method: matches (the few chunks that pass the filter, chunk_keys, are
compared), exact (every vector of the space that passes is compared), iterative (the index is walked
until enough have passed), index.

share: of the chunks, about so much passes the filter (from a sample). exact_below: NULL for
rag._exact_search_limit(ef) and rag._exact_match_limit(share). ef: of the walk; ef_search where that
is given. candidate_limit: how many are taken; wanted: how many of them with a recall of 0.99.$$;


CREATE OR REPLACE FUNCTION rag._exact_search(
    collection_id integer, space rag.spaces, query_embedding {vector}.halfvec,
        candidate_limit integer,
    chunk_keys bigint[], filter_sql text
)
RETURNS TABLE (chunk_id bigint, distance double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    -- OFFSET 0: sorted outside, so that no index is walked in the order of the distance.
    RETURN QUERY EXECUTE format(
        'SELECT n.chunk_id, n.distance FROM (SELECT e.chunk_id, %s AS distance FROM rag.embeddings '
        'AS e %s'
        ' WHERE e.space_id = $1 %s OFFSET 0) AS n ORDER BY n.distance, n.chunk_id LIMIT $3',
        rag._distance_expression(space),
        CASE WHEN chunk_keys IS NULL AND filter_sql IS NOT NULL THEN
            'JOIN rag.chunks AS c ON c.collection_id = $4 AND c.chunk_id = e.chunk_id' END,
        CASE WHEN chunk_keys IS NOT NULL THEN 'AND e.chunk_id = ANY ($5)'
             WHEN filter_sql IS NOT NULL THEN format('AND (%s)', filter_sql) END
    )
    USING space.space_id, query_embedding, candidate_limit, _exact_search.collection_id, chunk_keys;
END
$$;

COMMENT ON FUNCTION rag._exact_search IS
$$The nearest of the given chunks, else of those that pass the filter, else of all: every distance
is computed.$$;


CREATE OR REPLACE FUNCTION rag._ann_search(
    collection_id integer, space rag.spaces, query_embedding {vector}.halfvec, taken integer,
    filter_sql text, ef_search integer, scan_limit integer
)
RETURNS TABLE (chunk_id bigint, distance double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _order text := CASE WHEN space.index_options ->> 'kind' = 'binary' THEN format(
        '{vector}.binary_quantize(e.embedding::{vector}.halfvec(%s))::bit(%1$s) '
        'OPERATOR({vector}.<~>) {vector}.binary_quantize($2::{vector}.halfvec(%1$s))::bit(%1$s)',
        space.dimensions) ELSE rag._distance_expression(space) END;
    -- settings of the caller
    _ef_search text;
    _iterative_scan text;
    _max_scan_tuples text;
    _seqscan text;
    _sort text;
BEGIN
    PERFORM '[1]'::{vector}.halfvec;  -- loads the library that defines hnsw.*
    _ef_search := current_setting('hnsw.ef_search');
    _iterative_scan := current_setting('hnsw.iterative_scan');
    _max_scan_tuples := current_setting('hnsw.max_scan_tuples');
    _seqscan := current_setting('enable_seqscan');
    _sort := current_setting('enable_sort');
    -- Relaxed: what a later round finds may be nearer than what an earlier one gave, and is sorted
    -- in below.
    PERFORM set_config('hnsw.ef_search', least(1000, greatest(ef_search, taken))::text, true),
            set_config('hnsw.iterative_scan', CASE WHEN scan_limit IS NULL AND taken <= 1000
                                                   THEN 'off' ELSE 'relaxed_order' END, true),
            set_config('hnsw.max_scan_tuples', greatest(scan_limit, 2 * taken)::text, true),
            set_config('enable_seqscan', 'off', true),
            set_config('enable_sort', 'off', true);
    -- The index is walked by the bare inner query, lazily: the limit ends it as soon as enough have
    -- passed.
    RETURN QUERY EXECUTE format(
        -- + 0: sorted in any case
        'SELECT k.chunk_id, k.distance FROM (%s) AS k ORDER BY k.distance + 0, k.chunk_id',
        CASE WHEN filter_sql IS NULL THEN format(
            'SELECT e.chunk_id, %s AS distance FROM rag.embeddings AS e WHERE e.space_id = $1 '
            'ORDER BY %s LIMIT $4',
            rag._distance_expression(space), _order)
        ELSE format(
            'SELECT n.chunk_id, n.distance'
            ' FROM (SELECT e.chunk_id, %s AS distance FROM rag.embeddings AS e'
            '       WHERE e.space_id = $1 ORDER BY %s LIMIT 1000000) AS n,'
            ' LATERAL (SELECT FROM rag.chunks AS c WHERE c.collection_id = $3 AND c.chunk_id = '
            'n.chunk_id'
            '          AND (%s) OFFSET 0) AS f'
            ' LIMIT $4', rag._distance_expression(space), _order, filter_sql) END)
    USING space.space_id, query_embedding, _ann_search.collection_id, taken;
    PERFORM set_config('hnsw.ef_search', _ef_search, true),
            set_config('hnsw.iterative_scan', _iterative_scan, true),
            set_config('hnsw.max_scan_tuples', _max_scan_tuples, true),
            set_config('enable_seqscan', _seqscan, true),
            set_config('enable_sort', _sort, true);
END
$$;

COMMENT ON FUNCTION rag._ann_search IS
$$Up to `taken` chunks that the space's HNSW index finds near, nearest first (a binary index finds
them by their bits).

scan_limit: the walk goes on past rows that are deleted or not visible, and past chunks that do not
pass the filter, until it has found enough or seen so many vectors. NULL: one round of ef_search
vectors, whatever is left of them.$$;


CREATE OR REPLACE FUNCTION rag._check_dimensions(space rag.spaces, query_embedding {vector}.halfvec)
RETURNS void
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF {vector}.vector_dims(query_embedding) <> space.dimensions THEN
        RAISE EXCEPTION
            'the query''s embedding has % dimensions, collection ''%'' stores % (model %)',
            {vector}.vector_dims(query_embedding),
            (SELECT c.name FROM rag.collections AS c WHERE c.collection_id = space.collection_id),
            space.dimensions, space.model
        USING ERRCODE = 'RG004', HINT = 'embed the query with the collection''s own model';
    END IF;
END
$$;

COMMENT ON FUNCTION rag._check_dimensions IS
$$Error RG004 for a query's embedding that has not as many dimensions as the space.$$;


CREATE OR REPLACE FUNCTION rag._rank_vector(
    collection_id integer, query_embedding {vector}.halfvec, candidate_limit integer,
    filter_sql text DEFAULT NULL, filter_indexed boolean DEFAULT true,
    ef_search integer DEFAULT NULL, exact_below integer DEFAULT NULL,
        scan_limit integer DEFAULT NULL, wanted integer DEFAULT NULL
)
RETURNS TABLE (chunk_id bigint, distance double precision)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
#variable_conflict use_column
DECLARE
    _space rag.spaces := rag._require_active_space(_rank_vector.collection_id);
    _plan record;
    _taken integer;
    _scan_limit integer;
    _ids bigint[];
    _distances double precision[];
BEGIN
    IF {vector}.vector_dims(query_embedding) <> _space.dimensions THEN
        PERFORM rag._check_dimensions(_space, query_embedding);
    END IF;
    _plan := rag._plan_vector(_rank_vector.collection_id, _space, filter_sql, filter_indexed,
                             _rank_vector.exact_below, _rank_vector.ef_search, candidate_limit,
                             coalesce(wanted, candidate_limit));
    IF _plan.method IN ('index', 'iterative') THEN
        -- One more than asked for shows whether the last place is tied.
        _taken := candidate_limit * CASE WHEN _space.index_options ->> 'kind' = 'binary' THEN 10
            ELSE 1 END + 1;
        _scan_limit := coalesce(scan_limit, 5000);
        SELECT array_agg(w.chunk_id), array_agg(w.distance)
        INTO _ids, _distances
        FROM rag._ann_search(_rank_vector.collection_id, _space, query_embedding, _taken,
            filter_sql,
            _plan.ef,
                            CASE _plan.method WHEN 'iterative' THEN _scan_limit END) AS w;
        -- Too few: rows that are dead or invisible took the places of others.
        IF _plan.method = 'index' AND coalesce(cardinality(_ids), 0) < _taken
            OR _distances[candidate_limit] = _distances[candidate_limit + 1]
        THEN
            SELECT array_agg(w.chunk_id), array_agg(w.distance)
            INTO _ids, _distances
            FROM rag._ann_search(_rank_vector.collection_id, _space, query_embedding,
                greatest(_taken, 4 * _plan.ef), filter_sql, _plan.ef, _scan_limit) AS w;
        END IF;
        IF cardinality(_ids) >= candidate_limit AND (
            cardinality(_ids) = candidate_limit
            OR _distances[candidate_limit] <> _distances[cardinality(_distances)])
        THEN
            RETURN QUERY
            SELECT w.id, w.near FROM unnest(_ids[:candidate_limit], _distances[:candidate_limit]) AS
                w (id, near);
            RETURN;
        END IF;
        IF _plan.method = 'iterative' AND filter_indexed THEN
            _plan.chunk_keys := rag._list_indexed_matches(
                _rank_vector.collection_id, filter_sql, NULL, rag._exact_match_limit(0));
        END IF;
    END IF;
    RETURN QUERY
    SELECT w.chunk_id, w.distance
    FROM rag._exact_search(_rank_vector.collection_id, _space, query_embedding, candidate_limit,
        _plan.chunk_keys, filter_sql) AS w;
END
$$;

COMMENT ON FUNCTION rag._rank_vector IS
$$The nearest chunks, nearest first; rag._plan_vector chooses how. A walk of the index that meets
too few chunks (the others do not pass the filter, or are deleted, or not visible to the snapshot)
is followed by an exact search, so neither costs results; so is one whose last place is tied with
all that it found beyond. A binary index says little by its bits: ten times the candidates are
taken, and ordered by their exact distance. A vector of length 0 has no cosine: its distance is NaN,
and it comes last.

filter_sql: NULL or a trusted SQL condition on alias c of rag.chunks; filter_indexed: an index
serves it. ef_search: 1 to 1000 (default rag._choose_ef_search; at least candidate_limit).
exact_below: see rag._plan_vector. scan_limit: after so many vectors of a walk
that found too few all are compared, 5000 by default. wanted: how many of
them are to be found with a recall of 0.99, default all; the others are found along the way.$$;
