-- The candidates of both legs of a hybrid search, each with its score in the other leg.

CREATE OR REPLACE FUNCTION rag._request_words(request rag.search_arguments)
RETURNS rag.keyword_query
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF request.query_text IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN rag._prepare_keyword(request.collection_id, request.query_text,
        request.typo_tolerance);
END
$$;

COMMENT ON FUNCTION rag._request_words IS
$$The lexed text of a search; NULL where it has none.$$;


CREATE OR REPLACE FUNCTION rag._collect_candidates(request rag.search_arguments,
    query rag.keyword_query, candidate_count integer)
RETURNS SETOF rag.candidate
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _vector_ids bigint[] := '{}';
    _distances double precision[] := '{}';
    _keyword_ids bigint[] := '{}';
    _scores double precision[] := '{}';
    _more_ids bigint[] := '{}';             -- found by the other leg only: completed
    _more_distances double precision[] := '{}';
    _more_keyword_ids bigint[] := '{}';
    _more_scores double precision[] := '{}';
BEGIN
    IF request.query_embedding IS NOT NULL THEN
        SELECT coalesce(array_agg(r.chunk_id ORDER BY r.rank), '{}'),
            array_agg(r.distance ORDER BY r.rank)
        INTO _vector_ids, _distances
        FROM rag._rank_vector(
            request.collection_id, request.query_embedding, candidate_count, request.filter_sql,
            request.filter_indexed, request.ef_search, wanted => request.result_limit
        ) WITH ORDINALITY AS r (chunk_id, distance, rank);
    END IF;
    IF request.query_text IS NOT NULL THEN
        SELECT coalesce(array_agg(r.chunk_id ORDER BY r.rank), '{}'),
            array_agg(r.score ORDER BY r.rank)
        INTO _keyword_ids, _scores
        FROM rag._rank_prepared(
            query, request.query_text, candidate_count, request.filter_sql, 'any',
                request.filter_indexed
        ) WITH ORDINALITY AS r (chunk_id, score, rank);
    END IF;
    IF request.fusion <> 'rrf' AND cardinality(_vector_ids) > 0
        AND cardinality(_keyword_ids) > 0 THEN
        SELECT array_agg(v.chunk_id), array_agg(v.distance)
        INTO _more_ids, _more_distances
        FROM rag._exact_search(
            request.collection_id, rag._active_space(request.collection_id),
                request.query_embedding, NULL,
            ARRAY(SELECT unnest(_keyword_ids) EXCEPT SELECT unnest(_vector_ids)), NULL
        ) AS v;
        SELECT array_agg(k.chunk_id), array_agg(k.score)
        INTO _more_keyword_ids, _more_scores
        FROM rag._score_chunks(
            query, ARRAY(SELECT unnest(_vector_ids) EXCEPT SELECT unnest(_keyword_ids))
        ) AS k;
    END IF;
    RETURN QUERY
    SELECT chunk_id, NULL::double precision, v.rank, v.distance, k.rank, k.score
    FROM (
        SELECT l.chunk_id, l.distance, l.rank
        FROM unnest(_vector_ids, _distances) WITH ORDINALITY AS l (chunk_id, distance, rank)
        UNION ALL
        SELECT m.chunk_id, m.distance, NULL
        FROM unnest(_more_ids, _more_distances) AS m (chunk_id, distance)
    ) AS v
    FULL JOIN (
        SELECT l.chunk_id, l.score, l.rank
        FROM unnest(_keyword_ids, _scores) WITH ORDINALITY AS l (chunk_id, score, rank)
        UNION ALL
        SELECT m.chunk_id, m.score, NULL
        FROM unnest(_more_keyword_ids, _more_scores) AS m (chunk_id, score)
    ) AS k USING (chunk_id);
END
$$;

COMMENT ON FUNCTION rag._collect_candidates IS
$$The candidates of a search, candidate_count from each leg, not yet scored. query: of its text
(rag._request_words).

For weighted and auto fusion they are completed: each has its exact distance and its exact keyword
score, whichever leg found it. A chunk without a vector has no distance, one without a word of the
query no keyword score.$$;


CREATE OR REPLACE FUNCTION rag._cosine_similarities(request rag.search_arguments,
    candidates rag.candidate[])
RETURNS double precision[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _space rag.spaces := rag._require_active_space(request.collection_id);
    _mean double precision;
    _factor double precision;
BEGIN
    SELECT s.subtracted, s.factor INTO _mean, _factor FROM rag._similarity_scale(_space) AS s;
    IF _space.distance = 'cosine' THEN
        RETURN ARRAY(
            SELECT (nullif(1 - c.vector_distance, 'NaN') - _mean) * _factor
            FROM unnest(candidates) WITH ORDINALITY AS c
            ORDER BY c.ordinality
        );
    END IF;
    RETURN ARRAY(
        SELECT CASE WHEN c.vector_distance IS NOT NULL
                    THEN (nullif(1 - (e.embedding OPERATOR({vector}.<=>) request.query_embedding),
                        'NaN') - _mean) * _factor END
        FROM unnest(candidates) WITH ORDINALITY AS c
        LEFT JOIN rag._read_vectors(_space.space_id,
            ARRAY(SELECT x.chunk_id FROM unnest(candidates) AS x)) AS e
            ON e.chunk_id = c.chunk_id
        ORDER BY c.ordinality
    );
END
$$;

COMMENT ON FUNCTION rag._cosine_similarities IS
$$The similarity of each candidate to the query, whatever the collection's distance: its cosine, by
the scale of its space (rag._similarity_scale); NULL without a vector.$$;
