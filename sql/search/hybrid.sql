-- The hybrid search's core: candidates of both legs, their fused scores, and what is done to the list.

CREATE OR REPLACE FUNCTION rag.rrf(rank_in_list bigint, k integer DEFAULT 60)
RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(1.0::double precision / (k + rank_in_list), 0.0::double precision);

COMMENT ON FUNCTION rag.rrf(bigint, integer) IS
$$One list's share of a reciprocal rank fusion score.

rank_in_list: 1 is best; NULL (not in the list) gives 0. k: smoothing, 60 in the paper.
Source: Cormack, Clarke, Buettcher, SIGIR 2009.$$;

CREATE OR REPLACE FUNCTION rag.gather(request rag.request, candidate_count integer)
RETURNS SETOF rag.candidate
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _query rag.keyword_query;
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
        SELECT coalesce(array_agg(r.chunk_id ORDER BY r.place), '{}'), array_agg(r.distance ORDER BY r.place)
        INTO _vector_ids, _distances
        FROM rag.rank_vector(
            request.collection_key, request.query_embedding, candidate_count, request.filter_sql,
            request.filter_indexed, request.ef_search
        ) WITH ORDINALITY AS r (chunk_id, distance, place);
    END IF;
    IF request.query_text IS NOT NULL THEN
        _query := rag.prepare_keyword(request.collection_key, request.query_text);
        SELECT coalesce(array_agg(r.chunk_id ORDER BY r.place), '{}'), array_agg(r.score ORDER BY r.place)
        INTO _keyword_ids, _scores
        FROM rag.rank_prepared(
            _query, request.query_text, candidate_count, request.filter_sql, 'any', request.filter_indexed
        ) WITH ORDINALITY AS r (chunk_id, score, place);
    END IF;
    IF request.fusion <> 'rrf' AND cardinality(_vector_ids) > 0 AND cardinality(_keyword_ids) > 0 THEN
        SELECT array_agg(v.chunk_id), array_agg(v.distance)
        INTO _more_ids, _more_distances
        FROM rag.compare_vectors(
            request.collection_key, rag.active_space(request.collection_key), request.query_embedding, NULL,
            ARRAY(SELECT unnest(_keyword_ids) EXCEPT SELECT unnest(_vector_ids)), NULL
        ) AS v;
        SELECT array_agg(k.chunk_id), array_agg(k.score)
        INTO _more_keyword_ids, _more_scores
        FROM rag.score_chunks(
            _query, ARRAY(SELECT unnest(_vector_ids) EXCEPT SELECT unnest(_keyword_ids))
        ) AS k;
    END IF;
    RETURN QUERY
    SELECT chunk_id, NULL::double precision, v.place, v.distance, k.place, k.score
    FROM (
        SELECT l.chunk_id, l.distance, l.place
        FROM unnest(_vector_ids, _distances) WITH ORDINALITY AS l (chunk_id, distance, place)
        UNION ALL
        SELECT m.chunk_id, m.distance, NULL
        FROM unnest(_more_ids, _more_distances) AS m (chunk_id, distance)
    ) AS v
    FULL JOIN (
        SELECT l.chunk_id, l.score, l.place
        FROM unnest(_keyword_ids, _scores) WITH ORDINALITY AS l (chunk_id, score, place)
        UNION ALL
        SELECT m.chunk_id, m.score, NULL
        FROM unnest(_more_keyword_ids, _more_scores) AS m (chunk_id, score)
    ) AS k USING (chunk_id);
END
$$;

COMMENT ON FUNCTION rag.gather(rag.request, integer) IS
$$The candidates of a search, candidate_count from each leg, not yet scored.

For weighted and auto fusion they are completed: each has its exact distance and its exact keyword score, whichever leg
found it. A chunk without a vector has no distance, one without a word of the query no keyword score.$$;

CREATE OR REPLACE FUNCTION rag.cosines(request rag.request, candidates rag.candidate[])
RETURNS double precision[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    _space rag.spaces := rag.active_space(request.collection_key);
BEGIN
    IF _space.distance = 'cosine' THEN
        RETURN ARRAY(
            SELECT nullif(1 - c.vector_distance, 'NaN')
            FROM unnest(candidates) WITH ORDINALITY
                AS c (chunk_id, score, vector_rank, vector_distance, keyword_rank, keyword_score, place)
            ORDER BY c.place
        );
    END IF;
    RETURN ARRAY(
        SELECT CASE WHEN c.vector_distance IS NOT NULL
                    THEN nullif(1 - (e.embedding OPERATOR({vector}.<=>) request.query_embedding), 'NaN') END
        FROM unnest(candidates) WITH ORDINALITY
            AS c (chunk_id, score, vector_rank, vector_distance, keyword_rank, keyword_score, place)
        LEFT JOIN rag.read_vectors(_space.space_id, ARRAY(SELECT x.chunk_id FROM unnest(candidates) AS x)) AS e
            ON e.chunk_id = c.chunk_id
        ORDER BY c.place
    );
END
$$;

COMMENT ON FUNCTION rag.cosines(rag.request, rag.candidate[]) IS
$$The cosine similarity of each candidate to the query, -1 to 1, whatever the collection's distance; NULL without a vector.$$;

CREATE OR REPLACE FUNCTION rag.vector_share(request rag.request, candidates rag.candidate[])
RETURNS double precision
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _cosine_lead double precision;
    _keyword_lead double precision;
BEGIN
    SELECT max(v.cosine) - avg(v.cosine)
    INTO _cosine_lead
    FROM (
        SELECT u.cosine FROM unnest(rag.cosines(request, candidates)) AS u (cosine)
        WHERE u.cosine IS NOT NULL
        ORDER BY u.cosine DESC LIMIT 10
    ) AS v;
    SELECT 1 - avg(k.score) / nullif(max(k.score), 0)
    INTO _keyword_lead
    FROM (
        SELECT coalesce(c.keyword_score, 0) AS score FROM unnest(candidates) AS c ORDER BY 1 DESC LIMIT 10
    ) AS k;
    IF request.fusion = 'weighted' AND _cosine_lead IS NOT NULL AND _keyword_lead IS NOT NULL THEN
        RETURN request.vector_weight / (request.vector_weight + request.keyword_weight);
    END IF;
    RETURN rag.auto_weight(_cosine_lead, _keyword_lead, request.vector_weight, request.keyword_weight);
END
$$;

COMMENT ON FUNCTION rag.vector_share(rag.request, rag.candidate[]) IS
$$The vector leg's share of a fused score, 0 to 1; 0 or 1 where only one leg found anything.

weighted: vector_weight / (vector_weight + keyword_weight). auto: rag.auto_weight of the two legs' leads.$$;

CREATE OR REPLACE FUNCTION rag.fuse(request rag.request, candidates rag.candidate[], vector_share double precision)
RETURNS SETOF rag.candidate
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    IF request.fusion = 'rrf' THEN
        RETURN QUERY
        SELECT c.chunk_id,
               request.vector_weight * rag.rrf(c.vector_rank, request.rrf_k)
               + request.keyword_weight * rag.rrf(c.keyword_rank, request.rrf_k),
               c.vector_rank, c.vector_distance, c.keyword_rank, c.keyword_score
        FROM unnest(candidates) AS c
        ORDER BY 2 DESC, 1;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT s.chunk_id,
           vector_share * coalesce(s.similarity, min(s.similarity) OVER (), 0)
           + (1 - vector_share) * coalesce(s.keyword_score / nullif(max(s.keyword_score) OVER (), 0), 0),
           s.vector_rank, s.vector_distance, s.keyword_rank, s.keyword_score
    FROM (
        SELECT c.*
        FROM unnest(candidates, rag.cosines(request, candidates))
            AS c (chunk_id, score, vector_rank, vector_distance, keyword_rank, keyword_score, similarity)
    ) AS s
    ORDER BY 2 DESC, 1;
END
$$;

COMMENT ON FUNCTION rag.fuse(rag.request, rag.candidate[], double precision) IS
$$The candidates with their fused scores, best first.

rrf: sum of weight / (rrf_k + rank) over the legs that found the chunk. weighted and auto: vector_share * cosine similarity
+ (1 - vector_share) * keyword_score / (the query's best keyword score), whatever the collection's distance; a chunk that
has no vector yet counts as the least similar candidate.$$;

CREATE OR REPLACE FUNCTION rag.rank_hybrid(request rag.request)
RETURNS SETOF rag.candidate
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _last integer := request.result_offset + request.result_limit;
    _count integer := request.candidate_limit;
    _enough boolean := false;       -- for the first page
    _candidates rag.candidate[];
    _fused rag.candidate[];
    _found rag.candidate[];          -- as they were when first found
    _ids bigint[];
    _scores double precision[];
    _kept bigint[] := '{}';
BEGIN
    LOOP
        SELECT array_agg(g) INTO _candidates FROM rag.gather(request, _count) AS g;
        IF _candidates IS NULL THEN
            RETURN;
        END IF;
        SELECT array_agg(f), array_agg((f).chunk_id), array_agg((f).score)
        INTO _fused, _ids, _scores
        FROM rag.fuse(request, _candidates, rag.vector_share(request, _candidates)) AS f;
        IF request.boosts <> '[]' THEN
            SELECT array_agg(b.chunk_id ORDER BY b.score DESC, b.chunk_id), array_agg(b.score ORDER BY b.score DESC, b.chunk_id)
            INTO _ids, _scores
            FROM unnest(_ids, rag.boost(request.collection_key, _ids, _scores, request.boosts)) AS b (chunk_id, score);
        END IF;
        SELECT array_agg(ROW(f.chunk_id, s.score, f.vector_rank, f.vector_distance, f.keyword_rank, f.keyword_score)::rag.candidate)
        INTO _fused
        FROM unnest(_fused) AS f JOIN unnest(_ids, _scores) AS s (chunk_id, score) ON s.chunk_id = f.chunk_id;
        _found := CASE WHEN _enough THEN _found || ARRAY(
            SELECT f FROM unnest(_fused) AS f LEFT JOIN unnest(_found) AS o ON o.chunk_id = f.chunk_id WHERE o.chunk_id IS NULL)
            ELSE _fused END;
        -- What earlier pages were cut from keeps its order: more candidates only follow it.
        _kept := rag.distinct_chunks(
            request.collection_key,
            CASE WHEN _enough THEN _kept || ARRAY(
                SELECT i.chunk_id FROM unnest(_ids) WITH ORDINALITY AS i (chunk_id, place)
                LEFT JOIN unnest(_kept) AS k (chunk_id) USING (chunk_id)
                WHERE k.chunk_id IS NULL ORDER BY i.place)
            ELSE _ids END,
            request.per_document, request.duplicates);
        IF NOT _enough AND (cardinality(_kept) >= request.result_limit OR cardinality(_ids) < _count OR _count >= 10000) THEN
            _enough := true;
            IF request.diversity > 0 THEN
                _kept := rag.diversify(
                    rag.active_space(request.collection_key), _kept,
                    ARRAY(SELECT s.score FROM unnest(_kept) WITH ORDINALITY AS k (chunk_id, place)
                          JOIN unnest(_ids, _scores) AS s (chunk_id, score) ON s.chunk_id = k.chunk_id ORDER BY k.place),
                    least(_last, cardinality(_kept)), request.diversity);
            END IF;
        END IF;
        -- What was taken out may have kept others from the list: then more are asked for.
        EXIT WHEN cardinality(_kept) >= _last OR cardinality(_ids) < _count OR _count >= 10000;
        _count := least(10000, 4 * _count);
    END LOOP;
    RETURN QUERY
    SELECT f.*
    FROM unnest(_kept[request.result_offset + 1:_last]) WITH ORDINALITY AS k (chunk_id, place)
    JOIN unnest(_found) AS f ON f.chunk_id = k.chunk_id
    ORDER BY k.place;
END
$$;

COMMENT ON FUNCTION rag.rank_hybrid(rag.request) IS
$$The chunks that a request finds, best first: gathered, fused, boosted, without duplicates, at most per_document of each
document, diversified. When too few are left after that for the first page, four times the candidates are taken.

A later page is cut from the same list. Where the list ends before it, four times the candidates are taken, and those that
are new follow by their scores: so the pages of a search never share a chunk and never leave one out.$$;
