-- A corpus in parts, each in a database of its own: what each finds, and the fusion of all of it.

CREATE OR REPLACE FUNCTION rag._search_part(collection text, query_text text,
    query_embedding {vector}.halfvec, result_limit integer, metadata_filter jsonb, options jsonb,
    expected_space integer DEFAULT NULL)
RETURNS SETOF rag.hit
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _request rag.search_arguments := rag._check_search_arguments(_search_part.collection,
        _search_part.query_text, _search_part.query_embedding, _search_part.result_limit,
        _search_part.metadata_filter, _search_part.options);
    _query rag.keyword_query := rag._request_words(_request);
    _found record;
BEGIN
    PERFORM rag._clear_notes();
    IF expected_space IS NOT NULL THEN
        PERFORM rag._assert_active_space(_search_part.collection, expected_space);
    END IF;
    IF _request.diversity > 0 THEN
        RAISE EXCEPTION 'diversity compares the vectors of all hits, and this corpus lies in parts'
        USING ERRCODE = 'RG004', HINT = 'leave it out, or use per_document';
    ELSIF (rag._require_active_space(_request.collection_id)).distance <> 'cosine' THEN
        RAISE EXCEPTION 'collection ''%'' has distance %: hits of several parts are compared by '
            'their cosines', _search_part.collection,
            (rag._active_space(_request.collection_id)).distance
        USING ERRCODE = 'RG004', HINT = 'make a space with distance cosine: rag.create_space';
    END IF;
    SELECT array_agg(c.chunk_id) AS ids, array_agg(c.vector_rank) AS vector_ranks,
        array_agg(c.vector_distance) AS distances, array_agg(c.keyword_rank) AS keyword_ranks,
        array_agg(c.keyword_score) AS keyword_scores, array_agg(0::double precision) AS scores
    INTO _found
    FROM rag._collect_candidates(_request, _query, least(10000, greatest(_request.candidate_limit,
        _request.result_offset + _request.result_limit))) AS c;
    PERFORM rag._note_fuzzy(_query, _found.ids);
    RETURN QUERY
    SELECT h.*
    FROM rag._make_hits(_request.collection_id, _found.ids, _found.scores, _found.vector_ranks,
        _found.distances, _found.keyword_ranks, _found.keyword_scores) AS h;
END
$$;

COMMENT ON FUNCTION rag._search_part IS
$$The candidates of both legs in one part of a corpus, without scores: a fused one would be relative
to the best keyword score of this part. rag._fuse_parts scores those of all parts.

options: the other arguments of rag.search; boosts (rag._boost_part), copies and per_document are
for what is fused.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._fuse_parts(collection text, query_text text,
    query_embedding {vector}.halfvec, result_limit integer, metadata_filter jsonb, options jsonb,
    vector_ranks bigint[], vector_distances double precision[], keyword_ranks bigint[],
    keyword_scores double precision[])
RETURNS TABLE (hit_number bigint, score double precision, vector_rank bigint, keyword_rank bigint)
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
DECLARE
    _request rag.search_arguments := rag._check_search_arguments(_fuse_parts.collection,
        _fuse_parts.query_text, _fuse_parts.query_embedding, _fuse_parts.result_limit,
        _fuse_parts.metadata_filter, _fuse_parts.options);
    _candidates rag.candidate[];
BEGIN
    SELECT array_agg(ROW(c.number, NULL, CASE WHEN c.vector_rank IS NOT NULL THEN c.by_vector END,
        c.distance, CASE WHEN c.keyword_rank IS NOT NULL THEN c.by_keyword END,
        c.keyword_score)::rag.candidate ORDER BY c.number)
    INTO _candidates
    FROM (
        SELECT u.*, row_number() OVER (PARTITION BY u.vector_rank IS NULL
                   ORDER BY u.distance, u.number) AS by_vector,
               row_number() OVER (PARTITION BY u.keyword_rank IS NULL
                   ORDER BY u.keyword_score DESC NULLS LAST, u.number) AS by_keyword
        FROM unnest(vector_ranks, vector_distances, keyword_ranks, keyword_scores)
            WITH ORDINALITY AS u (vector_rank, distance, keyword_rank, keyword_score, number)
    ) AS c;
    RETURN QUERY
    SELECT f.chunk_id, coalesce(nullif(f.score, 'NaN'), -2), f.vector_rank, f.keyword_rank
    FROM rag._fuse(_request, coalesce(_candidates, '{}')) AS f
    ORDER BY 2 DESC, 1;
END
$$;

COMMENT ON FUNCTION rag._fuse_parts IS
$$The candidates of all parts of a corpus, best first, with their scores and ranks among all of
them: by rag._fuse, as if one collection had found them.

The arrays run in parallel; hit_number: the place in them, from 1. The other arguments are those of
rag._search_part.
Circle: client.$$;


CREATE OR REPLACE FUNCTION rag._boost_part(collection text, chunk_ids bigint[],
    scores double precision[], boosts jsonb)
RETURNS double precision[]
LANGUAGE plpgsql STABLE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN rag._boost((rag._require_collection(_boost_part.collection)).collection_id,
        _boost_part.chunk_ids, _boost_part.scores, _boost_part.boosts);
END
$$;

COMMENT ON FUNCTION rag._boost_part IS
$$The fused scores of chunks of one part after boosts, in the order given.
Circle: client.$$;
